//! The command line that begins a shell in a folder, under any login shell.

use bootstrap::for_printf;

/// Goes to a folder in which what follows runs. `x` keeps line breaks at the end of a name.
const GO: &str = r#"rx_folder=${rx_folder%x}
case $rx_folder in
"~") rx_to=$HOME ;;
"~/"*) rx_to=$HOME/${rx_folder#"~/"} ;;
*) rx_to=$rx_folder ;;
esac
"#;

/// A shell begins in the home instead.
const SHELL: &str = r#"cd "$rx_to" 2>/dev/null || { cd; printf 'note: there is no folder %s to go to; this is the home\n' "$rx_folder" >&2; }
exec "${SHELL:-/bin/sh}" -l
"#;

/// A command runs nowhere else: it may delete or overwrite.
const COMMAND: &str = r#"cd "$rx_to" 2>/dev/null || { printf 'error: there is no folder %s to go to, so the command was not run\nhint: write HOST:~ to run it in the home\n' "$rx_folder" >&2; exit 2; }
exec "${SHELL:-/bin/sh}" -c "$rx_command"
"#;

/// Gives what the login shell is asked to run; itself when nothing.
///
/// Without a folder it is the command as it is. With one, the login shell sees one line of `exec`, single quotes and
/// characters that none reads in its own way, whatever the folder is called.
pub(crate) fn asked(folder: Option<&str>, command: Option<&str>) -> Option<String> {
    let Some(folder) = folder else {
        return command.map(str::to_owned);
    };
    let mut script = variable("rx_folder", folder) + GO;
    match command {
        Some(command) => {
            script += &variable("rx_command", command);
            script += "rx_command=${rx_command%x}\n";
            script += COMMAND;
        }
        None => script += SHELL,
    }
    Some(format!(
        "exec /bin/sh -c 'eval \"$(printf %b \"{}\")\"'",
        for_printf(&script)
    ))
}

fn variable(name: &str, value: &str) -> String {
    format!("{name}=$(printf %bx '{}')\n", for_printf(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_put_around_a_command_without_a_folder() {
        assert_eq!(asked(None, None), None);
        assert_eq!(asked(None, Some("ls 'a'")).as_deref(), Some("ls 'a'"));
    }

    #[test]
    fn no_login_shell_sees_a_name_of_a_folder() {
        let line = asked(Some("~/it's $(here)!\n"), Some("echo 'a'")).unwrap_or_default();
        let inside = line.split('"').nth(2).unwrap_or_default();
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._-\\".contains(c);
        assert!(inside.len() > 300 && inside.chars().all(plain), "{line}");
    }
}

//! The environment of the user's login shell, captured once at launch (settled details 9), so that tools find the
//! user's compilers and version managers although the daemon was started by a bare `exec`.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    io,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::Path,
    process::Stdio,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Variables by name.
pub type Variables = BTreeMap<OsString, OsString>;

/// How long the user's start-up files may take.
const DEADLINE: Duration = Duration::from_secs(5);
/// The most that an environment may hold, in bytes.
const LIMIT: u64 = 4 * 1024 * 1024;

/// Runs the login shell and takes over what it exports. Falls back to `inherited` when the shell fails, is too slow
/// or prints nonsense; either way [`scrub`] is applied.
pub async fn capture(shell: &Path, inherited: &Variables) -> Variables {
    let found = tokio::time::timeout(DEADLINE, ask(shell, inherited)).await;
    let captured = match found {
        Ok(Ok(variables)) if variables.contains_key(OsStr::new("PATH")) => variables,
        Ok(Ok(_)) => {
            tracing::warn!(shell = %shell.display(), "the login shell printed no environment; the inherited one is used");
            inherited.clone()
        }
        Ok(Err(error)) => {
            tracing::warn!(shell = %shell.display(), %error, "the login shell did not run; the inherited environment is used");
            inherited.clone()
        }
        Err(_) => {
            tracing::warn!(shell = %shell.display(), "the login shell took too long; the inherited environment is used");
            inherited.clone()
        }
    };
    scrub(captured)
}

async fn ask(shell: &Path, inherited: &Variables) -> io::Result<Variables> {
    let marker = format!("rx{}", uuid::Uuid::new_v4().simple());
    // The marker reaches the shell in the environment, not in its arguments, so an echoing shell does not print it.
    let script = r#"printf "%s\0" "$REASONIX_MARKER"; env -0; printf "%s\0" "$REASONIX_MARKER""#;
    let mut command = stdx::process::command(shell);
    // A dash before the name is how login(1) makes a login shell; `-l` would be refused by csh beside `-c`.
    let mut name = OsString::from("-");
    name.push(shell.file_name().unwrap_or(shell.as_os_str()));
    command
        .arg0(name)
        .args(["-c", &format!("exec /bin/sh -c '{script}'")]);
    command
        .envs(inherited)
        .env("REASONIX_MARKER", &marker)
        .stdout(Stdio::piped());
    // A start-up file that talks to a terminal must not find ours.
    command.process_group(0);
    let mut child = command.spawn()?;
    let mut group = KillGroup(child.id().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?)));
    let mut output = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        read_between(stdout.take(LIMIT), &mut output, &marker).await?;
    }
    child.wait().await?;
    // What a start-up file put into the background on purpose stays.
    group.0 = None;
    Ok(parse(&output, &marker))
}

/// Reads up to the second marker: something in the background may hold the output open for ever.
async fn read_between(
    mut from: impl AsyncRead + Unpin,
    output: &mut Vec<u8>,
    marker: &str,
) -> io::Result<()> {
    let end = format!("\0{marker}\0");
    while from.read_buf(output).await? > 0 && !output.ends_with(end.as_bytes()) {}
    Ok(())
}

/// Ends what start-up files hang in, with the shell. Dropped before the shell is waited for, so its number is its own.
struct KillGroup(Option<Pid>);

impl Drop for KillGroup {
    fn drop(&mut self) {
        if let Some(pid) = self.0 {
            // It may have ended at this very moment.
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

/// Reads NUL-separated variables between two markers, whatever start-up files print around them.
fn parse(output: &[u8], marker: &str) -> Variables {
    let mut entries = output.split(|&byte| byte == 0);
    // Noise may precede the first marker without a NUL of its own.
    let found = entries.by_ref().any(|entry| entry.ends_with(marker.as_bytes()));
    if !found {
        return Variables::new();
    }
    let inner = entries.take_while(|entry| *entry != marker.as_bytes());
    let pair = |entry: &[u8]| {
        let at = entry.iter().position(|&byte| byte == b'=').filter(|&at| at > 0)?;
        let (name, value) = entry.split_at(at);
        Some((
            OsString::from_vec(name.to_vec()),
            OsStr::from_bytes(value.get(1..)?).to_owned(),
        ))
    };
    inner.filter_map(pair).collect()
}

/// Removes what children must not have: agent sockets, our own variables, and everything whose name looks like a
/// secret.
#[must_use]
pub fn scrub(mut variables: Variables) -> Variables {
    variables.retain(|name, _| !is_secret(&name.to_string_lossy()));
    variables
}

/// Removes from a daemon's own environment, which every process of its user can read, what looks like a secret. What
/// steers Reasonix stays.
#[must_use]
pub fn for_daemon(mut variables: Variables) -> Variables {
    variables.retain(|name, _| !has_secret_name(&name.to_string_lossy().to_ascii_uppercase()));
    variables
}

/// Gives the variables whose names and values are text.
#[must_use]
pub fn texts(variables: &Variables) -> BTreeMap<String, String> {
    let text =
        |(name, value): (&OsString, &OsString)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned()));
    variables.iter().filter_map(text).collect()
}

fn is_secret(name: &str) -> bool {
    const NAMES: [&str; 9] = [
        "SSH_AUTH_SOCK",
        "SSH_AGENT_PID",
        "SSH_ASKPASS",
        "GPG_AGENT_INFO",
        "SSH_CLIENT",
        "SSH_CONNECTION",
        "SSH_ORIGINAL_COMMAND",
        "SSH_TTY",
        "SHLVL",
    ];
    let upper = name.to_ascii_uppercase();
    NAMES.contains(&upper.as_str()) || upper.starts_with("REASONIX_") || has_secret_name(&upper)
}

fn has_secret_name(upper: &str) -> bool {
    const PARTS: [&str; 7] = [
        "API_KEY",
        "APIKEY",
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "CREDENTIAL",
    ];
    PARTS.iter().any(|part| upper.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Variables {
        pairs
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)))
            .collect()
    }

    #[test]
    fn reads_between_markers_whatever_is_printed_around_them() {
        let output = b"Welcome!\nrx1\0PATH=/bin\0A=b=c\nd\0=odd\0rx1\0bye";
        assert_eq!(
            parse(output, "rx1"),
            variables(&[("PATH", "/bin"), ("A", "b=c\nd")])
        );
        assert_eq!(parse(b"nothing", "rx1"), Variables::new());
        assert_eq!(parse(b"", "rx1"), Variables::new());
    }

    #[test]
    fn removes_secrets() {
        let all = variables(&[
            ("PATH", "/bin"),
            ("OPENAI_API_KEY", "k"),
            ("GITHUB_TOKEN", "t"),
            ("SSH_AUTH_SOCK", "/s"),
            ("REASONIX_HOME", "/h"),
            ("db_password", "p"),
        ]);
        assert_eq!(scrub(all), variables(&[("PATH", "/bin")]));
    }

    #[tokio::test]
    async fn a_shell_that_fails_leaves_the_inherited_environment() {
        let inherited = variables(&[("PATH", "/usr/bin:/bin"), ("X_TOKEN", "t")]);
        let got = capture(Path::new("/nonexistent/shell"), &inherited).await;
        assert_eq!(got, variables(&[("PATH", "/usr/bin:/bin")]));
    }

    #[test]
    fn a_daemon_keeps_what_steers_it_and_no_secret() {
        let all = variables(&[("REASONIX_LOG", "debug"), ("SSH_TTY", "x"), ("DB_PASSWORD", "p")]);
        assert_eq!(
            for_daemon(all),
            variables(&[("REASONIX_LOG", "debug"), ("SSH_TTY", "x")])
        );
    }

    /// A home with one start-up file, and the variables of a daemon that was started there.
    fn home(file: &str, text: &str) -> (tempfile::TempDir, Variables) {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
        let inherited = variables(&[("PATH", "/usr/bin:/bin"), ("HOME", home.path().to_str().unwrap())]);
        (home, inherited)
    }

    #[tokio::test]
    async fn takes_over_what_the_login_shell_exports() {
        let posix = "echo noise\nread answer\nexport FROM_PROFILE='a b'\n";
        for (shell, file, text) in [
            ("/bin/sh", ".profile", posix),
            ("/bin/bash", ".bash_profile", posix),
            (
                "/usr/bin/fish",
                ".config/fish/config.fish",
                "echo noise\nread answer\nstatus is-login; and set -gx FROM_PROFILE 'a b'\n",
            ),
            ("/bin/tcsh", ".login", "echo noise\nsetenv FROM_PROFILE 'a b'\n"),
        ] {
            if !Path::new(shell).exists() {
                continue;
            }
            let (_home, inherited) = home(file, text);
            let got = capture(Path::new(shell), &inherited).await;
            assert_eq!(
                got.get(OsStr::new("FROM_PROFILE")),
                Some(&OsString::from("a b")),
                "{shell}"
            );
        }
    }

    #[tokio::test]
    async fn what_a_start_up_file_leaves_in_the_background_is_not_waited_for() {
        let (home, inherited) = home(".profile", "sleep 60 & echo $! > ~/pid\nexport FROM_PROFILE=x\n");
        let got = capture(Path::new("/bin/sh"), &inherited).await;
        assert_eq!(got.get(OsStr::new("FROM_PROFILE")), Some(&OsString::from("x")));
        let pid = std::fs::read_to_string(home.path().join("pid")).unwrap();
        let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        rustix::process::kill_process(pid, Signal::KILL).unwrap();
    }

    #[tokio::test]
    async fn a_start_up_file_that_hangs_is_ended_with_all_it_started() {
        let (home, inherited) = home(".profile", "echo $$ > ~/pid; sleep 60\n");
        let got = capture(Path::new("/bin/sh"), &inherited).await;
        assert!(got.contains_key(OsStr::new("PATH")));
        let pid = std::fs::read_to_string(home.path().join("pid")).unwrap();
        let group = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        // The kernel removes them after the signal.
        let gone = async {
            while rustix::process::test_kill_process_group(group).is_ok() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), gone).await.unwrap();
    }
}

//! The environment of the user's login shell, captured once at launch (settled details 9), so that tools find the
//! user's compilers and version managers although the daemon was started by a bare `exec`.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::Path,
    process::Stdio,
    time::Duration,
};

use tokio::io::AsyncReadExt as _;

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

async fn ask(shell: &Path, inherited: &Variables) -> std::io::Result<Variables> {
    let marker = format!("rx{}", uuid::Uuid::new_v4().simple());
    // The marker reaches the shell in the environment, not in its arguments, so an echoing shell does not print it.
    let script = "printf '%s\\0' \"$REASONIX_MARKER\"; env -0; printf '%s\\0' \"$REASONIX_MARKER\"";
    let mut command = stdx::process::command(shell);
    command.args([
        "-l",
        "-c",
        &format!("exec /bin/sh -c '{}'", script.replace('\'', "'\\''")),
    ]);
    command
        .envs(inherited)
        .env("REASONIX_MARKER", &marker)
        .stdout(Stdio::piped());
    // A start-up file that talks to a terminal must not find ours.
    command.process_group(0);
    let mut child = command.spawn()?;
    let mut output = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        stdout.take(LIMIT).read_to_end(&mut output).await?;
    }
    child.wait().await?;
    Ok(parse(&output, &marker))
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

/// Gives the variables whose names and values are text.
#[must_use]
pub fn texts(variables: &Variables) -> BTreeMap<String, String> {
    let text =
        |(name, value): (&OsString, &OsString)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned()));
    variables.iter().filter_map(text).collect()
}

fn is_secret(name: &str) -> bool {
    const NAMES: [&str; 8] = [
        "SSH_AUTH_SOCK",
        "SSH_AGENT_PID",
        "SSH_ASKPASS",
        "GPG_AGENT_INFO",
        "SSH_CLIENT",
        "SSH_CONNECTION",
        "SSH_TTY",
        "SHLVL",
    ];
    const PARTS: [&str; 7] = [
        "API_KEY",
        "APIKEY",
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "CREDENTIAL",
    ];
    let upper = name.to_ascii_uppercase();
    NAMES.contains(&upper.as_str())
        || upper.starts_with("REASONIX_")
        || PARTS.iter().any(|part| upper.contains(part))
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

    #[tokio::test]
    async fn takes_over_what_the_login_shell_exports() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(
            home.path().join(".profile"),
            "echo noise\nread answer\nexport FROM_PROFILE='a b'\n",
        )
        .unwrap();
        let inherited = variables(&[("PATH", "/usr/bin:/bin"), ("HOME", home.path().to_str().unwrap())]);
        let got = capture(Path::new("/bin/sh"), &inherited).await;
        assert_eq!(got.get(OsStr::new("FROM_PROFILE")), Some(&OsString::from("a b")));
    }
}

//! Sees to it that the programs which tests start are there.

use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::job::{Echo, Job, JobOptions};
use crate::system;

/// Programs that tests start, and the Debian package each of them is in.
const PROGRAMS: [(&str, &str); 19] = [
    ("sshd", "openssh-server"),
    ("ssh", "openssh-client"),
    ("ssh-keygen", "openssh-client"),
    ("ssh-agent", "openssh-client"),
    ("bwrap", "bubblewrap"),
    ("tmux", "tmux"),
    ("fish", "fish"),
    ("tcsh", "tcsh"),
    ("dash", "dash"),
    ("zsh", "zsh"),
    ("busybox", "busybox-static"),
    ("strace", "strace"),
    ("zstd", "zstd"),
    ("openssl", "openssl"),
    ("git", "git"),
    ("python3", "python3"),
    ("ip", "iproute2"),
    ("useradd", "passwd"),
    ("google-authenticator", "libpam-google-authenticator"),
];

/// The version that works with the `rust-version` of the workspace; `--locked` needs one that is known to.
const NEXTEST: [&str; 5] = ["install", "cargo-nextest", "--version", "0.9.143", "--locked"];

/// An installation that runs in the background.
pub(super) struct Installation(Job);

impl Installation {
    /// Waits for the end and checks that everything is there now.
    pub(super) fn finish(self) -> anyhow::Result<()> {
        self.0
            .finish()
            .context("could not install what tests need, see install.log in target/xtask")?;
        let missing = missing_packages();
        ensure!(
            missing.is_empty(),
            "still missing after installing: {}",
            missing.join(" ")
        );
        Ok(())
    }
}

/// Looks for the programs and, as root on a Debian system, starts to install what is missing.
///
/// # Errors
/// Something is missing and only the user can install it; the message has the command.
pub(super) fn start(options: JobOptions) -> anyhow::Result<Option<Installation>> {
    let script = script(
        &missing_packages(),
        system::find_program("cargo-nextest").is_none(),
    );
    let Some(script) = script else {
        println!("everything that tests need is there");
        return Ok(None);
    };
    let may_install = rustix::process::geteuid().is_root() && system::find_program("apt-get").is_some();
    let needs_root = script.contains("apt-get");
    ensure!(
        may_install || !needs_root,
        "tests need programs that are missing; run as root: {script}"
    );
    println!("installing in the background: {script}");
    let mut command: Command = system::command("sh");
    command
        .args(["-c", &script])
        .env("DEBIAN_FRONTEND", "noninteractive");
    Job::start(
        command,
        JobOptions {
            echo: Echo::Silent,
            ..options
        },
    )
    .map(|job| Some(Installation(job)))
}

/// Returns the shell command that installs everything named.
fn script(packages: &[&str], nextest: bool) -> Option<String> {
    let mut steps = Vec::new();
    if !packages.is_empty() {
        steps.push("apt-get update".to_owned());
        steps.push(format!("apt-get install -y {}", packages.join(" ")));
    }
    if nextest {
        steps.push(format!("cargo {}", NEXTEST.join(" ")));
    }
    (!steps.is_empty()).then(|| steps.join(" && "))
}

fn missing_packages() -> Vec<&'static str> {
    let missing = PROGRAMS
        .iter()
        .filter(|(program, _)| system::find_program(program).is_none());
    let mut packages: Vec<_> = missing.map(|(_, package)| *package).collect();
    packages.dedup();
    packages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_names_what_is_missing_and_nothing_else() {
        assert_eq!(script(&[], false), None);
        assert_eq!(
            script(&["fish", "tcsh"], false).as_deref(),
            Some("apt-get update && apt-get install -y fish tcsh")
        );
        assert_eq!(
            script(&[], true).as_deref(),
            Some("cargo install cargo-nextest --version 0.9.143 --locked")
        );
    }
}

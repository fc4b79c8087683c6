//! Throwaway accounts and PAM services, for what sshd does only with them.

use std::{
    io::{self, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Output, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

use super::{keys::missing, wait_until};

/// The beginning of the names: process id and number follow.
const PREFIX: &str = "rxtest-l";

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// An account `rxtest-…` with a password; it is removed when dropped. Only root can make one.
#[derive(Debug)]
pub struct TestAccount {
    name: String,
    folder: tempfile::TempDir,
}

impl TestAccount {
    /// Says whether accounts may be made here: as root and in CI, where it panics if it is not root, since the tests
    /// would pass without having looked.
    #[expect(
        clippy::disallowed_methods,
        clippy::panic,
        reason = "only tests call it; what CI is, the environment says"
    )]
    #[must_use]
    pub fn may_be_made() -> bool {
        let ci = std::env::var_os("CI").is_some_and(|value| value != "false" && value != "0");
        let root = rustix::process::geteuid().is_root();
        if ci && !root {
            panic!("CI tests accounts and PAM, for which it has to be root");
        }
        root && ci
    }

    /// Makes an account with a home of its own. What killed tests left is removed first.
    ///
    /// # Errors
    /// A program is missing or fails.
    pub async fn create(password: &str) -> io::Result<Self> {
        remove_stale()?;
        let number = NUMBER.fetch_add(1, Ordering::SeqCst);
        let name = format!("{PREFIX}{}-{number}", std::process::id());
        let folder = tempfile::Builder::new().prefix("rxtest-home-").tempdir()?;
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))?;
        let home = folder.path().to_owned();
        // Another test may hold the lock of /etc/passwd.
        let mut said = String::new();
        let made = wait_until("useradd", || {
            let made = blocking(
                "useradd",
                &["-M", "-s", "/bin/sh", "-d"],
                &[&home, Path::new(&name)],
                "",
            );
            let done = match made {
                Ok(output) if output.status.success() => Some(Ok(())),
                Ok(output) => {
                    said = String::from_utf8_lossy(&output.stderr).into_owned();
                    (!said.contains("lock")).then(|| Err(io::Error::other(said.clone())))
                }
                Err(error) => Some(Err(error)),
            };
            async move { done }
        });
        made.await
            .map_err(|error| io::Error::other(format!("{error}: {said}")))??;
        let account = Self { name, folder };
        let line = format!("{}:{password}\n", account.name);
        let set = wait_until("chpasswd", || {
            let set = blocking("chpasswd", &[], &[], &line);
            async move { set.is_ok_and(|output| output.status.success()).then_some(()) }
        });
        set.await?;
        let own = blocking("chown", &[account.name.as_str()], &[account.home()], "")?;
        if !own.status.success() {
            return Err(io::Error::other("could not give the home to the account"));
        }
        Ok(account)
    }

    /// Gives its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Gives its home.
    #[must_use]
    pub fn home(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for TestAccount {
    fn drop(&mut self) {
        remove(&self.name);
    }
}

/// Removes an account. Its processes end with their connection; userdel removes it all the same.
fn remove(name: &str) {
    for _ in 0..50 {
        let removed = blocking("userdel", &["-f", name], &[], "");
        // 6: there is no such account.
        if removed.is_ok_and(|output| output.status.success() || output.status.code() == Some(6)) {
            return;
        }
        std::thread::yield_now();
    }
}

/// Removes accounts whose test does not run any more.
fn remove_stale() -> io::Result<()> {
    for line in std::fs::read_to_string("/etc/passwd")?.lines() {
        let name = line.split(':').next().unwrap_or_default();
        let pid = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            remove(name);
        }
    }
    Ok(())
}

fn blocking(program: &str, args: &[&str], paths: &[&Path], input: &str) -> io::Result<Output> {
    let mut command = stdx::process::blocking_command(program);
    command
        .args(args)
        .args(paths)
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command
        .spawn()
        .map_err(|error| missing(program, "passwd", &error))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes())?;
    }
    child.wait_with_output()
}

/// An `sshd` under another name, whose PAM service is therefore ours; the service is removed when dropped.
#[derive(Debug)]
pub struct PamService {
    file: PathBuf,
    program: PathBuf,
}

impl PamService {
    /// Writes the service and a link to `sshd` in `folder`. Only root can.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn create(folder: &Path, rules: &str) -> io::Result<Self> {
        let number = NUMBER.fetch_add(1, Ordering::SeqCst);
        let name = format!("{PREFIX}{}-{number}", std::process::id());
        let program = folder.join(&name);
        std::os::unix::fs::symlink(super::sshd::SSHD, &program)?;
        let file = Path::new("/etc/pam.d").join(&name);
        std::fs::write(&file, rules)?;
        Ok(Self { file, program })
    }

    /// Gives the program for [`super::SshdOptions::program`].
    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }
}

impl Drop for PamService {
    fn drop(&mut self) {
        // Nothing uses it any more; a file that stays does no harm.
        drop(std::fs::remove_file(&self.file));
    }
}

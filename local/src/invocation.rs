//! Arguments, environment and settings, resolved: commands receive values, and look nothing up.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use remote_agent::{AgentOptions, environment, run_dir::RunDir};
use settings::{Flag, Loaded, Sources};
use stdx::AbsPath;

use crate::{exit::Exit, report::Failure};

/// Where this process lives.
#[derive(Debug, Clone)]
pub(crate) struct Invocation {
    /// The environment of this process.
    pub(crate) environment: BTreeMap<OsString, OsString>,
    /// The user's home.
    pub(crate) user_home: AbsPath,
    /// Reasonix's own folder.
    pub(crate) home: AbsPath,
    /// How much to log.
    pub(crate) verbose: u8,
}

impl Invocation {
    /// Reads the environment of the process. The only place on this side that does.
    pub(crate) fn from_process(verbose: u8) -> Result<Self, Failure> {
        let environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        let user_home = environment
            .get(std::ffi::OsStr::new("HOME"))
            .filter(|home| !home.is_empty())
            .and_then(|home| AbsPath::new(home).ok())
            .ok_or_else(|| {
                Failure::new(Exit::Usage, "HOME is not set to an absolute path")
                    .hint("set HOME, then try again")
            })?;
        let home = match environment
            .get(std::ffi::OsStr::new("REASONIX_HOME"))
            .filter(|home| !home.is_empty())
        {
            Some(home) => AbsPath::new(home).map_err(|error| {
                Failure::new(Exit::Usage, format!("REASONIX_HOME: {error}"))
                    .hint("set it to an absolute path, or unset it")
            })?,
            None => user_home.resolve(".reasonix"),
        };
        Ok(Self {
            environment,
            user_home,
            home,
            verbose,
        })
    }

    /// Makes Reasonix's own folder, for this user alone, if it is missing.
    pub(crate) fn make_home(&self) -> Result<(), Failure> {
        use std::os::unix::fs::DirBuilderExt as _;
        let made = std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.home);
        made.map_err(|error| Failure::new(Exit::Failed, format!("could not make {}: {error}", self.home)))
    }

    /// Gives a variable that is text.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.environment.get(std::ffi::OsStr::new(name))?.to_str()
    }

    /// Loads the settings of this machine, with a project's file if there is one.
    pub(crate) fn settings(&self, project: Option<&Path>, flags: &[Flag]) -> Result<Loaded, Failure> {
        let loaded = settings::load(&self.sources(project, flags))?;
        for warning in &loaded.warnings {
            crate::terminal::error(&format!("warning: {warning}"));
        }
        Ok(loaded)
    }

    /// Gives where settings come from.
    pub(crate) fn sources(&self, project: Option<&Path>, flags: &[Flag]) -> Sources {
        Sources {
            home: Some(self.home.to_path_buf()),
            project: project.map(Path::to_path_buf),
            environment: environment::texts(&self.environment),
            flags: flags.to_vec(),
        }
    }

    /// Gives what an agent in this process, or the daemon of this home, is opened with.
    pub(crate) fn agent_options(&self, login_shell: Option<PathBuf>, flags: Vec<Flag>) -> AgentOptions {
        AgentOptions {
            home: self.home.clone(),
            user_home: self.user_home.clone(),
            environment: self.environment.clone(),
            login_shell,
            flags,
            socket: String::new(),
            lease_patience: Duration::ZERO,
            guard: own_program().map(|program| (program, vec!["guard".into()])),
        }
    }

    /// Gives the run directory of the daemon of this home.
    pub(crate) fn run_dir(&self) -> RunDir {
        let runtime = self.variable("XDG_RUNTIME_DIR").map(Path::new);
        RunDir::locate(&self.home, runtime, self.lingering())
    }

    /// Gives the daemon's log file.
    pub(crate) fn daemon_log(&self) -> PathBuf {
        self.home.join("logs").join("daemon.log")
    }

    /// Says whether systemd keeps this user's runtime directory after the last login (loginctl enable-linger).
    fn lingering(&self) -> bool {
        let user = self.variable("USER").or_else(|| self.variable("LOGNAME"));
        user.is_some_and(|user| {
            !user.contains('/') && Path::new("/var/lib/systemd/linger").join(user).exists()
        })
    }
}

/// What SSH needs to know about this machine.
impl Invocation {
    /// Gives the name of the user who runs this program: from the environment, else from the account's entry.
    pub(crate) fn local_user(&self) -> String {
        let named = self
            .variable("USER")
            .or_else(|| self.variable("LOGNAME"))
            .filter(|name| !name.is_empty());
        let uid = rustix::process::getuid().as_raw();
        let accounts = || std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        named
            .map(str::to_owned)
            .or_else(|| account(&accounts(), uid))
            .unwrap_or_else(|| uid.to_string())
    }

    /// Finds a program on `PATH`.
    pub(crate) fn find_program(&self, name: &str) -> Option<PathBuf> {
        let path = self.environment.get(std::ffi::OsStr::new("PATH"))?;
        std::env::split_paths(path)
            .map(|folder| folder.join(name))
            .find(|file| file.is_file())
    }

    /// Gives the user's ssh_config where `HOME` is not the account's home, since OpenSSH looks only at the latter.
    pub(crate) fn ssh_config(&self) -> Option<PathBuf> {
        self.variable("REASONIX_SSH_CONFIG").map(PathBuf::from)
    }

    /// Gives the variables that ssh may see: no secrets, nothing of ours.
    pub(crate) fn plain_environment(&self) -> Vec<(String, String)> {
        environment::texts(&environment::scrub(self.environment.clone()))
            .into_iter()
            .collect()
    }
}

/// Gives a path that starts this very program, also when its file was replaced or removed since.
fn own_program() -> Option<PathBuf> {
    let link = Path::new("/proc/self/exe");
    if link.exists() {
        return Some(link.to_path_buf());
    }
    std::env::current_exe().ok()
}

/// Finds the name of a user in passwd(5) text. The C library's own look-up is of no use in a static program.
fn account(passwd: &str, uid: u32) -> Option<String> {
    let number = uid.to_string();
    let mut entries = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    entries
        .find(|entry| entry.get(2) == Some(&number.as_str()))
        .and_then(|entry| entry.first().map(|&name| name.to_owned()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn finds_the_account_of_a_number() {
        let passwd = "root:x:0:0:root:/root:/bin/bash\nodd\nme:x:1000:1000::/home/me:/bin/sh\n";
        assert_eq!(super::account(passwd, 0).as_deref(), Some("root"));
        assert_eq!(super::account(passwd, 1000).as_deref(), Some("me"));
        assert_eq!(super::account(passwd, 7), None);
    }
}

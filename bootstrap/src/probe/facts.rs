//! What a host is and has, as the probe found it.

use std::{fmt, time::Duration};

use protocol::Hello;

use crate::{ladder::LoginManager, script::Carriage};

/// What a host said.
#[derive(Debug, Clone, Default)]
pub struct Probe {
    /// What it is.
    pub system: System,
    /// The asked-for workspace, when one was asked for.
    pub workspace: Option<Workspace>,
    /// `REASONIX_HOME` on the host: absolute, and with symbolic links resolved if it exists.
    pub home: Vec<String>,
    /// Where `REASONIX_HOME` is kept; `None` where there is none.
    pub storage: Option<Storage>,
    /// The folder that takes programs.
    pub directory: Option<Directory>,
    /// Folders that do not, in the order they were tried.
    pub refused: Vec<RefusedDirectory>,
    /// Programs there, newest first, then the one on the PATH.
    pub installed: Vec<Installed>,
    /// Unfinished uploads there.
    pub parts: Vec<Part>,
    /// Daemons of this user that left word.
    pub daemons: Vec<Daemon>,
    /// What it can do.
    pub tools: Tools,
    /// What confines commands there.
    pub isolation: Isolation,
    /// What becomes of processes when the user logs out.
    pub login: LoginManager,
    /// How the question itself went: noise, time, clock.
    pub exchange: Exchange,
    /// How scripts reach it.
    pub carriage: Carriage,
    /// The first lines of what the questions themselves put on standard error.
    pub stderr: Vec<String>,
}

/// What a host is. Texts are empty where it did not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct System {
    /// `uname -s`.
    pub os: String,
    /// `uname -m`.
    pub arch: String,
    /// The C library: `musl` or `glibc 2.36`.
    pub libc: String,
    /// Number of the user.
    pub uid: Option<u32>,
    /// The user's home directory.
    pub home: String,
    /// The login shell.
    pub shell: String,
    /// The machine id, hashed as in a hello.
    pub machine: String,
    /// The kernel's boot id.
    pub boot_id: String,
    /// The host's clock, in seconds since the epoch.
    pub clock: Option<u64>,
    /// Whether systemd keeps the user's processes after logout.
    pub lingering: bool,
    /// `uname -r`.
    pub kernel: String,
    /// Names of the set variables that name HTTP proxies, such as `https_proxy`. Values may hold passwords and stay there.
    pub proxies: Vec<String>,
}

/// What confines commands on a host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Isolation {
    /// Whether bubblewrap confines a command of this user; `None` where it is not installed, else why not.
    pub bubblewrap: Option<Result<(), String>>,
    /// Whether this user may make user namespaces; `None` where it could not be tried.
    pub user_namespaces: Option<Result<(), String>>,
    /// Whether Landlock is among the active security modules; `None` where the host does not tell.
    pub landlock_active: Option<bool>,
}

impl Isolation {
    /// Gives the version of Landlock's interface that a Linux kernel release brings (landlock(7)), 0 before 5.13.
    /// Distributions may have brought a later one to an earlier kernel.
    #[must_use]
    pub fn landlock_abi(kernel: &str) -> Option<u32> {
        const SINCE: [((u32, u32), u32); 7] = [
            ((6, 15), 7),
            ((6, 12), 6),
            ((6, 10), 5),
            ((6, 7), 4),
            ((6, 2), 3),
            ((5, 19), 2),
            ((5, 13), 1),
        ];
        let mut numbers = kernel.split(|c: char| !c.is_ascii_digit()).map(str::parse);
        let release = (numbers.next()?.ok()?, numbers.next()?.ok()?);
        let found = SINCE.iter().find(|(since, _)| release >= *since);
        Some(found.map_or(0, |(_, abi)| *abi))
    }
}

/// The disk of a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Storage {
    /// Absolute path of the folder that was looked at: `REASONIX_HOME`, its sessions, or what exists above it.
    pub path: String,
    /// Why files cannot be written there, in the host's words.
    pub unwritable: Option<String>,
    /// Free bytes for this user, `None` where unknown. Quotas may allow less.
    pub free: Option<u64>,
    /// Free inodes, each of which is one more file. `None` where unknown or without a limit.
    pub inodes: Option<u64>,
    /// The tightest quota of this user, where the host says.
    pub quota: Option<Quota>,
    /// The kind of file system as `stat -f` names it, empty where unknown.
    pub kind: String,
    /// Whether files can be locked there (`flock`), `None` where it could not be tried.
    pub locks: Option<bool>,
}

/// What a quota leaves, as `quota` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Bytes used.
    pub used: u64,
    /// Bytes allowed; the hard limit where both are set.
    pub limit: u64,
}

/// How asking went.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exchange {
    /// From sending the question to the end of the answer.
    pub took: Duration,
    /// How far the host's clock is ahead of ours, in seconds; negative when it is behind. Differences that the time of
    /// the exchange and whole seconds explain count as none. `None` where the host has no clock to tell.
    pub skew: Option<i64>,
    /// The first lines that start-up files wrote to standard output before any answer, shortened.
    pub noise: Vec<String>,
    /// The same for standard error.
    pub stderr_noise: Vec<String>,
}

/// What a host has. Names of programs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tools {
    /// `zstd`, `gzip`, `dd`, `flock`, `bwrap`, as far as they are there.
    pub found: Vec<String>,
    /// The program that computes SHA-256.
    pub hash: Option<String>,
}

impl Tools {
    /// Says whether a tool is there.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.found.iter().any(|found| found == name)
    }
}

/// What became of the asked-for workspace. Paths are absolute paths on the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Workspace {
    /// Can be entered; symbolic links resolved.
    Ready(String),
    /// Nothing is there.
    Missing(String),
    /// Something else is there.
    NotADirectory(String),
    /// The user may not enter it, or a folder above it.
    Denied(String),
    /// A symbolic link to nothing.
    Dangling(String),
    /// No host can have such a name.
    Unusable(String),
}

impl fmt::Display for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready(path) => write!(f, "workspace {path}"),
            Self::Missing(path) => write!(f, "workspace {path} does not exist"),
            Self::NotADirectory(path) => write!(f, "workspace path {path} is not a folder"),
            Self::Denied(path) => write!(f, "workspace {path} may not be entered (permission denied)"),
            Self::Dangling(path) => write!(f, "workspace {path} is a symbolic link to nothing"),
            Self::Unusable(path) => write!(f, "workspace {path:?} is not a usable path"),
        }
    }
}

/// A folder in which files of ours were seen to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    /// Absolute path.
    pub path: String,
    /// Free bytes for this user, `None` where unknown. Quotas may allow less.
    pub free: Option<u64>,
    /// Free inodes, `None` where unknown or without a limit.
    pub inodes: Option<u64>,
    /// Why nothing can be written although the folder would do, in the host's words: full, or a quota used up.
    pub full: Option<String>,
}

/// A folder that takes no programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedDirectory {
    /// Absolute path.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// A program that is there already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// Absolute path.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// What it printed for `--version`; `None` if it was not run or printed nothing.
    pub version_output: Option<String>,
}

impl Installed {
    /// Gives the file name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Gives the folder.
    #[must_use]
    pub fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Gives the version it printed: the word after `reasonix` in its first line.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        let mut words = self.version_output.as_deref()?.lines().next()?.split_whitespace();
        words.find(|word| *word == "reasonix").and_then(|_| words.next())
    }

    /// Gives the protocol versions it printed, in a line `protocol MIN..MAX`.
    #[must_use]
    pub fn protocol(&self) -> Option<protocol::VersionRange> {
        let lines = self.version_output.as_deref()?.lines();
        let (min, max) = lines
            .filter_map(|line| line.trim().strip_prefix("protocol "))
            .find_map(|range| range.split_once(".."))?;
        Some(protocol::VersionRange {
            min: min.parse().ok()?,
            max: max.parse().ok()?,
        })
    }
}

/// An unfinished upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// File name.
    pub name: String,
    /// Bytes it has, all from the beginning on.
    pub size: u64,
}

/// A daemon that left word in a run directory.
#[derive(Debug, Clone)]
pub struct Daemon {
    /// What it says; `None` if it is not readable to this version.
    pub hello: Option<Hello>,
    /// Its `REASONIX_HOME`.
    pub home: Option<String>,
    /// Whether it runs.
    pub proof: Proof,
}

impl Daemon {
    /// Gives the path of the program it runs.
    #[must_use]
    pub fn program(&self) -> Option<&str> {
        self.hello
            .as_ref()
            .map(|hello| hello.identity.program.as_str())
            .filter(|path| !path.is_empty())
    }
}

/// Whether the process that left word is still the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// Process id, start time and boot agree.
    Runs,
    /// They do not, or there is no such process.
    Gone,
    /// A process has the number; the host cannot tell more.
    Unsure,
}

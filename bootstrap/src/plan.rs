//! What to do, from what a host is and what is wanted. Pure.

use protocol::{Hello, VersionRange};

use crate::{
    artifact::Artifact,
    error::{ErrorKind, Scarce, StorageError},
    ladder::{self, Rung},
    layout,
    probe::{Directory, Installed, Part, Probe, Proof},
    prune,
};

/// Whether programs may be put on the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Install {
    /// When nothing there speaks our protocol.
    #[default]
    Auto,
    /// Whenever this very build is not there.
    Upload,
    /// Not at all.
    Never,
    /// Not at all, and nothing is started either: only an agent that runs will do.
    Attach,
}

/// What is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Whether programs may be put there.
    pub install: Install,
    /// This program's version.
    pub version: String,
    /// Protocol versions this program speaks.
    pub protocol: VersionRange,
}

/// One thing to do on the host. Each is one command.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Use the daemon that runs.
    Attach(Box<Hello>),
    /// Upload, verify, try, rename and prune.
    Install(InstallStep),
    /// Start the daemon of this program, or find it running.
    Launch {
        /// Absolute path.
        program: String,
        /// Whether only a daemon of this very program will do; another one that runs finishes its turns beside it.
        own: bool,
        /// The ways to keep it running that may work, best first.
        rungs: Vec<Rung>,
    },
}

/// How to put a program there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallStep {
    /// The folder, an absolute path.
    pub directory: String,
    /// A part to go on with.
    pub resume: Option<Part>,
    /// Names to remove afterwards, unless they run.
    pub remove: Vec<String>,
    /// The program that computes SHA-256.
    pub hash: String,
}

impl InstallStep {
    /// Gives the offset in bytes from which the program is sent.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.resume
            .as_ref()
            .map_or(0, |part| part.size / layout::BLOCK * layout::BLOCK)
    }
}

/// Finds a daemon that runs, is ours and speaks a common protocol version.
///
/// With [`Install::Upload`] it must also be of our version.
#[must_use]
pub fn attachable(probe: &Probe, request: &Request) -> Option<Hello> {
    attachable_build(probe, request, None)
}

/// Finds the same. With [`Install::Upload`] it must run a program of this file name, where one is given.
fn attachable_build(probe: &Probe, request: &Request, build: Option<&str>) -> Option<Hello> {
    let is_wanted = |hello: &Hello| match build {
        Some(build) => hello.identity.program.rsplit('/').next() == Some(build),
        None => hello.build.version == request.version,
    };
    let fits = |hello: &&Hello| {
        !hello.draining
            && hello.protocol.common(request.protocol).is_some()
            && (request.install != Install::Upload || is_wanted(hello))
    };
    running(probe).find(fits).cloned()
}

/// Lists the daemons of this home that are known to run.
pub(crate) fn running(probe: &Probe) -> impl Iterator<Item = &Hello> {
    let ours = |home: &Option<String>| home.as_ref().is_some_and(|home| probe.home.contains(home));
    let daemons = probe.daemons.iter();
    daemons
        .filter(move |daemon| daemon.proof == Proof::Runs && ours(&daemon.home))
        .filter_map(|daemon| daemon.hello.as_ref())
}

/// Decides. `offer` is the program for the host's kind, or why there is none; it is not looked at where nothing may be
/// installed.
///
/// # Errors
/// The reason why nothing can be done.
pub fn plan(
    probe: &Probe,
    request: &Request,
    offer: Result<&Artifact, ErrorKind>,
) -> Result<Vec<Step>, ErrorKind> {
    let build = offer.as_ref().ok().map(|artifact| artifact.name());
    if let Some(hello) = attachable_build(probe, request, build.as_deref()) {
        return Ok(vec![Step::Attach(Box::new(hello))]);
    }
    let launch = |program: &Installed| {
        keeps_sessions(probe)?;
        Ok(vec![start(probe, request, program.path.clone())])
    };
    let capable = || probe.installed.iter().find(|program| speaks(program, request));
    match (request.install, offer) {
        (Install::Attach, _) => Err(ErrorKind::NotRunning),
        (Install::Never, _) => {
            // A program that does not say what it speaks may still do: the launch will tell.
            let any = || probe.installed.iter().find(|program| program.version().is_some());
            capable()
                .or_else(any)
                .map_or(Err(ErrorKind::NotInstalled), launch)
        }
        (install, Ok(artifact)) => {
            let name = artifact.name();
            let exact = probe
                .installed
                .iter()
                .find(|p| p.name() == name && p.size == artifact.size());
            // Another build of the very same version is a developer's older one: not taken for ours.
            let other =
                || capable().filter(|p| install == Install::Auto && p.version() != Some(artifact.version()));
            match exact.or_else(other) {
                Some(program) => launch(program),
                None => install_steps(probe, request, artifact),
            }
        }
        (Install::Auto, Err(reason)) => capable().map_or(Err(reason), launch),
        (Install::Upload, Err(reason)) => Err(reason),
    }
}

fn speaks(program: &Installed, request: &Request) -> bool {
    program
        .protocol()
        .is_some_and(|protocol| protocol.common(request.protocol).is_some())
}

fn start(probe: &Probe, request: &Request, program: String) -> Step {
    Step::Launch {
        program,
        own: request.install == Install::Upload,
        rungs: ladder::ladder(probe),
    }
}

fn install_steps(probe: &Probe, request: &Request, artifact: &Artifact) -> Result<Vec<Step>, ErrorKind> {
    keeps_sessions(probe)?;
    let directory = probe.directory.as_ref().ok_or_else(|| no_directory(probe))?;
    let hash = probe.tools.hash.clone().ok_or(ErrorKind::NoHashTool)?;
    let fits = |part: &&Part| layout::is_part_of(&part.name, artifact.sum()) && part.size <= artifact.size();
    let resume = probe
        .parts
        .iter()
        .filter(fits)
        .max_by_key(|part| part.size)
        .cloned();
    enough_space(directory, artifact, resume.as_ref()).map_err(ErrorKind::Storage)?;
    let name = artifact.name();
    let remove = prune::removable(&probe.installed, &probe.daemons, &directory.path, &name);
    let program = format!("{}/{name}", directory.path);
    let install = InstallStep {
        directory: directory.path.clone(),
        resume,
        remove,
        hash,
    };
    Ok(vec![Step::Install(install), start(probe, request, program)])
}

/// Makes sure that a started agent can keep what it does: better now than in the middle of a turn.
fn keeps_sessions(probe: &Probe) -> Result<(), ErrorKind> {
    let storage = probe.storage.as_ref();
    let error = match storage.map(|storage| (storage, &storage.unwritable)) {
        Some((storage, Some(reason))) => StorageError::Sessions {
            directory: storage.path.clone(),
            reason: reason.clone(),
        },
        // A session has one writer, which is what the lock is for.
        Some((storage, None)) if storage.locks == Some(false) => StorageError::Sessions {
            directory: storage.path.clone(),
            reason: "files there cannot be locked (a network file system without a lock service?)".to_owned(),
        },
        None if probe.home.is_empty() => StorageError::NoHome,
        _ => return Ok(()),
    };
    Err(ErrorKind::Storage(error))
}

/// Needs room for the part and for the copy that is verified.
fn enough_space(
    directory: &Directory,
    artifact: &Artifact,
    resume: Option<&Part>,
) -> Result<(), StorageError> {
    let need = artifact
        .size()
        .saturating_mul(2)
        .saturating_sub(resume.map_or(0, |part| part.size));
    let missing = directory.free.map_or(0, |free| need.saturating_sub(free));
    if missing == 0 {
        Ok(())
    } else {
        Err(StorageError::NoSpace {
            directory: directory.path.clone(),
            missing,
            scarce: Scarce::judge(directory.full.as_deref().unwrap_or_default(), directory.inodes),
        })
    }
}

fn no_directory(probe: &Probe) -> ErrorKind {
    let tried: Vec<String> = probe
        .refused
        .iter()
        .map(|refused| format!("{} {}", refused.path, refused.reason))
        .collect();
    ErrorKind::Storage(StorageError::NoDirectory(if tried.is_empty() {
        "none to try".to_owned()
    } else {
        tried.join("; ")
    }))
}

#[cfg(test)]
mod tests;

//! The whole way: probe, plan, and the plan's steps one after another.

use std::sync::Arc;

use protocol::{Hello, VersionRange};

use crate::{
    artifact::{Artifact, ArtifactSource},
    error::{Error, ErrorKind, Stage, Trace},
    install::{Upload, Way},
    ladder::{Rung, Stay},
    launch::{self, Launch},
    layout,
    machine::Known,
    payload::Encoding,
    plan::{self, Install, InstallStep, Request, Step},
    platform::Target,
    probe::{self, Ask, Part, Probe, Workspace, Write},
    progress::{Progress, Update},
    remote::{Remote, RemoteError},
    script::Carriage,
};

/// Tries before a part that others keep taking over is given up.
const TRIES: u32 = 4;

/// What is wanted of a host.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The workspace: absolute, `~`, `~/x`, or relative to the home. `None` checks none.
    pub workspace: Option<String>,
    /// `REASONIX_HOME` on the host, `~` allowed. `None` is the host's own.
    pub home: Option<String>,
    /// Whether programs may be put there.
    pub install: Install,
    /// Protocol versions this program speaks.
    pub protocol: VersionRange,
    /// Where programs come from.
    pub source: ArtifactSource,
    /// How long a started agent shall stay.
    pub stay: Wish,
    /// Which machine it has to be. `None`: whichever answers.
    pub known: Option<Known>,
}

/// How long a started agent shall stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wish {
    /// As long as the host lets it.
    #[default]
    Any,
    /// As long as the connection: what was started otherwise did not stay.
    Connection,
}

/// A daemon that is ready to be connected to.
#[derive(Debug, Clone)]
pub struct Ready {
    /// How it came to be.
    pub arrival: Arrival,
    /// Who it is and where its socket is; `None` where the agent lives on the connection and begins with it.
    pub hello: Option<Hello>,
    /// How long it stays; `None` where it ran already.
    pub stay: Option<Stay>,
    /// Why it does not stay in a better way, where one was tried.
    pub fallen: Option<Arc<Error>>,
    /// The other daemons of this home that run: of other builds, or draining.
    pub others: Vec<Hello>,
    /// The program on the host, for the bridge.
    pub program: String,
    /// The absolute `REASONIX_HOME`, if one was wanted.
    pub home: Option<String>,
    /// The workspace with symbolic links resolved, if one was wanted.
    pub workspace: Option<String>,
    /// What the host said.
    pub probe: Probe,
}

/// How a daemon came to be ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// It ran already.
    Attached,
    /// It was started from a program that was there.
    Launched,
    /// The program was put there first.
    Installed,
}

/// Makes sure that a suitable daemon runs on the host.
///
/// Steps run strictly one after another, each on a channel of its own that is closed before the next one opens.
/// Dropping the future stops the way at any point without harm.
///
/// # Errors
/// Every [`Stage`] has its own; the error carries the host's command, its status and its first words.
pub async fn ensure(remote: &dyn Remote, wanted: &Wanted, progress: &dyn Progress) -> Result<Ready, Error> {
    refuse_nul(remote, wanted)?;
    let mut tries = 1;
    loop {
        match once(remote, wanted, progress).await {
            Err(error) if tries < TRIES && worth_another_try(&error) => {
                tracing::info!(%error, tries, "bootstrap begins again");
                tries += 1;
            }
            result => return result,
        }
    }
}

/// Another client took the part, or a resumed part was rotten and is gone now.
fn worth_another_try(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Contended)
}

fn refuse_nul(remote: &dyn Remote, wanted: &Wanted) -> Result<(), Error> {
    let bad = [&wanted.workspace, &wanted.home]
        .into_iter()
        .flatten()
        .find(|path| path.is_empty() || path.contains('\0'));
    bad.map_or(Ok(()), |path| {
        let kind = ErrorKind::Workspace(Workspace::Unusable(path.clone()));
        Err(Error::new(Stage::Choose, remote.host(), kind))
    })
}

async fn once(remote: &dyn Remote, wanted: &Wanted, progress: &dyn Progress) -> Result<Ready, Error> {
    progress.update(Update::Stage(Stage::Probe));
    let ask = Ask {
        workspace: wanted.workspace.as_deref(),
        home: wanted.home.as_deref(),
        write: may_write(wanted),
    };
    let probe = probe::probe(remote, &ask).await?;
    progress.update(Update::Stage(Stage::Choose));
    let refuse = |kind| {
        let trace = Trace {
            stderr: probe.stderr.clone(),
            ..Trace::default()
        };
        Error::new(Stage::Choose, remote.host(), kind).with_trace(trace)
    };
    let workspace = acceptable(&probe, wanted).map_err(refuse)?;
    let request = Request {
        install: wanted.install,
        version: wanted.source.version.clone(),
        protocol: wanted.protocol,
    };
    let (steps, artifact) = match offer(&probe, wanted, &request).await {
        Ok(artifact) => (plan::plan(&probe, &request, Ok(&artifact)), Some(artifact)),
        Err(kind) => (plan::plan(&probe, &request, Err(kind)), None),
    };
    let steps = steps.map_err(refuse)?;
    let home = wanted.home.as_ref().and(probe.home.first()).cloned();
    let run = Run {
        remote,
        progress,
        probe: &probe,
        home: home.as_deref(),
        protocol: wanted.protocol,
        stay: wanted.stay,
    };
    let Started {
        arrival,
        hello,
        stay,
        fallen,
        program,
    } = run.steps(&steps, artifact.as_ref()).await?;
    let instance = hello.as_ref().map(|hello| hello.identity.instance);
    let others = plan::running(&probe)
        .filter(|other| Some(other.identity.instance) != instance)
        .cloned()
        .collect();
    Ok(Ready {
        arrival,
        hello,
        stay,
        fallen,
        others,
        program,
        home,
        workspace,
        probe,
    })
}

/// Makes sure that it is the machine that is known, and gives the workspace that was asked for.
fn acceptable(probe: &Probe, wanted: &Wanted) -> Result<Option<String>, ErrorKind> {
    let known = wanted.known.as_ref();
    if known.is_some_and(|known| known.differs(&probe.system)) {
        return Err(ErrorKind::OtherMachine(Known {
            machine: probe.system.machine.clone(),
            uid: probe.system.uid.unwrap_or_default(),
        }));
    }
    match &probe.workspace {
        None => Ok(None),
        Some(Workspace::Ready(path)) => Ok(Some(path.clone())),
        Some(bad) => Err(ErrorKind::Workspace(bad.clone())),
    }
}

/// Says whether folders for a program may be made.
fn may_write(wanted: &Wanted) -> Write {
    match wanted.install {
        Install::Never | Install::Attach => Write::Forbidden,
        Install::Auto | Install::Upload => Write::Allowed {
            room: wanted.source.room(),
        },
    }
}

/// Reads the program for the host's kind, unless it cannot matter.
async fn offer(probe: &Probe, wanted: &Wanted, request: &Request) -> Result<Artifact, ErrorKind> {
    if matches!(wanted.install, Install::Never | Install::Attach)
        || (wanted.install != Install::Upload && plan::attachable(probe, request).is_some())
    {
        return Err(ErrorKind::NotInstalled);
    }
    let target = Target::from_uname(&probe.system.os, &probe.system.arch).map_err(ErrorKind::Platform)?;
    wanted.source.load(target).await.map_err(ErrorKind::Artifact)
}

/// What became of the plan.
struct Started {
    arrival: Arrival,
    hello: Option<Hello>,
    stay: Option<Stay>,
    fallen: Option<Arc<Error>>,
    program: String,
}

struct Run<'a> {
    remote: &'a dyn Remote,
    progress: &'a dyn Progress,
    probe: &'a Probe,
    home: Option<&'a str>,
    protocol: VersionRange,
    stay: Wish,
}

impl Run<'_> {
    async fn steps(&self, steps: &[Step], artifact: Option<&Artifact>) -> Result<Started, Error> {
        let mut arrival = Arrival::Launched;
        for step in steps {
            match step {
                Step::Attach(hello) => {
                    self.progress.update(Update::Stage(Stage::Attach));
                    return Ok(Started {
                        arrival: Arrival::Attached,
                        hello: Some(hello.as_ref().clone()),
                        stay: None,
                        fallen: None,
                        program: hello.identity.program.clone(),
                    });
                }
                Step::Install(step) => {
                    if let Some(artifact) = artifact {
                        self.install(step, artifact).await?;
                    }
                    arrival = Arrival::Installed;
                }
                Step::Launch { program, own, rungs } => {
                    self.progress.update(Update::Stage(Stage::Launch));
                    let launch = Launch {
                        program,
                        home: self.home,
                        own: *own,
                        carriage: self.probe.carriage,
                        protocol: self.protocol,
                    };
                    let started = self.climb(launch, rungs).await?;
                    return Ok(Started { arrival, ..started });
                }
            }
        }
        Err(Error::new(
            Stage::Choose,
            self.remote.host(),
            ErrorKind::NotInstalled,
        ))
    }

    /// Starts the daemon the best way that works. The last rung starts nothing: the agent begins with the connection.
    async fn climb(&self, launch: Launch<'_>, rungs: &[Rung]) -> Result<Started, Error> {
        let started = |hello, stay, fallen| Started {
            arrival: Arrival::Launched,
            hello,
            stay: Some(stay),
            fallen,
            program: launch.program.to_owned(),
        };
        let rungs = rungs.iter().copied().filter(|rung| match self.stay {
            Wish::Any => true,
            Wish::Connection => *rung == Rung::Attach,
        });
        let mut failed = None;
        for rung in rungs {
            if rung == Rung::Attach {
                return Ok(started(None, Stay::Connection, failed));
            }
            match launch::launch(self.remote, launch, rung).await {
                Ok((hello, stay)) => return Ok(started(Some(hello), stay, failed)),
                Err(error) if launch::is_about_staying(&error) => {
                    tracing::info!(%error, ?rung, "the agent does not stay on the host this way");
                    failed = Some(Arc::new(error));
                }
                Err(error) => return Err(error),
            }
        }
        Err(Error::new(
            Stage::Launch,
            self.remote.host(),
            ErrorKind::NotInstalled,
        ))
    }

    async fn install(&self, step: &InstallStep, artifact: &Artifact) -> Result<(), Error> {
        let upload = Upload {
            remote: self.remote,
            artifact,
            progress: self.progress,
        };
        let way = way(self.probe);
        let random = fresh();
        let error = match upload.install(step, &random, way).await {
            Err(error) => error,
            done => return done,
        };
        let (again, way) = match error.kind() {
            // A part from before a crash of the host may be rotten. It is gone now, so the next try sends all of it.
            ErrorKind::WrongSum { .. } if step.resume.is_some() => (None, way),
            // The command did not get all of its input, and yet the connection is there.
            ErrorKind::BadAnswer(_) | ErrorKind::Remote(RemoteError::NoInput)
                if matches!(way, Way::Stream(_)) =>
            {
                let name = layout::part(artifact.sum(), &random);
                (Some(Part { name, size: 0 }), Way::File(self.probe.carriage))
            }
            _ => return Err(error),
        };
        let step = InstallStep {
            resume: again,
            ..step.clone()
        };
        match upload.install(&step, &fresh(), way).await {
            // There is no other way: what went wrong first is worth knowing.
            Err(second) if matches!(second.kind(), ErrorKind::Remote(RemoteError::NoFiles)) => Err(error),
            result => result,
        }
    }
}

/// Chooses the way that moves the fewest bytes of those the host offers.
fn way(probe: &Probe) -> Way {
    let tools = &probe.tools;
    if probe.carriage == Carriage::CommandLine || !tools.has("dd") {
        return Way::File(probe.carriage);
    }
    let unpacks = [("zstd", Encoding::Zstd), ("gzip", Encoding::Gzip)];
    let found = unpacks.into_iter().find(|(tool, _)| tools.has(tool));
    Way::Stream(found.map_or(Encoding::Plain, |(_, encoding)| encoding))
}

/// Makes the random part of names.
fn fresh() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

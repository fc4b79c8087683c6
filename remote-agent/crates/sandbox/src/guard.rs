//! A second process that ends what commands left running when this one is killed.
//!
//! Nobody can clean up after SIGKILL but somebody else. The guard is a small process in a session of its own that holds
//! the other end of a pipe. Over it come lines: `+ GROUP START` when a command begins (its process group, and its leader's
//! start time), `b GROUP` when its leader has ended and members run on, `- GROUP` when nothing is left. When the pipe
//! ends, the process that wrote is gone, and the guard ends the groups that are left: SIGTERM, two seconds, SIGKILL. It
//! holds no secret, and inherits nothing but its end of the pipe. `watchdog.rs` is its side.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io::{self, Write as _},
    path::PathBuf,
    process::{Child, ChildStdin, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use stdx::PrivateFolder;

use crate::{kill::Group, platform};

/// What the name of the folder begins with in which a guard keeps its list.
pub const GUARD_FOLDER: &str = "reasonix-guard-";

/// How the guard's process is started.
#[derive(Debug, Clone)]
pub struct GuardProgram {
    /// The program, which calls [`crate::guard_processes`].
    pub program: PathBuf,
    /// Its arguments. The path of a folder follows them.
    pub arguments: Vec<OsString>,
    /// Where that folder is made.
    pub temp_parent: PathBuf,
}

/// The guard of this process. Its process is started with the first command and ends with this value.
#[derive(Debug)]
pub struct Guard {
    program: GuardProgram,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    process: Option<(Child, ChildStdin)>,
    folder: Option<PrivateFolder>,
    /// The groups that it was told of, for another one if it dies.
    groups: BTreeMap<u32, Line>,
    /// Whether it was said already that there is none.
    warned: bool,
}

#[derive(Debug, Clone, Copy)]
struct Line {
    start: u64,
    background: bool,
}

impl Guard {
    /// Makes a guard. Nothing is started.
    #[must_use]
    pub fn new(program: GuardProgram) -> Arc<Self> {
        Arc::new(Self {
            program,
            state: Mutex::default(),
        })
    }

    /// Ends the guard's process, which ends what is left, and waits for that. Blocks for as long as a group needs to end.
    pub fn close(&self) {
        let mut state = self.lock();
        if let Some((mut child, pipe)) = state.process.take() {
            drop(pipe);
            // It was not stopped by anybody, or it is killed with its session.
            let _ended = child.wait();
        }
        state.groups.clear();
        state.folder = None;
    }

    /// Hands a group over to the guard for as long as it has to be watched.
    pub(crate) fn watch(self: &Arc<Self>, group: Group) -> Watched {
        let number = group.number();
        // Where the system does not tell when a process started, nothing could be proven later.
        if let Some(start) = platform::start_time(number) {
            let background = false;
            self.tell(number, Some(Line { start, background }));
        }
        Watched {
            guard: Arc::clone(self),
            group: Some(number),
        }
    }

    fn leave(&self, group: u32) {
        let known = self.lock().groups.get(&group).copied();
        if let Some(line) = known {
            let background = true;
            self.tell(group, Some(Line { background, ..line }));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the line that makes the list of the guard's process equal to ours, or everything to a new one.
    fn tell(&self, group: u32, now: Option<Line>) {
        let mut state = self.lock();
        // Those left behind end by themselves.
        state
            .groups
            .retain(|group, line| !line.background || exists(*group));
        let before = match now {
            Some(line) => state.groups.insert(group, line),
            None => state.groups.remove(&group),
        };
        if before.is_none() && now.is_none() {
            return;
        }
        let line = match now {
            Some(line) if before.is_none() => format!("+ {group} {}\n", line.start),
            Some(_) => format!("b {group}\n"),
            None => format!("- {group}\n"),
        };
        let written = match &mut state.process {
            Some((_, pipe)) => pipe.write_all(line.as_bytes()),
            None if now.is_none() => return,
            None => Err(io::ErrorKind::NotConnected.into()),
        };
        if written.is_ok() {
            return;
        }
        if let Err(error) = state.start(&self.program)
            && !std::mem::replace(&mut state.warned, true)
        {
            tracing::warn!(%error, "no guard: what commands run would survive a kill of this process");
        }
    }
}

fn exists(group: u32) -> bool {
    Group::of_leader(group).is_some_and(|group| group.exists() && !group.is_reused())
}

impl State {
    /// Starts a process, in place of one that died, and tells it everything.
    fn start(&mut self, program: &GuardProgram) -> io::Result<()> {
        if let Some((mut dead, pipe)) = self.process.take() {
            drop(pipe);
            // It cannot be heard any more; it is only collected here.
            let _gone = dead.kill().and_then(|()| dead.wait());
        }
        let folder = match self.folder.take() {
            Some(folder) => folder,
            None => PrivateFolder::create(&program.temp_parent, GUARD_FOLDER)?,
        };
        let folder = self.folder.insert(folder);
        let mut child = stdx::process::blocking_command(&program.program)
            .args(&program.arguments)
            .arg(folder.path())
            .current_dir("/")
            .stdin(Stdio::piped())
            .spawn()?;
        let mut pipe = child
            .stdin
            .take()
            .ok_or_else(|| io::Error::other("it has no standard input"))?;
        let flags = rustix::fs::fcntl_getfl(&pipe)?;
        // A guard that was stopped must not stop this process.
        rustix::fs::fcntl_setfl(&pipe, flags | rustix::fs::OFlags::NONBLOCK)?;
        let mut text = String::new();
        for (group, line) in &self.groups {
            text += &format!("+ {group} {}\n", line.start);
            if line.background {
                text += &format!("b {group}\n");
            }
        }
        pipe.write_all(text.as_bytes())?;
        self.process = Some((child, pipe));
        Ok(())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.close();
    }
}

/// A group under guard. Dropping it means that nothing of the group is left.
#[derive(Debug)]
pub(crate) struct Watched {
    guard: Arc<Guard>,
    /// `None` once nothing more is to be said of it here.
    group: Option<u32>,
}

impl Watched {
    /// Says that the group's leader has ended and members run on. The guard forgets the group by itself when they end.
    pub(crate) fn leave(mut self) {
        if let Some(group) = self.group.take() {
            self.guard.leave(group);
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(group) = self.group.take() {
            self.guard.tell(group, None);
        }
    }
}

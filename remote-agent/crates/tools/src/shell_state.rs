//! The folder and the variables that a shell passes on to the next one.
//!
//! Each command runs in a fresh shell. As it exits, it writes where it is and what it exports to a private file, and
//! the next shell starts there with that. A shell that was killed passes nothing on.

use std::{
    ffi::OsString,
    fs,
    io::{self, Read as _},
    os::unix::{ffi::OsStringExt as _, fs::OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use rustix::fs::OFlags;
use sandbox::{Environment, Mode};
use stdx::{AbsPath, PrivateFolder};

/// What the name of a shell's private folder begins with.
pub const SHELL_FOLDER: &str = "reasonix-shell-";

/// The largest state that is taken over, in bytes; systems pass no larger environment.
const MAX_STATE: u64 = 4 * 1024 * 1024;

/// Variables that belong to one shell, or that are set anew for every command.
const NOT_PASSED_ON: &[&str] = &["_", "PWD", "SHLVL", "TMPDIR", "TMP", "TEMP", "XDG_CACHE_HOME"];

/// What one agent's shell remembers.
#[derive(Debug)]
pub struct ShellState {
    temp_parent: AbsPath,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    folder: Option<Arc<PrivateFolder>>,
    snapshot: Option<Snapshot>,
    calls: u64,
}

/// How a shell ended.
#[derive(Debug, Clone)]
pub(crate) struct Snapshot {
    pub(crate) directory: PathBuf,
    pub(crate) environment: Environment,
    /// What it was confined to. A state from inside a sandbox is not carried out of it.
    mode: Mode,
}

/// Where one command leaves its state.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) folder: AbsPath,
    pub(crate) file: PathBuf,
    /// Keeps the folder until the command has ended.
    _owner: Arc<PrivateFolder>,
}

impl ShellState {
    /// Makes the state of a fresh shell, which keeps a private folder in `temp_parent` once it is used.
    #[must_use]
    pub fn new(temp_parent: AbsPath) -> Self {
        Self {
            temp_parent,
            inner: Mutex::default(),
        }
    }

    /// Forgets everything: the next shell starts fresh in the workspace.
    pub fn reset(&self) {
        self.lock().snapshot = None;
    }

    /// Gives the folder that the next command starts in, where it is not the workspace.
    #[must_use]
    pub fn directory(&self) -> Option<PathBuf> {
        self.lock()
            .snapshot
            .as_ref()
            .map(|snapshot| snapshot.directory.clone())
    }

    /// Gives how the last shell ended, if it was confined as the next one will be.
    pub(crate) fn snapshot(&self, mode: Mode) -> Option<Snapshot> {
        self.lock()
            .snapshot
            .clone()
            .filter(|snapshot| snapshot.mode == mode)
    }

    /// Makes the place for the next command's state.
    pub(crate) fn slot(&self) -> io::Result<Slot> {
        let mut inner = self.lock();
        let owner = match &inner.folder {
            Some(folder) => Arc::clone(folder),
            None => {
                let made = PrivateFolder::create(self.temp_parent.as_path(), SHELL_FOLDER)?;
                Arc::clone(inner.folder.insert(Arc::new(made)))
            }
        };
        inner.calls += 1;
        let folder = AbsPath::new(owner.path()).map_err(io::Error::other)?;
        let file = folder.join(format!("state-{}", inner.calls));
        Ok(Slot {
            folder,
            file,
            _owner: owner,
        })
    }

    /// Takes over what a command left. Without anything, as after `exec`, the earlier state stays.
    pub(crate) fn take_over(&self, slot: &Slot, mode: Mode) {
        if let Some(snapshot) = read(&slot.file, mode) {
            self.lock().snapshot = Some(snapshot);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // There is no file when the shell was killed, and the whole folder goes with the session.
        let _absent = fs::remove_file(&self.file);
    }
}

/// Gives the script that runs `command` in `directory` and leaves the state in `file`.
///
/// Everything stands on one line before the command, so that the line numbers in the shell's messages are right.
pub(crate) fn script(command: &str, directory: Option<&Path>, file: &Path) -> String {
    let keep = format!(
        "{{ printf '%s\\0' \"$PWD\"; /usr/bin/env -0; }} 2>/dev/null >|{}",
        quoted(&file.to_string_lossy())
    );
    let trap = format!("trap {} EXIT; ", quoted(&keep));
    // A folder whose name is not UTF-8 cannot be named here and counts as gone.
    let enter = directory.map(|directory| {
        let directory = quoted(&directory.to_string_lossy());
        format!(
            "cd -- {directory} 2>/dev/null || \
             printf 'folder %s is gone; this command runs in the workspace\\n' {directory} >&2; "
        )
    });
    trap + &enter.unwrap_or_default() + command
}

/// Quotes for a POSIX shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn read(file: &Path, mode: Mode) -> Option<Snapshot> {
    // A command could have put anything there, such as a link or a pipe.
    let meta = file.symlink_metadata().ok()?;
    if !meta.is_file() || meta.len() > MAX_STATE {
        return None;
    }
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut bytes = Vec::new();
    let opened = fs::OpenOptions::new()
        .read(true)
        .custom_flags(i32::try_from(flags.bits()).ok()?)
        .open(file);
    opened.ok()?.take(MAX_STATE).read_to_end(&mut bytes).ok()?;
    let mut parts = bytes.strip_suffix(b"\0")?.split(|byte| *byte == 0);
    let directory = PathBuf::from(OsString::from_vec(parts.next()?.to_vec()));
    if !directory.is_absolute() {
        return None;
    }
    let environment = Environment::restored(parts.filter_map(variable));
    Some(Snapshot {
        directory,
        environment,
        mode,
    })
}

fn variable(entry: &[u8]) -> Option<(OsString, OsString)> {
    let equals = entry.iter().position(|byte| *byte == b'=').filter(|at| *at > 0)?;
    let (name, value) = (&entry[..equals], &entry[equals + 1..]);
    let passed_on = !NOT_PASSED_ON.iter().any(|kept| kept.as_bytes() == name);
    passed_on.then(|| {
        (
            OsString::from_vec(name.to_vec()),
            OsString::from_vec(value.to_vec()),
        )
    })
}

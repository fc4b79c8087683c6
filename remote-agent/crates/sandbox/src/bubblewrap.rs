//! The command line of bubblewrap for a policy.
//!
//! Two flags one might expect are missing on purpose. `--new-session` would move the command to another process
//! group, out of reach of the signals that end it; the command has a session without a terminal anyway. And
//! `--die-with-parent` would kill what a command left in the background as soon as its shell exits.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use stdx::AbsPath;

use crate::{
    Mode, Network, Policy,
    git_dirs::{self, GitDirs},
    layers::{Layer, Layers},
};

/// Capabilities that root keeps: what working with files of several owners needs, nothing that undoes a mount.
const ROOT_CAPABILITIES: &[&str] = &[
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_SETGID",
    "CAP_SETUID",
];

/// Device files that computing needs beyond bubblewrap's minimal `/dev`, where a host has them.
const DEVICE_PREFIXES: &[&str] = &["nvidia", "dri", "kfd"];

/// Where the private temporary folder is seen from inside.
pub(crate) const INSIDE_TMP: &str = "/tmp";

/// Flags that every confined command has: the file system read-only, processes, IPC and devices of its own.
///
/// Without a process namespace `/proc/<pid>/root` of any process of the same user would be a way out.
pub(crate) fn base_arguments() -> Vec<OsString> {
    let mut line = Line::default();
    line.flag("--unshare-pid").flag("--unshare-ipc");
    line.mount("--ro-bind", "/", "/")
        .on("--dev", "/dev")
        .on("--proc", "/proc");
    line.on("--cap-drop", "ALL");
    if rustix::process::geteuid().is_root() {
        for capability in ROOT_CAPABILITIES {
            line.on("--cap-add", capability);
        }
    }
    line.0
}

/// Folders that a command has beside what its policy names.
#[derive(Debug)]
pub(crate) struct OwnDirs<'a> {
    /// What is its `/tmp`.
    pub(crate) tmp: &'a Path,
    /// What it may write.
    pub(crate) writable: &'a [AbsPath],
    /// What it sees.
    pub(crate) shown: &'a [AbsPath],
}

/// Gives the arguments, up to and including `--`, that enforce `policy`.
///
/// Paths are resolved now: a folder swapped for a link later is not followed. Missing write roots are left out.
pub(crate) fn arguments(policy: &Policy, own: &OwnDirs<'_>) -> io::Result<Vec<OsString>> {
    let workspace = policy.workspace.canonicalize()?;
    let mut line = Line(base_arguments());
    if policy.network == Network::Denied {
        line.flag("--unshare-net");
    }
    for device in computing_devices() {
        line.mount("--dev-bind-try", &device, &device);
    }
    line.mount("--bind", own.tmp, INSIDE_TMP);

    let mut visible: Vec<PathBuf> = own
        .writable
        .iter()
        .chain(own.shown)
        .filter_map(|dir| dir.canonicalize().ok())
        .collect();
    let roots = match policy.mode {
        Mode::WorkspaceWrite => writable_roots(&workspace, &policy.write_roots),
        Mode::ReadOnly | Mode::Unconfined => Vec::new(),
    };
    visible.extend(roots.iter().cloned());
    if roots.is_empty() && workspace.starts_with(INSIDE_TMP) {
        // The private /tmp hides the workspace, so it is shown again.
        line.mount("--ro-bind", &workspace, &workspace);
        visible.push(workspace.clone());
    }
    let layers = Layers::new(policy, &workspace, roots, &visible);
    line.layers(&layers);
    for root in &layers.roots {
        if let Some(repository) = git_dirs::find(root) {
            line.repository(&repository);
        }
    }
    for dir in own.writable {
        line.mount("--bind", dir.as_path(), dir.as_path());
    }
    for dir in own.shown {
        // It may have gone since.
        line.mount("--ro-bind-try", dir.as_path(), dir.as_path());
    }
    for path in &layers.hidden {
        line.hide(path);
    }
    line.on("--chdir", &workspace);
    line.flag("--");
    Ok(line.0)
}

/// Gives the workspace and the existing write roots, parents before children, without links.
fn writable_roots(workspace: &Path, roots: &[AbsPath]) -> Vec<PathBuf> {
    let mut all: Vec<_> = roots.iter().filter_map(|root| root.canonicalize().ok()).collect();
    all.push(workspace.to_owned());
    all.sort();
    all.dedup();
    all
}

/// Lists graphics and computing devices.
fn computing_devices() -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir("/dev") else {
        return Vec::new();
    };
    let mut found: Vec<_> = entries
        .filter_map(Result::ok)
        .filter(|entry| {
            let name = entry.file_name();
            DEVICE_PREFIXES
                .iter()
                .any(|prefix| name.to_string_lossy().starts_with(prefix))
        })
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

/// A command line under construction.
#[derive(Default)]
struct Line(Vec<OsString>);

impl Line {
    fn flag(&mut self, flag: &str) -> &mut Self {
        self.0.push(flag.into());
        self
    }

    fn on(&mut self, flag: &str, value: impl AsRef<Path>) -> &mut Self {
        self.flag(flag).0.push(value.as_ref().into());
        self
    }

    fn mount(&mut self, flag: &str, from: impl AsRef<Path>, to: impl AsRef<Path>) -> &mut Self {
        self.on(flag, from).0.push(to.as_ref().into());
        self
    }

    /// Makes a repository's folders writable and what git executes on a person's behalf read-only.
    ///
    /// Each folder is a mount of its own, so that it cannot be moved away and replaced.
    fn repository(&mut self, repository: &GitDirs) {
        for folder in &repository.writable {
            self.mount("--bind", folder, folder);
        }
        for path in &repository.protected {
            self.mount("--ro-bind", path, path);
        }
        for hooks in &repository.absent_hooks {
            self.empty(hooks);
        }
    }

    /// Shows an empty folder that cannot be written.
    fn empty(&mut self, folder: &Path) {
        self.on("--tmpfs", folder).on("--remount-ro", folder);
    }

    /// Mounts writable folders and shadows, parents before children.
    fn layers(&mut self, layers: &Layers) {
        for (path, layer) in &layers.mounts {
            match layer {
                Layer::Writable => drop(self.mount("--bind", path, path)),
                Layer::Shadow(shown) => {
                    self.on("--tmpfs", path);
                    for child in shown {
                        self.mount("--ro-bind-try", child, child);
                    }
                }
            }
        }
        for (path, layer) in &layers.mounts {
            if matches!(layer, Layer::Shadow(_)) {
                self.on("--remount-ro", path);
            }
        }
    }

    /// Covers a path that can be seen from inside.
    fn hide(&mut self, path: &Path) {
        if path.is_dir() {
            self.empty(path);
        } else {
            self.mount("--ro-bind", "/dev/null", path);
        }
    }
}

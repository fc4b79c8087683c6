//! The command line of bubblewrap for a policy.
//!
//! Two flags one might expect are missing on purpose. `--new-session` would move the command to another process
//! group, out of reach of the signals that end it; the command has a session without a terminal anyway. And
//! `--die-with-parent` would kill what a command left in the background as soon as its shell exits.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use stdx::AbsPath;

use crate::{
    Mode, Network, Policy,
    git_dirs::{self, GitDirs},
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

/// Gives the arguments, up to and including `--`, that enforce `policy`.
///
/// Paths are resolved now: a folder swapped for a link later is not followed. Missing write roots are left out.
pub(crate) fn arguments(
    policy: &Policy,
    private_tmp: &Path,
    private_dirs: &[AbsPath],
) -> io::Result<Vec<OsString>> {
    let workspace = policy.workspace.canonicalize()?;
    let mut line = Line(base_arguments());
    if policy.network == Network::Denied {
        line.flag("--unshare-net");
    }
    for device in computing_devices() {
        line.mount("--dev-bind-try", &device, &device);
    }
    line.mount("--bind", private_tmp, INSIDE_TMP);

    let mut visible: Vec<PathBuf> = private_dirs
        .iter()
        .filter_map(|dir| dir.canonicalize().ok())
        .collect();
    if policy.mode == Mode::WorkspaceWrite {
        let roots = writable_roots(&workspace, &policy.write_roots);
        let repositories: Vec<_> = roots.iter().filter_map(|root| git_dirs::find(root)).collect();
        for (path, flag) in binds(&roots, policy) {
            line.mount(flag, &path, &path);
        }
        visible.extend(roots);
        for repository in repositories {
            line.repository(&repository);
        }
    } else if workspace.starts_with(INSIDE_TMP) {
        // The private /tmp hides the workspace, so it is shown again.
        line.mount("--ro-bind", &workspace, &workspace);
        visible.push(workspace.clone());
    }
    for dir in private_dirs {
        line.mount("--bind", dir.as_path(), dir.as_path());
    }
    for denied in &policy.read_deny {
        line.hide(denied, &visible);
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

/// Gives what is mounted of the writable roots, parents before children, with the flag for each.
///
/// Protected folders become read-only mounts. Every folder on the way from a root to a protected or hidden path is a
/// mount of its own: a mount cannot be renamed, so the path cannot be moved to where nobody looks for it.
fn binds(roots: &[PathBuf], policy: &Policy) -> BTreeMap<PathBuf, &'static str> {
    let existing = |paths: &[AbsPath]| -> Vec<PathBuf> {
        paths.iter().filter_map(|path| path.canonicalize().ok()).collect()
    };
    let (protected, hidden) = (existing(&policy.write_deny), existing(&policy.read_deny));
    let depth = |path: &Path, holders: &[PathBuf]| -> Option<usize> {
        let holding = holders.iter().filter(|holder| path.starts_with(holder));
        holding.map(|holder| holder.components().count()).max()
    };
    let below_root = |path: &&Path| depth(path, roots).is_some() && !roots.iter().any(|root| root == path);
    let mut binds: BTreeMap<PathBuf, &'static str> = BTreeMap::new();
    let ways = hidden.iter().flat_map(|path| path.ancestors().skip(1));
    let ways = ways.chain(protected.iter().flat_map(|path| path.ancestors()));
    let inner = ways.filter(below_root).map(Path::to_owned);
    for path in roots.iter().cloned().chain(inner) {
        // The nearest of the folders that hold it decides.
        let flag = if depth(&path, roots) >= depth(&path, &protected) {
            "--bind"
        } else {
            "--ro-bind"
        };
        binds.insert(path, flag);
    }
    binds
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

    /// Covers a path that exists and can be seen from inside.
    fn hide(&mut self, denied: &AbsPath, visible: &[PathBuf]) {
        let Ok(path) = denied.canonicalize() else { return };
        let covered_by_tmp =
            path.starts_with(INSIDE_TMP) && !visible.iter().any(|root| path.starts_with(root));
        if covered_by_tmp {
            return;
        }
        if path.is_dir() {
            self.empty(&path);
        } else {
            self.mount("--ro-bind", "/dev/null", &path);
        }
    }
}

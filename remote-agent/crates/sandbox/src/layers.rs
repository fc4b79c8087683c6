//! What is laid over the read-only file system for a policy: writable folders, protected folders, hidden paths.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use stdx::AbsPath;

use crate::{Policy, bubblewrap::INSIDE_TMP};

/// A mount over a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Layer {
    /// The folder itself, writable.
    Writable,
    /// An empty read-only folder in which only these entries are shown.
    ///
    /// Covering a single file would not do: when somebody replaces the file, as every careful program does to write
    /// it, the cover goes with the old one, and commands that still run see the new one.
    Shadow(Vec<PathBuf>),
}

/// The mounts for a policy. All paths exist and are free of links.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Layers {
    /// The folders that may be written.
    pub(crate) roots: Vec<PathBuf>,
    /// What is mounted where, parents before children.
    pub(crate) mounts: BTreeMap<PathBuf, Layer>,
    /// What is covered after that.
    pub(crate) hidden: Vec<PathBuf>,
}

impl Layers {
    /// Looks at the file system once. `visible` are the folders that are seen in spite of the private `/tmp`.
    ///
    /// Every folder on the way from a root to a protected or hidden path is a mount of its own: a mount cannot be
    /// renamed, so the path cannot be moved to where nobody looks for it.
    pub(crate) fn new(policy: &Policy, workspace: &Path, roots: Vec<PathBuf>, visible: &[PathBuf]) -> Self {
        let seen = |path: &PathBuf| {
            !path.starts_with(INSIDE_TMP) || visible.iter().any(|folder| path.starts_with(folder))
        };
        let existing = |paths: &[AbsPath]| -> Vec<PathBuf> {
            let found = paths.iter().filter_map(|path| path.canonicalize().ok());
            found.filter(seen).collect()
        };
        let protected = existing(&policy.write_deny);
        let mut hidden = existing(&policy.read_deny);
        let is_writable = |path: &Path| depth(path, &roots) >= depth(path, &protected);

        let mut mounts: BTreeMap<PathBuf, Layer> = BTreeMap::new();
        let ways = hidden
            .iter()
            .chain(&protected)
            .flat_map(|path| path.ancestors().skip(1));
        let pins = ways.filter(|path| depth(path, &roots).is_some() && is_writable(path));
        for path in pins.map(Path::to_owned).chain(roots.iter().cloned()) {
            mounts.insert(path, Layer::Writable);
        }
        for folder in protected.iter().filter(|folder| !is_writable(folder)) {
            let needed = |child: &Path| {
                roots.iter().any(|root| root.starts_with(child)) || workspace.starts_with(child)
            };
            let shown = entries(folder)
                .into_iter()
                .filter(|child| (!has_dot(child) && !hidden.contains(child)) || needed(child))
                .collect();
            mounts.insert(folder.clone(), Layer::Shadow(shown));
        }
        // What a shadow leaves out needs no cover, and has no place for one.
        hidden.retain(|path| {
            let shadow = path.ancestors().find_map(|folder| match mounts.get(folder)? {
                Layer::Writable => Some(true),
                Layer::Shadow(shown) => Some(shown.iter().any(|child| path.starts_with(child))),
            });
            shadow.unwrap_or(true)
        });
        Self {
            roots,
            mounts,
            hidden,
        }
    }
}

/// Gives how deep the nearest of `folders` that holds `path` is.
fn depth(path: &Path, folders: &[PathBuf]) -> Option<usize> {
    let holding = folders.iter().filter(|folder| path.starts_with(folder));
    holding.map(|folder| folder.components().count()).max()
}

/// Says whether this is a hidden file, as keys and files being written are.
fn has_dot(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let listed = std::fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<_> = listed.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

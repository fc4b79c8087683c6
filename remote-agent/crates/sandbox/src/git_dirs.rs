//! The folders git writes to, which need not lie inside the workspace.
//!
//! A linked worktree or a submodule has a *file* `.git` that names a folder elsewhere. The file is content of the
//! workspace, so a command can write anything into it; it is believed only when the folder it names points back, which
//! nothing inside the sandbox could have arranged.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The largest `.git`, `gitdir` or `config` file that is read.
const MAX_POINTER: u64 = 64 * 1024;

/// A repository's folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GitDirs {
    /// Folders that git must be able to write.
    pub(crate) writable: Vec<PathBuf>,
    /// Existing files and folders below them that stay read-only: git runs or obeys them later, unconfined.
    pub(crate) protected: Vec<PathBuf>,
    /// Hook folders that do not exist and must not come into being.
    pub(crate) absent_hooks: Vec<PathBuf>,
}

/// Finds the repository that `root` (without links) is in.
pub(crate) fn find(root: &Path) -> Option<GitDirs> {
    let top = root
        .ancestors()
        .find(|folder| folder.join(".git").symlink_metadata().is_ok())?;
    let dot_git = top.join(".git");
    let kind = dot_git.symlink_metadata().ok()?.file_type();
    let folders = if kind.is_dir() {
        looks_like_repository(&dot_git).then(|| vec![dot_git])?
    } else if kind.is_file() {
        let text = read_small(&dot_git)?;
        let target = Path::new(text.trim_end_matches(['\n', '\r']).strip_prefix("gitdir: ")?);
        let git_dir = top.join(target).canonicalize().ok()?;
        linked_worktree(&dot_git, &git_dir).or_else(|| submodule(top, &git_dir))?
    } else {
        return None;
    };
    let protected = folders.iter().flat_map(|folder| protected_in(folder)).collect();
    let hooks = folders.iter().map(|folder| folder.join("hooks"));
    let absent_hooks = hooks.filter(|hooks| hooks.symlink_metadata().is_err()).collect();
    Some(GitDirs {
        writable: folders,
        protected,
        absent_hooks,
    })
}

/// Accepts `<common>/worktrees/<name>` whose `gitdir` file names this worktree.
fn linked_worktree(dot_git: &Path, git_dir: &Path) -> Option<Vec<PathBuf>> {
    let worktrees = git_dir.parent()?;
    let common = worktrees.parent()?;
    if worktrees.file_name()? != "worktrees" || !looks_like_repository(common) {
        return None;
    }
    let back = read_small(&git_dir.join("gitdir"))?;
    // git may write this path relative to the folder that holds it.
    let back = git_dir
        .join(back.trim_end_matches(['\n', '\r']))
        .canonicalize()
        .ok()?;
    (back == dot_git.canonicalize().ok()?).then(|| vec![common.to_owned()])
}

/// Accepts a repository whose `core.worktree` names this folder.
fn submodule(top: &Path, git_dir: &Path) -> Option<Vec<PathBuf>> {
    if !looks_like_repository(git_dir) {
        return None;
    }
    let config = read_small(&git_dir.join("config"))?;
    let back = config
        .lines()
        .find_map(|line| line.trim().strip_prefix("worktree = "))?;
    let back = git_dir.join(back.trim()).canonicalize().ok()?;
    (back == top).then(|| vec![git_dir.to_owned()])
}

fn looks_like_repository(folder: &Path) -> bool {
    folder.join("HEAD").is_file() && folder.join("objects").is_dir()
}

/// Lists what exists of the hooks and configuration of a repository and of its worktrees and submodules.
fn protected_in(folder: &Path) -> Vec<PathBuf> {
    let mut holders = vec![folder.to_owned()];
    for group in ["worktrees", "modules"] {
        let entries = fs::read_dir(folder.join(group))
            .into_iter()
            .flatten()
            .filter_map(Result::ok);
        holders.extend(entries.map(|entry| entry.path()));
    }
    let mut paths: Vec<_> = holders
        .iter()
        .flat_map(|holder| ["hooks", "config", "config.worktree"].map(|name| holder.join(name)))
        .filter(|path| {
            path.symlink_metadata()
                .is_ok_and(|meta| !meta.file_type().is_symlink())
        })
        .collect();
    paths.sort();
    paths
}

fn read_small(path: &Path) -> Option<String> {
    let meta = path.metadata().ok()?;
    if !meta.is_file() || meta.len() > MAX_POINTER {
        return None;
    }
    fs::read_to_string(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(at: &Path) {
        fs::create_dir_all(at.join("objects")).unwrap();
        fs::create_dir_all(at.join("hooks")).unwrap();
        fs::write(at.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(at.join("config"), "[core]\n").unwrap();
    }

    #[test]
    fn a_pointer_without_an_answer_is_not_believed() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        let (victim, workspace) = (root.join("victim"), root.join("workspace"));
        repository(&victim);
        fs::create_dir_all(victim.join("worktrees/x")).unwrap();
        fs::create_dir(&workspace).unwrap();
        for pointer in [
            "gitdir: ../victim",
            "gitdir: ../victim/worktrees/x",
            "gitdir: /",
            "gitdir: ",
            "nonsense",
        ] {
            fs::write(workspace.join(".git"), pointer).unwrap();
            assert_eq!(find(&workspace), None, "{pointer}");
        }
        fs::write(
            victim.join("worktrees/x/gitdir"),
            format!("{}\n", workspace.join(".git").display()),
        )
        .unwrap();
        fs::write(workspace.join(".git"), "gitdir: ../victim/worktrees/x\n").unwrap();
        assert_eq!(find(&workspace).unwrap().writable, [victim]);
    }

    #[test]
    fn hooks_and_configuration_are_protected() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        repository(&root.join(".git"));
        let found = find(&root.join("sub/folder")).unwrap();
        assert_eq!(
            found.protected,
            [root.join(".git/config"), root.join(".git/hooks")]
        );
    }
}

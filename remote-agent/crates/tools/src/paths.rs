//! Where path arguments lead.
//!
//! Every access goes to the resolved path: absolute, without `..`, links followed. Neither `..` nor a link therefore
//! leads out of what was checked.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use stdx::AbsPath;

use crate::{PathSubject, Subject, ToolContext, ToolError, WriteScope};

/// How many links to missing files are followed, as many as Linux follows to existing ones.
const MAX_LINKS: usize = 40;

/// A path argument that may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// What is shown to the model.
    pub(crate) shown: PathBuf,
    /// What is opened.
    pub(crate) resolved: PathBuf,
}

impl Place {
    /// Gives the shown form of a path at or below `resolved`.
    pub(crate) fn show(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.resolved) {
            Ok(below) if below.as_os_str().is_empty() => self.shown.clone(),
            Ok(below) => self.shown.join(below),
            Err(_) => path.to_owned(),
        }
    }
}

/// Resolves `raw` for reading.
///
/// # Errors
/// When the workspace is missing, the path cannot be followed, or reading it is forbidden (which looks like missing).
pub(crate) fn for_reading(raw: &str, cx: &ToolContext) -> Result<Place, ToolError> {
    let place = locate(raw, cx)?;
    if is_forbidden(&place.resolved, cx) {
        return Err(ToolError::NotFound(place.shown));
    }
    Ok(place)
}

/// Resolves `raw` for writing.
///
/// # Errors
/// As [`for_reading`], and when the path is outside the write roots.
pub(crate) fn for_writing(raw: &str, cx: &ToolContext) -> Result<Place, ToolError> {
    let place = for_reading(raw, cx)?;
    if !may_write(&place.resolved, cx) {
        let folder = place.resolved.parent().unwrap_or(&place.resolved);
        return Err(ToolError::OutsideRoots(folder.to_owned()));
    }
    Ok(place)
}

/// Gives a path argument as permission sees it.
pub(crate) fn subject(raw: &str, cx: &ToolContext) -> Subject {
    let cleaned = clean(raw, cx);
    let (resolved, inside_write_roots) = match follow(&cleaned) {
        Ok(resolved) => {
            let inside = may_write(&resolved, cx);
            (resolved, inside)
        }
        Err(_) => (cleaned.as_path().to_owned(), false),
    };
    Subject::Path(PathSubject {
        raw: raw.to_owned(),
        cleaned,
        resolved,
        inside_write_roots,
    })
}

/// Says whether a resolved path must look as if it did not exist.
pub(crate) fn is_forbidden(resolved: &Path, cx: &ToolContext) -> bool {
    forbidden(cx)
        .iter()
        .any(|forbidden| resolved.starts_with(forbidden))
}

/// Lists the resolved forms of what must look as if it did not exist.
pub(crate) fn forbidden(cx: &ToolContext) -> Vec<PathBuf> {
    cx.files
        .forbid_read
        .iter()
        .filter_map(|path| follow(path).ok())
        .collect()
}

fn locate(raw: &str, cx: &ToolContext) -> Result<Place, ToolError> {
    if !cx.workspace.is_dir() {
        return Err(ToolError::WorkspaceMissing(cx.workspace.as_path().to_owned()));
    }
    if raw.is_empty() {
        return Err(ToolError::Argument("path is required".into()));
    }
    if raw.contains('\0') {
        return Err(ToolError::Argument("path contains a NUL character".into()));
    }
    let cleaned = clean(raw, cx);
    let resolved = follow(&cleaned).map_err(ToolError::io("follow", &cleaned))?;
    Ok(Place {
        shown: cleaned.into_path_buf(),
        resolved,
    })
}

/// Makes `raw` absolute against the workspace. `~` and `~/…` lead to the home folder of the tools' environment.
fn clean(raw: &str, cx: &ToolContext) -> AbsPath {
    let below_home = raw
        .strip_prefix('~')
        .filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let home = cx
        .shell
        .environment
        .value("HOME")
        .and_then(|home| AbsPath::new(home).ok());
    match (below_home, home) {
        (Some(rest), Some(home)) => home.resolve(rest.trim_start_matches('/')),
        _ => cx.workspace.resolve(raw),
    }
}

/// Follows links as far as the path exists and appends the rest.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut current = path.to_owned();
    let mut rest: Vec<std::ffi::OsString> = Vec::new();
    let mut links = 0;
    loop {
        match current.canonicalize() {
            Ok(mut found) => {
                found.extend(rest.iter().rev());
                return Ok(found);
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Err(error) => {
                let (Some(parent), Some(name)) = (current.parent(), current.file_name()) else {
                    return Err(error);
                };
                if let Ok(target) = fs::read_link(&current) {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(io::Error::other("too many symbolic links"));
                    }
                    current = parent.canonicalize()?.join(target);
                } else {
                    rest.push(name.to_owned());
                    current = parent.to_owned();
                }
            }
        }
    }
}

fn may_write(resolved: &Path, cx: &ToolContext) -> bool {
    match &cx.files.write {
        WriteScope::Anywhere => true,
        WriteScope::Roots(roots) => roots.iter().any(|root| {
            let root = followed(root);
            let is_protected = |folder: &AbsPath| {
                let folder = followed(folder);
                resolved.starts_with(&folder) && !root.starts_with(&folder)
            };
            resolved.starts_with(&root) && !cx.files.protected.iter().any(is_protected)
        }),
    }
}

fn followed(path: &AbsPath) -> PathBuf {
    follow(path).unwrap_or_else(|_| path.as_path().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_links_even_to_what_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, root.join(name)).unwrap();
        fs::create_dir_all(root.join("dir/sub")).unwrap();
        link("dir/sub", "link");
        link("dir/missing", "dangling");
        link("loop", "loop");
        link("../outside/missing", "dir/up");
        let check =
            |path: &str, want: &str| assert_eq!(follow(&root.join(path)).unwrap(), root.join(want), "{path}");
        check("dir/new/file", "dir/new/file");
        check("link/new", "dir/sub/new");
        check("dangling", "dir/missing");
        check("dir/up", "outside/missing");
        assert!(follow(&root.join("loop")).is_err());
    }
}

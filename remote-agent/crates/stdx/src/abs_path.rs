//! Absolute paths as a type.

use std::{
    fmt,
    ops::Deref,
    path::{Component, Path, PathBuf},
};

/// A path that is absolute and lexically clean (no `.`, no `..`, no doubled separators).
///
/// Cleaning is lexical: symbolic links are not resolved, so `AbsPath` says nothing about what exists.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AbsPath(PathBuf);

/// The path given was relative.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("path {} is not absolute", .0.display())]
pub struct NotAbsolute(pub PathBuf);

impl AbsPath {
    /// Accepts an absolute path and cleans it.
    ///
    /// # Errors
    /// [`NotAbsolute`] when `path` is relative.
    pub fn new(path: impl Into<PathBuf>) -> Result<Self, NotAbsolute> {
        let path = path.into();
        if path.is_absolute() {
            Ok(Self(clean(&path)))
        } else {
            Err(NotAbsolute(path))
        }
    }

    /// Resolves `path` against `self`: an absolute path replaces it, a relative one is appended, and the result is
    /// cleaned, so `..` can leave `self`.
    #[must_use]
    pub fn resolve(&self, path: impl AsRef<Path>) -> Self {
        Self(clean(&self.0.join(path)))
    }

    /// Gives the path as a standard one.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// Gives the owned standard path.
    #[must_use]
    pub fn into_path_buf(self) -> PathBuf {
        self.0
    }
}

/// Removes `.`, resolves `..` lexically and collapses separators. `..` at the root stays at the root.
fn clean(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

impl Deref for AbsPath {
    type Target = Path;
    fn deref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<Path> for AbsPath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl fmt::Debug for AbsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for AbsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cleans_and_resolves() {
        let check = |base: &str, rel: &str, want: &str| {
            assert_eq!(
                AbsPath::new(base).unwrap().resolve(rel).as_path(),
                Path::new(want),
                "{base} + {rel}"
            );
        };
        check("/a/b", "c", "/a/b/c");
        check("/a/b", "./c//d/", "/a/b/c/d");
        check("/a/b", "../x", "/a/x");
        check("/a", "../../..", "/");
        check("/a", "/z/./y", "/z/y");
        assert!(AbsPath::new("a/b").is_err());
    }
}

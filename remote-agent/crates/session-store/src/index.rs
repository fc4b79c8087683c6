//! Where sessions are: `sessions/<workspace-slug>/<session-id>/`.

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};

use stdx::AbsPath;
use uuid::Uuid;

use crate::{StoreError, Summary, blob::make_dir, error::io_error, slug::workspace_slug};

/// The folder with all sessions of a user.
#[derive(Debug, Clone)]
pub struct Sessions {
    root: PathBuf,
}

/// The folder of one session. It exists, but its log may not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionDir {
    /// The session's id: a UUID in lower case with hyphens.
    pub id: String,
    /// The folder.
    pub path: PathBuf,
}

impl Sessions {
    /// Names the folder with all sessions; it is made with the first session.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Makes the folder of session `id` in `workspace`, private and durable, or gives the existing one.
    ///
    /// An id belongs to one workspace; the caller asks [`Sessions::get`] first.
    ///
    /// # Errors
    /// [`StoreError::BadId`] for an id that is no UUID, [`StoreError::Io`] when the system refuses.
    pub fn create(&self, workspace: &AbsPath, id: &str) -> Result<SessionDir, StoreError> {
        let id = canonical(id).ok_or_else(|| StoreError::BadId(id.to_owned()))?;
        let path = self.root.join(workspace_slug(workspace)).join(&id);
        make_dir(&path)?;
        Ok(SessionDir { id, path })
    }

    /// Finds the session with exactly this id, in any workspace.
    ///
    /// # Errors
    /// [`StoreError::BadId`] for an id that is no UUID, [`StoreError::Io`] when the folder cannot be read.
    pub fn get(&self, id: &str) -> Result<Option<SessionDir>, StoreError> {
        let id = canonical(id).ok_or_else(|| StoreError::BadId(id.to_owned()))?;
        Ok(self.all()?.into_iter().find(|session| session.id == id))
    }

    /// Finds the one session whose id is, or starts with, `wanted`.
    ///
    /// # Errors
    /// [`StoreError::NoSession`] and [`StoreError::Ambiguous`] name what was wanted; [`StoreError::Io`] when the
    /// folder cannot be read.
    pub fn find(&self, wanted: &str) -> Result<SessionDir, StoreError> {
        let prefix = canonical(wanted).unwrap_or_else(|| wanted.to_ascii_lowercase());
        let mut matches = self.all()?;
        matches.retain(|session| !prefix.is_empty() && session.id.starts_with(&prefix));
        if matches.len() > 1 {
            let matches = matches.into_iter().map(|session| session.id).collect();
            return Err(StoreError::Ambiguous {
                wanted: wanted.to_owned(),
                matches,
            });
        }
        matches
            .pop()
            .ok_or_else(|| StoreError::NoSession(wanted.to_owned()))
    }

    /// Lists all sessions, the one with the latest record first. Only the ends of each log are read. A session that
    /// cannot be read is listed with what its folder tells; one that never began is left out.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the folder with the sessions cannot be read; a missing one is empty.
    pub fn list(&self) -> Result<Vec<Summary>, StoreError> {
        Ok(summaries(self.all()?))
    }

    /// Lists the sessions of one workspace, like [`Sessions::list`].
    ///
    /// # Errors
    /// As [`Sessions::list`].
    pub fn list_in(&self, workspace: &AbsPath) -> Result<Vec<Summary>, StoreError> {
        Ok(summaries(sessions_in(
            &self.root.join(workspace_slug(workspace)),
        )?))
    }

    /// All session folders, in the order of their ids.
    fn all(&self) -> Result<Vec<SessionDir>, StoreError> {
        let mut sessions = Vec::new();
        for workspace in folders(&self.root)? {
            match sessions_in(&workspace) {
                Ok(more) => sessions.extend(more),
                // One workspace that cannot be read must not hide the others.
                Err(error) => tracing::warn!(%error, "skipped a workspace's sessions"),
            }
        }
        sessions.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(sessions)
    }
}

fn summaries(sessions: Vec<SessionDir>) -> Vec<Summary> {
    let mut list: Vec<Summary> = sessions.into_iter().filter_map(Summary::read).collect();
    list.sort_by(|a, b| (b.last_at, &b.session.id).cmp(&(a.last_at, &a.session.id)));
    list
}

fn sessions_in(workspace: &Path) -> Result<Vec<SessionDir>, StoreError> {
    let session = |path: PathBuf| {
        let name = path.file_name().and_then(OsStr::to_str)?;
        let id = canonical(name).filter(|id| id == name)?;
        Some(SessionDir { id, path })
    };
    Ok(folders(workspace)?.into_iter().filter_map(session).collect())
}

/// The folders in a folder; symbolic links are not followed, so that nobody is led elsewhere.
fn folders(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(io_error("read", folder))?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(io_error("read", folder))?;
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// The one spelling of a session id; `None` when it is no UUID. It also keeps ids from being paths.
fn canonical(id: &str) -> Option<String> {
    Uuid::try_parse(id).ok().map(|id| id.hyphenated().to_string())
}

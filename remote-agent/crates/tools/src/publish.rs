//! Replacing a file so that its readers see the old content or the new one, and everything else about it stays.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::Path,
    sync::{Mutex, PoisonError},
};

use crate::{
    ToolContext, ToolError,
    observed::{MAX_HASHED, Seen, Version},
    paths::Place,
};

/// The largest file that is edited, in bytes.
pub(crate) const MAX_EDITED: u64 = 64 * 1024 * 1024;

/// The permission of new files, of which the umask takes its part.
const NEW_FILE: u32 = 0o666;

/// Held from the last check of a file's version to its replacement, by all tools of the program.
static PUBLISHING: Mutex<()> = Mutex::new(());

/// A file as it was when it was read.
pub(crate) struct Current {
    pub(crate) content: Vec<u8>,
    pub(crate) meta: Metadata,
    pub(crate) version: Version,
}

/// Reads a whole regular file; `None` when there is nothing of that name.
pub(crate) fn read_current(place: &Place) -> Result<Option<Current>, ToolError> {
    let Some(mut file) = open_regular(place)? else {
        return Ok(None);
    };
    let error = |source| ToolError::Io {
        doing: "read",
        path: place.shown.clone(),
        source,
    };
    let meta = file.metadata().map_err(error)?;
    if meta.len() > MAX_EDITED {
        return Err(ToolError::WrongKind {
            path: place.shown.clone(),
            what: "too large to be changed by this tool",
        });
    }
    let mut content = Vec::new();
    file.read_to_end(&mut content).map_err(error)?;
    let large = meta.len() > MAX_HASHED;
    let version = if large {
        Version::of_large(&meta)
    } else {
        Version::of_content(&content)
    };
    Ok(Some(Current {
        content,
        meta,
        version,
    }))
}

/// Opens a regular file without waiting, whatever else may have that name; `None` when nothing does.
pub(crate) fn open_regular(place: &Place) -> Result<Option<File>, ToolError> {
    let kind = |what| ToolError::WrongKind {
        path: place.shown.clone(),
        what,
    };
    let meta = match place.resolved.metadata() {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(ToolError::io("open", &place.shown)(error)),
    };
    if meta.is_dir() {
        return Err(kind("a directory"));
    }
    if !meta.is_file() {
        return Err(kind("not a regular file"));
    }
    let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    match OpenOptions::new()
        .read(true)
        .custom_flags(nonblocking)
        .open(&place.resolved)
    {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ToolError::io("open", &place.shown)(error)),
    }
}

/// Writes `content` as the whole new content of the file, which must still be what the model has seen.
///
/// A missing file is created, with its folders, and never over one that somebody else creates at the same time. An
/// existing file keeps its mode, its owner and its hard links. Gives a remark about anything unusual.
pub(crate) fn publish(
    place: &Place,
    content: &[u8],
    cx: &ToolContext,
) -> Result<Option<&'static str>, ToolError> {
    let _one_at_a_time = PUBLISHING.lock().unwrap_or_else(PoisonError::into_inner);
    let current = read_current(place)?;
    check_seen(place, current.as_ref(), cx)?;
    cx.copies
        .keep(
            &place.resolved,
            current.as_ref().map(|current| current.content.as_slice()),
        )
        .map_err(ToolError::io("keep a copy of", &place.shown))?;
    let remark = match &current {
        None => create(place, content).map(|()| None)?,
        Some(current) => overwrite(place, content, current)?,
    };
    let version = if content.len() as u64 > MAX_HASHED {
        Version::of_large(
            &place
                .resolved
                .metadata()
                .map_err(ToolError::io("look at", &place.shown))?,
        )
    } else {
        Version::of_content(content)
    };
    cx.observed.record(&place.resolved, Seen::Present(version));
    Ok(remark)
}

/// Checks that the file is what the model has seen, or that both know of none.
pub(crate) fn check_seen(
    place: &Place,
    current: Option<&Current>,
    cx: &ToolContext,
) -> Result<(), ToolError> {
    match (cx.observed.of(&place.resolved), current) {
        (None | Some(Seen::Absent), None) => Ok(()),
        (Some(Seen::Present(seen)), Some(current)) if seen == current.version => Ok(()),
        (None, Some(_)) => Err(ToolError::NotObserved(place.shown.clone())),
        (Some(Seen::Absent), Some(_)) => Err(ToolError::AlreadyExists(place.shown.clone())),
        (Some(Seen::Present(_)), _) => Err(ToolError::Stale(place.shown.clone())),
    }
}

fn create(place: &Place, content: &[u8]) -> Result<(), ToolError> {
    let path = &place.resolved;
    let error = |source: io::Error| match source.kind() {
        io::ErrorKind::AlreadyExists => ToolError::AlreadyExists(place.shown.clone()),
        _ => ToolError::Io {
            doing: "create",
            path: place.shown.clone(),
            source,
        },
    };
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder).map_err(ToolError::io("create the folder of", &place.shown))?;
    let mut file = temporary_in(folder, NEW_FILE).map_err(error)?;
    file.write_all(content)
        .and_then(|()| file.as_file().sync_all())
        .map_err(error)?;
    file.persist_noclobber(path)
        .map_err(|failed| error(failed.error))?;
    sync_folder(folder);
    Ok(())
}

/// Replaces the file by a new one where that keeps owner and links, and rewrites it in place otherwise.
fn overwrite(place: &Place, content: &[u8], current: &Current) -> Result<Option<&'static str>, ToolError> {
    let path = &place.resolved;
    let error = |source| ToolError::Io {
        doing: "write",
        path: place.shown.clone(),
        source,
    };
    let mode = current.meta.permissions().mode() & 0o7777;
    let linked = current.meta.nlink() > 1;
    let prepared = if linked {
        None
    } else {
        prepare(path, content, &current.meta)
    };
    let unchanged = |meta: &Metadata| Version::of_large(meta) == Version::of_large(&current.meta);
    if !path.metadata().is_ok_and(|meta| unchanged(&meta)) {
        return Err(ToolError::Stale(place.shown.clone()));
    }
    if let Some(file) = prepared {
        file.persist(path).map_err(|failed| error(failed.error))?;
        sync_folder(path.parent().unwrap_or(Path::new("/")));
        return Ok(None);
    }
    let mut file = OpenOptions::new()
        .write(true)
        .truncate(true)
        .open(path)
        .map_err(error)?;
    file.write_all(content)
        .and_then(|()| file.sync_all())
        .map_err(error)?;
    // Writing may have cleared the set-id bits.
    if file
        .metadata()
        .is_ok_and(|meta| meta.permissions().mode() & 0o7777 != mode)
    {
        file.set_permissions(fs::Permissions::from_mode(mode))
            .map_err(error)?;
    }
    Ok(linked.then_some("the file has several hard links; all of them show the new content"))
}

/// Makes the new file beside the old one; `None` where the folder or the ownership does not allow it.
fn prepare(path: &Path, content: &[u8], old: &Metadata) -> Option<tempfile::NamedTempFile> {
    let attempt = || -> io::Result<tempfile::NamedTempFile> {
        let mut file = temporary_in(path.parent().unwrap_or(Path::new("/")), 0o600)?;
        let new = file.as_file().metadata()?;
        if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
            std::os::unix::fs::fchown(file.as_file(), Some(old.uid()), Some(old.gid()))?;
        }
        file.as_file()
            .set_permissions(fs::Permissions::from_mode(old.permissions().mode() & 0o7777))?;
        file.write_all(content)?;
        file.as_file().sync_all()?;
        Ok(file)
    };
    attempt()
        .inspect_err(|error| tracing::debug!(path = %path.display(), %error, "writing in place"))
        .ok()
}

fn temporary_in(folder: &Path, mode: u32) -> io::Result<tempfile::NamedTempFile> {
    let permissions = fs::Permissions::from_mode(mode);
    tempfile::Builder::new()
        .prefix(".reasonix-")
        .permissions(permissions)
        .tempfile_in(folder)
}

/// Makes the new name durable. Not every file system can sync a folder, and the content is safe without it.
fn sync_folder(folder: &Path) {
    if let Err(error) = File::open(folder).and_then(|folder| folder.sync_all()) {
        tracing::debug!(folder = %folder.display(), %error, "could not sync a folder");
    }
}

//! Replacing a file so that its readers see the old content or the new one, and everything else about it stays.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::Path,
    sync::{Mutex, PoisonError},
};

use rustix::fs::OFlags;

use crate::{
    ToolContext, ToolError,
    anchor::{Anchor, Missing},
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
    let opened = Anchor::of(&place.resolved, Missing::Fails).and_then(|anchor| open_here(&anchor));
    match opened {
        Ok(Opened::File(file)) => Ok(Some(file)),
        Ok(Opened::Folder) => Err(kind("a directory")),
        Ok(Opened::Special) => Err(kind("not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ToolError::io("open", &place.shown)(error)),
    }
}

/// What has a name.
pub(crate) enum Opened {
    /// A regular file, open for reading.
    File(File),
    /// A folder.
    Folder,
    /// Anything else; it was not opened.
    Special,
}

/// Opens what has this name if it is a regular file. A link, which a resolved path does not have, is none.
pub(crate) fn open_here(anchor: &Anchor) -> io::Result<Opened> {
    let meta = anchor.path().symlink_metadata()?;
    if meta.is_dir() {
        return Ok(Opened::Folder);
    }
    if !meta.is_file() {
        return Ok(Opened::Special);
    }
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(flags(OFlags::NONBLOCK | OFlags::NOFOLLOW))
        .open(anchor.path());
    opened.map(Opened::File)
}

fn flags(flags: OFlags) -> i32 {
    i32::try_from(flags.bits()).unwrap_or(0)
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
    let missing = match current {
        Some(_) => Missing::Fails,
        None => Missing::IsMade,
    };
    let anchor =
        Anchor::of(&place.resolved, missing).map_err(ToolError::io("enter the folder of", &place.shown))?;
    cx.copies
        .keep(
            &place.resolved,
            current.as_ref().map(|current| current.content.as_slice()),
        )
        .map_err(ToolError::io("keep a copy of", &place.shown))?;
    let remark = match &current {
        None => create(place, &anchor, content).map(|()| None)?,
        Some(current) => overwrite(place, &anchor, content, current)?,
    };
    let version = if content.len() as u64 > MAX_HASHED {
        Version::of_large(
            &anchor
                .path()
                .symlink_metadata()
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

fn create(place: &Place, anchor: &Anchor, content: &[u8]) -> Result<(), ToolError> {
    let error = |source: io::Error| match source.kind() {
        io::ErrorKind::AlreadyExists => ToolError::AlreadyExists(place.shown.clone()),
        _ => ToolError::Io {
            doing: "create",
            path: place.shown.clone(),
            source,
        },
    };
    let mut file = temporary_in(anchor.folder(), NEW_FILE).map_err(error)?;
    file.write_all(content)
        .and_then(|()| file.as_file().sync_all())
        .map_err(error)?;
    file.persist_noclobber(anchor.path())
        .map_err(|failed| error(failed.error))?;
    sync_folder(anchor.folder());
    Ok(())
}

/// Replaces the file by a new one where that keeps owner and links, and rewrites it in place otherwise.
fn overwrite(
    place: &Place,
    anchor: &Anchor,
    content: &[u8],
    current: &Current,
) -> Result<Option<&'static str>, ToolError> {
    let path = anchor.path();
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
        prepare(anchor.folder(), content, &current.meta)
    };
    let unchanged = |meta: &Metadata| Version::of_large(meta) == Version::of_large(&current.meta);
    if !path.symlink_metadata().is_ok_and(|meta| unchanged(&meta)) {
        return Err(ToolError::Stale(place.shown.clone()));
    }
    if let Some(file) = prepared {
        file.persist(path).map_err(|failed| error(failed.error))?;
        sync_folder(anchor.folder());
        return Ok(None);
    }
    let mut file = OpenOptions::new()
        .write(true)
        .truncate(true)
        .custom_flags(flags(OFlags::NOFOLLOW))
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
fn prepare(folder: &Path, content: &[u8], old: &Metadata) -> Option<tempfile::NamedTempFile> {
    let attempt = || -> io::Result<tempfile::NamedTempFile> {
        let mut file = temporary_in(folder, 0o600)?;
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
        .inspect_err(|error| tracing::debug!(%error, "writing in place"))
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

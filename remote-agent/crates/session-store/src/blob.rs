//! Content that is too large for a line, in files named by their SHA-256.

use std::{
    fs,
    io::Read as _,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{StoreError, error::io_error};

/// What a line has in the place of large data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlobRef {
    /// SHA-256 of the content, 64 lower-case hex digits; also the file's name.
    pub(crate) name: String,
    /// The content's length in bytes.
    pub(crate) bytes: u64,
}

impl BlobRef {
    /// Names `content`.
    fn of(content: &[u8]) -> Self {
        Self {
            name: sha256_hex(content),
            bytes: content.len() as u64,
        }
    }

    /// The data of the line that stands for the content.
    pub(crate) fn to_json(&self) -> String {
        format!(r#"{{"blob":"{}","bytes":{}}}"#, self.name, self.bytes)
    }

    /// Recognises a reference by its exact shape.
    pub(crate) fn recognise(data: &Value) -> Option<Self> {
        let fields = data.as_object().filter(|fields| fields.len() == 2)?;
        let name = fields.get("blob")?.as_str()?;
        let bytes = fields.get("bytes")?.as_u64()?;
        // Anything but hex digits must never become a path.
        let is_name = name.len() == 64
            && name
                .bytes()
                .all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
        is_name.then(|| Self {
            name: name.to_owned(),
            bytes,
        })
    }
}

/// The blob folder of a session.
#[derive(Debug, Clone)]
pub(crate) struct Blobs {
    folder: PathBuf,
}

impl Blobs {
    pub(crate) fn of_session(dir: &Path) -> Self {
        Self {
            folder: dir.join("blobs"),
        }
    }

    /// Stores `content` so that it survives a power cut, and names it. The same content is stored once.
    pub(crate) fn put(&self, content: &[u8]) -> Result<BlobRef, StoreError> {
        let blob = BlobRef::of(content);
        let path = self.folder.join(&blob.name);
        // A copy that was damaged meanwhile must not be relied on, so an existing one is checked.
        if self.read(&blob).is_ok() {
            return Ok(blob);
        }
        make_dir(&self.folder)?;
        stdx::atomic_write::atomic_write(&path, content, 0o600).map_err(io_error("write", &path))?;
        Ok(blob)
    }

    /// Reads and checks what `blob` names; the error says in words what is wrong with it.
    pub(crate) fn get(&self, blob: &BlobRef) -> Result<Value, String> {
        serde_json::from_slice(&self.read(blob)?).map_err(|error| error.to_string())
    }

    fn read(&self, blob: &BlobRef) -> Result<Vec<u8>, String> {
        let file = fs::File::open(self.folder.join(&blob.name)).map_err(|error| error.to_string())?;
        let mut content = Vec::new();
        // One byte more than promised tells a longer file without reading all of it.
        file.take(blob.bytes.saturating_add(1))
            .read_to_end(&mut content)
            .map_err(|error| error.to_string())?;
        if content.len() as u64 != blob.bytes {
            return Err(format!("it does not have {} bytes", blob.bytes));
        }
        if sha256_hex(&content) != blob.name {
            return Err("its content changed".to_owned());
        }
        Ok(content)
    }
}

/// Makes a private folder and its parents durable; an existing one is left as it is.
pub(crate) fn make_dir(dir: &Path) -> Result<(), StoreError> {
    if dir.is_dir() {
        return Ok(());
    }
    let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Some(parent) = parent {
        make_dir(parent)?;
    }
    match fs::DirBuilder::new().mode(0o700).create(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            return Err(io_error("create", dir)(error));
        }
        _ => {}
    }
    sync_dir(parent.unwrap_or(Path::new(".")))
}

/// Makes the names in a folder durable.
pub(crate) fn sync_dir(dir: &Path) -> Result<(), StoreError> {
    fs::File::open(dir)
        .and_then(|folder| folder.sync_all())
        .map_err(io_error("sync", dir))
}

/// SHA-256 in lower-case hex.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

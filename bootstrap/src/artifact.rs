//! Which program is carried over, its checksum, and where it comes from.

use std::{
    fmt,
    fs::File,
    io::{self, Read as _},
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use sha2::{Digest as _, Sha256};

use crate::{layout, platform::Target};

/// A program for one kind of host.
#[derive(Clone)]
pub struct Artifact {
    version: String,
    sum: String,
    content: Content,
}

/// A program's bytes. A file is read in pieces and never held in memory; it stays open, so that a file put in its
/// place meanwhile is not mixed with it.
#[derive(Clone)]
pub(crate) enum Content {
    Memory(Arc<[u8]>),
    File(Arc<File>, usize),
}

/// Bytes read at a time for the checksum.
const PIECE: usize = 64 * 1024;

/// Where programs may come from.
#[derive(Debug, Clone)]
pub struct ArtifactSource {
    /// This program's own file, `/proc/self/exe` on Linux.
    pub own_executable: PathBuf,
    /// What it was built for; `None` where nothing else runs it.
    pub own_target: Option<Target>,
    /// Folders with `<target>/reasonix` in them (`REASONIX_DIST`, `~/.reasonix/dist`), in order.
    pub dist: Vec<PathBuf>,
    /// The version, which a build in `dist` must have too.
    pub version: String,
}

/// There is no program for the host.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// This program is for another kind of host and no build lies ready.
    #[error("no build for {target} found here{}", looked_for(.looked))]
    NoBuild {
        /// The host's target.
        target: Target,
        /// The files that would have done, in order.
        looked: Vec<PathBuf>,
    },
    /// It could not be read.
    #[error("could not read {}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

fn looked_for(looked: &[PathBuf]) -> String {
    let paths: Vec<String> = looked.iter().map(|path| path.display().to_string()).collect();
    if paths.is_empty() {
        String::new()
    } else {
        format!(", looked for {}", paths.join(" and "))
    }
}

impl Artifact {
    /// Takes a program's content and computes its checksum.
    #[must_use]
    pub fn new(version: impl Into<String>, content: impl Into<Arc<[u8]>>) -> Self {
        let content = content.into();
        Self {
            version: version.into(),
            sum: hex(&Sha256::digest(&content)),
            content: content.into(),
        }
    }

    /// Opens a program's file and computes its checksum.
    fn open(version: String, path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let (mut sum, mut size, mut piece) = (Sha256::new(), 0, vec![0; PIECE]);
        loop {
            let count = file.read(&mut piece)?;
            if count == 0 {
                break;
            }
            sum.update(piece.get(..count).unwrap_or_default());
            size += count;
        }
        Ok(Self {
            version,
            sum: hex(&sum.finalize()),
            content: Content::File(Arc::new(file), size),
        })
    }

    /// Gives the version.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Gives the SHA-256 in lower-case hexadecimal digits.
    #[must_use]
    pub fn sum(&self) -> &str {
        &self.sum
    }

    /// Gives the size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.content.len() as u64
    }

    /// Gives the name it has on a host.
    #[must_use]
    pub fn name(&self) -> String {
        layout::program(&self.version, &self.sum)
    }

    pub(crate) fn content(&self) -> Content {
        self.content.clone()
    }
}

impl Content {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Memory(bytes) => bytes.len(),
            Self::File(_, size) => *size,
        }
    }

    /// Reads exactly `length` bytes from `start` on.
    pub(crate) fn read(&self, start: usize, length: usize) -> io::Result<Vec<u8>> {
        match self {
            Self::Memory(bytes) => {
                let piece = bytes.get(start..start.saturating_add(length));
                piece
                    .map(<[u8]>::to_vec)
                    .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
            }
            Self::File(file, _) => {
                let mut piece = vec![0; length];
                file.read_exact_at(&mut piece, start as u64)?;
                Ok(piece)
            }
        }
    }
}

impl From<Arc<[u8]>> for Content {
    fn from(bytes: Arc<[u8]>) -> Self {
        Self::Memory(bytes)
    }
}

fn hex(sum: &[u8]) -> String {
    sum.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl fmt::Debug for Artifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Artifact")
            .field("name", &self.name())
            .field("size", &self.size())
            .finish()
    }
}

impl ArtifactSource {
    /// Gives about how many bytes must be free to install a program: its part and the copy that is verified. Builds for
    /// other kinds of hosts are of a like size.
    pub(crate) fn room(&self) -> u64 {
        let own = std::fs::metadata(&self.own_executable);
        own.map_or(0, |own| own.len().saturating_mul(2))
    }

    /// Finds the program for a target: this program's own file if it fits, else the first build in `dist`.
    ///
    /// # Errors
    /// [`ArtifactError::NoBuild`] when there is none; [`ArtifactError::Read`] when there is one that cannot be read.
    pub async fn load(&self, target: Target) -> Result<Artifact, ArtifactError> {
        let own = (self.own_target == Some(target)).then(|| self.own_executable.clone());
        let dist: Vec<PathBuf> = self
            .dist
            .iter()
            .map(|folder| folder.join(target.triple()).join("reasonix"))
            .collect();
        let version = self.version.clone();
        stdx::task::blocking(move || {
            let found = own.or_else(|| dist.iter().find(|path| path.is_file()).cloned());
            let Some(path) = found else {
                return Err(ArtifactError::NoBuild { target, looked: dist });
            };
            Artifact::open(version, &path).map_err(|source| ArtifactError::Read { path, source })
        })
        .await
    }
}

//! Requests beyond version 3 (OpenSSH's `PROTOCOL`, section 4; draft-ietf-secsh-filexfer-extensions-00 for `copy-data`
//! and `home-directory`).

use bytes::Bytes;

use super::wire::{Malformed, Reader, Writer};

/// A request beyond version 3. Only what the other side announced may be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extension {
    /// `posix-rename@openssh.com`: renames over what is there, in one step.
    PosixRename {
        /// The name so far.
        from: Vec<u8>,
        /// The new name.
        to: Vec<u8>,
    },
    /// `hardlink@openssh.com`: gives a file a second name.
    HardLink {
        /// The name so far.
        from: Vec<u8>,
        /// The second name.
        to: Vec<u8>,
    },
    /// `fsync@openssh.com`: waits until the file is on the disk.
    Fsync {
        /// An open file.
        handle: Bytes,
    },
    /// `statvfs@openssh.com`: asks about the file system. The answer is a [`FileSystem`] as [`super::Reply::Extended`].
    StatVfs {
        /// Any path on it.
        path: Vec<u8>,
    },
    /// `limits@openssh.com`: asks what the server takes. The answer is [`Limits`] as [`super::Reply::Extended`].
    Limits,
    /// `copy-data`: copies on the host, from one open file to another.
    CopyData {
        /// Open for reading.
        from: Bytes,
        /// Where to begin there.
        from_offset: u64,
        /// How many bytes; 0 is all up to the end.
        length: u64,
        /// Open for writing.
        to: Bytes,
        /// Where to begin there.
        to_offset: u64,
    },
    /// `expand-path@openssh.com`: resolves `~` and relative paths. The answer is [`super::Reply::Names`] with one.
    ExpandPath {
        /// The path with the tilde.
        path: Vec<u8>,
    },
    /// `home-directory`: asks for a user's home. The answer is [`super::Reply::Names`] with one.
    HomeDirectory {
        /// Login name; empty is one's own.
        user: Vec<u8>,
    },
    /// Any other.
    Other {
        /// What it is called.
        name: String,
        /// The rest of the request.
        data: Bytes,
    },
}

/// What a server takes (`limits@openssh.com`). 0 is "not limited, or not known".
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// The longest packet, in bytes.
    pub packet: u64,
    /// The longest read, in bytes.
    pub read: u64,
    /// The longest write, in bytes.
    pub write: u64,
    /// How many files and folders may be open at once.
    pub handles: u64,
}

/// What is known of a file system (`statvfs@openssh.com`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileSystem {
    /// Unit of the counts of blocks, in bytes (`f_frsize`).
    pub block: u64,
    /// All blocks.
    pub blocks: u64,
    /// Free blocks for an ordinary user.
    pub available: u64,
    /// The longest name of a file in it, in bytes.
    pub longest_name: u64,
}

impl Extension {
    /// Gives the name that announces it.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::PosixRename { .. } => "posix-rename@openssh.com",
            Self::HardLink { .. } => "hardlink@openssh.com",
            Self::Fsync { .. } => "fsync@openssh.com",
            Self::StatVfs { .. } => "statvfs@openssh.com",
            Self::Limits => "limits@openssh.com",
            Self::CopyData { .. } => "copy-data",
            Self::ExpandPath { .. } => "expand-path@openssh.com",
            Self::HomeDirectory { .. } => "home-directory",
            Self::Other { name, .. } => name,
        }
    }

    pub(crate) fn encode(&self, to: &mut Writer) {
        to.string(self.name().as_bytes());
        match self {
            Self::PosixRename { from, to: new } | Self::HardLink { from, to: new } => {
                to.string(from).string(new);
            }
            Self::Fsync { handle } => {
                to.string(handle);
            }
            Self::StatVfs { path } | Self::ExpandPath { path } => {
                to.string(path);
            }
            Self::HomeDirectory { user } => {
                to.string(user);
            }
            Self::Limits => {}
            Self::CopyData {
                from,
                from_offset,
                length,
                to: into,
                to_offset,
            } => {
                to.string(from).u64(*from_offset).u64(*length);
                to.string(into).u64(*to_offset);
            }
            Self::Other { data, .. } => {
                to.raw(data);
            }
        }
    }

    pub(crate) fn decode(mut from: Reader) -> Result<Self, Malformed> {
        let name = from.string()?;
        Ok(match name.as_ref() {
            b"posix-rename@openssh.com" => Self::PosixRename {
                from: from.name()?,
                to: from.name()?,
            },
            b"hardlink@openssh.com" => Self::HardLink {
                from: from.name()?,
                to: from.name()?,
            },
            b"fsync@openssh.com" => Self::Fsync {
                handle: from.handle()?,
            },
            b"statvfs@openssh.com" => Self::StatVfs { path: from.name()? },
            b"limits@openssh.com" => Self::Limits,
            b"copy-data" => Self::CopyData {
                from: from.handle()?,
                from_offset: from.u64()?,
                length: from.u64()?,
                to: from.handle()?,
                to_offset: from.u64()?,
            },
            b"expand-path@openssh.com" => Self::ExpandPath { path: from.name()? },
            b"home-directory" => Self::HomeDirectory { user: from.name()? },
            other => Self::Other {
                name: String::from_utf8_lossy(other).into_owned(),
                data: from.rest(),
            },
        })
    }
}

impl Limits {
    /// Gives the data of the answer, for [`super::Reply::Extended`].
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let numbers = [self.packet, self.read, self.write, self.handles];
        Bytes::from(numbers.map(u64::to_be_bytes).concat())
    }

    /// Reads the data of the answer.
    ///
    /// # Errors
    /// It is too short.
    pub fn decode(data: Bytes) -> Result<Self, Malformed> {
        let mut from = Reader::new(data);
        Ok(Self {
            packet: from.u64()?,
            read: from.u64()?,
            write: from.u64()?,
            handles: from.u64()?,
        })
    }
}

impl FileSystem {
    /// Gives the data of the answer, for [`super::Reply::Extended`]: eleven numbers, of which those not held here are
    /// copies or 0.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let (block, free) = (self.block, self.available);
        let numbers = [
            block,
            block,
            self.blocks,
            free,
            free,
            0,
            0,
            0,
            0,
            0,
            self.longest_name,
        ];
        Bytes::from(numbers.map(u64::to_be_bytes).concat())
    }

    /// Reads the data of the answer.
    ///
    /// # Errors
    /// It is too short.
    pub fn decode(data: Bytes) -> Result<Self, Malformed> {
        let mut from = Reader::new(data);
        let mut numbers = [0; 11];
        for number in &mut numbers {
            *number = from.u64()?;
        }
        Ok(Self {
            block: numbers[1],
            blocks: numbers[2],
            available: numbers[4],
            longest_name: numbers[10],
        })
    }
}

//! What a client asks (draft, section 6).

use bytes::Bytes;

use super::{
    Attributes, Extension,
    wire::{Malformed, Reader, Writer},
};

/// What a client asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Opens a file. The answer is a handle.
    Open {
        /// Which.
        path: Vec<u8>,
        /// How.
        flags: OpenFlags,
        /// For a file that is created; its mode counts.
        attributes: Attributes,
    },
    /// Closes a file or folder.
    Close {
        /// Which.
        handle: Bytes,
    },
    /// Reads from a file. The answer is data, or [`super::Code::END`].
    Read {
        /// An open file.
        handle: Bytes,
        /// Where to begin.
        offset: u64,
        /// How many bytes at most.
        length: u32,
    },
    /// Writes to a file.
    Write {
        /// An open file.
        handle: Bytes,
        /// Where to begin.
        offset: u64,
        /// What.
        data: Bytes,
    },
    /// Asks for attributes.
    Stat {
        /// Of what.
        of: Target,
    },
    /// Sets attributes. With [`Target::Link`] it is `lsetstat@openssh.com`.
    SetStat {
        /// Of what.
        of: Target,
        /// The new ones; what is `None` stays.
        attributes: Attributes,
    },
    /// Opens a folder for reading. The answer is a handle.
    OpenFolder {
        /// Which.
        path: Vec<u8>,
    },
    /// Reads the next names of a folder. The answer is names, or [`super::Code::END`].
    ReadFolder {
        /// An open folder.
        handle: Bytes,
    },
    /// Removes a file, or an empty folder.
    Remove {
        /// Which.
        path: Vec<u8>,
        /// It is a folder (`SSH_FXP_RMDIR`).
        folder: bool,
    },
    /// Makes a folder.
    MakeFolder {
        /// Which.
        path: Vec<u8>,
        /// Its mode counts.
        attributes: Attributes,
    },
    /// Resolves a path. The answer is one name.
    RealPath {
        /// Which.
        path: Vec<u8>,
    },
    /// Asks where a link points to. The answer is one name.
    ReadLink {
        /// Which.
        path: Vec<u8>,
    },
    /// Renames; refused where the new name is taken. See [`Extension::PosixRename`].
    Rename {
        /// The name so far.
        from: Vec<u8>,
        /// The new name.
        to: Vec<u8>,
    },
    /// Makes a symbolic link. On the wire the target comes first, as OpenSSH has it; the draft has it the other way.
    Symlink {
        /// Where it points to.
        target: Vec<u8>,
        /// The link itself.
        link: Vec<u8>,
    },
    /// Anything beyond version 3.
    Extended(Extension),
}

/// What attributes are asked or set of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// What a path leads to, through links.
    Path(Vec<u8>),
    /// What a path names, be it a link.
    Link(Vec<u8>),
    /// An open file.
    Handle(Bytes),
}

/// How a file is opened (draft, section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpenFlags(pub u32);

impl OpenFlags {
    /// For reading.
    pub const READ: Self = Self(1);
    /// For writing.
    pub const WRITE: Self = Self(2);
    /// Every write goes to the end.
    pub const APPEND: Self = Self(4);
    /// Makes it where it is missing.
    pub const CREATE: Self = Self(8);
    /// Empties it.
    pub const TRUNCATE: Self = Self(16);
    /// Fails where it exists.
    pub const EXCLUSIVE: Self = Self(32);

    /// Says whether all of `other` are in it.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl std::ops::BitOr for OpenFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A packet that is no request, for the answer to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// Its number; `None` where not even that could be read, and no answer is possible.
    pub id: Option<u32>,
    /// What is wrong with it.
    pub why: Malformed,
}

const LSETSTAT: &[u8] = b"lsetstat@openssh.com";

impl Request {
    /// Gives the whole packet with the number `id`.
    #[must_use]
    pub fn encode(&self, id: u32) -> Bytes {
        let size = match self {
            Self::Write { data, .. } => data.len() + 300,
            _ => 256,
        };
        let mut to = Writer::new(self.kind(), size);
        to.u32(id);
        match self {
            Self::Open {
                path,
                flags,
                attributes,
            } => {
                to.string(path).u32(flags.0);
                attributes.encode(&mut to);
            }
            Self::Close { handle } | Self::ReadFolder { handle } => {
                to.string(handle);
            }
            Self::Read {
                handle,
                offset,
                length,
            } => {
                to.string(handle).u64(*offset).u32(*length);
            }
            Self::Write { handle, offset, data } => {
                to.string(handle).u64(*offset).string(data);
            }
            Self::Stat { of } => {
                to.string(of.bytes());
            }
            Self::SetStat { of, attributes } => {
                if matches!(of, Target::Link(_)) {
                    to.string(LSETSTAT);
                }
                to.string(of.bytes());
                attributes.encode(&mut to);
            }
            Self::OpenFolder { path }
            | Self::Remove { path, .. }
            | Self::RealPath { path }
            | Self::ReadLink { path } => {
                to.string(path);
            }
            Self::MakeFolder { path, attributes } => {
                to.string(path);
                attributes.encode(&mut to);
            }
            Self::Rename {
                from: first,
                to: second,
            }
            | Self::Symlink {
                target: first,
                link: second,
            } => {
                to.string(first).string(second);
            }
            Self::Extended(extension) => extension.encode(&mut to),
        }
        to.done()
    }

    /// Reads a packet without its length: the number and what is asked.
    ///
    /// # Errors
    /// It is no request; see [`Refused`].
    pub fn decode(packet: Bytes) -> Result<(u32, Self), Refused> {
        let mut from = Reader::new(packet);
        let unnumbered = |why| Refused { id: None, why };
        let kind = from.u8().map_err(unnumbered)?;
        let id = from.u32().map_err(unnumbered)?;
        match Self::decode_body(kind, from) {
            Ok(request) => Ok((id, request)),
            Err(why) => Err(Refused { id: Some(id), why }),
        }
    }

    fn decode_body(kind: u8, mut from: Reader) -> Result<Self, Malformed> {
        Ok(match kind {
            3 => Self::Open {
                path: from.name()?,
                flags: OpenFlags(from.u32()?),
                attributes: Attributes::decode(&mut from)?,
            },
            4 => Self::Close {
                handle: from.handle()?,
            },
            5 => Self::Read {
                handle: from.handle()?,
                offset: from.u64()?,
                length: from.u32()?,
            },
            6 => Self::Write {
                handle: from.handle()?,
                offset: from.u64()?,
                data: from.string()?,
            },
            7 | 8 | 17 => Self::Stat {
                of: match kind {
                    7 => Target::Link(from.name()?),
                    8 => Target::Handle(from.handle()?),
                    _ => Target::Path(from.name()?),
                },
            },
            9 | 10 => Self::SetStat {
                of: match kind {
                    9 => Target::Path(from.name()?),
                    _ => Target::Handle(from.handle()?),
                },
                attributes: Attributes::decode(&mut from)?,
            },
            11 => Self::OpenFolder { path: from.name()? },
            12 => Self::ReadFolder {
                handle: from.handle()?,
            },
            13 | 15 => Self::Remove {
                path: from.name()?,
                folder: kind == 15,
            },
            14 => Self::MakeFolder {
                path: from.name()?,
                attributes: Attributes::decode(&mut from)?,
            },
            16 => Self::RealPath { path: from.name()? },
            18 => Self::Rename {
                from: from.name()?,
                to: from.name()?,
            },
            19 => Self::ReadLink { path: from.name()? },
            20 => Self::Symlink {
                target: from.name()?,
                link: from.name()?,
            },
            200 => match Extension::decode(from)? {
                Extension::Other { name, data } if name.as_bytes() == LSETSTAT => {
                    let mut from = Reader::new(data);
                    Self::SetStat {
                        of: Target::Link(from.name()?),
                        attributes: Attributes::decode(&mut from)?,
                    }
                }
                extension => Self::Extended(extension),
            },
            kind => return Err(Malformed::Kind(kind)),
        })
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Open { .. } => 3,
            Self::Close { .. } => 4,
            Self::Read { .. } => 5,
            Self::Write { .. } => 6,
            Self::Stat { of } => match of {
                Target::Link(_) => 7,
                Target::Handle(_) => 8,
                Target::Path(_) => 17,
            },
            Self::SetStat { of, .. } => match of {
                Target::Path(_) => 9,
                Target::Handle(_) => 10,
                Target::Link(_) => 200,
            },
            Self::OpenFolder { .. } => 11,
            Self::ReadFolder { .. } => 12,
            Self::Remove { folder: false, .. } => 13,
            Self::MakeFolder { .. } => 14,
            Self::Remove { folder: true, .. } => 15,
            Self::RealPath { .. } => 16,
            Self::Rename { .. } => 18,
            Self::ReadLink { .. } => 19,
            Self::Symlink { .. } => 20,
            Self::Extended(_) => 200,
        }
    }
}

impl Target {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Path(path) | Self::Link(path) => path,
            Self::Handle(handle) => handle,
        }
    }
}

//! What is known of a file, or to be set (draft, section 5).

use super::wire::{Malformed, Reader, Writer};

const SIZE: u32 = 1;
const OWNER: u32 = 2;
const MODE: u32 = 4;
const TIMES: u32 = 8;
const EXTENDED: u32 = 0x8000_0000;

/// What is known of a file. What is `None` is not known, or not to be changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Attributes {
    /// In bytes.
    pub size: Option<u64>,
    /// Numbers of user and group.
    pub owner: Option<Owner>,
    /// Kind and permissions, as `st_mode`.
    pub mode: Option<u32>,
    /// Last access and last change.
    pub times: Option<Times>,
}

/// Who owns a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// Number of the user.
    pub user: u32,
    /// Number of the group.
    pub group: u32,
}

/// Times of a file, in seconds since 1970, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// Last access.
    pub accessed: u32,
    /// Last change of the content.
    pub modified: u32,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// An ordinary file.
    File,
    /// A directory.
    Folder,
    /// A symbolic link.
    Link,
    /// A named pipe.
    Pipe,
    /// A Unix socket.
    Socket,
    /// A device.
    Device,
    /// The other side did not say.
    Unknown,
}

impl Kind {
    /// Reads the kind from a mode, as `S_IFMT` cuts it out.
    #[must_use]
    pub fn of_mode(mode: u32) -> Self {
        match mode & 0o170_000 {
            0o100_000 => Self::File,
            0o040_000 => Self::Folder,
            0o120_000 => Self::Link,
            0o010_000 => Self::Pipe,
            0o140_000 => Self::Socket,
            0o020_000 | 0o060_000 => Self::Device,
            _ => Self::Unknown,
        }
    }
}

impl Attributes {
    /// Gives what the name stands for.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.mode.map_or(Kind::Unknown, Kind::of_mode)
    }

    /// Gives the permissions without the kind: `rwx` three times, set-user, set-group and sticky.
    #[must_use]
    pub fn permissions(&self) -> Option<u32> {
        self.mode.map(|mode| mode & 0o7777)
    }

    pub(crate) fn encode(&self, to: &mut Writer) {
        let flag = |given: bool, flag: u32| if given { flag } else { 0 };
        to.u32(
            flag(self.size.is_some(), SIZE)
                | flag(self.owner.is_some(), OWNER)
                | flag(self.mode.is_some(), MODE)
                | flag(self.times.is_some(), TIMES),
        );
        if let Some(size) = self.size {
            to.u64(size);
        }
        if let Some(owner) = self.owner {
            to.u32(owner.user).u32(owner.group);
        }
        if let Some(mode) = self.mode {
            to.u32(mode);
        }
        if let Some(times) = self.times {
            to.u32(times.accessed).u32(times.modified);
        }
    }

    pub(crate) fn decode(from: &mut Reader) -> Result<Self, Malformed> {
        let flags = from.u32()?;
        let mut attributes = Self::default();
        if flags & SIZE != 0 {
            attributes.size = Some(from.u64()?);
        }
        if flags & OWNER != 0 {
            attributes.owner = Some(Owner {
                user: from.u32()?,
                group: from.u32()?,
            });
        }
        if flags & MODE != 0 {
            attributes.mode = Some(from.u32()?);
        }
        if flags & TIMES != 0 {
            attributes.times = Some(Times {
                accessed: from.u32()?,
                modified: from.u32()?,
            });
        }
        if flags & EXTENDED != 0 {
            let count = from.u32()? as usize;
            // Each is two strings, so at least eight bytes.
            if count > from.left() / 8 {
                return Err(Malformed::Number);
            }
            for _ in 0..count {
                from.string()?;
                from.string()?;
            }
        }
        Ok(attributes)
    }
}

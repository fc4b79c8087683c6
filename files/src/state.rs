//! In which state a file is, to see whether somebody else changed it.

use std::fmt;

/// In which state a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// In bytes.
    pub size: u64,
    /// Last change of the content, in seconds since 1970; SFTP has no finer time.
    pub modified: u32,
    /// SHA-256 of the content, where it was read.
    pub hash: Option<[u8; 32]>,
}

impl State {
    /// Takes what a host says of a file.
    #[must_use]
    pub fn of(attributes: &sftp::Attributes) -> Self {
        Self {
            size: attributes.size.unwrap_or(0),
            modified: attributes.times.map_or(0, |times| times.modified),
            hash: None,
        }
    }

    /// Says whether two states may be of the same content: by the hashes where both are known, else by size and time.
    #[must_use]
    pub fn agrees(&self, other: &Self) -> bool {
        match (self.hash, other.hash) {
            (Some(one), Some(other_hash)) => self.size == other.size && one == other_hash,
            _ => self.size == other.size && self.modified == other.modified,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of {} s since 1970", self.size, self.modified)?;
        if let Some([a, b, c, d, ..]) = self.hash {
            write!(f, ", sha256 {a:02x}{b:02x}{c:02x}{d:02x}")?;
        }
        Ok(())
    }
}

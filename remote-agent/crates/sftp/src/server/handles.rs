//! What a client has open.

use std::{collections::HashMap, fs::File};

use bytes::Bytes;
use rustix::io::Errno;

use super::folder::Folder;

/// Something open.
#[derive(Debug)]
pub(super) enum Open {
    /// A file.
    File(File),
    /// A folder that is listed.
    Folder(Folder),
}

/// What is open, by a number that is given once only.
#[derive(Debug)]
pub(super) struct Handles {
    open: HashMap<u64, Open>,
    next: u64,
    limit: usize,
}

impl Handles {
    /// Has nothing open, and never more than `limit`.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            open: HashMap::new(),
            next: 0,
            limit,
        }
    }

    /// Gives how much may be open at once.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Says whether one more may be opened.
    ///
    /// # Errors
    /// `EMFILE` where not.
    pub(super) fn has_room(&self) -> Result<(), Errno> {
        if self.open.len() < self.limit {
            Ok(())
        } else {
            Err(Errno::MFILE)
        }
    }

    /// Adds what was opened and gives its handle.
    pub(super) fn add(&mut self, open: Open) -> Bytes {
        let number = self.next;
        self.next += 1;
        self.open.insert(number, open);
        Bytes::copy_from_slice(&number.to_be_bytes())
    }

    /// Gives an open file.
    pub(super) fn file(&self, handle: &[u8]) -> Option<&File> {
        match self.open.get(&number(handle)?)? {
            Open::File(file) => Some(file),
            Open::Folder(_) => None,
        }
    }

    /// Gives an open folder.
    pub(super) fn folder(&mut self, handle: &[u8]) -> Option<&mut Folder> {
        match self.open.get_mut(&number(handle)?)? {
            Open::File(_) => None,
            Open::Folder(folder) => Some(folder),
        }
    }

    /// Takes out what is to be closed.
    pub(super) fn take(&mut self, handle: &[u8]) -> Option<Open> {
        self.open.remove(&number(handle)?)
    }
}

fn number(handle: &[u8]) -> Option<u64> {
    handle.try_into().ok().map(u64::from_be_bytes)
}

//! Lists a folder piece by piece.

use std::path::Path;

use rustix::{
    fs::{self, AtFlags, Dir, Mode, OFlags},
    io::Errno,
};

use super::{accounts::Names, attributes, listing};
use crate::packet::Name;

/// Bytes of names in one answer, so that even the longest next one fits into a packet.
const PIECE: usize = 128 * 1024;
/// What each name costs beside itself: two lengths and the attributes.
const PER_NAME: usize = 40;

/// A folder that is being listed.
#[derive(Debug)]
pub(super) struct Folder(Dir);

impl Folder {
    /// Opens a folder.
    ///
    /// # Errors
    /// What open(2) answers.
    pub(super) fn open(path: &Path) -> Result<Self, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Dir::new(fs::open(path, flags, Mode::empty())?).map(Self)
    }

    /// Gives the next names with what is known of them; none at the end. `.` and `..` are among them.
    ///
    /// # Errors
    /// What readdir(3) answers, where there is nothing before it.
    pub(super) fn next(&mut self, accounts: &mut Names) -> Result<Vec<Name>, Errno> {
        let (mut names, mut size) = (Vec::new(), 0);
        while size < PIECE {
            let entry = match self.0.read() {
                None => break,
                Some(Ok(entry)) => entry,
                // It comes again with the next request.
                Some(Err(_)) if !names.is_empty() => break,
                Some(Err(error)) => return Err(error),
            };
            let name = entry.file_name();
            // One that is gone by now is no longer listed.
            let Ok(stat) = fs::statat(self.0.fd()?, name, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            let long = listing::line(name.to_bytes(), &stat, accounts);
            size += name.count_bytes() + long.len() + PER_NAME;
            names.push(Name {
                name: name.to_bytes().to_vec(),
                long,
                attributes: attributes::of(&stat),
            });
        }
        Ok(names)
    }
}

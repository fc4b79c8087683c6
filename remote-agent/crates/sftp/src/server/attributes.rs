//! Attributes of files: read, and set one by one as OpenSSH's server does.

use std::{fs::File, path::Path};

use rustix::{
    fs::{self, AtFlags, CWD, Gid, Mode, OFlags, RawMode, Stat, Timespec, Timestamps, Uid},
    io::Errno,
};

use crate::packet::{Attributes, Kind, Owner, Times};

/// Gives what the system says of a file.
pub(super) fn of(stat: &Stat) -> Attributes {
    Attributes {
        size: Some(u64::try_from(stat.st_size).unwrap_or(0)),
        owner: Some(Owner {
            user: stat.st_uid,
            group: stat.st_gid,
        }),
        mode: Some(stat.st_mode),
        times: Some(Times {
            // Version 3 has 32 bits; OpenSSH cuts them off as well.
            accessed: stat.st_atime as u32,
            modified: stat.st_mtime as u32,
        }),
    }
}

/// Gives the permissions that a new file or folder begins with, before the umask.
pub(super) fn mode_or(attributes: &Attributes, default: RawMode) -> Mode {
    let raw = attributes.permissions();
    Mode::from_raw_mode(raw.map_or(default, |raw| raw as RawMode))
}

/// Sets what is given, in a fixed order. All of it is tried; the last error counts.
///
/// # Errors
/// What the system answers.
pub(super) fn set(path: &Path, attributes: &Attributes) -> Result<(), Errno> {
    last_error([
        attributes.size.map(|size| {
            let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
            fs::ftruncate(fs::open(path, flags, Mode::empty())?, size)
        }),
        mode(attributes).map(|mode| fs::chmod(path, mode)),
        times(attributes).map(|times| fs::utimensat(CWD, path, &times, AtFlags::empty())),
        attributes.owner.map(|owner| {
            let (user, group) = ids(owner);
            fs::chownat(CWD, path, user, group, AtFlags::empty())
        }),
    ])
}

/// Sets what is given of a name itself, be it a link.
///
/// # Errors
/// What the system answers; a link has neither size nor mode to be set.
pub(super) fn set_link(path: &Path, attributes: &Attributes) -> Result<(), Errno> {
    if attributes.size.is_some() {
        return Err(Errno::INVAL);
    }
    let chmod = |mode| {
        let kind = Kind::of_mode(fs::lstat(path)?.st_mode);
        if kind == Kind::Link {
            return Err(Errno::OPNOTSUPP);
        }
        fs::chmod(path, mode)
    };
    last_error([
        mode(attributes).map(chmod),
        times(attributes).map(|times| fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)),
        attributes.owner.map(|owner| {
            let (user, group) = ids(owner);
            fs::chownat(CWD, path, user, group, AtFlags::SYMLINK_NOFOLLOW)
        }),
    ])
}

/// Sets what is given of an open file.
///
/// # Errors
/// What the system answers.
pub(super) fn set_open(file: &File, attributes: &Attributes) -> Result<(), Errno> {
    last_error([
        attributes.size.map(|size| fs::ftruncate(file, size)),
        mode(attributes).map(|mode| fs::fchmod(file, mode)),
        times(attributes).map(|times| fs::futimens(file, &times)),
        attributes.owner.map(|owner| {
            let (user, group) = ids(owner);
            fs::fchown(file, user, group)
        }),
    ])
}

fn last_error<const N: usize>(done: [Option<Result<(), Errno>>; N]) -> Result<(), Errno> {
    let mut failed = done.into_iter().flatten().filter_map(Result::err);
    failed.next_back().map_or(Ok(()), Err)
}

fn mode(attributes: &Attributes) -> Option<Mode> {
    let raw = attributes.permissions()?;
    Some(Mode::from_raw_mode(raw as RawMode))
}

fn times(attributes: &Attributes) -> Option<Timestamps> {
    let times = attributes.times?;
    let at = |seconds: u32| Timespec {
        tv_sec: seconds.into(),
        tv_nsec: 0,
    };
    Some(Timestamps {
        last_access: at(times.accessed),
        last_modification: at(times.modified),
    })
}

fn ids(owner: Owner) -> (Option<Uid>, Option<Gid>) {
    // The largest number means "unchanged" to chown(2).
    let user = (owner.user != u32::MAX).then(|| Uid::from_raw(owner.user));
    let group = (owner.group != u32::MAX).then(|| Gid::from_raw(owner.group));
    (user, group)
}

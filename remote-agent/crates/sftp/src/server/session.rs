//! Carries out requests: one at a time, with system calls that may block.

use std::{fs::File, io};

use bytes::{Bytes, BytesMut};
use rustix::{
    fs::{self, AtFlags, CWD, OFlags, StatVfs, StatVfsMountFlags},
    io::Errno,
};

use super::{
    Options,
    accounts::Names,
    attributes,
    folder::Folder,
    handles::{Handles, Open},
    paths::Paths,
};
use crate::packet::{
    Announced, Attributes, Code, Extension, Limits, MAX_PACKET, Malformed, Name, OpenFlags, Reply, Request,
    Target,
};

/// The longest read, and the longest write that is announced, in bytes: what OpenSSH's server takes.
const LONGEST: usize = MAX_PACKET - 1024;
/// A request of version 3 that OpenSSH has as an extension; its data is a handle.
const FSTATVFS: &str = "fstatvfs@openssh.com";

/// Gives what the server can do beyond version 3.
pub(super) fn announced() -> Announced {
    let extensions: [(&str, &[u8]); 9] = [
        ("posix-rename@openssh.com", b"1"),
        ("statvfs@openssh.com", b"2"),
        (FSTATVFS, b"2"),
        ("hardlink@openssh.com", b"1"),
        ("fsync@openssh.com", b"1"),
        ("lsetstat@openssh.com", b"1"),
        ("limits@openssh.com", b"1"),
        ("expand-path@openssh.com", b"1"),
        ("home-directory", b"1"),
    ];
    let owned = extensions
        .into_iter()
        .map(|(name, data)| (name.to_owned(), data.to_vec()));
    owned.collect()
}

/// A request, or one that could not be read, with its number.
pub(super) struct Step {
    id: u32,
    asked: Result<Request, Malformed>,
    size: usize,
}

impl Step {
    /// Reads a packet.
    ///
    /// # Errors
    /// It has no number, so that nothing can be answered.
    pub(super) fn read(packet: Bytes) -> io::Result<Self> {
        let size = packet.len();
        match Request::decode(packet) {
            Ok((id, request)) => Ok(Self {
                id,
                asked: Ok(request),
                size,
            }),
            Err(refused) => match refused.id {
                Some(id) => Ok(Self {
                    id,
                    asked: Err(refused.why),
                    size,
                }),
                None => Err(io::Error::new(io::ErrorKind::InvalidData, refused.why)),
            },
        }
    }

    /// Gives about how many bytes it and its answer take.
    pub(super) fn weight(&self) -> usize {
        let answer = match &self.asked {
            Ok(Request::Read { length, .. }) => (*length as usize).min(LONGEST),
            Ok(Request::ReadFolder { .. }) => LONGEST / 2,
            _ => 256,
        };
        self.size + answer
    }
}

/// What a client sees and has open.
pub(super) struct Session {
    paths: Paths,
    handles: Handles,
    names: Names,
}

impl Session {
    /// Has nothing open yet.
    pub(super) fn new(options: &Options) -> Self {
        Self {
            paths: Paths::from_home(&options.home),
            handles: Handles::new(options.handles),
            names: Names::default(),
        }
    }

    /// Carries out one request and gives the packet of its answer.
    pub(super) fn step(&mut self, step: Step) -> Bytes {
        let reply = match step.asked {
            Ok(request) => self.reply(request).unwrap_or_else(failed),
            Err(why @ Malformed::Kind(_)) => Reply::status(Code::UNSUPPORTED, why.to_string()),
            Err(why) => Reply::status(Code::BAD_MESSAGE, why.to_string()),
        };
        reply.encode(step.id)
    }

    fn reply(&mut self, request: Request) -> Result<Reply, Errno> {
        match request {
            Request::Open {
                path,
                flags,
                attributes,
            } => self.open(&path, flags, &attributes),
            Request::Close { handle } => {
                let open = self.handles.take(&handle).ok_or(Errno::NOENT)?;
                drop(open);
                Ok(done())
            }
            Request::Read {
                handle,
                offset,
                length,
            } => self.read(&handle, offset, length),
            Request::Write { handle, offset, data } => self.write(&handle, offset, &data),
            Request::Stat { of } => self.stat(&of),
            Request::SetStat { of, attributes } => self.set(&of, &attributes),
            Request::OpenFolder { path } => {
                self.handles.has_room()?;
                let folder = Folder::open(&self.paths.at(&path)?)?;
                Ok(Reply::Handle(self.handles.add(Open::Folder(folder))))
            }
            Request::ReadFolder { handle } => {
                let Some(folder) = self.handles.folder(&handle) else {
                    return Ok(not_open());
                };
                let names = folder.next(&mut self.names)?;
                Ok(if names.is_empty() {
                    end()
                } else {
                    Reply::Names(names)
                })
            }
            Request::RealPath { path } => self.paths.real(&path).map(one_name),
            Request::ReadLink { path } => {
                let target = fs::readlink(self.paths.at(&path)?, Vec::new())?;
                Ok(one_name(target.into_bytes()))
            }
            Request::Extended(extension) => self.extended(extension),
            change => self.change(change).map(|()| done()),
        }
    }

    /// Changes names.
    fn change(&self, request: Request) -> Result<(), Errno> {
        let at = |name: &[u8]| self.paths.at(name);
        match request {
            Request::Remove { path, folder: true } => fs::rmdir(at(&path)?),
            Request::Remove { path, folder: false } => fs::unlink(at(&path)?),
            Request::MakeFolder { path, attributes } => {
                fs::mkdir(at(&path)?, attributes::mode_or(&attributes, 0o777))
            }
            Request::Rename { from, to } => rename(&at(&from)?, &at(&to)?),
            Request::Symlink { target, link } => fs::symlink(target, at(&link)?),
            _ => Err(Errno::NOSYS),
        }
    }

    fn open(&mut self, path: &[u8], flags: OpenFlags, attributes: &Attributes) -> Result<Reply, Errno> {
        self.handles.has_room()?;
        let wants = |flag| flags.contains(flag);
        let mut how = match (wants(OpenFlags::READ), wants(OpenFlags::WRITE)) {
            (true, true) => OFlags::RDWR,
            (false, true) => OFlags::WRONLY,
            _ => OFlags::RDONLY,
        };
        how.set(OFlags::APPEND, wants(OpenFlags::APPEND));
        how.set(OFlags::CREATE, wants(OpenFlags::CREATE));
        how.set(OFlags::TRUNC, wants(OpenFlags::TRUNCATE));
        how.set(OFlags::EXCL, wants(OpenFlags::EXCLUSIVE));
        // Nobody may write to a pipe, ever; a terminal must not become ours.
        how |= OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let mode = attributes::mode_or(attributes, 0o666);
        let file = File::from(fs::open(self.paths.at(path)?, how, mode)?);
        Ok(Reply::Handle(self.handles.add(Open::File(file))))
    }

    fn read(&self, handle: &[u8], offset: u64, length: u32) -> Result<Reply, Errno> {
        let Some(file) = self.handles.file(handle) else {
            return Ok(not_open());
        };
        let length = (length as usize).min(LONGEST);
        if length == 0 {
            return Ok(Reply::Data(Bytes::new()));
        }
        let mut data = BytesMut::zeroed(length);
        let count = rustix::io::pread(file, &mut data[..], checked(offset)?)?;
        if count == 0 {
            return Ok(end());
        }
        data.truncate(count);
        Ok(Reply::Data(data.freeze()))
    }

    fn write(&self, handle: &[u8], offset: u64, data: &[u8]) -> Result<Reply, Errno> {
        let Some(file) = self.handles.file(handle) else {
            return Ok(not_open());
        };
        checked(offset)?;
        let mut written = 0;
        // A disk that is full in the middle takes a part first, then says so.
        while written < data.len() {
            match rustix::io::pwrite(file, &data[written..], offset + written as u64)? {
                0 => return Err(Errno::NOSPC),
                count => written += count,
            }
        }
        if data.is_empty() {
            rustix::io::pwrite(file, data, offset)?;
        }
        Ok(done())
    }

    fn stat(&self, of: &Target) -> Result<Reply, Errno> {
        let stat = match of {
            Target::Path(path) => fs::stat(self.paths.at(path)?)?,
            Target::Link(path) => fs::lstat(self.paths.at(path)?)?,
            Target::Handle(handle) => match self.handles.file(handle) {
                Some(file) => fs::fstat(file)?,
                None => return Ok(not_open()),
            },
        };
        Ok(Reply::Attributes(attributes::of(&stat)))
    }

    fn set(&self, of: &Target, wanted: &Attributes) -> Result<Reply, Errno> {
        match of {
            Target::Path(path) => attributes::set(&self.paths.at(path)?, wanted)?,
            Target::Link(path) => attributes::set_link(&self.paths.at(path)?, wanted)?,
            Target::Handle(handle) => match self.handles.file(handle) {
                Some(file) => attributes::set_open(file, wanted)?,
                None => return Ok(not_open()),
            },
        }
        Ok(done())
    }

    fn extended(&mut self, extension: Extension) -> Result<Reply, Errno> {
        let at = |name: &[u8]| self.paths.at(name);
        match extension {
            Extension::PosixRename { from, to } => {
                fs::rename(at(&from)?, at(&to)?)?;
                Ok(done())
            }
            Extension::HardLink { from, to } => {
                // Unlike link(2) of POSIX, that of Linux gives the link itself another name.
                fs::linkat(CWD, at(&from)?, CWD, at(&to)?, AtFlags::empty())?;
                Ok(done())
            }
            Extension::Fsync { handle } => {
                let file = self.handles.file(&handle).ok_or(Errno::NOENT)?;
                fs::fsync(file)?;
                Ok(done())
            }
            Extension::StatVfs { path } => Ok(file_system(&fs::statvfs(at(&path)?)?)),
            Extension::Other { name, data } if name == FSTATVFS => {
                // A string: its length in four bytes comes first.
                let Some(file) = data.get(4..).and_then(|handle| self.handles.file(handle)) else {
                    return Ok(not_open());
                };
                Ok(file_system(&fs::fstatvfs(file)?))
            }
            Extension::Limits => {
                let limits = Limits {
                    packet: MAX_PACKET as u64,
                    read: LONGEST as u64,
                    write: LONGEST as u64,
                    handles: self.handles.limit() as u64,
                };
                Ok(Reply::Extended(limits.encode()))
            }
            Extension::ExpandPath { path } => self.paths.expand(&path).map(one_name),
            Extension::HomeDirectory { user } => self.paths.home_of(&user).map(one_name),
            Extension::CopyData { .. } | Extension::Other { .. } => {
                let message = "this server does not know the extension";
                Ok(Reply::status(Code::UNSUPPORTED, message))
            }
        }
    }
}

/// Gives a file another name that nothing has yet.
fn rename(from: &std::path::Path, to: &std::path::Path) -> Result<(), Errno> {
    let is_file = fs::FileType::from_raw_mode(fs::lstat(from)?.st_mode).is_file();
    if is_file {
        match fs::linkat(CWD, from, CWD, to, AtFlags::empty()) {
            Ok(()) => {
                return fs::unlink(from).inspect_err(|_| {
                    // The old name stays, so the new one goes; if that fails too, the file has both.
                    let _both = fs::unlink(to);
                });
            }
            // File systems without second names. What follows has a gap between looking and renaming.
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::XDEV | Errno::PERM) => {}
            Err(error) => return Err(error),
        }
    }
    // As OpenSSH has it: a link that leads nowhere is in nobody's way.
    match fs::stat(to) {
        Ok(_) => Err(Errno::EXIST),
        Err(_) => fs::rename(from, to),
    }
}

/// Offsets of the system are signed.
fn checked(offset: u64) -> Result<u64, Errno> {
    i64::try_from(offset).map(|_| offset).map_err(|_| Errno::INVAL)
}

fn done() -> Reply {
    Reply::status(Code::OK, "")
}

fn end() -> Reply {
    Reply::status(Code::END, "end")
}

fn not_open() -> Reply {
    Reply::status(Code::FAILURE, "the handle is not open for this")
}

fn one_name(name: Vec<u8>) -> Reply {
    Reply::Names(vec![Name {
        long: name.clone(),
        name,
        attributes: Attributes::default(),
    }])
}

/// Says what the system said. Version 3 has few codes; which stands for what is OpenSSH's choice.
fn failed(error: Errno) -> Reply {
    let code = match error {
        Errno::NOENT | Errno::NOTDIR | Errno::BADF | Errno::LOOP => Code::NO_SUCH_FILE,
        Errno::PERM | Errno::ACCESS | Errno::FAULT => Code::PERMISSION_DENIED,
        Errno::NAMETOOLONG | Errno::INVAL => Code::BAD_MESSAGE,
        Errno::NOSYS => Code::UNSUPPORTED,
        _ => Code::FAILURE,
    };
    let text = io::Error::from(error).to_string();
    // The number that the standard library adds says nothing to a person.
    let words = text.split(" (os error").next().unwrap_or_default();
    Reply::status(code, words.to_lowercase())
}

/// Writes what is known of a file system: eleven numbers (OpenSSH's `PROTOCOL`, section 4.4).
fn file_system(known: &StatVfs) -> Reply {
    let has = |flag, bit: u64| if known.f_flag.contains(flag) { bit } else { 0 };
    let numbers = [
        known.f_bsize,
        known.f_frsize,
        known.f_blocks,
        known.f_bfree,
        known.f_bavail,
        known.f_files,
        known.f_ffree,
        known.f_favail,
        known.f_fsid,
        has(StatVfsMountFlags::RDONLY, 1) | has(StatVfsMountFlags::NOSUID, 2),
        known.f_namemax,
    ];
    Reply::Extended(Bytes::from(numbers.map(u64::to_be_bytes).concat()))
}

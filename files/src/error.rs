//! Why something could not be done.

use std::{fmt, io};

use sftp::name::{show, split};

use crate::{State, part};

/// Why something could not be done: what was tried, with which path, on which side, and the reason.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    operation: &'static str,
    path: Vec<u8>,
    side: Side,
    cause: Cause,
}

/// Where something failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// On this machine.
    Local,
    /// On the host.
    Host,
}

/// The reason.
#[derive(Debug)]
pub enum Cause {
    /// The host refused, or the session with it broke.
    Sftp(sftp::Error),
    /// The system of this machine refused.
    Io(io::Error),
    /// No channel to the host could be opened.
    Channel(Box<dyn std::error::Error + Send + Sync>),
    /// The target is not in the state that the caller knows.
    Conflict {
        /// What the caller knows; `None` is "it does not exist".
        expected: Option<State>,
        /// What is there; `None` is "it does not exist".
        found: Option<State>,
    },
    /// The source changed while it was read, so that what was read may be of two states.
    Changed,
    /// A name from the host that would lead out of the folder it belongs in.
    UnsafeName,
    /// The folder in which something should be made is not there.
    NoFolder,
    /// It is not of the kind that the operation takes, for example a folder where a file should be.
    WrongKind(&'static str),
    /// A pattern that cannot be.
    Pattern(&'static str),
}

impl Error {
    pub(crate) fn new(operation: &'static str, path: &[u8], side: Side, cause: Cause) -> Self {
        Self(Box::new(Inner {
            operation,
            path: path.to_vec(),
            side,
            cause,
        }))
    }

    pub(crate) fn host(operation: &'static str, path: &[u8], cause: Cause) -> Self {
        Self::new(operation, path, Side::Host, cause)
    }

    pub(crate) fn local(operation: &'static str, path: &[u8], error: io::Error) -> Self {
        Self::new(operation, path, Side::Local, Cause::Io(error))
    }

    /// Gives what was tried, as in `write`.
    #[must_use]
    pub fn operation(&self) -> &'static str {
        self.0.operation
    }

    /// Gives the path as the file system has it.
    #[must_use]
    pub fn path(&self) -> &[u8] {
        &self.0.path
    }

    /// Says on which side it failed.
    #[must_use]
    pub fn side(&self) -> Side {
        self.0.side
    }

    /// Gives the reason.
    #[must_use]
    pub fn cause(&self) -> &Cause {
        &self.0.cause
    }

    /// Says whether the connection to the host is gone, so that nothing else can succeed either.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        match &self.0.cause {
            Cause::Sftp(error) => error.is_lost(),
            Cause::Channel(_) => true,
            _ => false,
        }
    }

    /// Says whether what was named does not exist.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        match &self.0.cause {
            Cause::Sftp(error) => error.code() == Some(sftp::Code::NO_SUCH_FILE),
            Cause::Io(error) => error.kind() == io::ErrorKind::NotFound,
            Cause::NoFolder => true,
            _ => false,
        }
    }

    /// Says what to do.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match &self.0.cause {
            Cause::Sftp(error) => error.hint(),
            Cause::Io(error) => match error.kind() {
                io::ErrorKind::NotFound => {
                    Some("check the spelling; the folder of a new file must be there already")
                }
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    Some("free some space on this machine")
                }
                io::ErrorKind::PermissionDenied => {
                    Some("look at the owner and mode of the file and its folder")
                }
                io::ErrorKind::NotADirectory => Some(
                    "something that is no folder, or a link, is in the way; remove it or name another target",
                ),
                _ => None,
            },
            Cause::Channel(_) => Some("look at the connection with `reasonix remote doctor`"),
            Cause::Conflict { .. } => {
                Some("fetch the file again and repeat the change, or write over it on purpose")
            }
            Cause::Changed => Some("try again when nothing writes to the file"),
            Cause::NoFolder => {
                Some("make the folder first, or check the spelling; a path begins in the home")
            }
            Cause::UnsafeName => Some("do not trust what this host sends"),
            Cause::WrongKind("it is a folder") if self.operation() == "copy" => {
                Some("copy folders with their content by `--recursive`")
            }
            Cause::WrongKind("it is a folder") => Some("name a file in that folder"),
            Cause::WrongKind(_) => None,
            Cause::Pattern(_) => Some("put a `\\` before a character that is meant as it is"),
        }
    }
}

impl From<sftp::Error> for Error {
    fn from(error: sftp::Error) -> Self {
        let path = error.path().to_vec();
        let (folder, name) = split(&path);
        // The name of the half-written file says nothing to anybody.
        if error.code() == Some(sftp::Code::NO_SUCH_FILE)
            && error.operation() == "open"
            && part::is_part(name)
        {
            return Self::host("write into", folder, Cause::NoFolder);
        }
        Self::host(error.operation(), &path, Cause::Sftp(error))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner {
            operation,
            path,
            side,
            cause,
        } = &*self.0;
        if let Cause::Sftp(error) = cause {
            return error.fmt(f);
        }
        write!(f, "could not {operation}")?;
        if !path.is_empty() {
            write!(f, " {}", show(path))?;
        }
        write!(f, " on {side}")?;
        match cause {
            Cause::Sftp(_) | Cause::Io(_) | Cause::Channel(_) => Ok(()),
            Cause::Conflict { expected, found } => write!(
                f,
                ": it is not as expected: expected {}, found {}",
                Shown(expected.as_ref()),
                Shown(found.as_ref())
            ),
            Cause::Changed => f.write_str(": it changed while it was read"),
            Cause::NoFolder => f.write_str(": there is no such folder"),
            Cause::UnsafeName => f.write_str(": the name leads out of its folder"),
            Cause::WrongKind(what) | Cause::Pattern(what) => write!(f, ": {what}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.cause {
            // Its text is in this one's text.
            Cause::Sftp(error) => std::error::Error::source(error),
            Cause::Io(error) => Some(error),
            Cause::Channel(error) => Some(error.as_ref()),
            _ => None,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Local => "this machine",
            Self::Host => "the host",
        })
    }
}

struct Shown<'a>(Option<&'a State>);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(state) => state.fmt(f),
            None => f.write_str("no file"),
        }
    }
}

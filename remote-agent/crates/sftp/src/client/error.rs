//! Why a request failed.

use std::{fmt, sync::Arc, time::Duration};

use crate::{Code, Malformed, name::show};

/// Why a request failed: what was tried, with which path, and the reason. All of it happened on the side of the server.
#[derive(Debug, Clone)]
pub struct Error {
    operation: &'static str,
    path: Vec<u8>,
    cause: Cause,
}

/// The reason.
#[derive(Debug, Clone)]
pub enum Cause {
    /// The server answered that it could not.
    Refused {
        /// How it ended.
        code: Code,
        /// The server's words; may be empty.
        message: String,
    },
    /// The stream ended or broke.
    Lost(Option<Arc<std::io::Error>>),
    /// Nothing moved for this long, in either direction, while answers were owed.
    Silent(Duration),
    /// The other side does not speak SFTP; with the first line of what it said.
    NotSftp(String),
    /// An answer made no sense.
    Malformed(Malformed),
    /// An answer does not fit what was asked.
    Unexpected(&'static str),
    /// The server did not announce that it can do this.
    Missing(&'static str),
    /// The client was closed.
    Closed,
}

impl Error {
    pub(crate) fn new(operation: &'static str, path: &[u8], cause: Cause) -> Self {
        Self {
            operation,
            path: path.to_vec(),
            cause,
        }
    }

    /// Gives what was tried, such as `open`.
    #[must_use]
    pub fn operation(&self) -> &'static str {
        self.operation
    }

    /// Gives the path as the file system has it; empty where there was none.
    #[must_use]
    pub fn path(&self) -> &[u8] {
        &self.path
    }

    /// Gives the reason.
    #[must_use]
    pub fn cause(&self) -> &Cause {
        &self.cause
    }

    /// Gives the code of the answer, where there was one.
    #[must_use]
    pub fn code(&self) -> Option<Code> {
        match self.cause {
            Cause::Refused { code, .. } => Some(code),
            _ => None,
        }
    }

    /// Says whether the connection is gone, so that no other request can succeed.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        matches!(
            self.cause,
            Cause::Lost(_) | Cause::Silent(_) | Cause::NotSftp(_) | Cause::Closed
        )
    }

    /// Says what to do.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match &self.cause {
            Cause::NotSftp(_) => Some(
                "shell start-up files on the host that print text break sftp; let them print only when interactive",
            ),
            Cause::Silent(_) | Cause::Lost(_) => Some("try again when the host can be reached"),
            Cause::Missing(_) => Some("the host's sftp server is too old for this"),
            Cause::Refused {
                code: Code::PERMISSION_DENIED,
                ..
            } => {
                Some("the host's user may not do this; look at the owner and mode of the file and its folder")
            }
            Cause::Refused {
                code: Code::NO_SUCH_FILE,
                ..
            } => Some(
                "check the spelling; a path begins in the home of the host's user, and the folder of a new file must be there already",
            ),
            Cause::Refused {
                code: Code::FAILURE, ..
            } => Some(
                "the host gives no reason; look there for a full disk, a quota or something in the way at that path",
            ),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "could not {}", self.operation)?;
        if !self.path.is_empty() {
            write!(f, " {}", show(&self.path))?;
        }
        write!(f, " on the host: {}", self.cause)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { code, message } => {
                let words = code.words();
                f.write_str(words)?;
                let message = stdx::bounded::one_line(message, 200);
                // OpenSSH's messages are names of codes; those say nothing more.
                let known = [
                    "Failure",
                    "No such file",
                    "Permission denied",
                    "End of file",
                    "Success",
                    "Operation unsupported",
                    "Bad message",
                ];
                if !message.is_empty() && !known.contains(&message.as_str()) {
                    write!(f, " ({message})")?;
                }
                Ok(())
            }
            Self::Lost(_) => f.write_str("the connection was lost"),
            Self::Silent(time) => write!(f, "the host did not answer for {} s", time.as_secs()),
            Self::NotSftp(said) if said.is_empty() => f.write_str("its sftp server ended at once"),
            Self::NotSftp(said) => write!(f, "its answer is no sftp, it says {said:?}"),
            Self::Malformed(why) => write!(f, "an answer made no sense: {why}"),
            Self::Unexpected(what) => write!(f, "an answer does not fit: {what}"),
            Self::Missing(what) => write!(f, "its sftp server does not offer {what}"),
            Self::Closed => f.write_str("the session was closed"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.cause {
            Cause::Lost(Some(error)) => Some(error.as_ref()),
            Cause::Malformed(why) => Some(why),
            _ => None,
        }
    }
}

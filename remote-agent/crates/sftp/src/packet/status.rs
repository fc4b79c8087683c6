//! How a request ended (draft, section 7).

/// How a request ended. Versions after 3 have more codes, and servers send them to clients of version 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code(pub u32);

impl Code {
    /// It was done.
    pub const OK: Self = Self(0);
    /// The file or folder has no more.
    pub const END: Self = Self(1);
    /// There is no such file, or a part of its path is none.
    pub const NO_SUCH_FILE: Self = Self(2);
    /// The user may not.
    pub const PERMISSION_DENIED: Self = Self(3);
    /// Anything else: version 3 has no code for a full disk or a name that is taken.
    pub const FAILURE: Self = Self(4);
    /// The packet made no sense.
    pub const BAD_MESSAGE: Self = Self(5);
    /// No connection (used by clients themselves).
    pub const NO_CONNECTION: Self = Self(6);
    /// The connection was lost (used by clients themselves).
    pub const CONNECTION_LOST: Self = Self(7);
    /// The server cannot do that.
    pub const UNSUPPORTED: Self = Self(8);

    /// Gives words for it.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self.0 {
            0 => "done",
            1 => "end of file",
            2 => "no such file or folder",
            3 => "permission denied",
            4 => "the host could not",
            5 => "the host did not understand the request",
            6 | 7 => "the connection was lost",
            8 => "the host does not support this",
            // Codes of versions 4 to 6 that servers send nevertheless.
            11 => "the file exists already",
            12 => "the file system is read-only",
            14 => "no space left on the host",
            15 => "the quota of the host's user is used up",
            18 => "the folder is not empty",
            19 => "not a folder",
            24 => "it is a folder",
            _ => "the host gave a reason that is not known here",
        }
    }
}

//! What a command may touch.

use stdx::AbsPath;

/// How far a command is confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Only the private temporary folder is writable.
    ReadOnly,
    /// The workspace, the write roots and the private temporary folder are writable.
    WorkspaceWrite,
    /// Nothing is enforced.
    Unconfined,
}

/// Whether a confined command may open network connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Network {
    /// The host's network is shared.
    Allowed,
    /// The command has a network of its own with nothing in it, not even the host's loopback.
    Denied,
}

/// The limits of one command. Under [`Mode::Unconfined`] only `mode` and `workspace` have a meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// How far the command is confined.
    pub mode: Mode,
    /// The folder the command starts in. It must exist.
    pub workspace: AbsPath,
    /// Folders writable beside the workspace. Missing ones are left out.
    pub write_roots: Vec<AbsPath>,
    /// Folders that cannot be changed, even below a writable one, unless they are one themselves, and of which only
    /// the entries that do not start with a dot are seen. Put the program's own folder here.
    pub write_deny: Vec<AbsPath>,
    /// Files and folders that look empty or unreadable. Put secrets and the sockets of programs that act for the
    /// user here: a read-only file system does not stop a command from connecting to a socket.
    pub read_deny: Vec<AbsPath>,
    /// Whether connections are possible.
    pub network: Network,
}

impl Policy {
    /// Gives a policy for `workspace` without further roots or denials, and with the network.
    #[must_use]
    pub fn new(mode: Mode, workspace: AbsPath) -> Self {
        Self {
            mode,
            workspace,
            write_roots: Vec::new(),
            write_deny: Vec::new(),
            read_deny: Vec::new(),
            network: Network::Allowed,
        }
    }
}

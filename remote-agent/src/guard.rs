//! The process that ends the commands of another one of this program when that one is killed.

use std::{io, path::Path};

/// Becomes the guard that another process of this program has started ([`crate::AgentOptions::guard`]): waits for its end
/// on standard input, and ends the commands that it leaves.
///
/// # Errors
/// When the process cannot leave its session, or standard input cannot be waited for.
pub fn guard(folder: &Path) -> io::Result<()> {
    // What ends the other one's session or terminal does not end this process.
    rustix::process::setsid()?;
    sandbox::guard_processes(io::stdin().lock(), folder)
}

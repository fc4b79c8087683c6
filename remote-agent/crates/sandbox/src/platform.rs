//! What the system says about processes.

#[cfg(target_os = "linux")]
#[path = "platform/linux.rs"]
mod system;
#[cfg(not(target_os = "linux"))]
#[path = "platform/none.rs"]
mod system;

pub(crate) use system::{boot_id, group_members, is_alive, start_time};

/// A running process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessInfo {
    /// Its number, as the host numbers it.
    pub pid: u32,
    /// Its short name (at most 15 bytes); empty where the system does not tell.
    pub name: String,
}

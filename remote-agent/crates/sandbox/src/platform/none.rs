//! A system without `/proc`: only the existence of groups and processes is known.

use rustix::process::{Pid, test_kill_process, test_kill_process_group};

use super::ProcessInfo;

/// Gives one nameless entry when the group exists.
pub(crate) fn group_members(group: u32) -> Vec<ProcessInfo> {
    let exists = pid(group).is_some_and(|pid| test_kill_process_group(pid).is_ok());
    if exists {
        vec![ProcessInfo {
            pid: group,
            name: String::new(),
        }]
    } else {
        Vec::new()
    }
}

/// Says whether a process with this number exists.
pub(crate) fn is_alive(number: u32) -> bool {
    pid(number).is_some_and(|pid| test_kill_process(pid).is_ok())
}

/// Says nothing.
pub(crate) fn start_time(_pid: u32) -> Option<u64> {
    None
}

/// Says nothing.
pub(crate) fn boot_id() -> String {
    String::new()
}

fn pid(number: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(number).ok()?)
}

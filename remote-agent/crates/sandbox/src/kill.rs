//! Signals to a whole process group.
//!
//! A command is the leader of a group with its own number. The number cannot be given to anybody else while the group
//! has a member, so a group is the one handle on a tree of processes that does not go stale by itself.

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use crate::platform::{self, ProcessInfo};

/// The number of the process group a command runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Group(Pid);

impl Group {
    /// Takes the number of the group's leader. `None` for numbers that no process has, and for 1: a signal to that
    /// group would reach the system.
    pub(crate) fn of_leader(pid: u32) -> Option<Self> {
        let pid = i32::try_from(pid).ok().filter(|pid| *pid > 1)?;
        Pid::from_raw(pid).map(Self)
    }

    /// Gives the number.
    pub(crate) fn number(self) -> u32 {
        self.0.as_raw_nonzero().get().unsigned_abs()
    }

    /// Says whether it has members, also such as only wait to be collected.
    pub(crate) fn exists(self) -> bool {
        test_kill_process_group(self.0) != Err(rustix::io::Errno::SRCH)
    }

    /// Lists the members that run.
    pub(crate) fn members(self) -> Vec<ProcessInfo> {
        // The cheap question first: most commands leave nothing.
        if !self.exists() {
            return Vec::new();
        }
        platform::group_members(self.number())
    }

    /// Asks all members to end.
    pub(crate) fn terminate(self) {
        self.signal(Signal::TERM);
    }

    /// Tells all members that their terminal is gone.
    pub(crate) fn hang_up(self) {
        self.signal(Signal::HUP);
    }

    /// Ends all members.
    pub(crate) fn kill(self) {
        self.signal(Signal::KILL);
    }

    /// Says whether a process has the group's number although the leader is known to be gone: then the group is gone
    /// too and the number is somebody else's.
    pub(crate) fn is_reused(self) -> bool {
        platform::is_alive(self.number())
    }

    fn signal(self, signal: Signal) {
        if let Err(error) = kill_process_group(self.0, signal) {
            // A group that has just ended is the usual case and what was wanted.
            tracing::debug!(group = self.number(), %error, "could not signal a process group");
        }
    }
}

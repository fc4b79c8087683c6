//! What commands left running, until somebody stops it.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use crate::{ProcessInfo, kill::Group};

/// A process group whose shell has exited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackgroundGroup {
    /// The group's number.
    pub group: u32,
    /// Its running members, numbered as the host numbers them.
    pub processes: Vec<ProcessInfo>,
}

/// The groups left behind in one session.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    groups: Mutex<Vec<Group>>,
}

impl Jobs {
    /// Remembers a group whose leader has been collected.
    pub(crate) fn add(&self, group: Group) {
        self.live();
        self.groups
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(group);
    }

    /// Lists the groups that still have members and forgets the others.
    pub(crate) fn list(&self) -> Vec<BackgroundGroup> {
        let live = self.live();
        live.into_iter()
            .map(|(group, processes)| BackgroundGroup {
                group: group.number(),
                processes,
            })
            .collect()
    }

    /// Ends every group: SIGTERM, up to `grace`, SIGKILL.
    pub(crate) async fn stop(&self, grace: Duration) {
        for (group, _) in self.live() {
            group.terminate();
        }
        let deadline = stdx::clock::monotonic() + grace;
        while !self.live().is_empty() && stdx::clock::monotonic() < deadline {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.kill();
    }

    /// Ends every group at once.
    pub(crate) fn kill(&self) {
        for (group, _) in self.live() {
            group.kill();
        }
    }

    fn live(&self) -> Vec<(Group, Vec<ProcessInfo>)> {
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        let live: Vec<_> = groups
            .iter()
            .filter(|group| !group.is_reused())
            .map(|group| (*group, group.members()))
            .filter(|(_, members)| !members.is_empty())
            .collect();
        *groups = live.iter().map(|(group, _)| *group).collect();
        live
    }
}

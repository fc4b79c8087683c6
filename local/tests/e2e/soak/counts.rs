//! What is open and what runs, so that nothing stays behind.

use std::{collections::BTreeSet, fs, time::Duration};

use crate::{faults::children, rig::Rig};

/// How long the end of what ended may take: sshd asks three times for a sign of life before it lets go.
const SETTLE: Duration = Duration::from_secs(25);

/// Numbers at a moment at which nothing is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    /// Descriptors of this process: the client, the model and the proxy.
    own: usize,
    /// Descriptors of the agent.
    agent: usize,
    /// Descriptors of the listening sshd.
    sshd: usize,
    /// Processes of logins.
    logins: usize,
    /// Processes of our program on the host.
    programs: usize,
}

impl Counts {
    pub(super) fn take(rig: &Rig) -> Self {
        let model = to_model(rig);
        let of = |pid: Option<u32>| pid.map_or(0, |pid| descriptors(&pid.to_string(), &model));
        Self {
            own: descriptors("self", &model),
            agent: of(rig.daemon_pid()),
            sshd: of(rig.sshd.pid()),
            logins: logins(rig).len(),
            programs: rig.running_programs().len(),
        }
    }

    /// Waits until no number is above what it was, and gives what is too much, in all and in words.
    pub(super) async fn settle(self, rig: &Rig) -> (usize, String) {
        let mut now = Self::take(rig);
        let wait = async {
            while now.beyond(self) > 0 {
                tokio::time::sleep(Duration::from_millis(50)).await;
                now = Self::take(rig);
            }
        };
        let in_time = tokio::time::timeout(SETTLE, wait).await;
        match in_time {
            Ok(()) => (0, String::new()),
            Err(_) => {
                let own = targets("self");
                let agent = rig.daemon_pid().map(|pid| targets(&pid.to_string()));
                let words = format!("leaked: {self:?} became {now:?}\nown: {own:?}\nagent: {agent:?}");
                (now.beyond(self), words)
            }
        }
    }

    fn beyond(self, before: Self) -> usize {
        let pairs = [
            (self.own, before.own),
            (self.agent, before.agent),
            (self.sshd, before.sshd),
            (self.logins, before.logins),
            (self.programs, before.programs),
        ];
        pairs
            .iter()
            .map(|(now, before)| now.saturating_sub(*before))
            .sum()
    }
}

/// Waits until nobody is logged in any more, and gives how many are.
pub(super) async fn logged_out(rig: &Rig) -> usize {
    let wait = async {
        while !logins(rig).is_empty() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    match tokio::time::timeout(SETTLE, wait).await {
        Ok(()) => 0,
        Err(_) => logins(rig).len(),
    }
}

/// Lists the processes of sshd that serve logins: process ids.
pub(super) fn logins(rig: &Rig) -> Vec<u32> {
    let mut found = children(rig.sshd.pid().unwrap());
    let mut next = 0;
    while let Some(pid) = found.get(next).copied() {
        found.extend(children(pid));
        next += 1;
    }
    let is_sshd = |pid: &u32| {
        fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.starts_with("sshd"))
    };
    found.retain(is_sshd);
    found
}

/// Counts descriptors, without those of connections to the model: the agent keeps a few of them for the next request.
fn descriptors(pid: &str, model: &BTreeSet<String>) -> usize {
    let targets = targets(pid);
    targets.iter().filter(|target| !model.contains(*target)).count()
}

/// Gives the sockets of connections to the model, both ends.
fn to_model(rig: &Rig) -> BTreeSet<String> {
    let url = rig.model.base_url();
    let port = url.rsplit(':').next().and_then(|rest| rest.split('/').next());
    let port: u16 = port.unwrap().parse().unwrap();
    let port = format!(":{port:04X}");
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let socket = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_listening = words.get(3) == Some(&"0A");
        let is_it = words.get(1)?.ends_with(&port) || words.get(2)?.ends_with(&port);
        (is_it && !is_listening).then(|| format!("socket:[{}]", words.get(9).unwrap_or(&"")))
    };
    table.lines().filter_map(socket).collect()
}

/// Gives what the descriptors of a process lead to.
fn targets(pid: &str) -> Vec<String> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten()
        .flatten();
    let targets = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
    let mut targets: Vec<String> = targets.map(|target| target.display().to_string()).collect();
    targets.sort_unstable();
    targets
}

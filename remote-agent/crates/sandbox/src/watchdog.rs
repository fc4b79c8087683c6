//! The guard's process: waits for the end of the process that started it, and ends what that one leaves behind.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read},
    os::fd::AsFd,
    path::Path,
    time::Duration,
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::{kill::Group, platform};

/// How long a group has between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);
/// How often a dying group is looked at.
const POLL: Duration = Duration::from_millis(20);
/// How often groups without their leader are looked at, so that one that ended is forgotten long before its number is
/// given to somebody else.
const LOOK_EVERY: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};
/// The file in the guard's folder that lists what it watches, for whoever comes when the guard was killed as well.
const LIST: &str = "groups";

/// A group that is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    /// When its leader started, in clock ticks since boot.
    start: u64,
    /// Whether its leader has ended.
    background: bool,
}

type Entries = BTreeMap<u32, Entry>;

/// Watches the groups that `input` names until it ends, then ends those that are left, and returns. `folder` takes the
/// list of what is watched, and is removed at the end.
///
/// # Errors
/// When `input` cannot be waited for; what is watched is ended then, too.
pub fn guard_processes(mut input: impl Read + AsFd, folder: &Path) -> io::Result<()> {
    let mut entries = Entries::new();
    let watched = watch(&mut input, &mut entries, folder);
    end(&entries);
    // Who made it may have removed it.
    drop(fs::remove_dir_all(folder));
    watched
}

fn watch(input: &mut (impl Read + AsFd), entries: &mut Entries, folder: &Path) -> io::Result<()> {
    let mut pending = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let is_waiting_for_ends = entries.values().any(|entry| entry.background);
        let limit = is_waiting_for_ends.then_some(&LOOK_EVERY);
        let mut ends = [PollFd::new(input, PollFlags::IN)];
        let count = match poll(&mut ends, limit) {
            Err(rustix::io::Errno::INTR) => continue,
            count => count?,
        };
        let before = entries.clone();
        if count > 0 {
            match input.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(read) => pending.extend_from_slice(buffer.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
                let rest = pending.split_off(end + 1);
                let line = std::mem::replace(&mut pending, rest);
                note(entries, &String::from_utf8_lossy(&line));
            }
        }
        entries.retain(|group, entry| !entry.background || is_theirs(*group, *entry).is_some());
        if *entries != before {
            // It is only the second way; a full disk takes it away.
            drop(fs::write(folder.join(LIST), list(entries)));
        }
    }
}

/// Takes one line. What makes no sense is skipped.
fn note(entries: &mut Entries, line: &str) {
    let mut words = line.split_whitespace();
    let (verb, group) = (
        words.next(),
        words.next().and_then(|word| word.parse::<u32>().ok()),
    );
    let Some(group) = group else { return };
    match verb {
        Some("+") => {
            if let Some(start) = words.next().and_then(|word| word.parse().ok()) {
                let background = false;
                entries.insert(group, Entry { start, background });
            }
        }
        Some("b") => {
            if let Some(entry) = entries.get_mut(&group) {
                entry.background = true;
            }
        }
        Some("-") => {
            entries.remove(&group);
        }
        _ => {}
    }
}

/// Writes what is watched: the boot, then a group and the start of its leader on each line.
fn list(entries: &Entries) -> String {
    let groups = entries
        .iter()
        .map(|(group, entry)| format!("{group} {}\n", entry.start));
    platform::boot_id() + "\n" + &groups.collect::<String>()
}

/// Gives the group if it still is the one that was named. Its number is not given away while it has a member, and it was
/// looked at a moment ago; a leader that started at another time is somebody else.
fn is_theirs(number: u32, entry: Entry) -> Option<Group> {
    let group = Group::of_leader(number).filter(|group| group.exists())?;
    let same = platform::start_time(number).is_none_or(|start| start == entry.start);
    same.then_some(group)
}

/// Gives the group if its leader still runs and is the one that was named, which needs no look a moment ago.
fn is_led(number: u32, start: u64) -> Option<Group> {
    let group = Group::of_leader(number)?;
    (start != 0 && platform::start_time(number) == Some(start)).then_some(group)
}

fn end(entries: &Entries) {
    let left = || {
        entries
            .iter()
            .filter_map(|(group, entry)| is_theirs(*group, *entry))
    };
    end_all(&left);
}

/// Ends groups: SIGTERM, up to the grace, SIGKILL. They are looked up anew each time.
fn end_all<I: Iterator<Item = Group>>(left: &dyn Fn() -> I) {
    for group in left() {
        group.terminate();
    }
    let deadline = stdx::clock::monotonic() + GRACE;
    while left().next().is_some() && stdx::clock::monotonic() < deadline {
        std::thread::sleep(POLL);
    }
    for group in left() {
        group.kill();
    }
}

/// Ends what a guard's folder lists, where it can be proven that it is the same: after a process and its guard were
/// killed together. Only groups whose leader runs count.
pub fn end_listed(folder: &Path) {
    let Ok(text) = fs::read_to_string(folder.join(LIST)) else {
        return;
    };
    let mut lines = text.lines();
    let boot = platform::boot_id();
    if boot.is_empty() || lines.next() != Some(boot.as_str()) {
        return;
    }
    let listed: Vec<(u32, u64)> = lines
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(group, start)| Some((group.parse().ok()?, start.parse().ok()?)))
        .collect();
    end_all(&|| listed.iter().filter_map(|(group, start)| is_led(*group, *start)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_noted_and_nonsense_is_skipped() {
        let mut entries = Entries::new();
        for line in [
            "+ 7 70", "+ 8 80", "+ 9", "b 8", "b 5", "- 7", "- 6", "", "x 8 1", "+ -1 3",
        ] {
            note(&mut entries, line);
        }
        let entry = Entry {
            start: 80,
            background: true,
        };
        assert_eq!(entries, Entries::from([(8, entry)]));
        assert!(list(&entries).ends_with("\n8 80\n"));
    }

    #[test]
    fn a_reused_number_is_nobody() {
        let own = std::process::id();
        let start = platform::start_time(own).unwrap();
        assert!(is_led(own, start).is_some());
        assert!(is_led(own, start + 1).is_none() && is_led(own, 0).is_none() && is_led(1, 1).is_none());
    }
}

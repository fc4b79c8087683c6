//! Processes as `/proc` shows them (proc_pid_stat(5)).

use std::fs;

use super::ProcessInfo;

/// Lists the processes of a group that still run. Processes that only wait to be collected do not count.
pub(crate) fn group_members(group: u32) -> Vec<ProcessInfo> {
    let entries = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(stat)
        .filter(|stat| stat.group == group && stat.runs)
        .map(|stat| stat.process)
        .collect()
}

/// Says whether a process with this number runs.
pub(crate) fn is_alive(pid: u32) -> bool {
    stat(pid).is_some_and(|stat| stat.runs)
}

/// Gives when a process started, in clock ticks since boot. One that waits to be collected has a start, too.
pub(crate) fn start_time(pid: u32) -> Option<u64> {
    stat(pid)?.start
}

/// Gives the kernel's boot id, empty where there is none.
pub(crate) fn boot_id() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

struct Stat {
    process: ProcessInfo,
    group: u32,
    runs: bool,
    start: Option<u64>,
}

fn stat(pid: u32) -> Option<Stat> {
    parse(
        pid,
        &String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/stat")).ok()?),
    )
}

/// Reads `pid (name) state ppid pgrp …`; the start is field 22. The name may itself hold spaces and parentheses.
fn parse(pid: u32, line: &str) -> Option<Stat> {
    let (start, end) = (line.find('(')?, line.rfind(')')?);
    let name = line.get(start + 1..end)?.to_owned();
    let mut fields = line.get(end + 1..)?.split_whitespace();
    let state = fields.next()?;
    let group = fields.nth(1)?.parse().ok()?;
    Some(Stat {
        process: ProcessInfo { pid, name },
        group,
        start: fields.nth(16).and_then(|start| start.parse().ok()),
        runs: !matches!(state, "Z" | "X" | "x"),
    })
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn reads_awkward_names() {
        let stat = parse(7, "7 (a) (b) c) S 1 42 42 0 -1").unwrap();
        assert_eq!(
            (stat.process.name.as_str(), stat.group, stat.runs),
            ("a) (b) c", 42, true)
        );
        let fields = (4..=24).map(|field| format!(" {field}")).collect::<String>();
        assert_eq!(parse(7, &format!("7 (x) S{fields}")).unwrap().start, Some(22));
        assert!(!parse(7, "7 (x) Z 1 42 42").unwrap().runs);
        assert!(parse(7, "").is_none() && parse(7, "7 )x( S").is_none());
    }
}

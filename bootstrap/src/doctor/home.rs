//! Where sessions are kept: can it be written, is there room.

use super::{Class, Facts, Finding, Grade, bytes};
use crate::probe::Probe;

/// Less is soon used up by sessions and logs, in bytes.
const LITTLE: u64 = 100 * 1024 * 1024;
/// Fewer new files than this are soon used up.
const FEW: u64 = 1000;

pub(super) fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let mut found = vec![storage(facts.host, facts.probe)];
    found.extend(used(facts));
    found
}

/// Judges whether sessions can be kept. `host` is how the person names it, for commands.
#[must_use]
pub fn storage(host: &str, probe: &Probe) -> Finding {
    let problem = Grade::Problem(Class::Bootstrap);
    let Some(folder) = probe.home.first() else {
        return Finding::new("home", problem, "the account has no home, and REASONIX_HOME is not set there")
            .why("sessions are kept in REASONIX_HOME, else in ~/.reasonix")
            .fix("set REASONIX_HOME in a file that every shell of the account reads, such as ~/.zshenv or ~/.bashrc");
    };
    let Some(storage) = &probe.storage else {
        return Finding::new("home", Grade::Ok, folder.clone());
    };
    let why = "sessions are written there: no turn can run";
    let other = "or set REASONIX_HOME on the host to a folder on another disk";
    if let Some(said) = &storage.unwritable {
        let text = format!("{folder} cannot be written: {said}");
        let fix = format!(
            "ssh {host} 'id; ls -ld {}; df -h {}', {other}",
            storage.path, storage.path
        );
        return Finding::new("home", problem, text).why(why).fix(fix);
    }
    let takes = format!(
        "ssh {host} 'du -xk {} | sort -n | tail -20' shows what takes the space, {other}",
        probe.system.home
    );
    let left = storage.quota.map(|quota| quota.limit.saturating_sub(quota.used));
    let free = match (storage.free, left) {
        (Some(free), Some(left)) => Some(free.min(left)),
        (free, left) => free.or(left),
    };
    let within = if left.is_some() && free == left {
        " within the quota"
    } else {
        ""
    };
    let Some(free) = free else {
        return Finding::new("home", Grade::Ok, folder.clone());
    };
    let text = format!("{folder}, {} free{within}", bytes(free));
    if free < 64 * 1024 || storage.inodes == Some(0) {
        return Finding::new(
            "home",
            problem,
            format!("the disk of {folder} is full ({} free{within})", bytes(free)),
        )
        .why(why)
        .fix(takes);
    }
    if storage.locks == Some(false) {
        return Finding::new(
            "home",
            Grade::Warning,
            format!("{text}; files cannot be locked there"),
        )
        .why("two agents could write one session; keep to one machine that shares this home");
    }
    if free < LITTLE || storage.inodes.is_some_and(|inodes| inodes < FEW) {
        return Finding::new("home", Grade::Warning, text)
            .why("sessions and logs grow")
            .fix(takes);
    }
    if is_network(&storage.kind) {
        return Finding::new("home", Grade::Note, format!("{text}, on {}", storage.kind))
            .why("other machines may share it; each runs an agent of its own");
    }
    Finding::new("home", Grade::Ok, text)
}

fn is_network(kind: &str) -> bool {
    [
        "nfs", "smb", "cifs", "fuse", "afs", "lustre", "gpfs", "ceph", "9p",
    ]
    .iter()
    .any(|name| kind.starts_with(name))
}

fn used(facts: &Facts<'_>) -> Option<Finding> {
    let used = &facts.examined?.used;
    let list: Vec<String> = used
        .iter()
        .map(|(name, size)| format!("{name} {}", bytes(*size)))
        .collect();
    (!list.is_empty()).then(|| Finding::new("used", Grade::Ok, list.join(", ")))
}

//! Who this process is: pid, start time, boot and machine, and a random instance.

use std::fs;

use protocol::{Build, Hello, Identity, InstanceId, broker, hello, ports};
use sha2::{Digest as _, Sha256};

/// Features that a client may rely on.
const CAPABILITIES: [&str; 5] = [
    "sessions-1",
    "events-1",
    "approvals-1",
    broker::CAPABILITY,
    ports::CAPABILITY,
];

/// The version of this build.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Makes the hello of this process. `socket` is empty for an agent that has none.
#[must_use]
pub fn hello(instance: InstanceId, socket: &str) -> Hello {
    Hello {
        protocol: hello::VERSIONS,
        build: Build {
            version: VERSION.to_owned(),
            target: target(),
        },
        identity: Identity {
            instance,
            pid: std::process::id(),
            start_time: start_time(std::process::id()).unwrap_or(0),
            boot_id: boot_id(),
            machine: machine(),
            uid: rustix::process::getuid().as_raw(),
            socket: socket.to_owned(),
            program: std::env::current_exe()
                .map(|path| path.display().to_string())
                .unwrap_or_default(),
        },
        capabilities: CAPABILITIES.iter().map(|&name| name.to_owned()).collect(),
        draining: false,
        key_agent_socket: None,
    }
}

/// Says whether the process of an identity is still the same one: pid, start time and boot must all match. Only then
/// may it be signalled.
#[must_use]
pub fn is_running(identity: &Identity) -> bool {
    identity.boot_id == boot_id()
        && identity.start_time != 0
        && start_time(identity.pid) == Some(identity.start_time)
}

/// Gives the kernel's boot id, empty where there is none.
pub(crate) fn boot_id() -> String {
    read_line("/proc/sys/kernel/random/boot_id")
}

/// Gives the machine id, empty where there is none.
pub(crate) fn machine_id() -> String {
    read_line("/etc/machine-id")
}

/// Gives the machine id hashed with a name of ours, as machine-id(5) asks of applications.
fn machine() -> String {
    let id = machine_id();
    if id.is_empty() {
        return id;
    }
    let digest = Sha256::new()
        .chain_update("reasonix machine ")
        .chain_update(id)
        .finalize();
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

fn target() -> String {
    format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS)
}

/// Gives field 22 of `/proc/PID/stat` (proc(5)): the start time in clock ticks since boot.
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command name is in parentheses and may hold anything, so fields are counted after the last one.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

fn read_line(path: &str) -> String {
    fs::read_to_string(path)
        .map(|text| text.trim().to_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_running_and_a_changed_identity_is_not() {
        let mine = hello(InstanceId::fresh(), "").identity;
        assert!(is_running(&mine));
        assert!(!is_running(&Identity {
            start_time: mine.start_time + 1,
            ..mine.clone()
        }));
        assert!(!is_running(&Identity {
            boot_id: "other".to_owned(),
            ..mine.clone()
        }));
        assert!(!is_running(&Identity {
            start_time: 0,
            pid: u32::MAX,
            ..mine
        }));
    }
}

//! A network namespace with a name, removed when dropped.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, bail};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Where `ip netns` keeps its names.
const FOLDER: &str = "/run/netns";
/// What all names of this tool begin with; the process id comes next.
const PREFIX: &str = "rx-net-";

/// A network namespace, removed when dropped.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// Makes an empty namespace whose loopback device is up. `role` is a short word.
    pub(crate) fn create(role: &str, number: u32) -> anyhow::Result<Self> {
        let name = format!("{PREFIX}{}-{number}-{role}", std::process::id());
        ip(&["netns", "add", &name])?;
        let namespace = Self { name };
        ip(&["-n", &namespace.name, "link", "set", "lo", "up"])?;
        Ok(namespace)
    }

    /// Moves a device of this thread's namespace here, gives it an address and a peer, and takes it into use.
    pub(crate) fn adopt(&self, device: &str, address: &str, peer: &str) -> anyhow::Result<()> {
        ip(&["link", "set", device, "netns", &self.name])?;
        ip(&[
            "-n", &self.name, "address", "add", address, "peer", peer, "dev", device,
        ])?;
        self.set_device(device, true)
    }

    pub(crate) fn set_device(&self, device: &str, is_up: bool) -> anyhow::Result<()> {
        let state = if is_up { "up" } else { "down" };
        ip(&["-n", &self.name, "link", "set", device, state])
    }

    pub(crate) fn set_mtu(&self, device: &str, bytes: u16) -> anyhow::Result<()> {
        ip(&["-n", &self.name, "link", "set", device, "mtu", &bytes.to_string()])
    }

    /// Does `work` with this thread inside the namespace. Threads and processes that it starts stay inside, and so do
    /// the sockets that it opens.
    ///
    /// # Errors
    /// The namespace cannot be entered or left.
    pub fn within<T>(&self, work: impl FnOnce() -> T) -> anyhow::Result<T> {
        let outside = open(Path::new("/proc/thread-self/ns/net"))?;
        let inside = open(&self.path())?;
        enter(&inside).with_context(|| format!("could not enter the namespace {}", self.name))?;
        let result = work();
        enter(&outside).context("could not leave the namespace again")?;
        Ok(result)
    }

    /// Starts a process inside.
    ///
    /// # Errors
    /// The namespace cannot be entered, or the program cannot be started.
    pub fn spawn(&self, command: &mut Command) -> anyhow::Result<Child> {
        let name = command.get_program().to_string_lossy().into_owned();
        self.within(|| command.spawn())?
            .with_context(|| format!("could not start {name}"))
    }

    fn path(&self) -> PathBuf {
        Path::new(FOLDER).join(&self.name)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // Failing leaves an empty namespace, which `remove_stale` finds.
        drop(ip(&["netns", "delete", &self.name]));
    }
}

/// Gives a number that nothing else in this process has.
pub(crate) fn next_number() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Removes namespaces of runs that were killed.
pub(crate) fn remove_stale() {
    let Ok(entries) = std::fs::read_dir(FOLDER) else {
        return;
    };
    for name in entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
    {
        let pid = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            // Somebody else may remove it at the same time.
            drop(ip(&["netns", "delete", &name]));
        }
    }
}

fn open(path: &Path) -> anyhow::Result<File> {
    File::open(path).with_context(|| format!("could not open {}", path.display()))
}

fn enter(namespace: &File) -> anyhow::Result<()> {
    use std::os::fd::AsFd as _;
    Ok(move_into_link_name_space(
        namespace.as_fd(),
        Some(LinkNameSpaceType::Network),
    )?)
}

#[expect(
    clippy::disallowed_methods,
    reason = "stdx would bring tokio into the first thing CI builds"
)]
fn ip(arguments: &[&str]) -> anyhow::Result<()> {
    let output = Command::new("ip")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .context("could not start ip: is iproute2 installed?")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!(
            "ip {} ended with {}: {}",
            arguments.join(" "),
            output.status,
            said.trim()
        );
    }
    Ok(())
}

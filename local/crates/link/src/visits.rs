//! What is remembered of the last visit, in one small file per host, account and home.
//!
//! It only saves time: a file that is missing, old or damaged leads to a bootstrap.

use std::{
    fs, io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use bootstrap::LastVisit;
use serde::{Deserialize, Serialize};
use transport::Endpoint;

use crate::machine::HostIdentity;

/// Longest file name that every file system takes, in bytes.
const LONGEST_NAME: usize = 255;
/// Longest file that is read, in bytes.
const LONGEST_FILE: u64 = 64 * 1024;

/// The memory of one link.
#[derive(Debug)]
pub(crate) struct Visits {
    folder: Option<PathBuf>,
    home: Option<String>,
    slot: Mutex<Slot>,
}

#[derive(Debug, Default)]
struct Slot {
    /// Where it is kept, once the host is resolved.
    file: Option<PathBuf>,
    last: Option<Visit>,
}

/// A visit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Visit {
    #[serde(flatten)]
    pub(crate) agent: LastVisit,
    /// The public key that logged in alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    /// Which machine answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) machine: Option<HostIdentity>,
}

/// Forgets what is remembered of an account on a host, in every home, so that whichever machine answers next under this
/// name is accepted. Says whether anything was remembered. The folder is [`crate::LinkOptions::state_dir`].
///
/// # Errors
/// The folder cannot be read, or a file in it cannot be removed.
pub fn forget_machine(folder: &Path, endpoint: &Endpoint) -> io::Result<bool> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let account = account(endpoint);
    let mut forgot = false;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let rest = name.to_str().and_then(|name| name.strip_prefix(&account));
        if rest.is_some_and(|rest| rest == ".json" || (rest.starts_with('_') && rest.ends_with(".json"))) {
            fs::remove_file(entry.path())?;
            forgot = true;
        }
    }
    Ok(forgot)
}

/// Gives which machine is remembered for an account on a host, in its own home. The folder is
/// [`crate::LinkOptions::state_dir`]. Blocks for one small file.
#[must_use]
pub fn known_machine(folder: &Path, endpoint: &Endpoint) -> Option<bootstrap::Known> {
    let machine = read(&folder.join(format!("{}.json", account(endpoint))))?.machine?;
    Some(machine.into())
}

impl Visits {
    pub(crate) fn new(folder: Option<PathBuf>, home: Option<String>) -> Self {
        Self {
            folder,
            home,
            slot: Mutex::default(),
        }
    }

    /// Takes up what is known of an account on a host.
    pub(crate) async fn begin(&self, endpoint: &Endpoint) {
        let Some(file) = self.file(endpoint) else {
            return;
        };
        if self.with(|slot| slot.file.as_ref() == Some(&file)) {
            return;
        }
        let path = file.clone();
        let last = stdx::task::blocking(move || read(&path)).await;
        self.with(|slot| {
            *slot = Slot {
                file: Some(file),
                last,
            };
        });
    }

    pub(crate) fn last(&self) -> Option<LastVisit> {
        self.with(|slot| slot.last.as_ref().map(|visit| visit.agent.clone()))
    }

    /// Gives the public key that logged in alone.
    pub(crate) fn key(&self) -> Option<String> {
        self.with(|slot| slot.last.as_ref()?.key.clone())
    }

    /// Gives which machine answered the last time.
    pub(crate) fn machine(&self) -> Option<HostIdentity> {
        self.with(|slot| slot.last.as_ref()?.machine.clone())
    }

    /// Lets whichever machine answers now be the right one. What is written follows with the next visit.
    pub(crate) fn forget_machine(&self) {
        self.with(|slot| {
            if let Some(visit) = &mut slot.last {
                visit.machine = None;
            }
        });
    }

    /// Remembers a visit. Failing to is logged, not fatal.
    pub(crate) async fn remember(&self, visit: Visit) {
        let file = self.with(|slot| {
            let known = slot.last.replace(visit.clone());
            slot.file.clone().filter(|_| known.as_ref() != Some(&visit))
        });
        let Some(file) = file else { return };
        let path = file.clone();
        if let Err(error) = stdx::task::blocking(move || write(&path, &visit)).await {
            tracing::warn!(%error, file = %file.display(), "could not remember the visit");
        }
    }

    /// Names the file. A name that is too long for one is not remembered across starts.
    fn file(&self, endpoint: &Endpoint) -> Option<PathBuf> {
        let folder = self.folder.as_ref()?;
        let account = account(endpoint);
        let home = self.home.as_deref().map(|home| format!("_{}", plain(home)));
        let name = format!("{account}{}.json", home.unwrap_or_default());
        (name.len() <= LONGEST_NAME).then(|| folder.join(name))
    }

    fn with<T>(&self, work: impl FnOnce(&mut Slot) -> T) -> T {
        work(&mut self.slot.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Begins the names of all files of an account on a host. What follows is `.json`, or `_`, a home and `.json`.
fn account(endpoint: &Endpoint) -> String {
    let Endpoint {
        user,
        host_name,
        port,
    } = endpoint;
    format!("{}@{}_{port}", plain(user), plain(host_name))
}

/// Writes every byte but plain ones as `%XX`, so that no two names meet and none leaves the folder.
fn plain(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(encode).collect()
}

fn read(file: &Path) -> Option<Visit> {
    let is_small = fs::metadata(file).is_ok_and(|data| data.is_file() && data.len() <= LONGEST_FILE);
    let content = is_small.then(|| fs::read(file).ok()).flatten()?;
    match serde_json::from_slice(&content) {
        Ok(visit) => Some(visit),
        Err(error) => {
            tracing::debug!(%error, file = %file.display(), "what was remembered is not readable");
            None
        }
    }
}

fn write(file: &Path, visit: &Visit) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    stdx::atomic_write::atomic_write(file, &serde_json::to_vec(visit)?, 0o600)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use bootstrap::Via;
    use protocol::InstanceId;

    use super::*;

    fn endpoint(user: &str, host: &str) -> Endpoint {
        Endpoint {
            user: user.into(),
            host_name: host.into(),
            port: 22,
        }
    }

    fn visit() -> Visit {
        let agent = LastVisit {
            socket: "/tmp/s".into(),
            instance: InstanceId::fresh(),
            program: "/p".into(),
            home: None,
            via: Via::Bridge,
        };
        Visit {
            agent,
            key: Some("ssh-ed25519 AAAA".into()),
            machine: Some(HostIdentity::of(&identity())),
        }
    }

    fn identity() -> protocol::Identity {
        protocol::Identity {
            instance: InstanceId::fresh(),
            pid: 1,
            start_time: 1,
            boot_id: "boot".into(),
            machine: "machine".into(),
            uid: 1000,
            socket: "/tmp/s".into(),
            program: "/p".into(),
        }
    }

    #[tokio::test]
    async fn one_account_is_forgotten_in_all_its_homes_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("links");
        let here = endpoint("me", "box");
        assert!(!forget_machine(&state, &here).unwrap());
        let all = [
            (here.clone(), None),
            (here.clone(), Some("~/r".to_owned())),
            (endpoint("me", "box2"), None),
            (
                Endpoint {
                    port: 220,
                    ..here.clone()
                },
                None,
            ),
        ];
        for (endpoint, home) in &all {
            let visits = Visits::new(Some(state.clone()), home.clone());
            visits.begin(endpoint).await;
            visits.remember(visit()).await;
        }
        assert!(forget_machine(&state, &here).unwrap());
        let mut known = Vec::new();
        for (endpoint, home) in &all {
            let visits = Visits::new(Some(state.clone()), home.clone());
            visits.begin(endpoint).await;
            known.push(visits.machine().is_some());
        }
        assert_eq!(known, [false, false, true, true]);
    }

    #[test]
    fn every_account_and_home_has_its_own_name() {
        let name = |user: &str, host: &str, home: Option<&str>| {
            let visits = Visits::new(Some("/s".into()), home.map(str::to_owned));
            let file = visits.file(&endpoint(user, host))?;
            Some(file.to_str()?.to_owned())
        };
        assert_eq!(name("me", "box", None).as_deref(), Some("/s/me@box_22.json"));
        assert_eq!(
            name("../x", "a/b", Some("~/r")).as_deref(),
            Some("/s/..%2Fx@a%2Fb_22_%7E%2Fr.json")
        );
        assert_ne!(name("a@b", "c", None), name("a", "b@c", None));
        assert_eq!(name("me", &"x".repeat(300), None), None);
    }

    #[tokio::test]
    async fn remembers_across_starts_for_the_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("links");
        let visits = Visits::new(Some(state.clone()), None);
        let (here, visit) = (endpoint("me", "box"), visit());
        visits.begin(&here).await;
        assert_eq!(visits.last(), None);
        visits.remember(visit.clone()).await;
        let file = state.join("me@box_22.json");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(&state)), (0o600, 0o700));

        let later = Visits::new(Some(state), None);
        later.begin(&here).await;
        assert_eq!(
            (later.last(), later.key(), later.machine()),
            (Some(visit.agent.clone()), visit.key, visit.machine)
        );
        // A file of before keys were remembered.
        fs::write(&file, serde_json::to_vec(&visit.agent).unwrap()).unwrap();
        let old = Visits::new(file.parent().map(Path::to_path_buf), None);
        old.begin(&here).await;
        assert_eq!((old.last(), old.key()), (Some(visit.agent), None));
        later.begin(&endpoint("me", "other")).await;
        assert_eq!(later.last(), None);
        fs::write(&file, "{").unwrap();
        later.begin(&here).await;
        assert_eq!(later.last(), None);
    }

    #[tokio::test]
    async fn without_a_folder_it_remembers_for_the_life_of_the_link() {
        let visits = Visits::new(None, None);
        visits.begin(&endpoint("me", "box")).await;
        let visit = visit();
        visits.remember(visit.clone()).await;
        visits.begin(&endpoint("me", "box")).await;
        assert_eq!(visits.last(), Some(visit.agent));
    }
}

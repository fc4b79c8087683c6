//! Whether the host is the machine that is wanted, before anything is put there.

use sha2::{Digest as _, Sha256};

use crate::probe::System;

/// Which machine, and which user on it, was met under the name before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// The machine id, hashed as in a hello; empty where not known.
    pub machine: String,
    /// The number of the user.
    pub uid: u32,
}

impl Known {
    /// Says whether a host is another machine or user. What it does not say is not held against it.
    pub(crate) fn differs(&self, system: &System) -> bool {
        let is_other_user = system.uid.is_some_and(|uid| uid != self.uid);
        let both_tell = !self.machine.is_empty() && !system.machine.is_empty();
        is_other_user || (both_tell && self.machine != system.machine)
    }
}

/// Hashes a machine id with a name of ours, as machine-id(5) asks of applications; the same as an agent does for its
/// hello. Empty stays empty.
pub(crate) fn hashed(id: &str) -> String {
    let id = id.trim();
    if id.is_empty() {
        return String::new();
    }
    let digest = Sha256::new()
        .chain_update("reasonix machine ")
        .chain_update(id)
        .finalize();
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_both_tell_is_compared() {
        let known = |machine: &str| Known {
            machine: machine.into(),
            uid: 1000,
        };
        let system = |machine: &str, uid| System {
            machine: machine.into(),
            uid,
            ..System::default()
        };
        assert!(!known("a").differs(&system("a", Some(1000))));
        assert!(known("a").differs(&system("b", Some(1000))));
        assert!(known("a").differs(&system("a", Some(0))));
        assert!(!known("").differs(&system("b", Some(1000))));
        assert!(!known("a").differs(&system("", None)));
    }

    #[test]
    fn an_id_does_not_leave_as_it_is() {
        assert_eq!(hashed("\n"), "");
        let id = "0123456789abcdef0123456789abcdef";
        assert_eq!(hashed(id), hashed(&format!("{id}\n")));
        assert_eq!(hashed(id).len(), 32);
        assert!(!hashed(id).contains(&id[..8]));
    }
}

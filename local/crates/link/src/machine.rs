//! Whether the machine that answers is the one that answered before under the same name (pure).
//!
//! A host key tells two machines apart only where each has its own: behind a load balancer, and among clones of one
//! image, several have the same. So the hello is compared with what is remembered of the host before anything is sent
//! that acts: sessions of the one are not on the other.

use std::fmt;

use protocol::Identity;
use serde::{Deserialize, Serialize};

/// Which machine an agent runs on, and as which user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostIdentity {
    /// The machine id, hashed by the host; empty where it has none, and nothing is compared then.
    pub id: String,
    /// The user id on the host.
    pub uid: u32,
    /// The boots in which it was met, the newest last.
    #[serde(default)]
    boots: Vec<String>,
}

impl From<HostIdentity> for bootstrap::Known {
    fn from(host: HostIdentity) -> Self {
        Self {
            machine: host.id,
            uid: host.uid,
        }
    }
}

/// Two machines, or two users, under one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherMachine {
    /// Who answered before.
    pub before: HostIdentity,
    /// Who answers now.
    pub now: HostIdentity,
    /// Whether this very link was live on the one of before, so that what is open here is there.
    pub is_open: bool,
}

/// What a comparison says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// As far as one can see the same; it may have been started anew.
    Same,
    /// The same id, but in a boot that had ended already: a boot does not come back, so these are clones.
    Clone,
    /// Another machine or user.
    Other,
}

/// How many boots are remembered.
const BOOTS: usize = 8;
/// How many digits of an id a person is shown.
const SHOWN: usize = 8;

impl HostIdentity {
    pub(crate) fn new(id: &str, uid: u32, boot: &str) -> Self {
        Self {
            id: id.to_owned(),
            uid,
            boots: vec![boot.to_owned()],
        }
    }

    /// Takes it from a hello.
    pub(crate) fn of(identity: &Identity) -> Self {
        Self::new(&identity.machine, identity.uid, &identity.boot_id)
    }

    /// Compares with who answers now.
    pub(crate) fn compare(&self, now: &Self) -> Verdict {
        if self.uid != now.uid || (!self.id.is_empty() && !now.id.is_empty() && self.id != now.id) {
            return Verdict::Other;
        }
        let (boot, last) = (now.boots.last(), self.boots.last());
        let earlier = self.boots.split_last().map_or(&[][..], |(_, earlier)| earlier);
        if boot != last && boot.is_some_and(|boot| !boot.is_empty() && earlier.contains(boot)) {
            Verdict::Clone
        } else {
            Verdict::Same
        }
    }

    /// Gives what is to be remembered after `now` was met.
    pub(crate) fn then(self, now: Self) -> Self {
        let mut boots = self.boots;
        for boot in now.boots {
            boots.retain(|known| *known != boot);
            boots.push(boot);
        }
        boots.drain(..boots.len().saturating_sub(BOOTS));
        Self {
            // A machine id that cannot be read this time is not forgotten.
            id: if now.id.is_empty() { self.id } else { now.id },
            uid: now.uid,
            boots,
        }
    }
}

impl fmt::Display for HostIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, uid, .. } = self;
        let plain: String = id
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .take(SHOWN)
            .collect();
        if plain.is_empty() {
            write!(f, "a machine without an id, user {uid}")
        } else {
            write!(f, "machine {plain}, user {uid}")
        }
    }
}

impl fmt::Display for OtherMachine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { before, now, .. } = self;
        write!(
            f,
            "another machine or user answers under this name: it was {before}; now it is {now}"
        )
    }
}

impl OtherMachine {
    /// Gives the question for a person.
    pub(crate) fn question(&self, host: &str) -> String {
        let Self { before, now, .. } = self;
        format!(
            "{host} was {before}; now {now} answers, with a host key that is trusted. Sessions of before are on the \
             other one. Go on with this one?"
        )
    }

    /// Says what to do where nobody can be asked, or where the answer was no.
    pub(crate) fn hint(&self, host: &str) -> String {
        if self.is_open {
            return "what is open here is on the one of before: try again to reach it, or connect anew for the other one"
                .to_owned();
        }
        format!(
            "if the host was replaced, `reasonix remote trust {host} --machine` accepts the new one; if several machines \
             share the name, name one of them"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(id: &str, uid: u32, boots: &[&str]) -> HostIdentity {
        HostIdentity {
            id: id.into(),
            uid,
            boots: boots.iter().map(|&boot| boot.to_owned()).collect(),
        }
    }

    #[test]
    fn what_is_the_same_machine() {
        let check = |before: &HostIdentity, now: HostIdentity, expected| {
            assert_eq!(before.compare(&now), expected, "{before:?} {now:?}");
        };
        let before = host("aaaa", 1000, &["1", "2", "3"]);
        check(&before, host("aaaa", 1000, &["3"]), Verdict::Same);
        check(&before, host("aaaa", 1000, &["4"]), Verdict::Same);
        check(&before, host("", 1000, &["4"]), Verdict::Same);
        check(&before, host("aaaa", 1000, &["1"]), Verdict::Clone);
        check(&before, host("bbbb", 1000, &["4"]), Verdict::Other);
        check(&before, host("aaaa", 1001, &["3"]), Verdict::Other);
        check(&host("", 1000, &[]), host("bbbb", 1000, &["4"]), Verdict::Same);
        check(&host("", 1000, &["", "1"]), host("", 1000, &[""]), Verdict::Same);
    }

    #[test]
    fn what_is_remembered() {
        let boots = |after: &HostIdentity| after.boots.clone();
        let mut known = host("aaaa", 1000, &["1"]);
        known = known.then(host("", 1000, &["2"]));
        assert_eq!(
            (known.id.as_str(), boots(&known)),
            ("aaaa", vec!["1".into(), "2".into()])
        );
        known = known.then(host("aaaa", 1000, &["1"]));
        assert_eq!(boots(&known), ["2", "1"]);
        for boot in 10..30 {
            known = known.then(host("aaaa", 1000, &[&boot.to_string()]));
        }
        assert_eq!(
            (boots(&known).len(), boots(&known).last().cloned()),
            (BOOTS, Some("29".into()))
        );
    }

    #[test]
    fn both_are_named() {
        let other = OtherMachine {
            before: host("0123456789abcdef", 1000, &["1"]),
            now: host("", 0, &["2"]),
            is_open: false,
        };
        assert_eq!(
            other.to_string(),
            "another machine or user answers under this name: it was machine 01234567, user 1000; now it is a machine \
             without an id, user 0"
        );
        assert!(
            other
                .question("box")
                .starts_with("box was machine 01234567, user 1000; now a machine")
        );
        assert!(
            other
                .hint("box")
                .contains("`reasonix remote trust box --machine`")
        );
    }
}

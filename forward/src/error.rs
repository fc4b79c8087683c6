//! The error type of this crate.

use crate::owner::Owner;

/// A rule that is wrong or cannot be carried out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text of a rule is malformed.
    #[error("forward rule {rule:?}: {reason}")]
    Malformed {
        /// The text.
        rule: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The address to listen on is taken or not ours.
    #[error("forward rule {rule}: could not listen on {address}{}", taken(owner.as_ref()))]
    Bind {
        /// The rule.
        rule: String,
        /// The address or socket path.
        address: String,
        /// Who listens there, where that can be found out.
        owner: Option<Owner>,
        /// The next port on the same address that was free a moment ago.
        free: Option<u16>,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// The host does not listen for a remote rule.
    #[error("forward rule {rule}: {why}")]
    Refused {
        /// The rule.
        rule: String,
        /// Who does not, and why.
        why: String,
        /// What to do about it.
        hint: Option<String>,
    },
}

fn taken(owner: Option<&Owner>) -> String {
    owner.map_or_else(String::new, |owner| format!(", where {owner} listens"))
}

impl Error {
    /// Gives advice for a person.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Malformed { .. } => Some(
                "write L:[bind:]port:host:port, R:[bind:]port:host:port or D:[bind:]port, with [ ] around IPv6 addresses, or socket paths"
                    .to_owned(),
            ),
            Self::Bind { free: Some(free), .. } => {
                Some(format!("port {free} is free; or take 0 for any free one"))
            }
            Self::Bind { source, .. } => match source.kind() {
                std::io::ErrorKind::AddrInUse => Some("choose another address".to_owned()),
                std::io::ErrorKind::PermissionDenied => {
                    Some("ports below 1024 are for the administrator; choose a higher one".to_owned())
                }
                std::io::ErrorKind::AddrNotAvailable => {
                    Some("listen on an address of this machine, such as 127.0.0.1".to_owned())
                }
                _ => None,
            },
            Self::Refused { hint, .. } => hint.clone(),
        }
    }
}

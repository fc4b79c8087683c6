//! The error type of this crate.

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
    #[error("forward rule {rule}: could not listen on {address}")]
    Bind {
        /// The rule.
        rule: String,
        /// The address or socket path.
        address: String,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// This kind of forward is not carried out.
    #[error("forward rule {rule}: only local forwards (L:) can be carried out")]
    Unsupported {
        /// The rule.
        rule: String,
    },
}

impl Error {
    /// Gives advice for a person.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Malformed { .. } => {
                Some("write L:[bind:]port:host:port, with [ ] around IPv6 addresses, or socket paths")
            }
            Self::Bind { source, .. } if source.kind() == std::io::ErrorKind::AddrInUse => {
                Some("choose another port, or 0 for any free one")
            }
            Self::Bind { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => {
                Some("ports below 1024 are for the administrator; choose a higher one")
            }
            _ => None,
        }
    }
}

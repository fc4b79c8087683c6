//! Why a link is not live: where, on which host, from what cause, and what to do.

use std::{fmt, sync::Arc, time::Duration};

use protocol::hello;
use transport::ErrorKind as SshKind;

use crate::{machine::OtherMachine, progress::Stage};

/// A failure of a link. Cheap to clone: it is part of the state that is shown.
#[derive(Debug, Clone)]
pub struct Error(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    stage: Stage,
    host: String,
    kind: ErrorKind,
}

/// What a caller has to distinguish.
#[derive(Debug)]
pub enum ErrorKind {
    /// SSH.
    Ssh(transport::Error),
    /// Getting the program onto the host and started.
    Bootstrap(bootstrap::Error),
    /// The agent answered something else than a usable hello, or the wire ended under it.
    Agent(client::Error),
    /// The bridge gives no wire.
    Bridge(BridgeRefusal),
    /// The agent did not answer for so long, while the connection to its host is alive.
    Silent(Duration),
    /// Another machine, or another user on it, answers under the same name.
    OtherMachine(Box<OtherMachine>),
    /// It was not live in time, and is still on its way.
    Overdue,
    /// This link was closed.
    Closed,
}

/// Why a bridge gives no wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BridgeRefusal {
    /// Nobody listens on the daemon's socket.
    NoDaemon,
    /// The socket may not be used.
    Denied,
    /// The program said nothing that makes sense; with the first line it did say.
    NoAnswer(Option<String>),
}

/// The class of a failure, as exit codes tell it apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExitClass {
    /// Wrong usage or configuration: 2.
    Usage,
    /// Could not reach, or stay on, the host: 3.
    Unreachable,
    /// Authentication or host key: 4.
    Auth,
    /// Bootstrap: 5.
    Bootstrap,
}

impl ExitClass {
    /// Gives the exit code.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Usage => 2,
            Self::Unreachable => 3,
            Self::Auth => 4,
            Self::Bootstrap => 5,
        }
    }
}

impl Error {
    /// Makes a failure, as a link does. Front ends need it to show what they do with one.
    #[must_use]
    pub fn new(stage: Stage, host: impl Into<String>, kind: ErrorKind) -> Self {
        Self(Arc::new(Inner {
            stage,
            host: host.into(),
            kind,
        }))
    }

    pub(crate) fn ssh(stage: Stage, error: transport::Error) -> Self {
        Self::new(stage, error.host().to_owned(), ErrorKind::Ssh(error))
    }

    pub(crate) fn closed(host: &str) -> Self {
        Self::new(Stage::Live, host, ErrorKind::Closed)
    }

    pub(crate) fn overdue(stage: Stage, host: &str) -> Self {
        Self::new(stage, host, ErrorKind::Overdue)
    }

    /// Says where on the way it happened.
    #[must_use]
    pub fn stage(&self) -> Stage {
        self.0.stage
    }

    /// Gives the host as the user named it.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.0.host
    }

    /// Gives what callers decide on.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Says what to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let text = match self.kind() {
            ErrorKind::Ssh(error) if error.hint().is_some() => return error.hint().map(str::to_owned),
            ErrorKind::Bootstrap(error) if error.hint().is_some() => return error.hint().map(str::to_owned),
            ErrorKind::Ssh(error) if !error.is_retryable() => return None,
            ErrorKind::Ssh(_) => return Some(look_step_by_step(self.host())),
            ErrorKind::Bootstrap(error) if error.is_connection_lost() => {
                return Some(look_step_by_step(self.host()));
            }
            ErrorKind::Bootstrap(_) => return None,
            ErrorKind::Agent(client::Error::NoCommonVersion { .. }) => {
                "use the same version on both sides: `reasonix remote upgrade`"
            }
            ErrorKind::Agent(error) => return error.hint().map(str::to_owned),
            ErrorKind::Bridge(BridgeRefusal::Denied) => {
                "the daemon's socket belongs to another user, or its folder was changed"
            }
            ErrorKind::Bridge(_) => "`reasonix remote doctor` shows what the host allows",
            ErrorKind::Silent(_) => {
                "the host may be overloaded; the log of the agent is ~/.reasonix/logs/daemon.log there"
            }
            ErrorKind::OtherMachine(other) => return Some(other.hint(self.host())),
            ErrorKind::Overdue | ErrorKind::Closed => return None,
        };
        Some(text.to_owned())
    }

    /// Gives command, status and standard error on the host, as lines to print below the message.
    #[must_use]
    pub fn details(&self) -> Vec<String> {
        match self.kind() {
            ErrorKind::Bootstrap(error) => error.details(),
            _ => Vec::new(),
        }
    }

    /// Says whether the host was reached, and all that is missing is a running agent.
    #[must_use]
    pub fn is_nobody(&self) -> bool {
        let kind = self.kind();
        matches!(kind, ErrorKind::Bootstrap(error) if matches!(error.kind(), bootstrap::ErrorKind::NotRunning))
    }

    /// Gives the class for the exit code.
    #[must_use]
    pub fn exit_class(&self) -> ExitClass {
        match self.kind() {
            ErrorKind::Ssh(error) => match error.kind() {
                SshKind::HostKeyChanged
                | SshKind::HostKeyUnknown
                | SshKind::HostKeyRevoked
                | SshKind::AuthRefused
                | SshKind::NeedsPerson => ExitClass::Auth,
                SshKind::Config => ExitClass::Usage,
                _ => ExitClass::Unreachable,
            },
            ErrorKind::Bootstrap(error) if error.is_connection_lost() => ExitClass::Unreachable,
            ErrorKind::Bootstrap(error) if matches!(error.kind(), bootstrap::ErrorKind::Workspace(_)) => {
                ExitClass::Usage
            }
            ErrorKind::Bootstrap(_) | ErrorKind::Bridge(_) => ExitClass::Bootstrap,
            ErrorKind::Agent(client::Error::NoCommonVersion { .. }) => ExitClass::Bootstrap,
            ErrorKind::OtherMachine(_) => ExitClass::Auth,
            ErrorKind::Agent(_) | ErrorKind::Silent(_) | ErrorKind::Overdue | ErrorKind::Closed => {
                ExitClass::Unreachable
            }
        }
    }

    /// Says whether somebody has to change something before another try can help. A host that was live before gets
    /// the benefit of the doubt: its disk may be full for now, or a captive portal may answer in its place.
    pub(crate) fn needs_person(&self, was_live: bool) -> bool {
        match self.kind() {
            ErrorKind::Ssh(error) if error.kind() == SshKind::Protocol => !was_live,
            // A refused stream says nothing: a dead daemon looks the same, and the bridge comes next.
            ErrorKind::Ssh(error) => !error.is_retryable() && error.kind() != SshKind::ForwardingRefused,
            ErrorKind::Bootstrap(error) => bootstrap_needs_person(error, was_live),
            ErrorKind::Agent(client::Error::NoCommonVersion { .. }) => true,
            ErrorKind::Agent(error) => !error.is_retryable() && !was_live,
            ErrorKind::Bridge(BridgeRefusal::NoDaemon) | ErrorKind::Silent(_) | ErrorKind::Overdue => false,
            ErrorKind::Bridge(_) => !was_live,
            ErrorKind::OtherMachine(_) | ErrorKind::Closed => true,
        }
    }
}

fn look_step_by_step(host: &str) -> String {
    format!(
        "the host or the network may be gone or overloaded; `reasonix remote test {host}` goes the way step by step"
    )
}

fn bootstrap_needs_person(error: &bootstrap::Error, was_live: bool) -> bool {
    use bootstrap::ErrorKind as Kind;
    match error.kind() {
        Kind::Remote(_) | Kind::Contended => false,
        Kind::NoCommonProtocol { .. } | Kind::Platform(_) | Kind::Workspace(_) | Kind::NotRunning => true,
        _ => !was_live,
    }
}

impl fmt::Display for BridgeRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDaemon => f.write_str("no daemon listens on its socket"),
            Self::Denied => f.write_str("the daemon's socket may not be used"),
            Self::NoAnswer(None) => f.write_str("the bridge did not answer"),
            Self::NoAnswer(Some(line)) => write!(f, "the bridge did not start, it said `{line}`"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Errors of the two lower layers name stage and host themselves.
        match self.kind() {
            ErrorKind::Ssh(error) => return error.fmt(f),
            ErrorKind::Bootstrap(error) => return error.fmt(f),
            _ => write!(f, "{} on {}: ", self.0.stage, self.0.host)?,
        }
        match self.kind() {
            ErrorKind::Agent(error) => error.fmt(f),
            ErrorKind::Bridge(refusal) => refusal.fmt(f),
            ErrorKind::Silent(limit) => write!(f, "the agent did not answer for {} s", limit.as_secs_f32()),
            ErrorKind::OtherMachine(other) => other.fmt(f),
            ErrorKind::Overdue => f.write_str("not ready in time"),
            ErrorKind::Closed => f.write_str("the link was closed"),
            ErrorKind::Ssh(_) | ErrorKind::Bootstrap(_) => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // The kind is part of the message, so the chain goes on below it.
        match self.kind() {
            ErrorKind::Ssh(error) => error.source(),
            ErrorKind::Bootstrap(error) => error.source(),
            ErrorKind::Agent(error) => error.source(),
            _ => None,
        }
    }
}

/// Makes the error for an agent that shares no protocol version with this program.
pub(crate) fn no_common_version(theirs: protocol::VersionRange) -> client::Error {
    client::Error::NoCommonVersion {
        ours: hello::VERSIONS,
        theirs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::HostIdentity;

    fn other_machine() -> ErrorKind {
        let host: HostIdentity = serde_json::from_str(r#"{"id": "a", "uid": 1}"#).unwrap();
        ErrorKind::OtherMachine(Box::new(OtherMachine {
            before: host.clone(),
            now: host,
            is_open: false,
        }))
    }

    fn ssh(kind: SshKind) -> Error {
        let error = transport::Error::new(kind, transport::Stage::Login, "box", "no").with_hint("do");
        Error::ssh(Stage::Dialing, error)
    }

    #[test]
    fn who_has_to_act_and_which_exit_code() {
        let check = |error: &Error, fresh: bool, again: bool, code: u8| {
            let got = (
                error.needs_person(false),
                error.needs_person(true),
                error.exit_class().code(),
            );
            assert_eq!(got, (fresh, again, code), "{error}");
        };
        check(&ssh(SshKind::AuthRefused), true, true, 4);
        check(&ssh(SshKind::HostKeyChanged), true, true, 4);
        check(&ssh(SshKind::HostKeyUnknown), true, true, 4);
        check(&ssh(SshKind::HostKeyRevoked), true, true, 4);
        check(&ssh(SshKind::NeedsPerson), true, true, 4);
        check(&ssh(SshKind::Config), true, true, 2);
        check(&ssh(SshKind::Protocol), true, false, 3);
        check(&ssh(SshKind::Unreachable), false, false, 3);
        check(&ssh(SshKind::Closed), false, false, 3);
        check(&ssh(SshKind::ForwardingRefused), false, false, 3);
        let attach = |kind| Error::new(Stage::Attaching, "box", kind);
        check(&attach(other_machine()), true, true, 4);
        check(
            &attach(ErrorKind::Bridge(BridgeRefusal::NoDaemon)),
            false,
            false,
            5,
        );
        check(&attach(ErrorKind::Bridge(BridgeRefusal::Denied)), true, false, 5);
        check(
            &attach(ErrorKind::Silent(Duration::from_secs(9))),
            false,
            false,
            3,
        );
        let versions = no_common_version(protocol::VersionRange { min: 7, max: 9 });
        check(&attach(ErrorKind::Agent(versions)), true, true, 5);
    }

    #[test]
    fn messages_name_the_place_once() {
        let error = Error::new(
            Stage::Attaching,
            "box",
            ErrorKind::Silent(Duration::from_millis(1500)),
        );
        assert_eq!(
            error.to_string(),
            "attach on box: the agent did not answer for 1.5 s"
        );
        let error = ssh(SshKind::AuthRefused);
        assert_eq!(
            (error.to_string().as_str(), error.hint().as_deref()),
            ("logging in to box: no", Some("do"))
        );
    }
}

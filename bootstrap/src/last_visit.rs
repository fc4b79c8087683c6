//! What is remembered of a visit, so that the next one needs no bootstrap.

use protocol::{Hello, InstanceId, VersionRange};
use serde::{Deserialize, Serialize};

/// The last visit to one host. Kept per host and user by the caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastVisit {
    /// The daemon's socket, an absolute path on the host.
    pub socket: String,
    /// Which run of the daemon it was.
    pub instance: InstanceId,
    /// The program on the host, for the bridge.
    pub program: String,
    /// The absolute `REASONIX_HOME` on the host, if it is not the host's own.
    #[serde(default)]
    pub home: Option<String>,
    /// How the socket was reached.
    pub via: Via,
}

/// How a daemon's socket is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Via {
    /// A `direct-streamlocal` channel.
    Streamlocal,
    /// `reasonix bridge` over an exec channel.
    Bridge,
    /// `reasonix serve --stdio` over an exec channel: an agent of its own, which ends with the channel.
    Stdio,
}

/// What came of trying.
#[derive(Debug, Clone, Copy)]
pub enum Reply<'a> {
    /// A daemon said hello.
    Hello(&'a Hello),
    /// The channel was refused or closed: forwarding is forbidden or nobody listens, which look alike.
    Unknown(Via),
    /// The bridge said that there is no daemon, or that the socket may not be used.
    NoDaemon,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Go on with this connection; what is remembered holds.
    Proceed,
    /// Go on with this connection and remember the new instance: its sessions are the same.
    Remember,
    /// Ask the bridge.
    TryBridge,
    /// Bootstrap.
    Bootstrap,
}

/// Decides after an optimistic attach. Only a hello proves that the socket is still the daemon's.
#[must_use]
pub fn next(last: &LastVisit, reply: Reply<'_>, ours: VersionRange) -> Next {
    match reply {
        Reply::Hello(hello) if hello.draining || hello.protocol.common(ours).is_none() => Next::Bootstrap,
        Reply::Hello(hello) if hello.identity.instance == last.instance => Next::Proceed,
        Reply::Hello(_) => Next::Remember,
        Reply::Unknown(Via::Streamlocal) => Next::TryBridge,
        Reply::Unknown(Via::Bridge | Via::Stdio) | Reply::NoDaemon => Next::Bootstrap,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::tests::hello;

    #[test]
    fn decides_and_keeps_its_form() {
        let last = LastVisit {
            socket: "/tmp/s".into(),
            instance: hello().identity.instance,
            program: "/b".into(),
            home: None,
            via: Via::Streamlocal,
        };
        fn check(last: &LastVisit, reply: Reply<'_>, want: Next) {
            assert_eq!(
                next(last, reply, VersionRange { min: 1, max: 1 }),
                want,
                "{reply:?}"
            );
        }
        check(&last, Reply::Hello(&hello()), Next::Proceed);
        check(&last, Reply::Unknown(Via::Streamlocal), Next::TryBridge);
        check(&last, Reply::Unknown(Via::Bridge), Next::Bootstrap);
        check(&last, Reply::NoDaemon, Next::Bootstrap);
        let mut other = hello();
        other.identity.instance = serde_json::from_str("\"01890a5d-ac96-774b-bcce-b302099a8058\"").unwrap();
        check(&last, Reply::Hello(&other), Next::Remember);
        other.draining = true;
        check(&last, Reply::Hello(&other), Next::Bootstrap);
        let text = serde_json::to_string(&last).unwrap();
        assert!(text.ends_with("\"via\":\"streamlocal\"}"), "{text}");
        assert_eq!(
            serde_json::from_str::<LastVisit>(&text.replace("\"home\":null,", "")).unwrap(),
            last
        );
    }
}

//! Forward rules as text (pure): OpenSSH's `-L`, `-R` and `-D` arguments behind `L:`, `R:` and `D:`.

use std::{fmt, net::IpAddr, str::FromStr};

use crate::Error;

/// The direction of a forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Listen here, connect there.
    Local,
    /// Listen there, connect here.
    Remote,
    /// Listen here as a SOCKS server.
    Dynamic,
}

/// An address to listen on or to connect to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// A TCP port.
    Tcp {
        /// A name or address without brackets; `*` listens on every interface.
        host: String,
        /// The port; 0 listens on any free one.
        port: u16,
    },
    /// A Unix socket.
    Unix(String),
}

/// How the connections of a rule reach the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Via {
    /// Through the agent where one runs and sshd allows forwarding, as plain SSH channels otherwise.
    #[default]
    Auto,
    /// As plain SSH channels.
    Ssh,
    /// Through the agent, whatever sshd allows.
    Agent,
}

/// A forward rule. As text: `L:[bind:]port:host:port`, then ` via=ssh` or ` via=agent` where it is not automatic.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Spec {
    /// The direction.
    pub kind: Kind,
    /// Where to listen.
    pub bind: Endpoint,
    /// Where to connect to; `None` only for [`Kind::Dynamic`].
    pub target: Option<Endpoint>,
    /// How it reaches the host.
    pub via: Via,
}

impl Endpoint {
    /// Says whether it is a TCP port that only its own machine can reach.
    pub(crate) fn is_loopback(&self) -> bool {
        match self {
            Self::Unix(_) => false,
            Self::Tcp { host, .. } => match host.parse::<IpAddr>() {
                Ok(address) => address.is_loopback(),
                Err(_) => host.eq_ignore_ascii_case("localhost"),
            },
        }
    }
}

impl Spec {
    /// Says whether others than this machine can reach the listener: such a rule needs a person's consent.
    #[must_use]
    pub fn is_public(&self) -> bool {
        matches!(self.bind, Endpoint::Tcp { .. }) && !self.bind.is_loopback()
    }
}

/// What stands before the way in a rule's text.
const VIA: &str = " via=";

impl FromStr for Via {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text {
            "auto" => Ok(Self::Auto),
            "ssh" => Ok(Self::Ssh),
            "agent" => Ok(Self::Agent),
            _ => Err("via is auto, ssh or agent"),
        }
    }
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Ssh => "ssh",
            Self::Agent => "agent",
        })
    }
}

impl FromStr for Spec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        parse(text).map_err(|reason| Error::Malformed {
            rule: text.to_owned(),
            reason,
        })
    }
}

fn parse(text: &str) -> Result<Spec, &'static str> {
    let (text, via) = match text.rsplit_once(VIA) {
        Some((rest, word)) => (rest, word.parse()?),
        None => (text, Via::Auto),
    };
    let (kind, rest) = match text.split_once(':') {
        Some(("L" | "l", rest)) => (Kind::Local, rest),
        Some(("R" | "r", rest)) => (Kind::Remote, rest),
        Some(("D" | "d", rest)) => (Kind::Dynamic, rest),
        // As behind `-L`.
        _ => (Kind::Local, text),
    };
    let fields = split(rest)?;
    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    if kind == Kind::Dynamic {
        let bind = match fields.as_slice() {
            [port] => tcp("127.0.0.1", port)?,
            [host, port] => tcp(host_to_bind(host), port)?,
            _ => return Err("D takes [bind:]port"),
        };
        return Ok(Spec {
            kind,
            bind,
            target: None,
            via,
        });
    }
    let (bind, target) = match fields.as_slice() {
        [from, to] if is_path(to) => (bind_field(from)?, unix(to)?),
        [from, host, port] if !is_path(port) => (bind_field(from)?, tcp(host, port)?),
        [host, port, to] => (tcp(host_to_bind(host), port)?, unix(to)?),
        [bind, port, host, target] => (tcp(host_to_bind(bind), port)?, tcp(host, target)?),
        [_] if kind == Kind::Remote => {
            return Err("a remote rule needs a target: a SOCKS server on the host is not offered");
        }
        _ => return Err("a rule has two to four parts between colons"),
    };
    if matches!(target, Endpoint::Tcp { port: 0, .. }) {
        return Err("the port to connect to cannot be 0");
    }
    Ok(Spec {
        kind,
        bind,
        target: Some(target),
        via,
    })
}

/// Splits at colons outside brackets, and takes the brackets away.
fn split(text: &str) -> Result<Vec<String>, &'static str> {
    let mut fields = Vec::new();
    let mut rest = text;
    loop {
        let field = if let Some(inner) = rest.strip_prefix('[') {
            let Some((field, after)) = inner.split_once(']') else {
                return Err("'[' without ']'");
            };
            rest = after;
            field
        } else {
            let end = rest.find(':').unwrap_or(rest.len());
            let (field, after) = rest.split_at(end);
            rest = after;
            field
        };
        fields.push(field.to_owned());
        match rest.strip_prefix(':') {
            Some(after) => rest = after,
            None if rest.is_empty() => return Ok(fields),
            None => return Err("only ':' may follow ']'"),
        }
    }
}

fn is_path(field: &str) -> bool {
    field.contains('/')
}

fn bind_field(field: &str) -> Result<Endpoint, &'static str> {
    if is_path(field) {
        unix(field)
    } else {
        tcp("127.0.0.1", field)
    }
}

/// An empty bind address means every interface, as in OpenSSH.
fn host_to_bind(host: &str) -> &str {
    if host.is_empty() { "*" } else { host }
}

fn tcp(host: &str, port: &str) -> Result<Endpoint, &'static str> {
    let odd = |c: char| c.is_whitespace() || c.is_control() || "[]/@,".contains(c);
    if host.is_empty() || host.contains(odd) {
        return Err("the host is empty or has characters that no host name has");
    }
    if !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("the port is not a number");
    }
    let port = port
        .parse()
        .map_err(|_| "the port is not a number from 0 to 65535")?;
    Ok(Endpoint::Tcp {
        host: host.to_owned(),
        port,
    })
}

fn unix(path: &str) -> Result<Endpoint, &'static str> {
    // sockaddr_un holds 108 bytes with its final zero.
    if path.len() > 107 {
        return Err("the socket path is longer than 107 bytes");
    }
    if !path.starts_with('/') || path.contains(['\0', '[', ']', ':']) || path.contains(VIA) {
        return Err("the socket path is not absolute or has characters that cannot stand in a rule");
    }
    Ok(Endpoint::Unix(path.to_owned()))
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => f.write_str(path),
        }
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = match self.kind {
            Kind::Local => 'L',
            Kind::Remote => 'R',
            Kind::Dynamic => 'D',
        };
        write!(f, "{letter}:{}", self.bind)?;
        if let Some(target) = &self.target {
            write!(f, ":{target}")?;
        }
        match self.via {
            Via::Auto => Ok(()),
            via => write!(f, "{VIA}{via}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, printed: &str) {
        let spec: Spec = text.parse().unwrap();
        assert_eq!(spec.to_string(), printed, "{text}");
        assert_eq!(printed.parse::<Spec>().unwrap(), spec, "{text}");
    }

    #[test]
    fn reads_every_form() {
        check("L:8080:db:5432", "L:127.0.0.1:8080:db:5432");
        check("8080:db:5432", "L:127.0.0.1:8080:db:5432");
        check("L:0.0.0.0:8080:db:5432", "L:0.0.0.0:8080:db:5432");
        check("L:*:8080:db:5432", "L:*:8080:db:5432");
        check("L::8080:db:5432", "L:*:8080:db:5432");
        check("L:[::1]:8080:[fe80::1%eth0]:22", "L:[::1]:8080:[fe80::1%eth0]:22");
        check("L:8080:/run/x.sock", "L:127.0.0.1:8080:/run/x.sock");
        check("L:localhost:8080:/run/x.sock", "L:localhost:8080:/run/x.sock");
        check("L:/tmp/a.sock:db:5432", "L:/tmp/a.sock:db:5432");
        check("L:/tmp/a.sock:/run/b.sock", "L:/tmp/a.sock:/run/b.sock");
        check("R:0:localhost:3000", "R:127.0.0.1:0:localhost:3000");
        check("D:1080", "D:127.0.0.1:1080");
        check("D:[::1]:1080", "D:[::1]:1080");
        check("D:1080 via=agent", "D:127.0.0.1:1080 via=agent");
        check("L:1:/a b.sock via=ssh", "L:127.0.0.1:1:/a b.sock via=ssh");
        check("R:1:db:2 via=auto", "R:127.0.0.1:1:db:2");
    }

    #[test]
    fn refuses_the_rest() {
        for text in [
            "",
            "L:",
            "L:8080",
            "L:8080:db",
            "L:8080:db:0",
            "L:8080:db:99999",
            "L:x:db:1",
            "L:8080::1",
            "L:[::1:80:a:1",
            "L:[::1]x:80:a:1",
            "L:1:2:3:4:5",
            "L:8080:a b:1",
            "D:1:2:3",
            "L:+80:db:1",
            "L:rel/a.sock:db:1",
            "R:8080",
            "D:1080 via=",
            "D:1080 via=carrier",
            "L:1:/a via=ssh via=auto",
        ] {
            assert!(text.parse::<Spec>().is_err(), "{text} was taken");
        }
    }

    #[test]
    fn knows_public_listeners() {
        let public = |text: &str| text.parse::<Spec>().unwrap().is_public();
        assert!(
            public("L:*:1:a:1")
                && public("L:0.0.0.0:1:a:1")
                && public("L:[::]:1:a:1")
                && public("L:eth.example:1:a:1")
        );
        assert!(
            !public("L:1:a:1")
                && !public("L:[::1]:1:a:1")
                && !public("L:localhost:1:a:1")
                && !public("L:/s:a:1")
        );
    }

    proptest::proptest! {
        #[test]
        fn what_is_read_prints_and_reads_back(text in "[LRD]?:?[a-z0-9:/\\[\\]*. ]{0,30}( via=(auto|ssh|agent))?") {
            if let Ok(spec) = text.parse::<Spec>() {
                proptest::prop_assert_eq!(spec.to_string().parse::<Spec>().unwrap(), spec);
            }
        }
    }
}

//! Ports on which somebody listens on the host, for whoever offers to forward them.

use std::net::IpAddr;

use forward::{Endpoint, Kind, RuleSnapshot, RuleState, Spec};
use protocol::{ListeningPort, ports::CAPABILITY};

use crate::handle::Link;

impl Link {
    /// Lists what listens on the host and is not forwarded. `None`: nobody answers yet, or an agent that cannot tell.
    ///
    /// # Errors
    /// As for every request.
    pub async fn unforwarded_ports(&self) -> Result<Option<Vec<ListeningPort>>, client::Error> {
        let knows = |name: &String| name == CAPABILITY;
        if !self
            .ready()
            .is_some_and(|ready| ready.hello.capabilities.iter().any(knows))
        {
            return Ok(None);
        }
        let mut ports = self.agent().ports().await?.ports;
        let rules = self.forwards().list();
        ports.retain(|port| !rules.iter().any(|rule| is_about(rule, port)));
        Ok(Some(ports))
    }
}

/// Says whether a rule leads to a port of the host, or is what listens there.
fn is_about(rule: &RuleSnapshot, port: &ListeningPort) -> bool {
    let is_it = |at: &Endpoint| match at {
        Endpoint::Tcp { host, port: number } => *number == port.port && is_own(host, port),
        Endpoint::Unix(_) => false,
    };
    match rule.spec.kind {
        Kind::Local => rule.spec.target.as_ref().is_some_and(is_it),
        Kind::Remote => {
            matches!(rule.bound, Endpoint::Tcp { port: number, .. } if number == port.port)
        }
        Kind::Dynamic => false,
    }
}

/// Says whether a target's host is the machine itself.
fn is_own(host: &str, port: &ListeningPort) -> bool {
    let is_loopback = host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    is_loopback || host.eq_ignore_ascii_case("localhost") || host == port.host
}

/// Gives the shortest rule that forwards a port of the host, to the same port here where that needs no administrator.
#[must_use]
pub fn rule_for(port: &ListeningPort) -> String {
    let host = match port.host.as_str() {
        "127.0.0.1" if port.port >= 1024 => return port.port.to_string(),
        address if address.contains(':') => format!("[{address}]"),
        address => address.to_owned(),
    };
    let here = if port.port < 1024 {
        port.port + 8000
    } else {
        port.port
    };
    format!("{here}:{host}:{}", port.port)
}

/// Says what is wrong with a rule, or was with its last connection that failed; the rule is not named again.
#[must_use]
pub fn rule_trouble(rule: &RuleSnapshot) -> Option<String> {
    let message = match &rule.state {
        RuleState::Refused { why } => Some(why),
        RuleState::Ready { .. } | RuleState::Offline => rule.last_error.as_ref().map(|error| &error.message),
    }?;
    let named = format!("forward rule {}: ", rule.spec);
    Some(message.strip_prefix(&named).unwrap_or(message).to_owned())
}

/// Gives the same rule on a port that was free a moment ago, where a rule failed since its port is taken.
#[must_use]
pub fn rule_instead(spec: &Spec, error: &forward::Error) -> Option<String> {
    let (forward::Error::Bind { free: Some(free), .. }, Endpoint::Tcp { host, .. }) = (error, &spec.bind)
    else {
        return None;
    };
    let bind = Endpoint::Tcp {
        host: host.clone(),
        port: *free,
    };
    Some(Spec { bind, ..spec.clone() }.to_string())
}

/// Reads a rule as a person types it: OpenSSH's text behind `L:`, `R:` or `D:`, or a bare port of the host.
///
/// # Errors
/// It is malformed.
pub fn read_rule(text: &str) -> Result<Spec, forward::Error> {
    match text.parse::<u16>() {
        Ok(port @ 1..) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("L:{port}:127.0.0.1:{port}").parse()
        }
        _ => text.parse(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(host: &str, port: u16) -> ListeningPort {
        ListeningPort {
            port,
            host: host.to_owned(),
            public: false,
            process: None,
        }
    }

    #[test]
    fn a_port_is_offered_by_a_rule_that_reads() {
        let check = |port: ListeningPort, short: &str, long: &str| {
            assert_eq!(rule_for(&port), short);
            assert_eq!(read_rule(short).unwrap().to_string(), long);
        };
        check(port("127.0.0.1", 3000), "3000", "L:127.0.0.1:3000:127.0.0.1:3000");
        check(
            port("::1", 3000),
            "3000:[::1]:3000",
            "L:127.0.0.1:3000:[::1]:3000",
        );
        check(
            port("10.0.0.7", 3000),
            "3000:10.0.0.7:3000",
            "L:127.0.0.1:3000:10.0.0.7:3000",
        );
        check(
            port("127.0.0.1", 80),
            "8080:127.0.0.1:80",
            "L:127.0.0.1:8080:127.0.0.1:80",
        );
    }

    #[test]
    fn what_is_no_port_is_read_as_a_rule() {
        for bad in ["0", "70000", "+80", "", "http"] {
            assert!(read_rule(bad).is_err(), "{bad}");
        }
        assert_eq!(read_rule("D:1080").unwrap().kind, Kind::Dynamic);
    }
}

//! The server's side of SOCKS 5 (RFC 1928), 4 and 4a, as far as OpenSSH has it: CONNECT without a login (pure).

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::{Endpoint, RefusalKind};

/// What a client may send before it is connected. The longest request has 262 bytes; SOCKS 4 has a user's name, too.
pub(crate) const LIMIT: usize = 1024;

/// What follows from the bytes so far.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// More bytes are needed.
    More,
    /// Answer, drop `used` bytes, go on.
    Answer { used: usize, reply: Vec<u8> },
    /// Drop `used` bytes and connect; what follows is the client's data already.
    Connect { used: usize, to: Endpoint },
    /// Answer and hang up.
    Refuse { reply: Vec<u8>, why: &'static str },
}

/// A handshake.
#[derive(Debug, Default)]
pub(crate) struct Handshake {
    stage: Stage,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Stage {
    #[default]
    First,
    /// SOCKS 5, after the methods.
    Request5,
    /// SOCKS 4.
    Request4,
}

/// How connecting ended, for the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Connected,
    /// Not allowed by the rules of the host.
    Forbidden,
    Unreachable,
    /// Nobody listens on the port.
    Refused,
    Failed,
}

impl Verdict {
    /// Reads it from a refusal; only its words tell whether somebody said no or nobody said anything.
    pub(crate) fn of(kind: RefusalKind, words: &str) -> Self {
        match kind {
            RefusalKind::Forbidden => Self::Forbidden,
            RefusalKind::Unreachable if words.contains("onnection refused") => Self::Refused,
            RefusalKind::Unreachable => Self::Unreachable,
            RefusalKind::InUse | RefusalKind::Lost | RefusalKind::Other => Self::Failed,
        }
    }
}

impl Handshake {
    /// Looks at the bytes that are there. Nothing but what [`Step`] says is taken from them.
    pub(crate) fn step(&mut self, bytes: &[u8]) -> Step {
        match (self.stage, bytes.first()) {
            (_, None) => Step::More,
            (Stage::First, Some(5)) => self.methods(bytes),
            (Stage::First, Some(4)) => {
                self.stage = Stage::Request4;
                request4(bytes)
            }
            (Stage::First, Some(_)) => Step::Refuse {
                reply: Vec::new(),
                why: "the client speaks neither SOCKS 5 nor SOCKS 4",
            },
            (Stage::Request5, Some(_)) => request5(bytes),
            (Stage::Request4, Some(_)) => request4(bytes),
        }
    }

    /// Gives the answer to a request.
    pub(crate) fn reply(&self, verdict: Verdict) -> Vec<u8> {
        match self.stage {
            Stage::Request4 => reply4(verdict == Verdict::Connected),
            Stage::First | Stage::Request5 => reply5(match verdict {
                Verdict::Connected => 0,
                Verdict::Failed => 1,
                Verdict::Forbidden => 2,
                Verdict::Unreachable => 4,
                Verdict::Refused => 5,
            }),
        }
    }

    fn methods(&mut self, bytes: &[u8]) -> Step {
        let Some(&count) = bytes.get(1) else {
            return Step::More;
        };
        let used = 2 + usize::from(count);
        let Some(methods) = bytes.get(2..used) else {
            return Step::More;
        };
        if methods.contains(&0) {
            self.stage = Stage::Request5;
            let reply = vec![5, 0];
            return Step::Answer { used, reply };
        }
        Step::Refuse {
            reply: vec![5, 0xff],
            why: "the client wants to log in to the SOCKS server",
        }
    }
}

/// RFC 1928, section 4.
fn request5(bytes: &[u8]) -> Step {
    let &[version, command, _, kind, ref rest @ ..] = bytes else {
        return Step::More;
    };
    if version != 5 {
        return refuse5(1, "the client's request is not SOCKS 5");
    }
    if command != 1 {
        return refuse5(7, "the client asked for BIND or UDP, which no SSH forward has");
    }
    let length = match (kind, rest.first()) {
        (1, _) => 4,
        (4, _) => 16,
        (3, None) => return Step::More,
        (3, Some(&length)) => 1 + usize::from(length),
        _ => return refuse5(8, "the client's kind of address is unknown"),
    };
    let (Some(address), Some(&[high, low])) = (rest.get(..length), rest.get(length..length + 2)) else {
        return Step::More;
    };
    let host = match kind {
        1 => <[u8; 4]>::try_from(address)
            .ok()
            .map(|octets| Ipv4Addr::from(octets).to_string()),
        4 => <[u8; 16]>::try_from(address)
            .ok()
            .map(|octets| Ipv6Addr::from(octets).to_string()),
        _ => name(&address[1..]),
    };
    match host {
        Some(host) => Step::Connect {
            used: 4 + length + 2,
            to: Endpoint::Tcp {
                host,
                port: u16::from_be_bytes([high, low]),
            },
        },
        None => refuse5(1, "the client's host name has characters that no name has"),
    }
}

/// The memo "SOCKS 4A", and "SOCKS" before it.
fn request4(bytes: &[u8]) -> Step {
    let &[_, command, high, low, a, b, c, d, ref rest @ ..] = bytes else {
        return Step::More;
    };
    if command != 1 {
        return refuse4("the client asked for BIND, which no SSH forward has");
    }
    let Some(user) = rest.iter().position(|&byte| byte == 0) else {
        return Step::More;
    };
    let (mut used, mut host) = (8 + user + 1, Some(Ipv4Addr::new(a, b, c, d).to_string()));
    // An address 0.0.0.x stands for a name that follows.
    if (a, b, c) == (0, 0, 0) && d != 0 {
        let after = &rest[user + 1..];
        let Some(end) = after.iter().position(|&byte| byte == 0) else {
            return Step::More;
        };
        used += end + 1;
        host = name(&after[..end]);
    }
    match host {
        Some(host) => Step::Connect {
            used,
            to: Endpoint::Tcp {
                host,
                port: u16::from_be_bytes([high, low]),
            },
        },
        None => refuse4("the client's host name has characters that no name has"),
    }
}

fn name(bytes: &[u8]) -> Option<String> {
    let name = std::str::from_utf8(bytes).ok()?;
    let odd = |c: char| c.is_whitespace() || c.is_control();
    (!name.is_empty() && name.len() <= 255 && !name.contains(odd)).then(|| name.to_owned())
}

fn refuse5(code: u8, why: &'static str) -> Step {
    let reply = reply5(code);
    Step::Refuse { reply, why }
}

fn refuse4(why: &'static str) -> Step {
    let reply = reply4(false);
    Step::Refuse { reply, why }
}

/// The bound address is not known; OpenSSH sends zeros as well.
fn reply5(code: u8) -> Vec<u8> {
    vec![5, code, 0, 1, 0, 0, 0, 0, 0, 0]
}

fn reply4(granted: bool) -> Vec<u8> {
    vec![0, if granted { 90 } else { 91 }, 0, 0, 0, 0, 0, 0]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(host: &str, port: u16) -> Endpoint {
        Endpoint::Tcp {
            host: host.to_owned(),
            port,
        }
    }

    /// Feeds bytes one by one, as a slow client would; gives all answers, and what it came to.
    fn feed(bytes: &[u8]) -> (Vec<u8>, Option<Step>) {
        let (mut handshake, mut waiting, mut answers) = (Handshake::default(), Vec::new(), Vec::new());
        for &byte in bytes {
            waiting.push(byte);
            match handshake.step(&waiting) {
                Step::More => {}
                Step::Answer { used, reply } => {
                    waiting.drain(..used);
                    answers.extend(reply);
                }
                step => return (answers, Some(step)),
            }
        }
        (answers, None)
    }

    fn connects(bytes: &[u8], to: &Endpoint) {
        match feed(bytes).1 {
            Some(Step::Connect { to: found, .. }) => assert_eq!(&found, to),
            other => panic!("{other:?}"),
        }
    }

    fn refuses(bytes: &[u8], expected: &[u8]) {
        match feed(bytes).1 {
            Some(Step::Refuse { reply, .. }) => assert_eq!(reply, expected),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_kind_of_address_is_read() {
        connects(
            b"\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x1f\x90",
            &tcp("127.0.0.1", 8080),
        );
        connects(
            b"\x05\x02\x02\x00\x05\x01\x00\x03\x02db\x15\x38",
            &tcp("db", 5432),
        );
        let mut six = b"\x05\x01\x00\x05\x01\x00\x04".to_vec();
        six.extend(Ipv6Addr::LOCALHOST.octets());
        six.extend([0, 80]);
        connects(&six, &tcp("::1", 80));
        connects(b"\x04\x01\x00\x50\x0a\x00\x00\x01me\x00", &tcp("10.0.0.1", 80));
        connects(
            b"\x04\x01\x00\x50\x00\x00\x00\x01\x00db.example\x00",
            &tcp("db.example", 80),
        );
        assert_eq!(feed(b"\x05\x01\x00").0, [5, 0]);
    }

    #[test]
    fn what_is_not_offered_is_refused_with_its_code() {
        refuses(b"\x05\x01\x02", &[5, 0xff]);
        refuses(b"\x05\x01\x00\x05\x02\x00\x01", &reply5(7));
        refuses(b"\x05\x01\x00\x05\x03\x00\x01", &reply5(7));
        refuses(b"\x05\x01\x00\x05\x01\x00\x09\x00", &reply5(8));
        refuses(b"\x05\x01\x00\x05\x01\x00\x03\x03a b\x00\x50", &reply5(1));
        refuses(b"\x04\x02\x00\x50\x0a\x00\x00\x01", &reply4(false));
        refuses(b"GET / HTTP/1.1\r\n", b"");
    }

    #[test]
    fn early_data_is_not_part_of_the_request() {
        let mut handshake = Handshake::default();
        let all = b"\x04\x01\x00\x50\x0a\x00\x00\x01\x00early";
        assert_eq!(
            handshake.step(all),
            Step::Connect {
                used: 9,
                to: tcp("10.0.0.1", 80)
            }
        );
        assert_eq!(handshake.reply(Verdict::Connected)[1], 90);
    }

    #[test]
    fn refusals_have_their_codes() {
        let five = Handshake {
            stage: Stage::Request5,
        };
        for (verdict, code) in [
            (Verdict::of(RefusalKind::Forbidden, ""), 2),
            (Verdict::of(RefusalKind::Unreachable, "no route"), 4),
            (Verdict::of(RefusalKind::Unreachable, "x (Connection refused)"), 5),
            (Verdict::of(RefusalKind::Lost, ""), 1),
        ] {
            assert_eq!(five.reply(verdict)[1], code, "{verdict:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic_or_take_more_than_there_is(bytes: Vec<u8>) {
            let mut handshake = Handshake::default();
            let mut rest = bytes.as_slice();
            loop {
                match handshake.step(rest) {
                    Step::Answer { used, .. } => rest = &rest[used..],
                    Step::Connect { used, .. } => {
                        proptest::prop_assert!(used <= rest.len());
                        break;
                    }
                    _ => break,
                }
            }
        }
    }
}

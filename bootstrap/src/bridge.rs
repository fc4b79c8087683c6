//! The command line of `reasonix bridge` or `reasonix serve --stdio`, and its first line.
//!
//! A refused forwarding and a dead daemon look alike to a client. The bridge says which it is in one line,
//! `FENCE connected FENCE`, `FENCE no daemon FENCE` or `FENCE denied FENCE`; after the first the stream is the wire. An agent that lives on the stream says `connected` as well.

use crate::{fence::Fence, script::Script};

const SCRIPT: &str = include_str!("scripts/bridge.sh");
/// Start-up noise beyond this is no longer waited through.
const NOISE: usize = 16 * 1024 * 1024;

/// What to run, and what to write before anything else.
#[derive(Debug)]
pub struct BridgeCall {
    /// The command line, for the login shell.
    pub command: String,
    /// The first bytes of standard input; the wire's bytes follow directly.
    pub preface: Vec<u8>,
    /// Reads the first line.
    pub reader: BridgeReader,
}

/// Makes the call that becomes `PROGRAM bridge`. `home` is the absolute `REASONIX_HOME`, if it is not the host's own.
#[must_use]
pub fn bridge_call(program: &str, home: Option<&str>, end: End<'_>) -> BridgeCall {
    let fence = Fence::random();
    let (stdio, socket) = match end {
        End::Socket(socket) => (false, socket),
        End::Agent => (true, ""),
    };
    let call = Script::new(&fence)
        .text("rx_bin", program)
        .text("rx_home", home.unwrap_or_default())
        .text("rx_socket", socket)
        .number("rx_stdio", u64::from(stdio))
        .finish(SCRIPT);
    BridgeCall {
        command: call.command,
        preface: call.stdin,
        reader: BridgeReader::new(fence),
    }
}

/// What is at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End<'a> {
    /// The daemon on this socket, an absolute path.
    Socket(&'a str),
    /// An agent of its own, which ends with the stream: `PROGRAM serve --stdio`.
    Agent,
}

/// What the bridge found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The stream is the wire from here on.
    Connected,
    /// Nobody listens.
    NoDaemon,
    /// The socket may not be used.
    Denied,
    /// It said something else, or nothing but noise.
    Unknown,
}

/// Waits through start-up noise for the fenced line.
#[derive(Debug)]
pub struct BridgeReader {
    fence: Fence,
    pending: Vec<u8>,
    noise: usize,
}

impl BridgeReader {
    /// Makes a reader for a fence.
    #[must_use]
    pub fn new(fence: Fence) -> Self {
        Self {
            fence,
            pending: Vec::new(),
            noise: 0,
        }
    }

    /// Takes bytes of standard output. Once the line is complete, gives the verdict and the bytes after it, which are
    /// the first of the wire. The end of the stream before that means that no bridge ran.
    pub fn push(&mut self, bytes: &[u8]) -> Option<(Verdict, Vec<u8>)> {
        self.pending.extend_from_slice(bytes);
        while let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
            let rest = self.pending.split_off(end + 1);
            let line = std::mem::replace(&mut self.pending, rest);
            if let Some(word) = self.fence.between(&line) {
                let verdict = match word {
                    b"connected" => Verdict::Connected,
                    b"no daemon" => Verdict::NoDaemon,
                    b"denied" => Verdict::Denied,
                    _ => Verdict::Unknown,
                };
                return Some((verdict, std::mem::take(&mut self.pending)));
            }
            self.noise += line.len();
        }
        let too_much = self.noise + self.pending.len() > NOISE;
        too_much.then(|| (Verdict::Unknown, Vec::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wire_begins_after_the_line_wherever_it_is_cut() {
        let all = b"Welcome\n\0{}F connected F\nPRI * HTTP/2.0\n\n";
        for cut in 0..=all.len() {
            let mut reader = BridgeReader::new(Fence::from_word("F"));
            let (a, b) = all.split_at(cut);
            let (verdict, rest) = match reader.push(a) {
                Some((verdict, mut rest)) => {
                    rest.extend_from_slice(b);
                    (verdict, rest)
                }
                None => reader.push(b).unwrap(),
            };
            assert_eq!(
                (verdict, rest.as_slice()),
                (Verdict::Connected, &b"PRI * HTTP/2.0\n\n"[..]),
                "cut at {cut}"
            );
        }
    }

    #[test]
    fn verdicts() {
        let check = |line: &[u8], want| {
            let got = BridgeReader::new(Fence::from_word("F"))
                .push(line)
                .map(|(verdict, _)| verdict);
            assert_eq!(got, want, "{}", String::from_utf8_lossy(line));
        };
        check(b"F no daemon F\r\n", Some(Verdict::NoDaemon));
        check(b"F denied F\n", Some(Verdict::Denied));
        check(b"F eels F\n", Some(Verdict::Unknown));
        check(b"F connected F", None);
        check(b"connected\n", None);
        check(&vec![b'x'; NOISE + 1], Some(Verdict::Unknown));
    }
}

//! What goes over the byte stream of a terminal ([`crate::StreamTarget::Terminal`]): frames, both ways.
//!
//! A frame is a byte for its kind, the length of its payload as 32 bits (big-endian), and the payload. From the client: 0
//! what is typed, 1 a new size ([`TerminalSize`] as JSON), 2 a signal's name without `SIG`, 3 the end of input. From the
//! agent: 0 what is printed, 1 how it ended ([`TerminalEnd`] as JSON), after which nothing comes. Kinds that are not known
//! are skipped.

use serde::{Deserialize, Serialize};

use crate::limits;

/// Bytes of a frame before its payload.
const PREFIX: usize = 5;

/// A new size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalSize {
    /// Width in characters.
    pub columns: u16,
    /// Height in characters.
    pub rows: u16,
}

/// How what ran on a terminal ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminalEnd {
    /// With an exit code.
    Code(i32),
    /// By a signal, named by its number.
    Signal(i32),
    /// In a way of a newer version.
    #[serde(other)]
    Unknown,
}

/// What a client sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalInput {
    /// What is typed.
    Data(Vec<u8>),
    /// The terminal has another size now.
    Resize(TerminalSize),
    /// A signal for what runs in the foreground.
    Signal(String),
    /// Nothing more is typed.
    End,
}

/// What the agent sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalOutput {
    /// What is printed.
    Data(Vec<u8>),
    /// It ended.
    End(TerminalEnd),
}

/// Why a stream cannot be read on.
#[derive(Debug, thiserror::Error)]
pub enum TerminalFault {
    /// A frame is longer than allowed.
    #[error("a frame of {0} bytes is over the limit of {max}", max = limits::TERMINAL_FRAME)]
    TooLong(u32),
    /// A payload does not parse.
    #[error("a frame does not parse: {0}")]
    Json(#[from] serde_json::Error),
}

impl TerminalInput {
    /// Writes it as frames.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Data(data) => frames(0, data),
            Self::Resize(size) => frames(1, &serde_json::to_vec(size).unwrap_or_default()),
            Self::Signal(name) => frames(2, name.as_bytes()),
            Self::End => frames(3, &[]),
        }
    }
}

impl TerminalOutput {
    /// Writes it as frames.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Data(data) => frames(0, data),
            Self::End(end) => frames(1, &serde_json::to_vec(end).unwrap_or_default()),
        }
    }
}

/// Makes frames of a kind; what is too long for one becomes several.
fn frames(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(payload.len() + PREFIX);
    let mut rest = payload;
    loop {
        let (piece, more) = rest.split_at(rest.len().min(limits::TERMINAL_FRAME));
        out.push(kind);
        out.extend_from_slice(&u32::try_from(piece.len()).unwrap_or(0).to_be_bytes());
        out.extend_from_slice(piece);
        if more.is_empty() {
            return out;
        }
        rest = more;
    }
}

/// Takes frames out of bytes that may be cut anywhere. It holds one frame at most, and the piece that came last.
#[derive(Debug, Default)]
pub struct TerminalDecoder(Vec<u8>);

impl TerminalDecoder {
    /// Adds bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Gives what a client sent next, if it has come.
    ///
    /// # Errors
    /// [`TerminalFault`]; the stream is of no use any more.
    pub fn input(&mut self) -> Result<Option<TerminalInput>, TerminalFault> {
        while let Some((kind, payload)) = self.frame()? {
            return Ok(Some(match kind {
                0 => TerminalInput::Data(payload),
                1 => TerminalInput::Resize(serde_json::from_slice(&payload)?),
                2 => TerminalInput::Signal(String::from_utf8_lossy(&payload).into_owned()),
                3 => TerminalInput::End,
                _ => continue,
            }));
        }
        Ok(None)
    }

    /// Gives what the agent sent next, if it has come.
    ///
    /// # Errors
    /// [`TerminalFault`]; the stream is of no use any more.
    pub fn output(&mut self) -> Result<Option<TerminalOutput>, TerminalFault> {
        while let Some((kind, payload)) = self.frame()? {
            return Ok(Some(match kind {
                0 => TerminalOutput::Data(payload),
                1 => TerminalOutput::End(serde_json::from_slice(&payload)?),
                _ => continue,
            }));
        }
        Ok(None)
    }

    fn frame(&mut self) -> Result<Option<(u8, Vec<u8>)>, TerminalFault> {
        let Some((&[kind, a, b, c, d], rest)) = self.0.split_first_chunk::<PREFIX>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes([a, b, c, d]);
        let Some(wanted) = usize::try_from(length)
            .ok()
            .filter(|wanted| *wanted <= limits::TERMINAL_FRAME)
        else {
            return Err(TerminalFault::TooLong(length));
        };
        let Some(payload) = rest.get(..wanted).map(<[u8]>::to_vec) else {
            return Ok(None);
        };
        self.0.drain(..PREFIX + wanted);
        Ok(Some((kind, payload)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_however_they_are_cut() {
        let size = TerminalSize {
            columns: 80,
            rows: 24,
        };
        let sent = [
            TerminalInput::Data(b"ls\r".to_vec()),
            TerminalInput::Resize(size),
            TerminalInput::Signal("INT".to_owned()),
            TerminalInput::End,
        ];
        let mut bytes: Vec<u8> = sent.iter().flat_map(TerminalInput::encode).collect();
        assert_eq!(&bytes[..8], b"\0\0\0\0\x03ls\r");
        assert!(
            bytes
                .windows(24)
                .any(|part| part == br#"{"columns":80,"rows":24}"#)
        );
        // A kind of a newer version is skipped.
        bytes.splice(0..0, [9, 0, 0, 0, 1, 7]);
        for cut in 1..=bytes.len() {
            let mut decoder = TerminalDecoder::default();
            let mut got = Vec::new();
            for piece in bytes.chunks(cut) {
                decoder.push(piece);
                while let Some(input) = decoder.input().unwrap() {
                    got.push(input);
                }
            }
            assert_eq!(got, sent, "in pieces of {cut}");
        }
        for end in [TerminalEnd::Code(7), TerminalEnd::Signal(15)] {
            let mut decoder = TerminalDecoder::default();
            decoder.push(&TerminalOutput::End(end.clone()).encode());
            assert_eq!(decoder.output().unwrap(), Some(TerminalOutput::End(end)));
        }
        assert_eq!(
            TerminalOutput::End(TerminalEnd::Code(7)).encode()[5..],
            *br#"{"code":7}"#
        );
    }

    #[test]
    fn what_is_too_long_is_cut_when_sent_and_refused_when_it_comes() {
        let long = TerminalOutput::Data(vec![b'x'; limits::TERMINAL_FRAME * 2 + 1]).encode();
        assert_eq!(long.len(), limits::TERMINAL_FRAME * 2 + 1 + 3 * PREFIX);
        let mut decoder = TerminalDecoder::default();
        decoder.push(&[0, 0xff, 0, 0, 0]);
        assert!(matches!(decoder.output(), Err(TerminalFault::TooLong(_))));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_do_harm(bytes: Vec<u8>) {
            let mut decoder = TerminalDecoder::default();
            decoder.push(&bytes);
            while let Ok(Some(_)) = decoder.input() {}
            let mut decoder = TerminalDecoder::default();
            decoder.push(&bytes);
            while let Ok(Some(_)) = decoder.output() {}
        }
    }
}

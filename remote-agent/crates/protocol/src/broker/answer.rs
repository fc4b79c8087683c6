//! The stream of frames in which an answer of a vendor comes: `u8` kind, `u32` length (big-endian), payload.
//!
//! | Kind | Payload |
//! | --: | --- |
//! | 1 | [`AnswerHead`] as JSON, exactly once and first |
//! | 2 | bytes of the body |
//! | 3 | [`AnswerEnd`] as JSON; nothing follows |
//!
//! A refusal of the broker is a frame of kind 3 with an error and no head before it.

use serde::{Deserialize, Serialize};

use crate::limits;

const HEAD: u8 = 1;
const DATA: u8 = 2;
const END: u8 = 3;
/// Bytes before a payload.
const PREFIX: usize = 5;

/// The head of a vendor's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerHead {
    /// The HTTP status.
    pub status: u16,
    /// The fields that matter: `content-type`, `retry-after`, `retry-after-ms`, names in lower case.
    #[serde(default, deserialize_with = "limits::list::<{limits::BROKER_HEADERS}, _, _>")]
    pub headers: Vec<(String, String)>,
}

impl AnswerHead {
    /// Gives the value of a field.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// The end of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerEnd {
    /// Why it is not whole; absent when it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<AnswerError>,
}

/// Why an answer is not whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerError {
    /// What kind of trouble.
    pub kind: AnswerErrorKind,
    /// What happened, in words.
    #[serde(deserialize_with = "limits::text::<{limits::LINE}, _>")]
    pub message: String,
    /// What to do.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "limits::maybe_text::<{limits::LINE}, _>"
    )]
    pub hint: Option<String>,
}

/// Kinds of trouble. The first three may pass, and the request is tried again within its budget of attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerErrorKind {
    /// The vendor's answer ended in the middle.
    Cut,
    /// Nothing came from the vendor for too long.
    Stalled,
    /// The vendor could not be reached.
    Connect,
    /// The broker does not serve it: it has no key for it, or a person said no.
    Refused,
    /// What it will serve for this host is used up.
    Budget,
    /// The time for which it serves this host is over.
    Expired,
    /// Its configuration does not list the endpoint.
    NotAllowed,
    /// A kind of a newer version.
    #[serde(other)]
    Unknown,
}

/// One frame. A decoder may give the payload of a data frame in several pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerFrame {
    /// The head.
    Head(AnswerHead),
    /// Bytes of the body.
    Data(Vec<u8>),
    /// The end.
    End(AnswerEnd),
}

impl AnswerFrame {
    /// Encodes it. A longer body than a frame may hold becomes several frames; an empty one becomes none.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            // Values of these types always encode.
            Self::Head(head) => push(&mut out, HEAD, &serde_json::to_vec(head).unwrap_or_default()),
            Self::End(end) => push(&mut out, END, &serde_json::to_vec(end).unwrap_or_default()),
            Self::Data(bytes) => {
                for piece in bytes.chunks(limits::BROKER_FRAME) {
                    push(&mut out, DATA, piece);
                }
            }
        }
        out
    }
}

fn push(out: &mut Vec<u8>, kind: u8, payload: &[u8]) {
    out.push(kind);
    // Every caller keeps to the limit of a frame.
    out.extend_from_slice(&u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend_from_slice(payload);
}

/// Why a stream of frames makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerFault {
    /// No frame is of this kind.
    #[error("a frame of kind {0} came")]
    Kind(u8),
    /// A frame is over its limit.
    #[error("a frame of kind {kind} has {len} bytes, over the limit of {max}")]
    TooLong {
        /// Its kind.
        kind: u8,
        /// What it says of its length.
        len: u32,
        /// The limit.
        max: usize,
    },
    /// A frame came where it may not.
    #[error("{0}")]
    Order(&'static str),
    /// The payload of a frame does not parse.
    #[error("a frame of kind {kind} does not parse: {why}")]
    Payload {
        /// Its kind.
        kind: u8,
        /// What is wrong with it.
        why: String,
    },
}

/// How far a stream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Start,
    Body,
    Over,
}

/// Reads frames from bytes that may be cut anywhere. After a fault it is of no use.
#[derive(Debug)]
pub struct AnswerDecoder {
    stage: Stage,
    /// The prefix of the next frame, as far as it has come.
    prefix: Vec<u8>,
    /// The frame whose payload is coming.
    current: Option<Current>,
}

#[derive(Debug)]
struct Current {
    kind: u8,
    left: usize,
    /// What has come of a payload that is needed as a whole.
    json: Vec<u8>,
}

impl Default for AnswerDecoder {
    fn default() -> Self {
        Self {
            stage: Stage::Start,
            prefix: Vec::with_capacity(PREFIX),
            current: None,
        }
    }
}

impl AnswerDecoder {
    /// Says whether the last frame has come.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// Reads the next bytes and appends what they complete to `out`.
    ///
    /// # Errors
    /// [`AnswerFault`]; what was read before it is in `out`.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<AnswerFrame>) -> Result<(), AnswerFault> {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.stage == Stage::Over {
                return Err(AnswerFault::Order("bytes came after the end of the answer"));
            }
            match &mut self.current {
                None => {
                    let (taken, more) = rest.split_at(rest.len().min(PREFIX - self.prefix.len()));
                    self.prefix.extend_from_slice(taken);
                    rest = more;
                    if let [kind, a, b, c, d] = self.prefix[..] {
                        self.begin(kind, u32::from_be_bytes([a, b, c, d]))?;
                        self.prefix.clear();
                    }
                }
                Some(current) => {
                    let (taken, more) = rest.split_at(rest.len().min(current.left));
                    current.left -= taken.len();
                    rest = more;
                    if current.kind == DATA {
                        out.push(AnswerFrame::Data(taken.to_vec()));
                    } else {
                        current.json.extend_from_slice(taken);
                    }
                }
            }
            self.finish(out)?;
        }
        Ok(())
    }

    fn begin(&mut self, kind: u8, len: u32) -> Result<(), AnswerFault> {
        let max = match kind {
            DATA => limits::BROKER_FRAME,
            HEAD | END => limits::BROKER_JSON,
            other => return Err(AnswerFault::Kind(other)),
        };
        let left = usize::try_from(len).unwrap_or(usize::MAX);
        if left > max {
            return Err(AnswerFault::TooLong { kind, len, max });
        }
        match (self.stage, kind) {
            (Stage::Start, DATA) => return Err(AnswerFault::Order("a body came before the head")),
            (Stage::Body, HEAD) => return Err(AnswerFault::Order("a second head came")),
            _ => {}
        }
        self.current = Some(Current {
            kind,
            left,
            json: Vec::new(),
        });
        Ok(())
    }

    /// Ends the frame whose payload is complete, if one is.
    fn finish(&mut self, out: &mut Vec<AnswerFrame>) -> Result<(), AnswerFault> {
        let Some(Current { kind, json, .. }) = self.current.take_if(|current| current.left == 0) else {
            return Ok(());
        };
        let bad = |error: serde_json::Error| AnswerFault::Payload {
            kind,
            why: error.to_string(),
        };
        match kind {
            HEAD => {
                let head: AnswerHead = serde_json::from_slice(&json).map_err(bad)?;
                if !(200..=599).contains(&head.status) {
                    let why = format!("{} is no status of an answer", head.status);
                    return Err(AnswerFault::Payload { kind, why });
                }
                self.stage = Stage::Body;
                out.push(AnswerFrame::Head(head));
            }
            END => {
                let end: AnswerEnd = serde_json::from_slice(&json).map_err(bad)?;
                if self.stage == Stage::Start && end.error.is_none() {
                    return Err(AnswerFault::Order("the answer ended before its head"));
                }
                self.stage = Stage::Over;
                out.push(AnswerFrame::End(end));
            }
            _ => {}
        }
        Ok(())
    }
}

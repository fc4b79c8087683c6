//! Sizes that both sides enforce when decoding. All in bytes unless the name says otherwise.

use std::fmt;

use serde::{Deserialize, Deserializer, de};

/// A request body.
pub const REQUEST_BODY: usize = 4 * 1024 * 1024;
/// The text of one submit.
pub const SUBMIT_TEXT: usize = 2 * 1024 * 1024;
/// A short name: a model reference, a preset, an id.
pub const NAME: usize = 256;
/// A file-system path.
pub const PATH: usize = 4096;
/// One line for a person: a reason, a hint, a title.
pub const LINE: usize = 8 * 1024;
/// Text of a model or a tool inside one event.
pub const TEXT: usize = 16 * 1024 * 1024;
/// One line of an event stream, and so one event.
pub const EVENT: usize = 64 * 1024 * 1024;
/// Entries of any list.
pub const LIST: usize = 100_000;
/// Submits waiting in the queue of a session.
pub const QUEUE: usize = 64;
/// Transcript items in a snapshot; older ones are fetched as history pages.
pub const SNAPSHOT_ITEMS: usize = 1_000;
/// Questions in one prompt.
pub const QUESTIONS: usize = 16;
/// Suggested answers of one question.
pub const OPTIONS: usize = 32;
/// An answer to one question in a person's own words.
pub const REPLY: usize = 16 * 1024;
/// Events in one history page.
pub const HISTORY_PAGE: usize = 1_000;

/// The body of a request that is parked for a broker.
pub const BROKER_BODY: usize = 24 * 1024 * 1024;
/// The payload of a data frame of an answer.
pub const BROKER_FRAME: usize = 1024 * 1024;
/// The payload of the first and of the last frame of an answer.
pub const BROKER_JSON: usize = 64 * 1024;
/// Header fields of a parked request, or of its answer's head.
pub const BROKER_HEADERS: usize = 64;
/// Bytes of an answer that may wait for the turn; a broker that sends more is held up.
pub const BROKER_AHEAD: usize = 1024 * 1024;
/// Requests that a daemon may have parked at a time.
pub const BROKER_PARKED: usize = 256;
/// Brokers that a daemon knows at a time, and dead ones that one may name.
pub const BROKERS: usize = 64;
/// How long a broker may be away before another one may take over what it has claimed.
pub const BROKER_AWAY: std::time::Duration = std::time::Duration::from_secs(120);

/// Listening ports in one list.
pub const PORTS: usize = 1_000;
/// How long a connection that a listener announced waits to be taken.
pub const ACCEPT_WITHIN: std::time::Duration = std::time::Duration::from_secs(30);
/// The payload of one frame of a terminal's stream.
pub const TERMINAL_FRAME: usize = 64 * 1024;
/// One line of a listener's answer.
pub const LISTEN_LINE: usize = 8 * 1024;

/// Decodes a text of at most `MAX` bytes. For `#[serde(deserialize_with = …)]`.
///
/// # Errors
/// A longer text is an error that names the limit.
pub fn text<'de, const MAX: usize, D: Deserializer<'de>>(decoder: D) -> Result<String, D::Error> {
    let text = String::deserialize(decoder)?;
    if text.len() > MAX {
        Err(too_long(text.len(), MAX))
    } else {
        Ok(text)
    }
}

/// Decodes an optional text of at most `MAX` bytes.
///
/// # Errors
/// A longer text is an error that names the limit.
pub fn maybe_text<'de, const MAX: usize, D: Deserializer<'de>>(
    decoder: D,
) -> Result<Option<String>, D::Error> {
    match Option::<String>::deserialize(decoder)? {
        Some(text) if text.len() > MAX => Err(too_long(text.len(), MAX)),
        other => Ok(other),
    }
}

/// Decodes a list of at most `MAX` texts of at most `LEN` bytes each.
///
/// # Errors
/// A longer list or text is an error that names the limit.
pub fn texts<'de, const MAX: usize, const LEN: usize, D: Deserializer<'de>>(
    decoder: D,
) -> Result<Vec<String>, D::Error> {
    let texts = list::<MAX, String, D>(decoder)?;
    match texts.iter().find(|text| text.len() > LEN) {
        Some(text) => Err(too_long(text.len(), LEN)),
        None => Ok(texts),
    }
}

/// Decodes a list of at most `MAX` entries; reading stops at the first one too many.
///
/// # Errors
/// A longer list is an error that names the limit.
pub fn list<'de, const MAX: usize, T: Deserialize<'de>, D: Deserializer<'de>>(
    decoder: D,
) -> Result<Vec<T>, D::Error> {
    struct Visitor<T, const MAX: usize>(std::marker::PhantomData<T>);
    impl<'de, T: Deserialize<'de>, const MAX: usize> de::Visitor<'de> for Visitor<T, MAX> {
        type Value = Vec<T>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a list of at most {MAX} entries")
        }
        fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<T>, A::Error> {
            let mut out = Vec::new();
            while let Some(entry) = seq.next_element()? {
                if out.len() == MAX {
                    return Err(de::Error::invalid_length(MAX + 1, &self));
                }
                out.push(entry);
            }
            Ok(out)
        }
    }
    decoder.deserialize_seq(Visitor::<T, MAX>(std::marker::PhantomData))
}

fn too_long<E: de::Error>(len: usize, max: usize) -> E {
    E::custom(format_args!("text of {len} bytes is over the limit of {max}"))
}

/// HTTP/2 windows, set on both sides of every link.
///
/// A stream that nobody reads keeps its window full, and those bytes count against the connection's window too. The
/// connection therefore gets a full window for every stream that may be open, and a reserve: however many streams
/// stand still, an answer to another request always has room. Both sides also refuse more streams than this allows.
pub mod http2 {
    /// Event streams that one connection may hold open at once.
    pub const EVENT_STREAMS: u32 = 64;
    /// Other requests that may be under way on one connection beside its event streams.
    pub const REQUEST_STREAMS: u32 = 16;
    /// Two-way byte streams that one connection may hold open at once.
    pub const BYTE_STREAMS: u32 = 256;
    /// All streams of one connection; the agent's `SETTINGS_MAX_CONCURRENT_STREAMS`.
    pub const STREAMS: u32 = EVENT_STREAMS + REQUEST_STREAMS + BYTE_STREAMS;
    /// Bytes that may be sent to a client on one stream of its main connection before its reader takes some.
    pub const STREAM_WINDOW: u32 = 1024 * 1024;
    /// The same for streams to the agent, and for connections that carry byte streams alone: at 50 ms of round trip a line
    /// of 40 MB/s holds 2 MB, and a window is opened again when half of it was taken.
    pub const BULK_STREAM_WINDOW: u32 = 4 * STREAM_WINDOW;
    /// Bytes on top of every stream's window.
    pub const RESERVE: u32 = 16 * STREAM_WINDOW;
    /// Bytes that may be sent on one connection before some are taken.
    pub const CONNECTION_WINDOW: u32 = STREAMS * STREAM_WINDOW + RESERVE;
    /// The same where [`BULK_STREAM_WINDOW`] is used.
    pub const BULK_CONNECTION_WINDOW: u32 = STREAMS * BULK_STREAM_WINDOW + RESERVE;
    /// Payload of one frame: the longest that a stream can make an urgent one wait.
    pub const FRAME: u32 = 16 * 1024;
    /// The same to a client on a connection that carries byte streams alone, where nothing urgent waits: each frame costs
    /// both ends some work.
    pub const BULK_FRAME: u32 = 64 * 1024;
    /// Header fields of one request or answer.
    pub const HEADERS: u32 = 16 * 1024;
}

#[cfg(test)]
mod tests {
    use super::http2::*;

    #[test]
    fn streams_that_stand_still_leave_room_on_the_connection() {
        let held = u64::from(STREAMS) * u64::from(STREAM_WINDOW);
        assert!(u64::from(CONNECTION_WINDOW) >= held + u64::from(RESERVE.max(STREAM_WINDOW)));
        let held = u64::from(STREAMS) * u64::from(BULK_STREAM_WINDOW);
        assert!(u64::from(BULK_CONNECTION_WINDOW) >= held + u64::from(RESERVE.max(BULK_STREAM_WINDOW)));
        // RFC 9113, sections 6.5.2 and 6.9.1.
        assert!(i32::try_from(CONNECTION_WINDOW).is_ok() && i32::try_from(BULK_CONNECTION_WINDOW).is_ok());
        assert!((16_384..=16_777_215).contains(&FRAME) && (FRAME..=16_777_215).contains(&BULK_FRAME));
    }
}

//! Sizes that both sides enforce when decoding. All in bytes unless the name says otherwise.

use std::fmt;

use serde::{Deserialize, Deserializer, de};

/// A request body.
pub const REQUEST_BODY: usize = 4 * 1024 * 1024;
/// The text of one submit (agent-core 4.7).
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
/// Events in one history page.
pub const HISTORY_PAGE: usize = 1_000;

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

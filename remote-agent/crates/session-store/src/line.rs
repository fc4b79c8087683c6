//! The bytes of one record in the log.
//!
//! ```text
//! {"v":1,"n":12,"at":"2026-01-02T03:04:05.678Z","kind":"turn.started","data":{"turn":3},"crc":"0a1b2c3d"}⏎
//! ```
//!
//! * The members stand in this order, without spaces; a line has at most [`LINE_MAX`] bytes with its line feed.
//! * `v` is [`FORMAT_VERSION`]; `n` counts from 1 without holes; `at` is RFC 3339 in UTC with three decimals.
//! * `kind` is `<topic>.<variant>`, `data` the variant's fields.
//! * `crc` is always the last member. Remove the 17 bytes `,"crc":"XXXXXXXX"` and the line feed: the CRC-32C
//!   (RFC 3720, appendix B.4) of the bytes that remain, the closing brace included, in eight lower-case hex digits,
//!   is the value. It covers bytes, not values, so a reader needs no knowledge of newer members to check it.
//! * `data` that is exactly `{"blob":"<64 hex>","bytes":N}` stands for the content of `blobs/<64 hex>`, which is the
//!   JSON text of the real `data`. No record kind may have those two fields and no other.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    Record, StoreError,
    record::{CallRecord, PromptRecord, SessionRecord, TurnRecord},
};

/// The version of the line format that this program writes.
pub const FORMAT_VERSION: u64 = 1;
/// The most bytes of one line, its line feed included; records with more have their data in a blob.
pub const LINE_MAX: usize = 64 * 1024;
/// The kind of the [`Record::Unknown`] that stands in the place of a record that is lost.
pub const DAMAGED: &str = "damaged";

/// A record in its place in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its number, from 1 without holes.
    pub n: u64,
    /// When it was recorded, in milliseconds since the Unix epoch.
    pub at: u64,
    /// What it says.
    pub record: Record,
}

/// One line, decoded as far as every version can.
#[derive(Debug)]
pub(crate) struct Envelope {
    pub(crate) v: u64,
    pub(crate) n: u64,
    pub(crate) at: u64,
    pub(crate) kind: String,
    pub(crate) data: Box<RawValue>,
}

#[derive(Deserialize)]
struct Members {
    v: u64,
    n: u64,
    at: String,
    kind: String,
    data: Box<RawValue>,
}

/// Writes a line, its line feed included. `data` is the JSON text of the data.
pub(crate) fn encode(n: u64, at: u64, kind: &str, data: &str) -> Result<Vec<u8>, StoreError> {
    let at = stdx::clock::rfc3339(at);
    let kind = serde_json::to_string(kind)?;
    let mut line =
        format!(r#"{{"v":{FORMAT_VERSION},"n":{n},"at":"{at}","kind":{kind},"data":{data}"#).into_bytes();
    let crc = checksum(&line);
    line.extend_from_slice(format!("{CRC_OPEN}{crc:08x}{CRC_CLOSE}\n").as_bytes());
    Ok(line)
}

/// What stands before the checksum's digits.
pub(crate) const CRC_OPEN: &str = r#","crc":""#;
const CRC_CLOSE: &str = r#""}"#;
/// Bytes from [`CRC_OPEN`] to the end of the object.
pub(crate) const CRC_MEMBER: usize = CRC_OPEN.len() + 8 + CRC_CLOSE.len();

/// Checks and decodes the bytes of one object, without line feed; `None` when they are not exactly one record.
pub(crate) fn decode(object: &[u8]) -> Option<Envelope> {
    let (body, member) = object.split_at_checked(object.len().checked_sub(CRC_MEMBER)?)?;
    let digits = member
        .strip_prefix(CRC_OPEN.as_bytes())?
        .strip_suffix(CRC_CLOSE.as_bytes())?;
    if digits
        .iter()
        .any(|digit| !matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    {
        return None;
    }
    let crc = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    if checksum(body) != crc {
        return None;
    }
    let members: Members = serde_json::from_slice(object).ok()?;
    // A time that cannot be read loses nothing that is needed, so the record stands.
    let at = members
        .at
        .parse::<jiff::Timestamp>()
        .map_or(0, |at| u64::try_from(at.as_millisecond()).unwrap_or(0));
    Some(Envelope {
        v: members.v,
        n: members.n,
        at,
        kind: members.kind,
        data: members.data,
    })
}

/// The checksum of a line whose members before `crc` are `body`.
fn checksum(body: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(body), b"}")
}

/// Gives the kind of a record and the JSON text of its data.
pub(crate) fn split(record: &Record) -> Result<(String, String), StoreError> {
    let (topic, mut value) = match record {
        Record::Session(record) => ("session", serde_json::to_value(record)?),
        Record::Turn(record) => ("turn", serde_json::to_value(record)?),
        Record::Call(record) => ("call", serde_json::to_value(record)?),
        Record::Prompt(record) => ("prompt", serde_json::to_value(record)?),
        Record::Unknown { kind, data } => return Ok((kind.clone(), serde_json::to_string(data)?)),
    };
    // `shift_remove` keeps the order of the other fields, `remove` does not.
    let tag = value.as_object_mut().and_then(|fields| fields.shift_remove(TAG));
    let variant = tag
        .as_ref()
        .and_then(serde_json::Value::as_str)
        .unwrap_or_default();
    Ok((format!("{topic}.{variant}"), serde_json::to_string(&value)?))
}

/// The member that holds the variant's name while a record is in serde's hands; it is not in the file.
const TAG: &str = "type";

/// Makes a record of its kind and data; what is not understood is kept as it is, with the reason.
pub(crate) fn join(kind: &str, mut data: serde_json::Value) -> (Record, Option<String>) {
    match understood(kind, &mut data) {
        Ok(record) => (record, None),
        Err(reason) => (
            Record::Unknown {
                kind: kind.to_owned(),
                data,
            },
            Some(reason),
        ),
    }
}

/// Reads `data`, and leaves it as it was.
fn understood(kind: &str, data: &mut serde_json::Value) -> Result<Record, String> {
    let (topic, variant) = kind.split_once('.').ok_or_else(|| UNKNOWN.to_owned())?;
    let fields = data
        .as_object_mut()
        .ok_or_else(|| "its data is not an object".to_owned())?;
    if fields.contains_key(TAG) {
        return Err(format!("its data has a member {TAG:?}"));
    }
    fields.insert(TAG.to_owned(), variant.into());
    let record = match topic {
        "session" => SessionRecord::deserialize(&*data).map(Record::Session),
        "turn" => TurnRecord::deserialize(&*data).map(Record::Turn),
        "call" => CallRecord::deserialize(&*data).map(Record::Call),
        "prompt" => PromptRecord::deserialize(&*data).map(Record::Prompt),
        _ => Err(serde::de::Error::custom(UNKNOWN)),
    };
    if record.is_err()
        && let Some(fields) = data.as_object_mut()
    {
        fields.shift_remove(TAG);
    }
    record.map_err(|error| error.to_string())
}

const UNKNOWN: &str = "unknown kind";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_of_the_line_without_the_member() {
        let line = encode(1, 0, "x.y", "{}").unwrap();
        let text = std::str::from_utf8(&line).unwrap();
        let without = r#"{"v":1,"n":1,"at":"1970-01-01T00:00:00.000Z","kind":"x.y","data":{}}"#;
        let want = format!(
            r#"{},"crc":"{:08x}"}}"#,
            &without[..without.len() - 1],
            crc32c::crc32c(without.as_bytes())
        );
        assert_eq!(text, format!("{want}\n"));
    }

    #[test]
    fn every_changed_byte_is_noticed() {
        let mut line = encode(7, 5, "turn.started", r#"{"turn":3}"#).unwrap();
        line.pop();
        assert_eq!(decode(&line).unwrap().n, 7);
        for place in 0..line.len() {
            for flip in [1_u8, 0x20, 0x80] {
                line[place] ^= flip;
                assert!(decode(&line).is_none(), "byte {place} flipped by {flip}");
                line[place] ^= flip;
            }
        }
    }
}

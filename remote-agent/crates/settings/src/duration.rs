//! Durations as people write them: `8h`, `90s`, `1h30m`, `250ms`, `0`.

use std::time::Duration;

use serde::{Deserialize as _, Deserializer, Serializer};

/// The units, longest first, with their length in milliseconds.
const UNITS: [(&str, u64); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

/// Reads a duration: numbers with units `d`, `h`, `m`, `s`, `ms`, or a plain `0`. `None` if it is none, or too long.
#[must_use]
pub fn parse(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut millis = 0_u64;
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, behind) = rest.split_at(digits);
        let letters = behind.len() - behind.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
        let (unit, behind) = behind.split_at(letters);
        let (_, length) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
        millis = number
            .parse::<u64>()
            .ok()?
            .checked_mul(length)?
            .checked_add(millis)?;
        rest = behind;
    }
    (!text.is_empty()).then(|| Duration::from_millis(millis))
}

/// Writes a duration so that [`parse`] gives it back, to the millisecond.
#[must_use]
pub fn format(duration: Duration) -> String {
    let mut rest = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let mut text = String::new();
    for (name, length) in UNITS {
        if rest >= length {
            text.push_str(&format!("{}{name}", rest / length));
            rest %= length;
        }
    }
    if text.is_empty() { "0".to_owned() } else { text }
}

pub(crate) fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format(*duration))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse(&text).ok_or_else(|| serde::de::Error::custom("not a duration"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes() {
        for (text, millis) in [
            ("0", 0),
            ("8h", 28_800_000),
            ("5s", 5_000),
            ("1h30m", 5_400_000),
            ("250ms", 250),
            ("1d", 86_400_000),
        ] {
            assert_eq!(parse(text), Some(Duration::from_millis(millis)), "{text}");
            assert_eq!(format(Duration::from_millis(millis)), text);
        }
        assert_eq!(parse("90s").map(format).as_deref(), Some("1m30s"));
    }

    #[test]
    fn refuses_what_is_no_duration() {
        for text in [
            "",
            "8",
            "h",
            "8 h",
            "-1s",
            "1.5h",
            "8x",
            "s5",
            "99999999999999999999h",
            "1hé",
            "213503982335d1d",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}

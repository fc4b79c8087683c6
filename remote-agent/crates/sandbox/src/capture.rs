//! Keeping the beginning and the end of any amount of output in a fixed amount of memory.

use std::collections::VecDeque;

use stdx::bounded::{prefix, suffix};

/// How many bytes of output are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputLimits {
    /// Bytes kept from the start.
    pub head: usize,
    /// Bytes kept from the end.
    pub tail: usize,
}

impl Default for OutputLimits {
    fn default() -> Self {
        Self {
            head: 512 * 1024,
            tail: 512 * 1024,
        }
    }
}

/// Output while it arrives.
#[derive(Debug)]
pub(crate) struct Capture {
    limits: OutputLimits,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Capture {
    pub(crate) fn new(limits: OutputLimits) -> Self {
        Self {
            limits,
            head: Vec::new(),
            tail: VecDeque::new(),
            total: 0,
        }
    }

    /// Takes bytes as they were read.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.limits.head - self.head.len();
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(self.limits.tail)..];
        let excess = (self.tail.len() + rest.len()).saturating_sub(self.limits.tail);
        self.tail.drain(..excess);
        self.tail.extend(rest);
    }

    pub(crate) fn finish(self) -> Output {
        Output {
            head: self.head,
            tail: self.tail.into(),
            total: self.total,
        }
    }
}

/// What a command printed: all of it, or its beginning and its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Output {
    head: Vec<u8>,
    tail: Vec<u8>,
    total: u64,
}

/// Output as text of a limited size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The text.
    pub text: String,
    /// How many of the printed bytes are not in it.
    pub elided: u64,
}

impl Output {
    /// Makes output from its bytes.
    #[must_use]
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Self {
        let head = bytes.into();
        let total = head.len() as u64;
        Self {
            head,
            tail: Vec::new(),
            total,
        }
    }

    /// Gives the number of bytes printed, kept or not.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.total
    }

    /// Says whether every printed byte was kept.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.total == (self.head.len() + self.tail.len()) as u64
    }

    /// Gives everything that was kept as text, with a line about the gap where there is one.
    #[must_use]
    pub fn text(&self) -> String {
        let (head, tail) = self.decoded();
        if self.is_complete() {
            return head + &tail;
        }
        let gap = self.total - (self.head.len() + self.tail.len()) as u64;
        format!("{head}\n[… {gap} bytes were not kept …]\n{tail}")
    }

    /// Gives the output in at most `max` bytes.
    ///
    /// Longer output becomes its first lines, the text of `marker` (called with the bytes elided and printed) on a
    /// line of its own, and its last lines. The marker's length counts within `max`.
    #[must_use]
    pub fn render(&self, max: usize, marker: impl Fn(u64, u64) -> String) -> Rendered {
        let (head, tail) = self.decoded();
        if self.is_complete() && head.len() + tail.len() <= max {
            return Rendered {
                text: head + &tail,
                elided: 0,
            };
        }
        // The longest the marker can be is with the largest number.
        let room = max.saturating_sub(marker(self.total, self.total).len() + 2);
        let whole = if self.is_complete() {
            head.clone() + &tail
        } else {
            String::new()
        };
        let (first, last) = if self.is_complete() {
            (&whole, &whole)
        } else {
            (&head, &tail)
        };
        let first = first_lines(first, room / 2);
        let last = last_lines(last, room - room / 2);
        let elided = self.total.saturating_sub((first.len() + last.len()) as u64);
        let gap = if first.is_empty() || first.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        Rendered {
            text: format!("{first}{gap}{}\n{last}", marker(elided, self.total)),
            elided,
        }
    }

    /// Decodes both parts. Where bytes are missing between them, characters cut by the gap are dropped.
    fn decoded(&self) -> (String, String) {
        if self.is_complete() {
            let mut all = self.head.clone();
            all.extend_from_slice(&self.tail);
            return (decode(&all), String::new());
        }
        let cut = match std::str::from_utf8(&self.head) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.head.len(),
        };
        let continued = self
            .tail
            .iter()
            .take(3)
            .take_while(|byte| is_continuation(**byte))
            .count();
        (decode(&self.head[..cut]), decode(&self.tail[continued..]))
    }
}

/// Cuts at the last line break unless that would lose more than half.
fn first_lines(text: &str, max: usize) -> &str {
    let cut = prefix(text, max);
    if cut.len() == text.len() {
        return cut;
    }
    match cut.rfind('\n') {
        Some(end) if end + 1 >= cut.len() / 2 => &cut[..=end],
        _ => cut,
    }
}

/// Cuts at the first line break unless that would lose more than half.
fn last_lines(text: &str, max: usize) -> &str {
    let cut = suffix(text, max);
    if cut.len() == text.len() {
        return cut;
    }
    match cut.find('\n') {
        Some(end) if end < cut.len() / 2 => &cut[end + 1..],
        _ => cut,
    }
}

/// The longest text between the two halves of a character that are still joined, in bytes.
const MAX_BETWEEN_HALVES: usize = 64 * 1024;

/// Decodes bytes that two streams have written into one pipe.
///
/// Each invalid sequence becomes one U+FFFD, and NUL becomes U+2400, which every reader can carry. A character that
/// one stream wrote in two pieces, with whole lines of the other stream in between, is put together again: it appears
/// where its last byte arrived.
fn decode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    let mut half: Option<Half> = None;
    let mut rest = bytes;
    loop {
        let error = match std::str::from_utf8(rest) {
            Ok(text) => {
                out.push_str(text);
                break;
            }
            Err(error) => error,
        };
        let (valid, after) = rest.split_at(error.valid_up_to());
        out.push_str(&String::from_utf8_lossy(valid));
        let bad = error.error_len().unwrap_or(after.len());
        if let Some((character, used)) = half.take().and_then(|half| half.completed_by(after, &mut out)) {
            out.push(character);
            rest = &after[used..];
            continue;
        }
        if !is_continuation(after[0]) {
            half = Some(Half {
                bytes: &after[..bad],
                at: out.len(),
            });
        }
        out.push(char::REPLACEMENT_CHARACTER);
        rest = &after[bad..];
    }
    if out.contains('\0') {
        out.replace('\0', "\u{2400}")
    } else {
        out
    }
}

/// The first bytes of a character whose other bytes did not follow.
struct Half<'a> {
    bytes: &'a [u8],
    /// Where its U+FFFD stands in the text.
    at: usize,
}

impl Half<'_> {
    /// Gives the character that `after` completes and how many bytes that takes, and removes the U+FFFD.
    fn completed_by(self, after: &[u8], out: &mut String) -> Option<(char, usize)> {
        let start = self.at + char::REPLACEMENT_CHARACTER.len_utf8();
        let between = &out[start..];
        if !between.ends_with('\n') || between.len() > MAX_BETWEEN_HALVES {
            return None;
        }
        let missing = after
            .iter()
            .take(3)
            .take_while(|byte| is_continuation(**byte))
            .count();
        let (character, used) = (1..=missing).find_map(|used| {
            let whole = [self.bytes, &after[..used]].concat();
            let text = std::str::from_utf8(&whole).ok()?;
            Some((text.chars().next()?, used))
        })?;
        out.replace_range(self.at..start, "");
        Some((character, used))
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

#[cfg(test)]
mod tests;

//! Finding and replacing text in a file's bytes, whatever its line ends.
//!
//! The model never sees CR: it is shown lines, and writes LF. In a file with CRLF, text is compared as if every line
//! ended in LF, and what is put in gets the line ends of its surroundings. All bytes outside the replacement stay.

use std::ops::Range;

/// What came of looking for a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Replaced {
    /// It was there once.
    Once {
        /// The new content.
        content: Vec<u8>,
        /// Where the text was in the old content.
        old: Range<usize>,
        /// Where the replacement is in the new content.
        new: Range<usize>,
    },
    /// It was not there.
    NotFound,
    /// It was there several times, starting at these bytes.
    Several(Vec<usize>),
}

/// Replaces the only occurrence of `old`, literally. `old` must not be empty.
pub(crate) fn replace_once(content: &[u8], old: &str, new: &str) -> Replaced {
    let has_crlf = find(content, b"\r\n", 0).is_some();
    let (found, new) = if has_crlf {
        (matches_across_line_ends(content, old), new.to_owned())
    } else {
        let literal = occurrences(content, old.as_bytes());
        if literal.is_empty() && old.contains("\r\n") {
            // The model took the file for one with CRLF.
            (occurrences(content, unix(old).as_bytes()), unix(new))
        } else {
            (literal, new.to_owned())
        }
    };
    let [at] = found.as_slice() else {
        return match found.is_empty() {
            true => Replaced::NotFound,
            false => Replaced::Several(found.into_iter().map(|at| at.start).collect()),
        };
    };
    let put = if has_crlf && wants_crlf(content, at) {
        unix(&new).replace('\n', "\r\n")
    } else {
        new
    };
    let mut result = Vec::with_capacity(content.len() + put.len());
    result.extend_from_slice(&content[..at.start]);
    result.extend_from_slice(put.as_bytes());
    result.extend_from_slice(&content[at.end..]);
    Replaced::Once {
        content: result,
        old: at.clone(),
        new: at.start..at.start + put.len(),
    }
}

/// Gives the number, from 1, of the line that holds the byte at `at`.
pub(crate) fn line_of(content: &[u8], at: usize) -> usize {
    1 + content[..at].iter().filter(|byte| **byte == b'\n').count()
}

fn unix(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// Says whether text put at `at` should have CRLF: as the lines it replaces have, else as most of the file has.
fn wants_crlf(content: &[u8], at: &Range<usize>) -> bool {
    let majority = |bytes: &[u8]| {
        let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
        let crlf = bytes.windows(2).filter(|pair| pair == b"\r\n").count();
        (lines > 0).then_some(crlf * 2 > lines)
    };
    majority(&content[at.clone()])
        .or_else(|| majority(content))
        .unwrap_or(false)
}

/// Finds `old` with CRLF and LF taken as equal.
fn matches_across_line_ends(content: &[u8], old: &str) -> Vec<Range<usize>> {
    let mut folded = Vec::with_capacity(content.len());
    // Where each byte of `folded` comes from; a line end comes from its CR.
    let mut origin = Vec::with_capacity(content.len() + 1);
    let mut at = 0;
    while at < content.len() {
        origin.push(at);
        if content[at..].starts_with(b"\r\n") {
            at += 1;
        }
        folded.push(content[at]);
        at += 1;
    }
    origin.push(content.len());
    let found = occurrences(&folded, unix(old).as_bytes());
    found
        .into_iter()
        .map(|range| origin[range.start]..origin[range.end])
        .collect()
}

/// Finds all occurrences, overlapping ones too: each of them could be meant.
fn occurrences(content: &[u8], text: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = find(content, text, from) {
        found.push(at..at + text.len());
        from = at + 1;
    }
    found
}

fn find(content: &[u8], text: &[u8], from: usize) -> Option<usize> {
    let first = text.first()?;
    let last_start = content.len().checked_sub(text.len())?;
    let mut at = from;
    while at <= last_start {
        at += content[at..=last_start].iter().position(|byte| byte == first)?;
        if content[at..].starts_with(text) {
            return Some(at);
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests;

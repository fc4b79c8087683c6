//! Reading a log that may be damaged: from bytes to numbered entries.
//!
//! The scan goes on after anything. A line that is not one sound record is searched for records (several on a line,
//! stray bytes around one), then skipped. What it gives is numbered without holes: where numbers are missing, an
//! [`Entry::Lost`] stands in their place, the same one every time the file is read.

use std::{
    collections::VecDeque,
    io::{self, BufRead as _, BufReader, ErrorKind, Read},
    ops::Range,
};

use crate::{
    Problem,
    line::{self, CRC_MEMBER, CRC_OPEN, Envelope},
    notice::Notices,
};

/// The most bytes of a line that are looked at. Sound lines are far shorter; this bounds memory on a ruined file.
const LINE_LOOKED_AT: usize = 4 * line::LINE_MAX;
/// The largest jump in numbers that is taken for lost records and not for damage.
const LARGEST_HOLE: u64 = 1_000_000;
/// How many places are tried as the end of one record on a damaged line.
const ENDS_TRIED: usize = 16;

/// A line as it stands in the file.
#[derive(Debug)]
pub(crate) struct RawLine {
    /// From 1, counted from where reading began.
    pub(crate) number: u64,
    /// Where in the file it starts.
    pub(crate) start: u64,
    /// Where in the file `bytes` starts: after leading NUL bytes.
    pub(crate) offset: u64,
    /// Without the line feed, at most [`LINE_LOOKED_AT`].
    pub(crate) bytes: Vec<u8>,
    /// Whether there was a line feed.
    pub(crate) terminated: bool,
}

impl RawLine {
    fn push(&mut self, mut part: &[u8]) {
        if self.bytes.is_empty() {
            let nuls = part.iter().take_while(|byte| **byte == 0).count();
            self.offset += nuls as u64;
            part = &part[nuls..];
        }
        let room = LINE_LOOKED_AT - self.bytes.len();
        self.bytes.extend_from_slice(&part[..part.len().min(room)]);
    }

    fn is_blank(&self) -> bool {
        self.bytes.iter().all(is_filler)
    }
}

fn is_filler(byte: &u8) -> bool {
    *byte == 0 || byte.is_ascii_whitespace()
}

/// Splits a file into lines of bounded size.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    input: BufReader<R>,
    at: u64,
    number: u64,
}

impl<R: Read> Lines<R> {
    /// Reads lines from `input`, whose first byte is at `at` in the file.
    pub(crate) fn new(input: R, at: u64) -> Self {
        Self {
            input: BufReader::with_capacity(16 * 1024, input),
            at,
            number: 0,
        }
    }

    /// Gives the next line, or `None` at the end.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<RawLine>> {
        let start = self.at;
        self.number += 1;
        let mut line = RawLine {
            number: self.number,
            start,
            offset: start,
            bytes: Vec::new(),
            terminated: false,
        };
        while !line.terminated {
            let chunk = match self.input.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if chunk.is_empty() {
                break;
            }
            let feed = chunk.iter().position(|byte| *byte == b'\n');
            line.push(&chunk[..feed.unwrap_or(chunk.len())]);
            line.terminated = feed.is_some();
            let used = feed.map_or(chunk.len(), |place| place + 1);
            self.input.consume(used);
            self.at += used as u64;
        }
        Ok((self.at > start).then_some(line))
    }
}

/// The records on a line and where they stand in it.
pub(crate) struct Found {
    pub(crate) records: Vec<(Range<usize>, Envelope)>,
    /// Whether the line is one record and nothing else.
    clean: bool,
}

/// Finds the sound records on a line.
///
/// A quotation mark inside a JSON string is escaped, so neither the start `{"v":` nor the checksum member of a record
/// can occur inside a string; that makes the search exact.
pub(crate) fn find(bytes: &[u8]) -> Found {
    let end = bytes.len() - bytes.iter().rev().take_while(|byte| is_filler(byte)).count();
    if let Some(envelope) = line::decode(&bytes[..end]) {
        return Found {
            records: vec![(0..end, envelope)],
            clean: true,
        };
    }
    let starts = places(bytes, br#"{"v":"#);
    let ends: Vec<usize> = places(bytes, CRC_OPEN.as_bytes())
        .iter()
        .map(|place| place + CRC_MEMBER)
        .collect();
    let mut records: Vec<(Range<usize>, Envelope)> = Vec::new();
    for start in starts {
        if records.last().is_some_and(|(last, _)| start < last.end) {
            continue;
        }
        let after = ends.partition_point(|end| *end <= start);
        let tried = ends[after..]
            .iter()
            .take(ENDS_TRIED)
            .filter(|end| **end <= bytes.len());
        let record = tried
            .filter_map(|end| Some((start..*end, line::decode(&bytes[start..*end])?)))
            .next();
        records.extend(record);
    }
    Found {
        records,
        clean: false,
    }
}

fn places(bytes: &[u8], wanted: &[u8]) -> Vec<usize> {
    bytes
        .windows(wanted.len())
        .enumerate()
        .filter(|(_, window)| *window == wanted)
        .map(|(place, _)| place)
        .collect()
}

/// A number of the log and what is there.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) n: u64,
    /// Milliseconds since the Unix epoch; for a lost record, the time of the one before it.
    pub(crate) at: u64,
    pub(crate) line: u64,
    /// Where reading can start again to find this record; only for clean lines.
    pub(crate) offset: Option<u64>,
    pub(crate) entry: Entry,
}

/// What is at a number of the log.
#[derive(Debug)]
pub(crate) enum Entry {
    /// A record.
    Line(Envelope),
    /// Nothing that can be read.
    Lost,
}

/// An unfinished last line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tail {
    pub(crate) line: u64,
    /// Up to here the file is sound.
    pub(crate) sound_end: u64,
    /// The end of the file.
    pub(crate) end: u64,
    /// Whether the line feed after the last record is missing.
    pub(crate) needs_feed: bool,
}

/// Reads numbered entries from a log.
#[derive(Debug)]
pub(crate) struct Scan<R> {
    lines: Lines<R>,
    /// The number that the next record should have.
    expected: u64,
    last_at: Option<u64>,
    /// Lines since the last record that may each have been a record.
    lost_lines: u64,
    ready: VecDeque<Item>,
    tail: Option<Tail>,
    notices: Notices,
    done: bool,
}

/// What a scan knows at its end.
#[derive(Debug)]
pub(crate) struct ScanEnd {
    /// The last number given.
    pub(crate) last: u64,
    /// Where the file ended.
    pub(crate) end: u64,
    pub(crate) tail: Option<Tail>,
    pub(crate) notices: Notices,
}

impl<R: Read> Scan<R> {
    /// Scans `input`, whose first byte is at `offset` in the file and belongs to record `first`.
    pub(crate) fn new(input: R, offset: u64, first: u64) -> Self {
        Self {
            lines: Lines::new(input, offset),
            expected: first,
            last_at: None,
            lost_lines: 0,
            ready: VecDeque::new(),
            tail: None,
            notices: Notices::default(),
            done: false,
        }
    }

    /// Gives the next number's entry, or `None` at the end of the log.
    pub(crate) fn next_item(&mut self) -> io::Result<Option<Item>> {
        while self.ready.is_empty() && !self.done {
            match self.lines.next_line()? {
                Some(line) => self.take_line(&line),
                None => self.finish_lines(),
            }
        }
        Ok(self.ready.pop_front())
    }

    /// Notes a problem that the caller found with a record's content.
    pub(crate) fn note(&mut self, line: u64, problem: Problem) {
        self.notices.push(line, problem);
    }

    pub(crate) fn into_end(self) -> ScanEnd {
        ScanEnd {
            last: self.expected.saturating_sub(1),
            end: self.lines.at,
            tail: self.tail,
            notices: self.notices,
        }
    }

    fn take_line(&mut self, line: &RawLine) {
        let found = find(&line.bytes);
        let records_end = found.records.last().map(|(place, _)| place.end);
        if line.terminated {
            self.judge(line, &found, records_end);
        } else {
            let sound_end = records_end.map_or(line.start, |end| line.offset + end as u64);
            let needs_feed = records_end.is_some();
            self.tail = Some(Tail {
                line: line.number,
                sound_end,
                end: self.lines.at,
                needs_feed,
            });
        }
        for (place, envelope) in found.records {
            let offset = found.clean.then(|| line.offset + place.start as u64);
            self.accept(line.number, offset, envelope);
        }
        if line.terminated && !found.clean {
            let rest = &line.bytes[records_end.unwrap_or(0)..];
            // What is left may have been a record with the next number, which somebody may have seen.
            self.lost_lines += u64::from(!rest.iter().all(is_filler));
        }
    }

    fn judge(&mut self, line: &RawLine, found: &Found, records_end: Option<usize>) {
        if line.is_blank() {
            self.notices.push(line.number, Problem::Blank);
        } else if records_end.is_none() {
            self.notices.push(line.number, Problem::Damaged);
        } else if !found.clean || line.offset > line.start {
            self.notices.push(
                line.number,
                Problem::Strays {
                    records: found.records.len(),
                },
            );
        }
    }

    fn accept(&mut self, line: u64, offset: Option<u64>, envelope: Envelope) {
        let n = envelope.n;
        if n < self.expected {
            return self.notices.push(line, Problem::Repeated { n });
        }
        if n - self.expected > LARGEST_HOLE {
            self.lost_lines += 1;
            return self.notices.push(line, Problem::Damaged);
        }
        if n > self.expected {
            self.notices.push(
                line,
                Problem::Missing {
                    first: self.expected,
                    last: n - 1,
                },
            );
            self.lose(n, self.last_at.unwrap_or(envelope.at), line);
        }
        self.expected = n + 1;
        self.last_at = Some(envelope.at);
        self.lost_lines = 0;
        self.ready.push_back(Item {
            n,
            at: envelope.at,
            line,
            offset,
            entry: Entry::Line(envelope),
        });
    }

    /// Puts lost entries up to, and not including, `until`.
    fn lose(&mut self, until: u64, at: u64, line: u64) {
        let lost = (self.expected..until).map(|n| Item {
            n,
            at,
            line,
            offset: None,
            entry: Entry::Lost,
        });
        self.ready.extend(lost);
        self.expected = until;
    }

    fn finish_lines(&mut self) {
        self.done = true;
        // Damaged lines at the end have no sound number after them. Each was a record that may have been seen, so
        // its number must not be given to another.
        let until = self.expected.saturating_add(self.lost_lines);
        self.lose(until, self.last_at.unwrap_or(0), self.lines.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(bytes: &[u8]) -> (Vec<(u64, bool)>, ScanEnd) {
        let mut scan = Scan::new(bytes, 0, 1);
        let mut out = Vec::new();
        while let Some(item) = scan.next_item().unwrap() {
            out.push((item.n, matches!(item.entry, Entry::Line(_))));
        }
        (out, scan.into_end())
    }

    fn record(n: u64) -> Vec<u8> {
        line::encode(n, n, "x.y", r#"{"text":"{\"v\":1"}"#).unwrap()
    }

    #[test]
    fn two_records_on_a_line_are_both_found_with_anything_around_them() {
        let (one, two) = (record(1), record(2));
        for glue in [&b""[..], b"\0\0\0", b"junk", b"{\"v\":1,\"n\":"] {
            let mut bytes = b"\xef\xbb\xbf".to_vec();
            bytes.extend_from_slice(&one[..one.len() - 1]);
            bytes.extend_from_slice(glue);
            bytes.extend_from_slice(&two);
            let (got, end) = numbers(&bytes);
            assert_eq!(got, [(1, true), (2, true)], "glue {glue:?}");
            assert_eq!(end.notices.into_vec()[0].problem, Problem::Strays { records: 2 });
        }
    }

    #[test]
    fn a_huge_block_of_nul_bytes_before_a_record_costs_no_memory_and_no_record() {
        let mut bytes = record(1);
        bytes.extend(std::iter::repeat_n(0, 3 * LINE_LOOKED_AT));
        bytes.extend(record(2));
        assert_eq!(numbers(&bytes).0, [(1, true), (2, true)]);
    }

    #[test]
    fn damaged_lines_at_the_end_keep_their_numbers() {
        let mut bytes = record(1);
        bytes.extend(b"damaged\n\n\0\0\n{\"v\":1 damaged\n");
        let (got, end) = numbers(&bytes);
        assert_eq!(got, [(1, true), (2, false), (3, false)]);
        assert_eq!(end.last, 3);
    }

    #[test]
    fn an_absurd_number_is_damage_and_a_repeated_one_is_skipped() {
        let mut bytes = record(1);
        bytes.extend(record(u64::MAX));
        bytes.extend(record(1));
        bytes.extend(record(2));
        assert_eq!(numbers(&bytes).0, [(1, true), (2, true)]);
    }

    #[test]
    fn a_line_without_its_feed_is_a_record_and_half_a_line_is_not() {
        let (one, two) = (record(1), record(2));
        let bytes = [&one[..], &two[..two.len() - 1]].concat();
        let (got, end) = numbers(&bytes);
        assert_eq!(got, [(1, true), (2, true)]);
        let all = bytes.len() as u64;
        assert_eq!(
            end.tail,
            Some(Tail {
                line: 2,
                sound_end: all,
                end: all,
                needs_feed: true
            })
        );
        let (got, end) = numbers(&bytes[..bytes.len() - 1]);
        assert_eq!(got, [(1, true)]);
        let tail = Tail {
            line: 2,
            sound_end: one.len() as u64,
            end: all - 1,
            needs_feed: false,
        };
        assert_eq!(end.tail, Some(tail));
    }
}

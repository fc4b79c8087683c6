//! What was found wrong with a log and how it was handled.

use std::{fmt, path::PathBuf};

/// One thing found wrong while reading a log. None of them stops the rest from being read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The line in the file, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// The last line is unfinished.
    Torn {
        /// How many bytes it has.
        bytes: u64,
        /// Where they were put before the log was cut; `None` when the log was only read.
        kept: Option<PathBuf>,
    },
    /// The line holds nothing, or only NUL bytes.
    Blank,
    /// The line is no record, or its checksum is wrong.
    Damaged,
    /// The line holds something beside records, or several of them; the records were taken.
    Strays {
        /// How many records were taken.
        records: usize,
    },
    /// The record's number was seen before; the first one counts.
    Repeated {
        /// The number.
        n: u64,
    },
    /// Records are missing before this line; each is shown as [`crate::DAMAGED`].
    Missing {
        /// The first missing number.
        first: u64,
        /// The last missing number.
        last: u64,
    },
    /// A newer version wrote the record, so its meaning is unknown here.
    Newer {
        /// The record.
        n: u64,
        /// The format version.
        version: u64,
    },
    /// The kind is unknown, or its data has another shape.
    Unreadable {
        /// The record.
        n: u64,
        /// The kind as written.
        kind: String,
        /// Why it could not be read.
        reason: String,
    },
    /// The record's large content is missing or is not what was written.
    Blob {
        /// The record.
        n: u64,
        /// The content's name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// More problems were found than are told one by one.
    More {
        /// How many.
        count: u64,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "log line {}: ", self.line)?;
        match &self.problem {
            Problem::Torn {
                bytes,
                kept: Some(kept),
            } => {
                write!(
                    f,
                    "the last line was unfinished; its {bytes} bytes were moved to {}",
                    kept.display()
                )
            }
            Problem::Torn { bytes, kept: None } => write!(f, "the last line is unfinished ({bytes} bytes)"),
            Problem::Blank => f.write_str("holds nothing, skipped"),
            Problem::Damaged => f.write_str("damaged, skipped"),
            Problem::Strays { records } => write!(f, "damaged, {records} records recovered from it"),
            Problem::Repeated { n } => write!(f, "record {n} was written before, skipped"),
            Problem::Missing { first, last } if first == last => {
                write!(f, "record {first} is missing before it")
            }
            Problem::Missing { first, last } => write!(f, "records {first} to {last} are missing before it"),
            Problem::Newer { n, version } => write!(
                f,
                "record {n} has format version {version}, newer than this program"
            ),
            Problem::Unreadable { n, kind, reason } => {
                write!(f, "record {n} of kind {kind:?} is not understood: {reason}")
            }
            Problem::Blob { n, name, reason } => {
                write!(f, "the content {name} of record {n} is lost: {reason}")
            }
            Problem::More { count } => write!(f, "and {count} more problems up to here"),
        }
    }
}

/// Collects notices without letting a ruined file fill the memory.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    list: Vec<Notice>,
    more: u64,
    last_line: u64,
}

/// How many notices are told one by one.
const TOLD: usize = 200;

impl Notices {
    pub(crate) fn push(&mut self, line: u64, problem: Problem) {
        if self.list.len() < TOLD {
            self.list.push(Notice { line, problem });
        } else {
            self.more += 1;
            self.last_line = line;
        }
    }

    pub(crate) fn into_vec(mut self) -> Vec<Notice> {
        if self.more > 0 {
            self.list.push(Notice {
                line: self.last_line,
                problem: Problem::More { count: self.more },
            });
        }
        self.list
    }
}

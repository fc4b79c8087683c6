//! Compares two texts line by line, and changed lines word by word.

use std::{hash::Hash, ops::Range};

use similar::{Algorithm, DiffOp, TextDiff, capture_diff_slices, group_diff_ops};

use super::{FileDiff, Kind, LineNumbers, Row};
use crate::sanitize;

/// With more differing lines on a side than this, all of them count as changed: comparing takes time with the square.
const MAX_COMPARED: usize = 2000;
/// Longer lines are not compared word by word, in bytes.
const MAX_WORDS_LINE: usize = 400;
/// Of a run of changed lines only so many are compared word by word.
const MAX_WORDS_RUN: usize = 40;
/// Below this share of common text two lines are strangers, and words are not marked.
const LEAST_ALIKE: f32 = 0.5;

pub(super) fn compare(name: &str, old: &str, new: &str, context: usize, numbers: LineNumbers) -> FileDiff {
    let mut file = FileDiff {
        name: crate::safe_line(name),
        ..FileDiff::default()
    };
    let (old_safe, new_safe) = (sanitize(old), sanitize(new));
    if old != new && old_safe == new_safe {
        let remark = "only line ends or invisible characters differ";
        file.push(Row::new(Kind::Remark, None, remark));
        return file;
    }
    let (old, new) = (lines(&old_safe), lines(&new_safe));
    let groups = group_diff_ops(operations(&old, &new), context);
    let mut sides = Sides {
        old: &old,
        new: &new,
        numbers,
    };
    for (index, group) in groups.iter().enumerate() {
        if index > 0 {
            file.push(Row::new(Kind::Gap, None, "⋯"));
        }
        for operation in group {
            sides.show(operation, &mut file);
        }
    }
    file
}

fn lines(text: &str) -> Vec<&str> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    if text.is_empty() {
        return Vec::new();
    }
    text.split('\n').collect()
}

fn operations<T: Eq + Hash>(old: &[T], new: &[T]) -> Vec<DiffOp> {
    let shorter = old.len().min(new.len());
    let head = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let tail = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take_while(|(old, new)| old == new);
    let tail = tail.take(shorter - head).count();
    let (old_len, new_len) = (old.len() - head - tail, new.len() - head - tail);
    if old_len <= MAX_COMPARED && new_len <= MAX_COMPARED {
        return capture_diff_slices(Algorithm::Myers, old, new);
    }
    let equal = |old_index, new_index, len| DiffOp::Equal {
        old_index,
        new_index,
        len,
    };
    let replaced = DiffOp::Replace {
        old_index: head,
        old_len,
        new_index: head,
        new_len,
    };
    [
        equal(0, 0, head),
        replaced,
        equal(head + old_len, head + new_len, tail),
    ]
    .into_iter()
    .filter(|operation| !matches!(operation, DiffOp::Equal { len: 0, .. }))
    .collect()
}

struct Sides<'a> {
    old: &'a [&'a str],
    new: &'a [&'a str],
    numbers: LineNumbers,
}

impl Sides<'_> {
    fn show(&mut self, operation: &DiffOp, file: &mut FileDiff) {
        let (old, new) = (operation.old_range(), operation.new_range());
        if let DiffOp::Equal { .. } = operation {
            for at in new {
                file.push(Row::new(Kind::Same, self.number(at), self.new[at]));
            }
            return;
        }
        let pairs: Vec<_> = old
            .clone()
            .zip(new.clone())
            .take(MAX_WORDS_RUN)
            .map(|(old, new)| words(self.old[old], self.new[new]))
            .collect();
        for (index, at) in old.enumerate() {
            let mut row = Row::new(Kind::Removed, self.number(at), self.old[at]);
            row.words = pairs.get(index).map(|pair| pair.0.clone()).unwrap_or_default();
            file.push(row);
        }
        for (index, at) in new.enumerate() {
            let mut row = Row::new(Kind::Added, self.number(at), self.new[at]);
            row.words = pairs.get(index).map(|pair| pair.1.clone()).unwrap_or_default();
            file.push(row);
        }
    }

    fn number(&self, index: usize) -> Option<usize> {
        (self.numbers == LineNumbers::Shown).then_some(index + 1)
    }
}

type Ranges = Vec<Range<usize>>;

/// Finds what differs within two lines; nothing when they have little in common.
fn words(old: &str, new: &str) -> (Ranges, Ranges) {
    if old.len().max(new.len()) > MAX_WORDS_LINE {
        return (Vec::new(), Vec::new());
    }
    // The rows hold the lines without tabs, so that is what the places must be of.
    let (old, new) = (super::kept(old), super::kept(new));
    let diff = TextDiff::from_unicode_words(old.as_str(), new.as_str());
    if diff.ratio() < LEAST_ALIKE {
        return (Vec::new(), Vec::new());
    }
    let mut ranges = (Vec::new(), Vec::new());
    let (mut old_at, mut new_at) = (0, 0);
    for change in diff.iter_all_changes() {
        let length = change.value().len();
        match change.tag() {
            similar::ChangeTag::Equal => {
                old_at += length;
                new_at += length;
            }
            similar::ChangeTag::Delete => {
                extend(&mut ranges.0, old_at..old_at + length);
                old_at += length;
            }
            similar::ChangeTag::Insert => {
                extend(&mut ranges.1, new_at..new_at + length);
                new_at += length;
            }
        }
    }
    ranges
}

fn extend(ranges: &mut Ranges, range: Range<usize>) {
    match ranges.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => ranges.push(range),
    }
}

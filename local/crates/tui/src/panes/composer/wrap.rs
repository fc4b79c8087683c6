//! The text as rows of a given width, and where in them the cursor stands.
//!
//! Every border between two characters has exactly one place: the end of a row that goes on below is the start of the
//! row below. A row has one column more than its width, for the cursor behind its last character and for the one blank
//! at which it was broken.

use super::{
    fragment::{Fragment, MARK},
    graphemes,
};

/// Columns between tab stops.
const TAB: u16 = 4;

/// The rows of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    rows: Vec<Row>,
    width: u16,
}

/// One row: bytes of the text, without the line break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Row {
    start: usize,
    end: usize,
    /// Whether it goes on below; its end is then the place of the row below.
    is_broken: bool,
}

/// A cell of the layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) row: usize,
    pub(super) column: u16,
}

/// A character in its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) column: u16,
    pub(super) width: u16,
}

impl Layout {
    /// Breaks a text into rows, at blanks and beside wide characters where it can.
    pub(super) fn new(text: &Fragment, width: u16) -> Self {
        let width = width.max(1);
        let mut rows = Vec::new();
        let mut start = 0;
        loop {
            let end = text.as_str()[start..]
                .find('\n')
                .map_or(text.len(), |at| start + at);
            wrap(text, start, end, width, &mut rows);
            if end == text.len() {
                return Self { rows, width };
            }
            start = end + 1;
        }
    }

    pub(super) fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// Gives the place of a border of the text.
    pub(super) fn place(&self, text: &Fragment, at: usize) -> Place {
        let row = self.rows.partition_point(|row| row.start <= at).saturating_sub(1);
        let column = self
            .units(text, row)
            .take_while(|unit| unit.start < at)
            .last()
            .map_or(0, |unit| unit.column + unit.width);
        Place { row, column }
    }

    /// Gives the border at a place, or the nearest one before it in its row.
    pub(super) fn offset(&self, text: &Fragment, place: Place) -> usize {
        let Some(row) = self.rows.get(place.row) else {
            return text.len();
        };
        let mut last = row.start;
        for unit in self.units(text, place.row) {
            if place.column < unit.column + unit.width {
                return unit.start;
            }
            last = unit.start;
        }
        if row.is_broken { last } else { row.end }
    }

    /// Gives the characters of a row.
    pub(super) fn units<'a>(&self, text: &'a Fragment, row: usize) -> impl Iterator<Item = Unit> + use<'a> {
        let (mut at, end) = self.rows.get(row).map_or((0, 0), |row| (row.start, row.end));
        let width = self.width;
        let mut column = 0;
        std::iter::from_fn(move || {
            (at < end).then(|| {
                let unit = measure(text, at, column, width);
                (at, column) = (unit.end, column + unit.width);
                unit
            })
        })
    }
}

/// Breaks one line into rows.
fn wrap(text: &Fragment, start: usize, end: usize, width: u16, rows: &mut Vec<Row>) {
    let (mut from, mut at, mut column) = (start, start, 0);
    // Where the row can be broken.
    let mut gap = start;
    while at < end {
        let unit = measure(text, at, column, width);
        let is_blank = text.as_str()[at..].starts_with(' ');
        if column + unit.width <= width {
            if is_wide(text, unit) && at > from {
                gap = at;
            }
            (at, column) = (unit.end, column + unit.width);
            if is_blank || text.as_str()[unit.start..].starts_with('\t') || is_wide(text, unit) {
                gap = at;
            }
            continue;
        }
        let cut = if is_blank && column == width {
            // The blank takes the column behind the row.
            unit.end
        } else if gap > from && !is_wide(text, unit) {
            gap
        } else {
            at
        };
        rows.push(Row {
            start: from,
            end: cut,
            is_broken: true,
        });
        (from, at, column, gap) = (cut, cut, 0, cut);
    }
    rows.push(Row {
        start: from,
        end,
        is_broken: false,
    });
}

/// Tells whether a row can be broken on both sides of a character.
fn is_wide(text: &Fragment, unit: Unit) -> bool {
    let first = text.as_str().as_bytes()[unit.start];
    (unit.width > 1 && !first.is_ascii()) || first == MARK as u8
}

/// Measures the character at `at` when it stands in `column` of a row.
fn measure(text: &Fragment, at: usize, column: u16, width: u16) -> Unit {
    let end = graphemes::next(text.as_str(), at);
    let grapheme = &text.as_str()[at..end];
    let cells = match (grapheme, text.paste_at(at)) {
        ("\t", _) => TAB - column % TAB,
        (_, Some(paste)) => u16::try_from(paste.label().len()).unwrap_or(u16::MAX),
        (grapheme, None) => graphemes::width(grapheme),
    };
    Unit {
        start: at,
        end,
        column,
        width: cells.clamp(1, width),
    }
}

#[cfg(test)]
mod tests;

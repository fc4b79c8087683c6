//! Differences between texts: made, read from a unified diff, and drawn.

mod compare;
mod unified;

use std::ops::Range;

use ratatui_core::{
    style::Style,
    text::{Line, Span},
};

use crate::{
    Styles,
    measure::truncate,
    wrap::{Breaking, Indent, expand_tabs, wrap},
};

/// Rows of one file that are kept; what is beyond is only counted.
const MAX_ROWS: usize = 4000;
/// The longest line that is kept, in bytes.
const MAX_TEXT: usize = 2000;

/// Differences of one or more files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diff {
    /// The files.
    pub files: Vec<FileDiff>,
}

/// Differences of one file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileDiff {
    /// Its name; nothing is shown for an empty one.
    pub name: String,
    /// How many lines are new.
    pub added: usize,
    /// How many lines are gone.
    pub removed: usize,
    rows: Vec<Row>,
    left_out: usize,
}

/// Whether lines are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineNumbers {
    /// The texts are whole files, so their lines have numbers.
    Shown,
    /// The texts are pieces from an unknown place.
    Hidden,
}

/// One line of a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    kind: Kind,
    number: Option<usize>,
    text: String,
    /// What differs within the line, in bytes.
    words: Vec<Range<usize>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Same,
    Added,
    Removed,
    /// Lines that are the same are left out here.
    Gap,
    /// Something about the file.
    Remark,
}

impl Diff {
    /// Compares two texts; `context` lines around each change are kept.
    #[must_use]
    pub fn between(name: &str, old: &str, new: &str, context: usize, numbers: LineNumbers) -> Self {
        Self {
            files: vec![compare::compare(name, old, new, context, numbers)],
        }
    }

    /// Reads a unified diff, as `diff -u` and `git diff` print it; `None` when the text is something else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        unified::parse(text).map(|files| Self { files })
    }

    /// Gives how many lines are new and how many are gone.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        let counts = self.files.iter().map(|file| (file.added, file.removed));
        counts.fold((0, 0), |sum, file| (sum.0 + file.0, sum.1 + file.1))
    }

    /// Draws it in lines of at most `width` columns, and at most `max_lines` of them; a last line counts the rest.
    #[must_use]
    pub fn lines(&self, width: usize, max_lines: usize, styles: &Styles) -> Vec<Line<'static>> {
        let width = width.max(1);
        let mut lines = Vec::new();
        let mut hidden = 0;
        for file in &self.files {
            if !file.name.is_empty() {
                lines.extend(file.head(width, styles));
            }
            let columns = file.number_columns(width);
            for row in &file.rows {
                if lines.len() >= max_lines {
                    hidden += 1;
                    continue;
                }
                lines.extend(row.lines(columns, width, styles));
            }
            hidden += file.left_out;
        }
        if lines.len() > max_lines {
            hidden += lines.len() - max_lines;
            lines.truncate(max_lines);
        }
        if hidden > 0 {
            let remark = truncate(&format!("… {hidden} more lines"), width).into_owned();
            lines.push(Line::styled(remark, styles.dim));
        }
        lines
    }
}

impl FileDiff {
    fn head(&self, width: usize, styles: &Styles) -> Vec<Line<'static>> {
        let text = [
            Span::styled(self.name.clone(), styles.diff.file),
            Span::styled(format!(" (+{} -{})", self.added, self.removed), styles.dim),
        ];
        wrap(&text, width, &Indent::default(), Breaking::Words)
    }

    /// Gives the width of the column of numbers; 0 when there is none.
    fn number_columns(&self, width: usize) -> usize {
        let largest = self.rows.iter().filter_map(|row| row.number).max();
        let columns = largest.map_or(0, |number| number.to_string().len());
        if columns + 4 > width / 2 { 0 } else { columns }
    }

    fn push(&mut self, row: Row) {
        match row.kind {
            Kind::Added => self.added += 1,
            Kind::Removed => self.removed += 1,
            Kind::Same | Kind::Gap | Kind::Remark => {}
        }
        if self.rows.len() < MAX_ROWS {
            self.rows.push(row);
        } else if matches!(row.kind, Kind::Added | Kind::Removed | Kind::Same) {
            self.left_out += 1;
        }
    }
}

impl Row {
    fn new(kind: Kind, number: Option<usize>, text: &str) -> Self {
        Self {
            kind,
            number,
            text: kept(text),
            words: Vec::new(),
        }
    }

    fn lines(&self, columns: usize, width: usize, styles: &Styles) -> Vec<Line<'static>> {
        let (sign, style, word) = match self.kind {
            Kind::Same => (' ', styles.text, styles.text),
            Kind::Added => ('+', styles.diff.added, styles.diff.added_word),
            Kind::Removed => ('-', styles.diff.removed, styles.diff.removed_word),
            Kind::Gap | Kind::Remark => (' ', styles.dim, styles.dim),
        };
        let number = match self.number {
            _ if columns == 0 => String::new(),
            Some(number) => format!("{number:>columns$} "),
            None => " ".repeat(columns + 1),
        };
        let blank = " ".repeat(number.len() + 2);
        let indent = Indent {
            first: vec![
                Span::styled(number, styles.dim),
                Span::styled(format!("{sign} "), style),
            ],
            rest: vec![Span::raw(blank)],
        };
        wrap(&self.spans(style, word), width, &indent, Breaking::Anywhere)
    }

    fn spans(&self, style: Style, word: Style) -> Vec<Span<'_>> {
        let mut spans = Vec::new();
        let mut at = 0;
        for range in &self.words {
            let (Some(before), Some(changed)) =
                (self.text.get(at..range.start), self.text.get(range.clone()))
            else {
                break;
            };
            spans.push(Span::styled(before, style));
            spans.push(Span::styled(changed, word));
            at = range.end;
        }
        spans.push(Span::styled(self.text.get(at..).unwrap_or_default(), style));
        spans
    }
}

/// Gives a line as it is kept: without tabs, and cut when it is very long.
fn kept(line: &str) -> String {
    if line.len() <= MAX_TEXT {
        return expand_tabs(line);
    }
    let mut end = MAX_TEXT;
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    expand_tabs(&line[..end]) + "…"
}

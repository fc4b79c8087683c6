//! Tables, fitted to the width.

use pulldown_cmark::Alignment;
use ratatui_core::{
    style::Modifier,
    text::{Line, Span},
};

use crate::{
    Styles,
    measure::width_of,
    wrap::{Breaking, Indent, wrap},
};

/// Between two columns.
const GAP: &str = " │ ";
/// Columns of [`GAP`].
const GAP_WIDTH: usize = 3;
/// The least width of a column whose text is longer.
const LEAST: usize = 6;

type Cell = Vec<Span<'static>>;

/// A table; its first row is the head.
#[derive(Debug, Default)]
pub(super) struct Table {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub(super) fn new(alignments: Vec<Alignment>) -> Self {
        Self {
            alignments,
            rows: Vec::new(),
        }
    }

    pub(super) fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(super) fn cell(&mut self, cell: Cell) {
        if let Some(row) = self.rows.last_mut() {
            row.push(cell);
        }
    }

    /// Gives the lines: columns, or where these would be too narrow a list of the fields of each row.
    pub(super) fn lines(&self, width: usize, styles: &Styles) -> Vec<Line<'static>> {
        match self.widths(width) {
            Some(widths) => self.columns(&widths, styles),
            None => self.fields(width),
        }
    }

    /// Gives each column its width; `None` when they do not fit.
    fn widths(&self, width: usize) -> Option<Vec<usize>> {
        let count = self.alignments.len();
        let room = width.checked_sub(GAP_WIDTH * count.checked_sub(1)?)?;
        let natural: Vec<usize> = (0..count)
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.map(|cell| width_of(cell)).max().unwrap_or(0).max(1)
            })
            .collect();
        let capped = |cap: usize| natural.iter().map(|columns| (*columns).min(cap)).sum::<usize>();
        if capped(LEAST) > room {
            return None;
        }
        if capped(usize::MAX / (count + 1)) <= room {
            return Some(natural);
        }
        let cap = (LEAST..=room).rev().find(|cap| capped(*cap) <= room)?;
        let mut left = room - capped(cap);
        let widths = natural.iter().map(|columns| {
            let more = usize::from(*columns > cap && left > 0);
            left -= more;
            (*columns).min(cap) + more
        });
        Some(widths.collect())
    }

    fn columns(&self, widths: &[usize], styles: &Styles) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        for (index, row) in self.rows.iter().enumerate() {
            lines.extend(self.row(row, widths, styles));
            if index == 0 {
                let rules: Vec<_> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(Line::styled(rules.join("─┼─"), styles.dim));
            }
        }
        lines
    }

    fn row(&self, row: &[Cell], widths: &[usize], styles: &Styles) -> Vec<Line<'static>> {
        let cells: Vec<Vec<Line<'static>>> = widths
            .iter()
            .enumerate()
            .map(|(column, width)| match row.get(column) {
                Some(cell) => wrap(cell, *width, &Indent::default(), Breaking::Words),
                None => Vec::new(),
            })
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        (0..height)
            .map(|at| {
                let mut spans = Vec::new();
                for (column, width) in widths.iter().enumerate() {
                    if column > 0 {
                        spans.push(Span::styled(GAP, styles.dim));
                    }
                    let text = cells[column].get(at).map(|line| line.spans.clone());
                    let is_last = column + 1 == widths.len();
                    self.place(&mut spans, text.unwrap_or_default(), column, *width, is_last);
                }
                Line::from(spans)
            })
            .collect()
    }

    /// Puts the text of a cell in its column.
    fn place(&self, spans: &mut Vec<Span<'static>>, text: Cell, column: usize, width: usize, is_last: bool) {
        let blank = width.saturating_sub(width_of(&text));
        let before = match self.alignments.get(column) {
            Some(Alignment::Right) => blank,
            Some(Alignment::Center) => blank / 2,
            Some(Alignment::Left | Alignment::None) | None => 0,
        };
        let after = if is_last { 0 } else { blank - before };
        if before > 0 {
            spans.push(Span::raw(" ".repeat(before)));
        }
        spans.extend(text);
        if after > 0 {
            spans.push(Span::raw(" ".repeat(after)));
        }
    }

    /// Shows each row as lines `head: cell`.
    fn fields(&self, width: usize) -> Vec<Line<'static>> {
        let Some((head, body)) = self.rows.split_first() else {
            return Vec::new();
        };
        let indent = Indent {
            first: Vec::new(),
            rest: vec![Span::raw("  ")],
        };
        let field = |name: &Cell, cell: Option<&Cell>| {
            let mut text = name.clone();
            if let Some(cell) = cell {
                text.push(Span::raw(": "));
                text.extend(cell.iter().cloned());
            }
            wrap(&text, width, &indent, Breaking::Words)
        };
        if body.is_empty() {
            return head.iter().flat_map(|name| field(name, None)).collect();
        }
        let mut lines = Vec::new();
        for (index, row) in body.iter().enumerate() {
            if index > 0 {
                lines.push(Line::default());
            }
            for (column, name) in head.iter().enumerate() {
                lines.extend(field(name, row.get(column)));
            }
        }
        lines
    }
}

/// The style of the head.
pub(super) const HEAD: Modifier = Modifier::BOLD;

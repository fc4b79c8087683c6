//! A text that grows, rendered as it grows.

use std::ops::Range;

use ratatui_core::text::Line;

use super::{blocks::Blocks, render::render};
use crate::{Styles, safe::push_safe};

/// Renders a text that arrives in pieces. What is complete is rendered once; a piece costs as much as the block it
/// belongs to. However the text is cut into pieces, the lines are those of [`markdown`](crate::markdown()).
#[derive(Debug)]
pub struct Stream {
    width: usize,
    styles: Styles,
    source: Source,
    lines: Vec<Line<'static>>,
    /// How many of the chunks are rendered for good, and how many lines that made.
    finished: (usize, usize),
    is_current: bool,
}

/// The text, safe to show, with the places where it is cut.
#[derive(Debug, Default)]
struct Source {
    text: String,
    blocks: Blocks,
    chunks: Vec<Chunk>,
    /// The chunk that is not complete.
    open: Chunk,
    /// Where the first line begins that is not complete.
    line_at: usize,
    after_return: bool,
}

/// A part of the text that is rendered by itself.
#[derive(Debug, Clone, Default)]
struct Chunk {
    range: Range<usize>,
    /// The line that opened the code block in whose midst it begins.
    fence: Option<String>,
}

impl Stream {
    /// Makes an empty text, to be shown in lines of at most `width` columns.
    #[must_use]
    pub fn new(width: usize, styles: Styles) -> Self {
        Self {
            width: width.max(1),
            styles,
            source: Source::default(),
            lines: Vec::new(),
            finished: (0, 0),
            is_current: true,
        }
    }

    /// Appends a piece. Nothing is rendered before [`Stream::lines`] asks.
    pub fn push(&mut self, piece: &str) {
        self.source.push(piece);
        self.is_current = false;
    }

    /// Changes the width and the styles; everything is rendered again if they differ.
    pub fn restyle(&mut self, width: usize, styles: Styles) {
        if (width.max(1), styles) != (self.width, self.styles) {
            (self.width, self.styles) = (width.max(1), styles);
            self.lines.clear();
            self.finished = (0, 0);
            self.is_current = false;
        }
    }

    /// Gives the lines of the text so far.
    pub fn lines(&mut self) -> &[Line<'static>] {
        if !self.is_current {
            self.lines.truncate(self.finished.1);
            for index in self.finished.0..self.source.chunks.len() {
                self.append(&self.source.chunks[index].clone());
            }
            self.finished = (self.source.chunks.len(), self.lines.len());
            self.append(&self.source.open.clone());
            self.is_current = true;
        }
        &self.lines
    }

    /// Gives the lines, and ends.
    #[must_use]
    pub fn into_lines(mut self) -> Vec<Line<'static>> {
        self.lines();
        self.lines
    }

    fn append(&mut self, chunk: &Chunk) {
        let text = &self.source.text[chunk.range.clone()];
        let rendered = match &chunk.fence {
            None => render(text, self.width, &self.styles),
            Some(opening) => {
                // The language stands over the first part of the block.
                let mut lines = render(&format!("{opening}\n{text}"), self.width, &self.styles);
                let label = render(opening, self.width, &self.styles).len();
                lines.drain(..label.min(lines.len()));
                lines
            }
        };
        if !rendered.is_empty() && !self.lines.is_empty() && chunk.fence.is_none() {
            self.lines.push(Line::default());
        }
        self.lines.extend(rendered);
    }
}

impl Source {
    fn push(&mut self, piece: &str) {
        push_safe(&mut self.text, piece, &mut self.after_return);
        while let Some(length) = self.text[self.line_at..].find('\n') {
            let end = self.line_at + length;
            let cut = self.blocks.line(&self.text[self.line_at..end]);
            if cut.before {
                self.close(self.line_at, None);
            }
            self.line_at = end + 1;
            if cut.after {
                self.close(self.line_at, self.blocks.open_fence().map(str::to_owned));
            }
        }
        self.open.range.end = self.text.len();
    }

    fn close(&mut self, at: usize, fence: Option<String>) {
        let next = Chunk { range: at..at, fence };
        let mut closed = std::mem::replace(&mut self.open, next);
        closed.range.end = at;
        self.chunks.push(closed);
    }
}

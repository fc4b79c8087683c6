//! A text that grows, rendered as it grows.

use std::ops::Range;

use ratatui_core::text::Line;

use super::{blocks::Blocks, render::render};
use crate::{Styles, safe::push_safe};

/// Longer lines are cut between words, in bytes: models write paragraphs, not books, in one line.
const MAX_LINE: usize = 16 * 1024;

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
        while let Some(end) = self.next_end() {
            let is_whole = self.text[end..].starts_with('\n');
            let cut = self.blocks.line(&self.text[self.line_at..end]);
            if cut.before {
                self.close(self.line_at, None);
            }
            self.line_at = if is_whole { end + 1 } else { end };
            if cut.after || !is_whole {
                self.close(self.line_at, self.blocks.open_fence().map(str::to_owned));
            }
        }
        self.open.range.end = self.text.len();
    }

    /// Finds where the first line ends that was not judged yet: at its end, or where it becomes too long to be
    /// rendered with every further word.
    fn next_end(&self) -> Option<usize> {
        let rest = &self.text[self.line_at..];
        let head = &rest[..rest.floor_char_boundary(MAX_LINE)];
        let end = match head.find('\n') {
            Some(end) => end,
            None if rest.len() == head.len() => return None,
            None => head.rfind(' ').map_or(head.len(), |space| space + 1),
        };
        Some(self.line_at + end)
    }

    fn close(&mut self, at: usize, fence: Option<String>) {
        let next = Chunk { range: at..at, fence };
        let mut closed = std::mem::replace(&mut self.open, next);
        closed.range.end = at;
        self.chunks.push(closed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_an_end_is_not_rendered_again_and_again() {
        let text = "every word of this line comes by itself ".repeat(2000);
        let mut stream = Stream::new(60, Styles::default());
        for piece in text.split_inclusive(' ') {
            stream.push(piece);
            assert!(stream.source.open.range.len() <= MAX_LINE);
        }
        let lines = stream.into_lines();
        assert_eq!(lines, crate::markdown(&text, 60, &Styles::default()));
        let shown: String = lines.iter().map(|line| format!("{line} ")).collect();
        let words: Vec<&str> = shown.split_whitespace().collect();
        assert_eq!(words, text.split_whitespace().collect::<Vec<_>>());
    }
}

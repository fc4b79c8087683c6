//! Lines that were made, kept while they are in use.

use std::collections::HashMap;

use ratatui::text::Line;
use richtext::Stream;

use super::{
    cells::{AnswerCell, Cell},
    look::Look,
};

/// How many cells are kept before those out of use go.
const KEPT: usize = 256;
/// After how many drawings a cell is out of use.
const UNUSED: u64 = 8;

/// The lines of cells, for one look.
#[derive(Debug, Default)]
pub(super) struct WrapCache {
    look: Option<Look>,
    laid: HashMap<u64, Laid>,
    /// How often something was drawn.
    drawn: u64,
    /// How often the lines of a cell were made, for tests of what a key costs.
    pub(super) made: u64,
}

/// The lines of one cell.
#[derive(Debug)]
pub(super) struct Laid {
    revision: u64,
    used: u64,
    lines: Vec<Line<'static>>,
    text: Option<Text>,
}

/// The text of an answer, which grows.
#[derive(Debug)]
struct Text {
    stream: Stream,
    /// Bytes that the stream has, and of which version of the text.
    taken: usize,
    rewritten: u64,
}

impl WrapCache {
    /// Sets what all lines depend on.
    pub(super) fn set_look(&mut self, look: Look) {
        if self.look != Some(look) {
            self.look = Some(look);
            self.laid.clear();
        }
    }

    /// Counts a drawing, and drops what has been out of sight for some of them.
    pub(super) fn begin_drawing(&mut self) {
        self.drawn += 1;
        if self.laid.len() > KEPT {
            let oldest = self.drawn.saturating_sub(UNUSED);
            self.laid.retain(|_, laid| laid.used >= oldest);
        }
    }

    /// Gives the lines of a cell, made anew if it has changed.
    pub(super) fn laid(&mut self, cell: &Cell) -> Option<&mut Laid> {
        let look = self.look?;
        let drawn = self.drawn;
        let made = &mut self.made;
        let laid = self.laid.entry(cell.id).or_insert_with(|| {
            *made += 1;
            Laid::new(cell, &look)
        });
        laid.used = drawn;
        if laid.revision != cell.revision {
            *made += 1;
            laid.update(cell, &look);
        }
        Some(laid)
    }
}

impl Laid {
    pub(super) fn new(cell: &Cell, look: &Look) -> Self {
        let mut laid = Self {
            revision: cell.revision,
            used: 0,
            lines: Vec::new(),
            text: None,
        };
        laid.update(cell, look);
        laid
    }

    fn update(&mut self, cell: &Cell, look: &Look) {
        self.revision = cell.revision;
        self.lines = cell.lines(look);
        if let Some(answer) = cell.answer() {
            self.text = Text::continued(self.text.take(), answer, look);
        }
    }

    pub(super) fn height(&mut self) -> usize {
        let text = self.text.as_mut().map_or(0, |text| text.stream.lines().len());
        self.lines.len() + text
    }

    pub(super) fn line(&mut self, at: usize) -> Option<&Line<'static>> {
        match at.checked_sub(self.lines.len()) {
            None => self.lines.get(at),
            Some(at) => self.text.as_mut()?.stream.lines().get(at),
        }
    }
}

impl Text {
    /// Goes on with a text where it only grew, and begins anew where it changed.
    fn continued(known: Option<Self>, answer: &AnswerCell, look: &Look) -> Option<Self> {
        if !answer.has_text() {
            return None;
        }
        let is_same = |known: &Self| known.rewritten == answer.rewritten;
        let mut text = known.filter(is_same).unwrap_or_else(|| Self {
            stream: Stream::new(look.width, look.styles()),
            taken: 0,
            rewritten: answer.rewritten,
        });
        text.stream.push(&answer.text[text.taken..]);
        text.taken = answer.text.len();
        Some(text)
    }
}

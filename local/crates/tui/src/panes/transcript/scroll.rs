//! Where the view stands: at the end, following it, or at a line of a cell that stays in place whatever comes below.
//!
//! Heights are known only of cells that were near the view. Nothing here asks for others.

use super::model::Transcript;

/// How far below the view lines are counted, in cells.
const LOOK_AHEAD: usize = 16;

/// Where the view stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Scroll {
    /// At the end.
    #[default]
    Follow,
    /// With this place at its top.
    At {
        place: Place,
        /// The cell's identity, in case that cells before it came or went.
        id: u64,
        /// Whether something has come since.
        has_news: bool,
    },
}

/// A line of a cell, its blank line above included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Place {
    pub(super) index: usize,
    pub(super) line: usize,
}

/// What is below the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Below {
    pub(super) lines: usize,
    /// Whether these are all.
    pub(super) is_all: bool,
}

impl Scroll {
    pub(super) fn note_news(&mut self) {
        if let Self::At { has_news, .. } = self {
            *has_news = true;
        }
    }
}

impl Transcript {
    /// Gives the place at the top of a view of so many rows.
    pub(super) fn top(&self, rows: usize) -> Place {
        match self.scroll {
            Scroll::Follow => self.last_top(rows),
            Scroll::At { place, id, .. } => {
                let place = self.place_of(id, place);
                place.min(self.last_top(rows))
            }
        }
    }

    /// Moves the view up or down.
    pub(super) fn scroll_by(&mut self, lines: isize) {
        let rows = usize::from(self.drawn.size.get().1);
        let top = self.top(rows);
        let place = match lines {
            ..0 => self.before(top, lines.unsigned_abs()),
            _ => self.after(top, lines.unsigned_abs()),
        };
        self.scroll_to(place);
    }

    /// Puts a place at the top; at the end, the view follows from then on.
    pub(super) fn scroll_to(&mut self, place: Place) {
        let rows = usize::from(self.drawn.size.get().1);
        let id = self.cell(place.index).map_or(0, |cell| cell.id);
        let had_news = matches!(self.scroll, Scroll::At { has_news: true, .. });
        self.scroll = if place >= self.last_top(rows) {
            Scroll::Follow
        } else {
            Scroll::At {
                place,
                id,
                has_news: had_news,
            }
        };
    }

    /// Keeps the view in place when `count` cells have come in at `at`, behind the banner. `lead` lines of the banner
    /// were in sight.
    pub(super) fn keep_place(&mut self, at: usize, count: usize, lead: Option<usize>) {
        let Scroll::At { place, .. } = &mut self.scroll else {
            return;
        };
        if place.index >= at {
            place.index += count;
        } else if let Some(lead) = lead {
            let behind = Place {
                index: at + count,
                line: 0,
            };
            self.scroll_to(self.before(behind, lead));
        }
    }

    /// Gives how many lines before the cell `at` are in sight, while a person has scrolled up to them.
    pub(super) fn lead(&self, at: usize) -> Option<usize> {
        let Scroll::At { place, .. } = self.scroll else {
            return None;
        };
        let heights = (place.index..at).map(|index| self.height(index));
        Some(heights.sum::<usize>().saturating_sub(place.line))
    }

    /// Gives how many lines a cell takes, with the blank one above it.
    pub(super) fn height(&self, index: usize) -> usize {
        let Some(cell) = self.cell(index).filter(|cell| !cell.is_empty()) else {
            return 0;
        };
        let mut cache = self.drawn.cache.borrow_mut();
        let lines = cache.laid(cell).map_or(0, super::wrap_cache::Laid::height);
        lines + self.gap(index)
    }

    /// Counts the lines from a place to the end, as far as they are near.
    pub(super) fn below(&self, place: Place) -> Below {
        let end = self.len().min(place.index + LOOK_AHEAD);
        let heights = (place.index..end).map(|index| self.height(index));
        Below {
            lines: heights.sum::<usize>().saturating_sub(place.line),
            is_all: end == self.len(),
        }
    }

    /// Gives the place that is so many lines further down, at most the end.
    pub(super) fn after(&self, place: Place, mut lines: usize) -> Place {
        let Place { mut index, mut line } = place;
        while index < self.len() {
            let left = self.height(index).saturating_sub(line);
            if lines < left {
                return Place {
                    index,
                    line: line + lines,
                };
            }
            lines -= left;
            index += 1;
            line = 0;
        }
        Place { index, line: 0 }
    }

    /// Gives the place that is so many lines further up, at least the start.
    pub(super) fn before(&self, place: Place, mut lines: usize) -> Place {
        let Place { mut index, mut line } = place;
        loop {
            if lines <= line {
                line -= lines;
                return Place { index, line };
            }
            let Some(above) = index.checked_sub(1) else {
                return Place::default();
            };
            lines -= line;
            index = above;
            line = self.height(index);
        }
    }

    /// Gives the place from which the end fills the view.
    fn last_top(&self, rows: usize) -> Place {
        let end = Place {
            index: self.len(),
            line: 0,
        };
        self.before(end, rows)
    }

    /// Finds a place again.
    fn place_of(&self, id: u64, place: Place) -> Place {
        let is_it = |index: usize| self.cell(index).is_some_and(|cell| cell.id == id);
        let index = match is_it(place.index) {
            true => Some(place.index),
            false => (0..self.len()).rev().find(|index| is_it(*index)),
        };
        match index {
            Some(index) => Place {
                index,
                line: place.line.min(self.height(index).saturating_sub(1)),
            },
            // It is gone; what took its place is as near as it gets.
            None => Place {
                index: place.index.min(self.len()),
                line: 0,
            },
        }
    }
}

//! What keys, wheel and size do to the view.

use super::{
    TranscriptMsg,
    model::Transcript,
    scroll::{Place, Scroll},
};

/// Lines that the wheel moves.
const WHEEL: isize = 3;
/// Lines of a page that stay in sight on the next one.
const OVERLAP: u16 = 2;

impl Transcript {
    pub(crate) fn update(&mut self, msg: TranscriptMsg) {
        match msg {
            TranscriptMsg::LineUp => self.scroll_by(-1),
            TranscriptMsg::LineDown => self.scroll_by(1),
            TranscriptMsg::PageUp => self.scroll_by(-self.page()),
            TranscriptMsg::PageDown => self.scroll_by(self.page()),
            TranscriptMsg::WheelUp => self.scroll_by(-WHEEL),
            TranscriptMsg::WheelDown => self.scroll_by(WHEEL),
            TranscriptMsg::Top => self.scroll_to(Place::default()),
            TranscriptMsg::Bottom => self.scroll = Scroll::Follow,
            TranscriptMsg::ToggleReasoning => {
                self.folds.whole_reasoning = !self.folds.whole_reasoning;
                self.refold();
            }
            TranscriptMsg::ToggleOutput => {
                self.folds.whole_output = !self.folds.whole_output;
                self.refold();
            }
            TranscriptMsg::Resize { width, height } => {
                self.drawn.size.set((width, height));
                self.refold();
            }
        }
    }

    /// Says whether older history should be fetched: the top is in sight.
    pub(crate) fn wants_older(&self) -> bool {
        let rows = usize::from(self.drawn.size.get().1);
        if rows == 0 {
            return false;
        }
        let top = self.top(rows);
        let is_empty = |index| self.cell(index).is_none_or(super::cells::Cell::is_empty);
        top.line == 0 && (0..top.index).all(is_empty)
    }

    fn page(&self) -> isize {
        let rows = self.drawn.size.get().1;
        // A pane has fewer rows than that.
        isize::try_from(rows.saturating_sub(OVERLAP).max(1)).unwrap_or(1)
    }
}

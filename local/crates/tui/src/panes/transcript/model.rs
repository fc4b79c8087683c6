//! The cells, and what each event changes of them.

use std::{cell::RefCell, collections::VecDeque};

use protocol::{DeltaTarget, Event, Frame, Item, Phase, PromptEvent, Snapshot, ToolEvent, TurnEvent, TurnId};

use super::{
    Level, Notice, QueuedSubmit,
    cells::Cell,
    look::{Folds, Look},
    scroll::Scroll,
    wrap_cache::{Laid, WrapCache},
};
use crate::theme::Theme;

/// The pane.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    /// Older history, then what the snapshot has, with notices where they came up.
    cells: VecDeque<Cell>,
    /// Where the snapshot's items begin.
    live: usize,
    /// How many items of the session come before those.
    items_before: u64,
    /// Whether no turn was in progress when the snapshot was looked at last.
    is_idle: bool,
    queued: Vec<QueuedSubmit>,
    queued_cells: Vec<Cell>,
    next_id: u64,
    pub(super) folds: Folds,
    pub(super) scroll: Scroll,
    pub(super) drawn: Drawn,
}

/// What drawing remembers; none of it changes what is shown.
#[derive(Debug, Default)]
pub(super) struct Drawn {
    pub(super) cache: RefCell<WrapCache>,
    /// Columns and rows, when it was drawn last.
    pub(super) size: std::cell::Cell<(u16, u16)>,
    theme: std::cell::Cell<Theme>,
}

/// Which cells may differ from their items.
#[derive(Debug, Clone, Copy)]
enum Touched {
    All,
    Turn(TurnId),
}

impl Transcript {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Shows another state. Older history stays when it still leads up to it.
    pub(crate) fn replace(&mut self, snapshot: &Snapshot) {
        let first = snapshot.items.front();
        let found = first.and_then(|item| self.cells.iter().position(|cell| cell.shows(item)));
        match found {
            Some(at) => self.live = at,
            None => {
                self.cells.retain(Cell::is_own);
                self.live = self.banners();
            }
        }
        self.items_before = snapshot.items_before;
        self.is_idle = snapshot.phase == Phase::Idle;
        self.reconcile(snapshot, Touched::All);
    }

    /// Takes over what `frame` changed; the snapshot has it folded in already.
    pub(crate) fn apply(&mut self, snapshot: &Snapshot, frame: &Frame) {
        match frame {
            Frame::Delta(delta) => match &delta.target {
                DeltaTarget::Text { item } | DeltaTarget::Reasoning { item } => {
                    let wanted = *item;
                    self.refresh(
                        snapshot,
                        |item| matches!(item, Item::Assistant { id, .. } if *id == wanted),
                    );
                }
                DeltaTarget::Output { call } => self.refresh_call(snapshot, call),
                DeltaTarget::Unknown => {}
            },
            Frame::Event(envelope) => {
                self.apply_event(snapshot, &envelope.event);
                self.settle_queue(snapshot);
            }
            Frame::Snapshot(_) => self.replace(snapshot),
            Frame::Unknown => {}
        }
    }

    /// Says which submits wait for their receipt.
    pub(crate) fn set_queued(&mut self, queued: &[QueuedSubmit]) {
        if self.queued == queued {
            return;
        }
        self.queued = queued.to_vec();
        self.queued_cells = queued
            .iter()
            .map(|submit| {
                self.next_id += 1;
                Cell::of_queued(self.next_id, submit)
            })
            .collect();
    }

    /// Adds a line that only this screen knows.
    pub(crate) fn push(&mut self, notice: Notice) {
        let is_first_banner = notice.level == Level::Banner && self.live == self.cells.len();
        self.next_id += 1;
        self.cells.push_back(Cell::of_notice(self.next_id, notice));
        self.live += usize::from(is_first_banner);
        self.scroll.note_news();
    }

    /// Adds older history before everything else. What is there already is left out.
    pub(crate) fn prepend(&mut self, mut items: Vec<Item>) {
        let mut known = self.cells.iter().filter(|cell| !cell.is_own());
        let first = known.clone().next();
        if let Some(at) = first.and_then(|first| items.iter().position(|item| first.shows(item))) {
            items.truncate(at);
        } else if let Some(last) = items.last()
            && known.any(|cell| cell.shows(last))
        {
            items.clear();
        }
        let at = self.banners();
        let (count, lead) = (items.len(), self.lead(at));
        for item in items.iter().rev() {
            self.next_id += 1;
            self.cells.insert(at, Cell::of_item(self.next_id, item, None));
        }
        self.live += count;
        self.keep_place(at, count, lead);
    }

    /// Gives the end as plain lines, for the normal screen.
    pub(crate) fn tail(&self, width: u16, max_lines: usize) -> Vec<String> {
        let look = Look {
            width: usize::from(width).max(1),
            theme: Theme::default(),
            folds: Folds::default(),
        };
        let mut lines: VecDeque<String> = VecDeque::new();
        for index in (0..self.len()).rev() {
            let Some(cell) = self.cell(index).filter(|cell| !cell.is_empty()) else {
                continue;
            };
            let mut laid = Laid::new(cell, &look);
            for at in (0..laid.height()).rev() {
                let line = laid.line(at).map(ToString::to_string).unwrap_or_default();
                lines.push_front(line.trim_end().to_owned());
            }
            if self.gap(index) > 0 {
                lines.push_front(String::new());
            }
            if lines.len() >= max_lines {
                break;
            }
        }
        lines.drain(..lines.len().saturating_sub(max_lines));
        lines.into()
    }

    /// Gives the newest answer in full.
    pub(crate) fn last_answer(&self) -> Option<&str> {
        let answers = self.cells.iter().rev().filter_map(Cell::answer);
        answers
            .filter(|answer| answer.has_text())
            .map(|answer| answer.text.as_str())
            .next()
    }

    /// Gives how many cells there are, those of queued submits included.
    pub(super) fn len(&self) -> usize {
        self.cells.len() + self.queued_cells.len()
    }

    pub(super) fn cell(&self, index: usize) -> Option<&Cell> {
        let queued = || self.queued_cells.get(index.checked_sub(self.cells.len())?);
        self.cells.get(index).or_else(queued)
    }

    /// Gives the blank lines above a cell.
    pub(super) fn gap(&self, index: usize) -> usize {
        let mut before = (0..index).rev().filter_map(|index| self.cell(index));
        match (before.find(|cell| !cell.is_empty()), self.cell(index)) {
            (Some(before), Some(cell)) => usize::from(!cell.joins(before)),
            _ => 0,
        }
    }

    /// Sets what the lines that are made from now on depend on.
    pub(super) fn set_look(&self, width: u16, theme: Theme) {
        self.drawn.theme.set(theme);
        let look = Look {
            width: usize::from(width).max(1),
            theme,
            folds: self.folds,
        };
        self.drawn.cache.borrow_mut().set_look(look);
    }

    /// Brings the look in line with what is unfolded now.
    pub(super) fn refold(&self) {
        self.set_look(self.drawn.size.get().0, self.drawn.theme.get());
    }

    fn banners(&self) -> usize {
        self.cells.iter().take_while(|cell| cell.is_banner()).count()
    }

    fn apply_event(&mut self, snapshot: &Snapshot, event: &Event) {
        match event {
            Event::Turn(event) => {
                let Some(turn) = turn_of(event) else { return };
                self.reconcile(snapshot, Touched::Turn(turn));
                // A message is known by its number alone.
                if let TurnEvent::Partial { item, .. } | TurnEvent::Assistant { item, .. } = event {
                    self.refresh_message(snapshot, *item);
                }
            }
            Event::Tool(ToolEvent::Started { call, .. } | ToolEvent::Finished { call, .. }) => {
                self.refresh_call(snapshot, call);
            }
            Event::Prompt(PromptEvent::Opened { prompt }) => self.refresh_call(snapshot, &prompt.call),
            // It does not say which call it was about.
            Event::Prompt(_) => self.reconcile(snapshot, Touched::All),
            Event::Tool(ToolEvent::Unknown) | Event::Session(_) | Event::Unknown => {}
        }
    }

    /// Lets requests in the queue say what they wait for, which changes when a turn begins or ends.
    fn settle_queue(&mut self, snapshot: &Snapshot) {
        let is_idle = snapshot.phase == Phase::Idle;
        let has_changed = std::mem::replace(&mut self.is_idle, is_idle) != is_idle;
        if has_changed && !snapshot.queue.is_empty() {
            self.reconcile(snapshot, Touched::All);
        }
    }

    fn refresh_message(&mut self, snapshot: &Snapshot, wanted: u64) {
        self.refresh(
            snapshot,
            |item| matches!(item, Item::Assistant { id, .. } if *id == wanted),
        );
    }

    fn refresh_call(&mut self, snapshot: &Snapshot, wanted: &str) {
        self.refresh(
            snapshot,
            |item| matches!(item, Item::Tool { call, .. } if call == wanted),
        );
    }

    /// Brings the cell of one item in line, found from the end, where it is as a rule.
    fn refresh(&mut self, snapshot: &Snapshot, is_wanted: impl Fn(&Item) -> bool) {
        let from_end = snapshot.items.iter().rev().position(&is_wanted);
        let Some(item) = from_end.and_then(|from_end| snapshot.items.iter().rev().nth(from_end)) else {
            return;
        };
        let mut shown = self.cells.iter_mut().rev().filter(|cell| !cell.is_own());
        match from_end.and_then(|from_end| shown.nth(from_end)) {
            Some(cell) if cell.shows(item) => {
                let revision = cell.revision;
                cell.take_over(item, Some(snapshot));
                if cell.revision != revision {
                    self.scroll.note_news();
                }
            }
            // It is new.
            _ => match item.turn() {
                Some(turn) => self.reconcile(snapshot, Touched::Turn(turn)),
                None => self.reconcile(snapshot, Touched::All),
            },
        }
    }

    /// Makes the cells those of the snapshot's items: cells of items that stay are kept, and only the touched ones are
    /// looked into.
    fn reconcile(&mut self, snapshot: &Snapshot, touched: Touched) {
        self.skip_dropped(snapshot.items_before);
        let items = &snapshot.items;
        let (start, same) = self.same_beginning(items);
        let (end, items_end) = self.same_end(items, start, same);
        let mut at = start;
        let mut gone = 0;
        for _ in start..end {
            if self.cells.get(at).is_some_and(Cell::is_own) {
                at += 1;
            } else {
                self.cells.remove(at);
                gone += 1;
            }
        }
        for (offset, item) in items.range(same..items_end).enumerate() {
            self.next_id += 1;
            let cell = Cell::of_item(self.next_id, item, Some(snapshot));
            self.cells.insert(at + offset, cell);
        }
        if gone + items_end - same > 0 {
            self.scroll.note_news();
        }
        self.take_over(snapshot, touched);
    }

    /// Leaves items to the history that the snapshot no longer has.
    fn skip_dropped(&mut self, items_before: u64) {
        let mut dropped = items_before.saturating_sub(self.items_before);
        self.items_before = items_before;
        while dropped > 0 && self.live < self.cells.len() {
            dropped -= u64::from(!self.cells[self.live].is_own());
            self.live += 1;
        }
    }

    /// Gives up to which cell, and which item, both are the same from the beginning.
    fn same_beginning(&self, items: &VecDeque<Item>) -> (usize, usize) {
        let (mut at, mut same) = (self.live.min(self.cells.len()), 0);
        loop {
            while self.cells.get(at).is_some_and(Cell::is_own) {
                at += 1;
            }
            match (self.cells.get(at), items.get(same)) {
                (Some(cell), Some(item)) if cell.shows(item) => {
                    at += 1;
                    same += 1;
                }
                _ => return (at, same),
            }
        }
    }

    /// Gives from which cell, and which item on, both are the same up to the end.
    fn same_end(&self, items: &VecDeque<Item>, start: usize, same: usize) -> (usize, usize) {
        let (mut end, mut items_end) = (self.cells.len(), items.len());
        while items_end > same {
            let own = self
                .cells
                .range(start..end)
                .rev()
                .take_while(|cell| cell.is_own());
            let before = end - own.count();
            if before == start || !self.cells[before - 1].shows(&items[items_end - 1]) {
                break;
            }
            end = before - 1;
            items_end -= 1;
        }
        (end, items_end)
    }

    fn take_over(&mut self, snapshot: &Snapshot, touched: Touched) {
        let shown = self.cells.iter_mut().rev().filter(|cell| !cell.is_own());
        for (cell, item) in shown.zip(snapshot.items.iter().rev()) {
            match touched {
                // The items are in the order of turns. Behind the touched one are those that wait, and what they wait
                // for may have changed.
                Touched::Turn(turn) if item.turn().is_some_and(|of| of < turn) => return,
                Touched::Turn(_) | Touched::All => cell.take_over(item, Some(snapshot)),
            }
        }
    }
}

fn turn_of(event: &TurnEvent) -> Option<TurnId> {
    match event {
        TurnEvent::Submitted { turn, .. }
        | TurnEvent::Started { turn }
        | TurnEvent::Partial { turn, .. }
        | TurnEvent::Discarded { turn, .. }
        | TurnEvent::Assistant { turn, .. }
        | TurnEvent::CancelRequested { turn, .. }
        | TurnEvent::Waiting { turn, .. }
        | TurnEvent::WentOn { turn }
        | TurnEvent::AskedAgain { turn, .. }
        | TurnEvent::Ended { turn, .. } => Some(*turn),
        TurnEvent::Unknown => None,
    }
}

#[cfg(test)]
impl Transcript {
    /// Says whether the cells are those of the snapshot.
    pub(super) fn mirrors(&self, snapshot: &Snapshot) -> bool {
        let live = self.cells.range(self.live.min(self.cells.len())..);
        let shown: Vec<_> = live.filter(|cell| !cell.is_own()).collect();
        shown.len() == snapshot.items.len()
            && shown
                .iter()
                .zip(&snapshot.items)
                .all(|(cell, item)| cell.shows(item))
    }
}

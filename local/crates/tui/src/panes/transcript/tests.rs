//! What the cells look like, that they follow the session, and what scrolling costs.

use protocol::{
    CallOutcome, CallView, CommandId, Delta, DeltaTarget, Event, EventEnvelope, Frame, Item, OpenPrompt,
    Outcome, PromptEvent, PromptId, SessionId, Snapshot, ToolEvent, ToolState, TurnEvent, TurnId, UsageView,
};
use ratatui::{buffer::Buffer, layout::Rect};

use super::{Level, Notice, QueuedSubmit, Transcript, TranscriptMsg};
use crate::theme::Theme;

mod cells;
mod following;
mod scrolling;

/// A session and the pane that shows it.
struct Shown {
    snapshot: Snapshot,
    pane: Transcript,
}

impl Shown {
    fn new(width: u16, height: u16) -> Self {
        let mut pane = Transcript::new();
        pane.update(TranscriptMsg::Resize { width, height });
        Self {
            snapshot: Snapshot::empty(SessionId::fresh()),
            pane,
        }
    }

    /// Shows these items, as after a start.
    fn of(width: u16, height: u16, items: Vec<Item>) -> Self {
        let mut shown = Self::new(width, height);
        shown.snapshot.items = items.into();
        shown.pane.replace(&shown.snapshot);
        shown
    }

    fn event(&mut self, event: Event) {
        let envelope = EventEnvelope {
            n: self.snapshot.at + 1,
            at: 0,
            event,
        };
        assert!(
            self.snapshot.apply(&envelope).is_ok(),
            "the next number always fits"
        );
        self.pane.apply(&self.snapshot, &Frame::Event(envelope));
    }

    fn turn(&mut self, event: TurnEvent) {
        self.event(Event::Turn(event));
    }

    fn submit(&mut self, turn: u64, text: &str) {
        self.turn(TurnEvent::Submitted {
            turn: TurnId(turn),
            text: text.to_owned(),
            command: CommandId::fresh(),
        });
    }

    fn delta(&mut self, target: DeltaTarget, text: &str) {
        let known = self
            .snapshot
            .items
            .iter()
            .rev()
            .find_map(|item| match (item, &target) {
                (Item::Assistant { id, text, .. }, DeltaTarget::Text { item }) if id == item => {
                    Some(text.len())
                }
                (Item::Assistant { id, reasoning, .. }, DeltaTarget::Reasoning { item }) if id == item => {
                    Some(reasoning.len())
                }
                (Item::Tool { call, output, .. }, DeltaTarget::Output { call: wanted }) if call == wanted => {
                    Some(output.len())
                }
                _ => None,
            });
        let delta = Delta {
            target,
            offset: known.unwrap_or(0) as u64,
            text: text.to_owned(),
        };
        assert!(
            self.snapshot.apply_delta(&delta).is_ok(),
            "the offset always fits"
        );
        self.pane.apply(&self.snapshot, &Frame::Delta(delta));
    }

    fn say(&mut self, item: u64, text: &str) {
        self.delta(DeltaTarget::Text { item }, text);
    }

    fn buffer(&self) -> Buffer {
        let (width, height) = self.pane.drawn.size.get();
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        self.pane.view(&Theme::default(), area, &mut buffer);
        buffer
    }

    fn rows(&self) -> Vec<String> {
        let buffer = self.buffer();
        buffer
            .area
            .rows()
            .map(|row| {
                let row = row.columns().map(|cell| buffer[(cell.x, cell.y)].symbol());
                row.collect::<String>().trim_end().to_owned()
            })
            .collect()
    }

    fn screen(&self) -> String {
        self.rows().join("\n").trim_end().to_owned()
    }

    /// Gives the screen with `{style:text}` where a style differs from plain.
    fn styled(&self) -> String {
        let buffer = self.buffer();
        let mut screen = String::new();
        for row in buffer.area.rows() {
            let mut runs: Vec<(String, String)> = Vec::new();
            for at in row.columns() {
                let cell = &buffer[(at.x, at.y)];
                let mut names = Vec::new();
                if cell.fg != ratatui::style::Color::Reset {
                    names.push(cell.fg.to_string());
                }
                names.extend(cell.modifier.iter_names().map(|(name, _)| name.to_lowercase()));
                let style = names.join(" ");
                match runs.last_mut() {
                    Some((known, text)) if *known == style => text.push_str(cell.symbol()),
                    _ => runs.push((style, cell.symbol().to_owned())),
                }
            }
            for (style, text) in runs {
                if style.is_empty() {
                    screen.push_str(&text);
                } else {
                    screen.push_str(&format!("{{{style}:{text}}}"));
                }
            }
            screen.truncate(screen.trim_end().len());
            screen.push('\n');
        }
        screen.trim_end().to_owned()
    }
}

fn user(turn: u64, text: &str) -> Item {
    Item::User {
        turn: TurnId(turn),
        text: text.to_owned(),
    }
}

fn answer(turn: u64, id: u64, text: &str, reasoning: &str) -> Item {
    Item::Assistant {
        turn: TurnId(turn),
        id,
        text: text.to_owned(),
        reasoning: reasoning.to_owned(),
        complete: true,
        recorded: text.len() as u64,
    }
}

fn tool(name: &str, arguments: &str, state: ToolState, output: &str) -> Item {
    Item::Tool {
        turn: TurnId(1),
        call: format!("{name} {arguments} {state:?}"),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
        state,
        output: output.to_owned(),
    }
}

fn done(outcome: CallOutcome) -> ToolState {
    ToolState::Done { outcome }
}

fn end(turn: u64, outcome: Outcome) -> Item {
    Item::TurnEnd {
        turn: TurnId(turn),
        outcome,
        usage: UsageView::default(),
    }
}

fn notice(level: Level, text: &str) -> Notice {
    Notice {
        level,
        text: text.to_owned(),
    }
}

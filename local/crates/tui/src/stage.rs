//! The screen without a terminal, for tests: the real loop over a real link, with keys from a test and pictures in
//! memory.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use crossterm::event::Event;
use futures_util::{StreamExt as _, stream};
use link::AgentLink;
use protocol::{Frame, Snapshot};
use ratatui::{buffer::Buffer, layout::Rect};
use stdx::task::Scope;
use tokio::sync::{mpsc, oneshot, watch};

use crate::{
    Ending, Questions, TuiOptions,
    app::{self, Display, Seat},
    keymap::Key,
    model::Model,
    msg::{Msg, SessionMsg, SessionNews},
    view,
};

/// What a test sees of a screen.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The picture: a line a row, without blanks at the end.
    pub text: String,
    /// The state of the session as the screen has it.
    pub snapshot: Arc<Snapshot>,
    /// Whether something stands in the composer.
    pub has_draft: bool,
    /// Whether a dialog is in front.
    pub has_dialog: bool,
    /// Submits without a receipt.
    pub undelivered: usize,
    /// How many keys, pastes and sizes were taken in.
    taken: u64,
}

/// What the screen was told of its session, counted beside it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Heard {
    /// The number of the last event.
    pub at: u64,
    /// Events that came one by one.
    pub events: u64,
    /// Pieces of streamed text.
    pub deltas: u64,
    /// Events that came twice.
    pub doubled: u64,
    /// Events that were left out.
    pub lost: u64,
    /// Whole states.
    pub replaced: u64,
    /// Events that a whole state contained and that did not come one by one.
    pub in_replaced: u64,
    /// How often the stream broke off.
    pub interrupted: u64,
}

/// A running screen. Dropping it ends it without a goodbye.
#[derive(Debug)]
pub struct Stage {
    events: mpsc::Sender<Event>,
    sent: AtomicU64,
    seen: watch::Receiver<Seen>,
    heard: watch::Receiver<Heard>,
    ending: oneshot::Receiver<Ending>,
    scope: Scope,
}

impl Stage {
    /// Shows the screen over a link, in a picture of `size` columns and rows.
    #[must_use]
    pub fn open(
        link: AgentLink,
        questions: Questions,
        options: TuiOptions,
        size: (u16, u16),
        scope: &Scope,
    ) -> Self {
        let scope = scope.child("stage");
        let (events, mut arriving) = mpsc::channel(app::WAITING);
        let taken = Arc::new(AtomicU64::new(0));
        let (sheet, seen) = Sheet::new(size, Arc::clone(&taken));
        let pressed = stream::poll_fn(move |context| {
            let event = arriving.poll_recv(context);
            if event.is_ready() {
                taken.fetch_add(1, Ordering::SeqCst);
            }
            event.map(|event| event.map(Ok))
        });
        let (sender, told) = mpsc::channel(app::WAITING);
        let (passed_on, messages) = mpsc::channel(app::WAITING);
        let (counts, heard) = watch::channel(Heard::default());
        // Both end with the scope.
        drop(scope.spawn(listen_in(told, passed_on, counts)));
        let seat = Seat {
            display: sheet,
            signals: None,
            events: pressed.boxed(),
            inbox: (sender, messages),
        };
        let (end, ending) = oneshot::channel();
        let own = scope.clone();
        drop(scope.spawn(async move {
            // Nobody need be interested.
            drop(end.send(app::show(seat, link, questions, options, &own).await));
        }));
        Self {
            events,
            sent: AtomicU64::new(0),
            seen,
            heard,
            ending,
            scope,
        }
    }

    /// Presses keys, characters as they are and others by name, as in `hello<enter><ctrl+c>`, and waits until each was
    /// taken in.
    ///
    /// # Panics
    /// A key has no such name, or the screen has ended.
    pub async fn keys(&self, keys: &str) {
        let mut rest = keys;
        while let Some(first) = rest.chars().next() {
            let end = rest.find('>').filter(|_| first == '<');
            let (name, after) = match end {
                Some(end) => (&rest[1..end], &rest[end + 1..]),
                None => rest.split_at(first.len_utf8()),
            };
            let Ok(key) = name.parse::<Key>() else {
                panic!("no key is named {name:?}");
            };
            self.send(Event::Key(key.event())).await;
            rest = after;
        }
    }

    /// Pastes a text and waits until it was taken in.
    ///
    /// # Panics
    /// The screen has ended.
    pub async fn paste(&self, text: &str) {
        self.send(Event::Paste(text.to_owned())).await;
    }

    /// Changes the size and waits until it was taken in.
    ///
    /// # Panics
    /// The screen has ended.
    pub async fn resize(&self, columns: u16, rows: u16) {
        self.send(Event::Resize(columns, rows)).await;
    }

    async fn send(&self, event: Event) {
        let number = self.sent.fetch_add(1, Ordering::SeqCst) + 1;
        let sent = self.events.send(event).await;
        assert!(sent.is_ok(), "the screen has ended");
        self.until(|seen| seen.taken >= number).await;
    }

    /// Gives the newest picture and what goes with it.
    #[must_use]
    pub fn seen(&self) -> Seen {
        self.seen.borrow().clone()
    }

    /// Gives what the screen was told.
    #[must_use]
    pub fn heard(&self) -> Heard {
        *self.heard.borrow()
    }

    /// Waits until a picture is as it should be.
    ///
    /// # Panics
    /// The screen has ended.
    pub async fn until(&self, fits: impl FnMut(&Seen) -> bool) -> Seen {
        let mut seen = self.seen.clone();
        match seen.wait_for(fits).await {
            Ok(seen) => seen.clone(),
            Err(_) => panic!("the screen has ended"),
        }
    }

    /// Waits until the person has left.
    ///
    /// # Panics
    /// The screen ended in another way.
    pub async fn ending(mut self) -> Ending {
        match (&mut self.ending).await {
            Ok(ending) => ending,
            Err(_) => panic!("the screen ended by force"),
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.scope.cancel();
    }
}

/// Passes on what tasks tell the screen, and counts it.
async fn listen_in(
    mut told: mpsc::Receiver<Msg>,
    passed_on: mpsc::Sender<Msg>,
    counts: watch::Sender<Heard>,
) {
    while let Some(msg) = told.recv().await {
        if let Msg::Session(SessionMsg { news, .. }) = &msg {
            counts.send_modify(|heard| heard.count(news));
        }
        if passed_on.send(msg).await.is_err() {
            return;
        }
    }
}

impl Heard {
    fn count(&mut self, news: &SessionNews) {
        match news {
            SessionNews::Replaced(snapshot) => self.replace(snapshot),
            SessionNews::Frame(frame) => match &**frame {
                Frame::Event(envelope) => {
                    self.events += 1;
                    self.doubled += u64::from(envelope.n <= self.at);
                    self.lost += envelope.n.saturating_sub(self.at + 1);
                    self.at = envelope.n;
                }
                Frame::Delta(_) => self.deltas += 1,
                Frame::Snapshot(snapshot) => self.replace(snapshot),
                Frame::Unknown => {}
            },
            SessionNews::Interrupted(_) => self.interrupted += 1,
            SessionNews::Closed | SessionNews::Failed(_) => {}
        }
    }

    fn replace(&mut self, snapshot: &Snapshot) {
        self.replaced += 1;
        self.in_replaced += snapshot.at.saturating_sub(self.at);
        self.at = snapshot.at;
    }
}

/// A terminal that keeps its newest picture.
struct Sheet {
    size: (u16, u16),
    taken: Arc<AtomicU64>,
    seen: watch::Sender<Seen>,
}

impl Sheet {
    fn new(size: (u16, u16), taken: Arc<AtomicU64>) -> (Self, watch::Receiver<Seen>) {
        let (seen, looking) = watch::channel(Seen {
            text: String::new(),
            snapshot: Arc::new(Snapshot::empty(protocol::SessionId::fresh())),
            has_draft: false,
            has_dialog: false,
            undelivered: 0,
            taken: 0,
        });
        (Self { size, taken, seen }, looking)
    }
}

impl Display for Sheet {
    fn size(&self) -> (u16, u16) {
        self.size
    }

    fn is_writing(&self) -> bool {
        false
    }

    async fn written(&mut self) -> io::Result<()> {
        std::future::pending().await
    }

    fn draw(&mut self, model: &Model) -> io::Result<()> {
        self.size = model.screen.size;
        let area = Rect::new(0, 0, self.size.0, self.size.1);
        let mut buffer = Buffer::empty(area);
        let cursor = view::view(model, area, &mut buffer);
        assert!(
            cursor.is_none_or(|position| area.contains(position)),
            "{cursor:?} of {area}"
        );
        self.seen.send_replace(Seen {
            text: text_of(&buffer),
            snapshot: Arc::new(model.session.snapshot.clone()),
            has_draft: !model.composer.is_empty(),
            has_dialog: !model.overlays.is_empty(),
            undelivered: model.outbox.undelivered(),
            taken: self.taken.load(Ordering::SeqCst),
        });
        Ok(())
    }

    fn redraw(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn set_mouse(&mut self, _captured: bool) {}

    fn copy(&mut self, _text: &str) {}

    fn suspend(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn resume(&mut self) -> io::Result<()> {
        Ok(())
    }

    async fn leave(self) -> bool {
        true
    }
}

/// Gives the text in a buffer.
pub(crate) fn text_of(buffer: &Buffer) -> String {
    let mut text = String::new();
    for row in buffer.area.rows() {
        let mut line = String::new();
        let mut covered = 0;
        for position in row.positions() {
            let symbol = buffer[position].symbol();
            if covered > 0 {
                covered -= 1;
                continue;
            }
            covered = richtext::width(symbol).saturating_sub(1);
            line.push_str(symbol);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

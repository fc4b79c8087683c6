//! A screen without a terminal, for tests: keys and events in, text out.

use std::time::Duration;

use link::{Health, LinkState};
use protocol::{
    CommandId, CommandRequest, Delta, DeltaTarget, Event, EventEnvelope, Frame, OpenPrompt, OpenSession,
    Preset, PromptEvent, PromptId, PromptKind, Receipt, SessionEvent, SessionId, Snapshot, TurnEvent, TurnId,
};
use ratatui::{buffer::Buffer, layout::Rect};

use crate::{
    Appearance, Opening, Question, TuiOptions,
    effects::Effect,
    keymap::Key,
    model::Model,
    msg::{Done, Msg, SessionMsg, SessionNews},
    panes::composer::History,
    stage::text_of,
    update, view,
};

/// The session that a harness shows.
pub(crate) fn session() -> SessionId {
    "0198c0de-0000-7000-8000-000000000001".parse().unwrap()
}

/// A live link.
pub(crate) fn live() -> LinkState {
    LinkState::Live {
        rtt: Duration::from_millis(23),
        health: Health::Good,
    }
}

/// What a screen is told at its start.
pub(crate) fn options() -> TuiOptions {
    TuiOptions {
        opening: Opening::New(OpenSession {
            session: session(),
            workspace: Some("/srv/app".to_owned()),
            model: None,
            preset: None,
            credentials: None,
        }),
        draft: String::new(),
        history_file: None,
        version: "0.0.0".to_owned(),
        introduction: String::new(),
        appearance: Appearance::Plain,
        way_back: "reasonix attach --remote box".to_owned(),
        mouse: false,
    }
}

/// The screen.
pub(crate) struct Harness {
    pub(crate) model: Model,
    /// What it wants done, and nobody has done.
    pub(crate) effects: Vec<Effect>,
    /// Where events are folded beside the screen, as the agent does.
    pub(crate) truth: Snapshot,
}

impl Harness {
    /// Begins a screen on host `box` with a live link, whose session nobody has answered for.
    pub(crate) fn unopened(width: u16, height: u16) -> Self {
        Self::with(&options(), Some("box"), live(), (width, height))
    }

    pub(crate) fn with(options: &TuiOptions, host: Option<&str>, state: LinkState, size: (u16, u16)) -> Self {
        let now = stdx::clock::monotonic();
        let host = host.map(str::to_owned);
        let mut model = Model::new(options, History::default(), host, state, size, now);
        let effects = update::begin(&mut model);
        let truth = Snapshot::empty(model.session.id());
        Self {
            model,
            effects,
            truth,
        }
    }

    /// Begins a screen with an open session in `/srv/app`.
    pub(crate) fn new(width: u16, height: u16) -> Self {
        let mut harness = Self::unopened(width, height);
        harness.effects.clear();
        harness.open()
    }

    /// Lets the agent answer for the session.
    pub(crate) fn open(mut self) -> Self {
        if self.truth.at == 0 {
            let opened = SessionEvent::Opened {
                session: self.truth.session.session,
                workspace: "/srv/app".to_owned(),
                model: "demo/scripted".to_owned(),
                preset: Preset::WorkspaceWrite,
                context_window: Some(128_000),
            };
            self.record(Event::Session(opened));
        }
        let snapshot = Box::new(self.truth.clone());
        self.news(SessionNews::Replaced(snapshot))
    }

    /// Folds an event in as the agent does, and gives it.
    pub(crate) fn record(&mut self, event: Event) -> EventEnvelope {
        let envelope = EventEnvelope {
            n: self.truth.at + 1,
            at: 0,
            event,
        };
        assert_eq!(self.truth.apply(&envelope), Ok(protocol::Applied::Changed));
        envelope
    }

    pub(crate) fn msg(mut self, msg: Msg) -> Self {
        self.take(msg);
        self
    }

    pub(crate) fn take(&mut self, msg: Msg) {
        let effects = update::update(&mut self.model, msg);
        self.effects.extend(effects);
    }

    /// Presses keys: characters as they are, others by name, as in `hello<enter><ctrl+c>`.
    pub(crate) fn keys(mut self, keys: &str) -> Self {
        let mut rest = keys;
        while let Some(first) = rest.chars().next() {
            let end = rest.find('>').filter(|_| first == '<');
            let (name, after) = match end {
                Some(end) => (&rest[1..end], &rest[end + 1..]),
                None => rest.split_at(first.len_utf8()),
            };
            let key: Key = name.parse().unwrap();
            self.take(Msg::Key(key.event()));
            rest = after;
        }
        self
    }

    pub(crate) fn paste(self, text: &str) -> Self {
        self.msg(Msg::Paste(text.to_owned()))
    }

    pub(crate) fn resize(self, width: u16, height: u16) -> Self {
        self.msg(Msg::Resize(width, height))
    }

    pub(crate) fn link(self, state: LinkState) -> Self {
        self.msg(Msg::Link(state))
    }

    pub(crate) fn broker(self, state: link::BrokerState) -> Self {
        self.msg(Msg::Broker(state))
    }

    pub(crate) fn question(self, question: Question) -> Self {
        self.msg(Msg::Question(question))
    }

    pub(crate) fn news(self, news: SessionNews) -> Self {
        let session = self.truth.session.session;
        self.msg(Msg::Session(SessionMsg { session, news }))
    }

    /// Lets the agent record an event and tell it.
    pub(crate) fn agent(mut self, event: Event) -> Self {
        let envelope = self.record(event);
        self.news(SessionNews::Frame(Box::new(Frame::Event(envelope))))
    }

    /// Lets the agent stream text of a message.
    pub(crate) fn streams(mut self, item: u64, offset: u64, text: &str) -> Self {
        let delta = Delta {
            target: DeltaTarget::Text { item },
            offset,
            text: text.to_owned(),
        };
        assert_eq!(self.truth.apply_delta(&delta), Ok(protocol::Applied::Changed));
        self.news(SessionNews::Frame(Box::new(Frame::Delta(delta))))
    }

    /// Lets a turn be asked for and begin.
    pub(crate) fn turn(self, number: u64, text: &str) -> Self {
        let turn = TurnId(number);
        let command = self
            .sent()
            .last()
            .map_or_else(CommandId::fresh, |request| request.id);
        self.agent(Event::Turn(TurnEvent::Submitted {
            turn,
            text: text.to_owned(),
            command,
        }))
        .agent(Event::Turn(TurnEvent::Started { turn }))
    }

    /// Lets the turn ask for approval of a command, and a person see it.
    pub(crate) fn asks(self, command: &str) -> Self {
        self.prompts(approval(1, command)).after(1000)
    }

    /// Lets the turn ask.
    pub(crate) fn prompts(self, prompt: OpenPrompt) -> Self {
        self.agent(Event::Prompt(PromptEvent::Opened { prompt }))
    }

    /// Lets time pass.
    pub(crate) fn after(mut self, millis: u64) -> Self {
        self.model.screen.now += Duration::from_millis(millis);
        self.msg(Msg::Tick)
    }

    /// Gives the commands that were sent, in order.
    pub(crate) fn sent(&self) -> Vec<CommandRequest> {
        let sent = self.effects.iter().filter_map(|effect| match effect {
            Effect::Send(_, request) => Some(request.clone()),
            _ => None,
        });
        sent.collect()
    }

    /// Lets the newest command have its receipt.
    pub(crate) fn receipt(self, at: u64) -> Self {
        let id = self.sent().last().unwrap().id;
        self.msg(Msg::Done(Done::Command(id, Ok(Receipt { id, at, turn: None }))))
    }

    /// Lets the newest command fail.
    pub(crate) fn undelivered(self, error: client::Error) -> Self {
        let id = self.sent().last().unwrap().id;
        self.msg(Msg::Done(Done::Command(id, Err(error))))
    }

    /// Says whether the screen wants to end.
    pub(crate) fn quits(&self) -> bool {
        self.effects
            .iter()
            .any(|effect| matches!(effect, Effect::Quit(_)))
    }

    /// Gives what is on the screen, a line a row, without blanks at the end.
    pub(crate) fn screen(&self) -> String {
        let (width, height) = self.model.screen.size;
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        let cursor = view::view(&self.model, area, &mut buffer);
        if let Some(position) = cursor {
            assert!(area.contains(position), "the cursor is at {position} of {area}");
        }
        text_of(&buffer)
    }

    /// Gives the last row.
    pub(crate) fn status(&self) -> String {
        self.screen().lines().last().unwrap_or_default().to_owned()
    }
}

/// A request for approval of a command.
pub(crate) fn approval(id: u64, command: &str) -> OpenPrompt {
    OpenPrompt {
        id: PromptId(id),
        turn: TurnId(1),
        call: format!("call-{id}"),
        tool: "bash".to_owned(),
        subject: command.to_owned(),
        reason: "the settings want to be asked first: permissions.ask has Bash".to_owned(),
        scope: Some("commands that begin with `cargo test`".to_owned()),
        kind: PromptKind::Approval,
    }
}

/// A failure of a link that a person has to see to.
pub(crate) fn failure() -> link::Error {
    link::Error::new(
        link::Stage::Attaching,
        "box",
        link::ErrorKind::Bridge(link::BridgeRefusal::Denied),
    )
}

/// A connection that broke.
pub(crate) fn broken() -> client::Error {
    client::Error::Stalled {
        what: "the agent".to_owned(),
        after: Duration::from_secs(1),
    }
}

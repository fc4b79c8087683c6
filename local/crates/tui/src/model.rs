//! Everything the screen holds. It can be dropped without loss: the truth is the agent's, except for drafts and
//! scroll positions.

use std::time::Instant;

use link::{BrokerState, LinkState};
use protocol::{OpenSession, Preset, SessionId};

use crate::{
    Opening, TuiOptions,
    interrupt::Interrupts,
    keymap::Keymap,
    outbox::Outbox,
    overlays::Overlays,
    panes::{
        composer::{Composer, History},
        transcript::{Level, Notice, Transcript},
    },
    session::Session,
    session_task::Wanted,
    theme::Theme,
};

/// The model.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) transcript: Transcript,
    pub(crate) composer: Composer,
    pub(crate) overlays: Overlays,
    pub(crate) session: Session,
    pub(crate) outbox: Outbox,
    pub(crate) link: LinkShown,
    pub(crate) interrupts: Interrupts,
    pub(crate) keymap: Keymap,
    pub(crate) screen: Screen,
    /// The safe preset that full access is left for.
    pub(crate) safe_preset: Preset,
    /// The command that comes back to a session, without its id.
    pub(crate) way_back: String,
    /// Whether the person picks the first session.
    pub(crate) picks: bool,
}

/// What is known of the link.
#[derive(Debug)]
pub(crate) struct LinkShown {
    /// The host as the user named it; `None` for this machine.
    pub(crate) host: Option<String>,
    pub(crate) state: LinkState,
    /// Whether it was live before.
    pub(crate) was_live: bool,
    /// Requests to the model that are made here; `None` where the keys are not here.
    pub(crate) broker: Option<BrokerState>,
}

/// The terminal as the model sees it.
#[derive(Debug)]
pub(crate) struct Screen {
    pub(crate) theme: Theme,
    /// Columns and rows.
    pub(crate) size: (u16, u16),
    /// The room of the transcript, columns and rows, once it was told.
    pub(crate) room: Option<(u16, u16)>,
    /// The monotonic time of what is being handled.
    pub(crate) now: Instant,
    /// When this screen began, for what moves.
    pub(crate) since: Instant,
    /// Whether the mouse is captured.
    pub(crate) mouse: bool,
}

impl Model {
    /// Makes the model of a screen that has just begun.
    pub(crate) fn new(
        options: &TuiOptions,
        history: History,
        host: Option<String>,
        state: LinkState,
        size: (u16, u16),
        now: Instant,
    ) -> Self {
        let (wanted, picks) = match &options.opening {
            Opening::New(open) => (Wanted::new_session(open.clone()), false),
            Opening::Resume(session) => (Wanted::existing(*session), false),
            Opening::Pick => (Wanted::new_session(unnamed()), true),
        };
        let mut model = Self {
            transcript: Transcript::new(),
            composer: Composer::new(history),
            overlays: Overlays::default(),
            session: Session::new(wanted),
            outbox: Outbox::default(),
            link: LinkShown {
                was_live: state.is_live(),
                host,
                state,
                broker: None,
            },
            interrupts: Interrupts::default(),
            keymap: Keymap::default(),
            screen: Screen {
                theme: Theme::new(options.appearance),
                size,
                room: None,
                now,
                since: now,
                mouse: options.mouse,
            },
            safe_preset: Preset::default(),
            way_back: options.way_back.clone(),
            picks,
        };
        model.greet(options);
        model
    }

    fn greet(&mut self, options: &TuiOptions) {
        let mut text = format!("reasonix {}", options.version);
        if !options.introduction.is_empty() {
            text = format!("{text}\n{}", options.introduction);
        }
        self.notice(Level::Banner, text);
        if !options.draft.is_empty() {
            self.composer.set_draft(&options.draft);
        }
    }

    /// Shows a line that only this screen knows.
    pub(crate) fn notice(&mut self, level: Level, text: impl Into<String>) {
        self.transcript.push(Notice {
            level,
            text: text.into(),
        });
    }

    /// Gives the host's name for sentences.
    pub(crate) fn host(&self) -> &str {
        self.link.host.as_deref().unwrap_or("this machine")
    }

    /// Gives the command that comes back to the shown session, where there is one.
    pub(crate) fn way_back(&self) -> Option<String> {
        (!self.way_back.is_empty()).then(|| format!("{} {}", self.way_back, self.session.id()))
    }
}

/// A new session about which nothing is said.
fn unnamed() -> OpenSession {
    OpenSession {
        session: SessionId::fresh(),
        workspace: None,
        model: None,
        preset: None,
        credentials: None,
    }
}

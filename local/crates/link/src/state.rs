//! The states of a link and what leads from one to the next (pure; workbench 5, settled 12).
//!
//! | From | Input | To | Effects |
//! | --- | --- | --- | --- |
//! | Offline, Failed, Waiting | retry | Connecting | disarm, attempt |
//! | Connecting, Prompting | doing | Connecting, Prompting | – |
//! | Connecting, Prompting | attached | Live | – |
//! | Connecting, Prompting, Live | ended, another try may help | Waiting | hang up if the line is gone, arm |
//! | Connecting, Prompting, Live | ended, a person has to act | Failed | hang up |
//! | Connecting, Prompting | ended, and a question was left without an answer | Failed | hang up |
//! | Waiting | timer | Connecting | attempt |
//! | Waiting | woke, network changed | Connecting | disarm, attempt |
//! | Connecting, nobody was asked yet | woke; network moved before the login was done | Connecting | abandon, hang up, attempt |
//! | Live | woke, network changed, retry | Live | prove |
//! | any | stop | Offline | whatever runs ends |
//!
//! Everything else changes nothing: an input that comes late is not an error. Waking up and another way out of this
//! machine start the schedule of tries anew; a network that changed elsewhere only brings the next try forward.

use std::{
    fmt,
    time::{Duration, Instant},
};

use crate::{
    backoff::Backoff,
    error::Error,
    network::NetworkChange,
    progress::{Doing, Stage},
};

/// What a front end shows.
#[derive(Debug, Clone)]
pub enum LinkState {
    /// Not started, or closed.
    Offline,
    /// On the way.
    Connecting(Stage),
    /// On the way, and a person is being asked.
    Prompting,
    /// The agent answers.
    Live {
        /// The newest round trip to the agent and back.
        rtt: Duration,
        /// How it looks since.
        health: Health,
    },
    /// Lost, or not reached; the next try comes by itself.
    Waiting {
        /// When, in monotonic time.
        next_try: Instant,
        /// Why.
        cause: Error,
        /// How many tries failed since it was live, or since the start; the loss of a live link counts as the first.
        attempts: u32,
    },
    /// A person has to act; only an explicit retry goes on.
    Failed(Error),
}

/// How a live link looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Health {
    /// The agent answers in time.
    Good,
    /// Nothing at all was heard for a while; the host or the network may be gone.
    Quiet,
    /// The host answers, the agent does not.
    Stalled,
}

impl LinkState {
    /// Says whether the agent answers.
    #[must_use]
    pub fn is_live(&self) -> bool {
        matches!(self, Self::Live { .. })
    }

    /// Gives the reason of a wait or a failure.
    #[must_use]
    pub fn cause(&self) -> Option<&Error> {
        match self {
            Self::Waiting { cause, .. } | Self::Failed(cause) => Some(cause),
            _ => None,
        }
    }
}

impl fmt::Display for LinkState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Offline => f.write_str("offline"),
            Self::Connecting(stage) => write!(f, "connecting: {stage}"),
            Self::Prompting => f.write_str("waiting for an answer"),
            Self::Live {
                rtt,
                health: Health::Good,
            } => write!(f, "live, {} ms", rtt.as_millis()),
            Self::Live {
                health: Health::Quiet,
                ..
            } => f.write_str("live, but silent"),
            Self::Live {
                health: Health::Stalled,
                ..
            } => f.write_str("live, but the agent does not answer"),
            Self::Waiting { cause, .. } => write!(f, "waiting for the next try: {cause}"),
            Self::Failed(cause) => write!(f, "failed: {cause}"),
        }
    }
}

/// The state and what it needs to know of the past.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    pub(crate) state: LinkState,
    backoff: Backoff,
    was_live: bool,
    asked: Asked,
}

/// Whether the attempt that runs has asked a person. It is not dropped lightly then: the next one would ask again, and a
/// one-time code is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Nobody,
    Somebody,
    /// Who was asked is not there. Dialling again would ask again and again, and a host counts that as failed logins.
    InVain,
}

/// Everything that can happen to a link.
#[derive(Debug, Clone)]
pub(crate) enum Input {
    /// Somebody wants it now.
    Retry,
    /// Nobody wants it any more.
    Stop,
    /// The machine slept.
    Woke,
    /// The network of this machine changed.
    Network(NetworkChange),
    /// The attempt says what it does.
    Doing(Doing),
    /// The attempt succeeded: a stream is connected and the agent said hello.
    Attached { rtt: Duration },
    /// The agent answered.
    Pong { rtt: Duration },
    /// The agent did not answer for a while.
    Silence(Health),
    /// The attempt failed, or what was live is lost.
    Ended(End),
    /// The wait is over.
    Timer,
}

/// How something ended.
#[derive(Debug, Clone)]
pub(crate) struct End {
    pub(crate) cause: Error,
    pub(crate) line: Line,
    /// The monotonic time.
    pub(crate) at: Instant,
    /// How long the link had been live; zero when it was not.
    pub(crate) lived: Duration,
    /// A random number from 0 to 1.
    pub(crate) jitter: f64,
}

/// How long a link must have been live to be dialled again without a wait: one that comes and goes is not hurried.
pub(crate) const STEADY: Duration = Duration::from_secs(1);

/// What is left of the SSH connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    /// It is usable: the next attempt attaches on it, without another login.
    Kept,
    /// It is dead.
    Gone,
}

/// What the supervisor has to do, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Start an attempt, on the SSH connection if there is one.
    Attempt,
    /// Drop the attempt that runs.
    Abandon,
    /// Close the SSH connection.
    HangUp,
    /// Give [`Input::Timer`] after this time.
    Arm(Duration),
    /// Forget the timer.
    Disarm,
    /// Ask agent and host for a sign of life at once, with little patience.
    Prove(Doubt),
}

/// Why a live link has to prove itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// Nothing ran here for a while: what lies in the socket may be of before.
    Slept,
    /// Something changed, or somebody wants to know.
    Now,
}

impl Machine {
    pub(crate) fn new() -> Self {
        Self {
            state: LinkState::Offline,
            backoff: Backoff::default(),
            was_live: false,
            asked: Asked::Nobody,
        }
    }

    /// Decides. No clock, no I/O.
    pub(crate) fn step(mut self, input: Input) -> (Self, Vec<Effect>) {
        let effects = match input {
            Input::Retry => self.retry(),
            Input::Stop => self.stop(),
            Input::Woke => self.moved(Doubt::Slept),
            Input::Network(NetworkChange::Moved) => self.moved(Doubt::Now),
            Input::Network(NetworkChange::Elsewhere) => self.changed_elsewhere(),
            Input::Doing(doing) => self.doing(doing),
            Input::Attached { rtt } => self.attached(rtt),
            Input::Pong { rtt } => self.live(Some(rtt), Health::Good),
            Input::Silence(health) => self.live(None, health),
            Input::Ended(end) => self.ended(end),
            Input::Timer if matches!(self.state, LinkState::Waiting { .. }) => self.start(&[]),
            Input::Timer => Vec::new(),
        };
        (self, effects)
    }

    fn start(&mut self, before: &[Effect]) -> Vec<Effect> {
        self.state = LinkState::Connecting(Stage::Resolving);
        self.asked = Asked::Nobody;
        [before, &[Effect::Attempt]].concat()
    }

    fn retry(&mut self) -> Vec<Effect> {
        match self.state {
            LinkState::Offline | LinkState::Failed(_) => {
                self.backoff.reset();
                self.start(&[])
            }
            LinkState::Waiting { .. } => self.start(&[Effect::Disarm]),
            LinkState::Live { .. } => vec![Effect::Prove(Doubt::Now)],
            LinkState::Connecting(_) | LinkState::Prompting => Vec::new(),
        }
    }

    fn stop(&mut self) -> Vec<Effect> {
        match std::mem::replace(&mut self.state, LinkState::Offline) {
            LinkState::Offline | LinkState::Failed(_) => Vec::new(),
            LinkState::Connecting(_) | LinkState::Prompting => vec![Effect::Abandon, Effect::HangUp],
            LinkState::Waiting { .. } => vec![Effect::Disarm, Effect::HangUp],
            LinkState::Live { .. } => vec![Effect::HangUp],
        }
    }

    /// Everything that was under way may talk to a network of before.
    fn moved(&mut self, doubt: Doubt) -> Vec<Effect> {
        match self.state {
            LinkState::Waiting { .. } => {
                self.backoff.reset();
                self.start(&[Effect::Disarm])
            }
            // Behind the login signs of life are watched, and an upload is too much to lose for a doubt.
            LinkState::Connecting(stage)
                if self.asked == Asked::Nobody && (doubt == Doubt::Slept || stage.is_before_login()) =>
            {
                self.backoff.reset();
                self.start(&[Effect::Abandon, Effect::HangUp])
            }
            LinkState::Live { .. } => vec![Effect::Prove(doubt)],
            // A person who is being asked is left in peace; what they answered has a deadline of its own.
            LinkState::Connecting(_) | LinkState::Prompting | LinkState::Offline | LinkState::Failed(_) => {
                Vec::new()
            }
        }
    }

    /// The way out is the same, so what is under way goes on; a way to the host itself may have come or gone.
    fn changed_elsewhere(&mut self) -> Vec<Effect> {
        match self.state {
            LinkState::Waiting { .. } => self.start(&[Effect::Disarm]),
            LinkState::Live { .. } => vec![Effect::Prove(Doubt::Now)],
            LinkState::Connecting(_) | LinkState::Prompting | LinkState::Offline | LinkState::Failed(_) => {
                Vec::new()
            }
        }
    }

    fn is_under_way(&self) -> bool {
        matches!(self.state, LinkState::Connecting(_) | LinkState::Prompting)
    }

    fn doing(&mut self, doing: Doing) -> Vec<Effect> {
        if self.is_under_way() {
            if doing.unanswered {
                self.asked = Asked::InVain;
            } else if doing.questions > 0 {
                self.asked = Asked::Somebody;
            }
            self.state = if doing.questions > 0 {
                LinkState::Prompting
            } else {
                LinkState::Connecting(doing.stage)
            };
        }
        Vec::new()
    }

    fn attached(&mut self, rtt: Duration) -> Vec<Effect> {
        if self.is_under_way() {
            self.backoff.reset();
            self.was_live = true;
            let health = Health::Good;
            self.state = LinkState::Live { rtt, health };
        }
        Vec::new()
    }

    fn live(&mut self, newer: Option<Duration>, now: Health) -> Vec<Effect> {
        if let LinkState::Live { rtt, health } = &mut self.state {
            *rtt = newer.unwrap_or(*rtt);
            *health = now;
        }
        Vec::new()
    }

    fn ended(&mut self, end: End) -> Vec<Effect> {
        if !self.is_under_way() && !self.state.is_live() {
            return Vec::new();
        }
        let is_in_vain = self.is_under_way() && self.asked == Asked::InVain;
        if is_in_vain || end.cause.needs_person(self.was_live) {
            self.state = LinkState::Failed(end.cause);
            return vec![Effect::HangUp];
        }
        let wait = if self.state.is_live() && end.lived >= STEADY {
            self.backoff.after_loss()
        } else {
            self.backoff.next(end.jitter)
        };
        self.state = LinkState::Waiting {
            next_try: end.at + wait,
            cause: end.cause,
            attempts: self.backoff.attempts(),
        };
        match end.line {
            Line::Kept => vec![Effect::Arm(wait)],
            Line::Gone => vec![Effect::HangUp, Effect::Arm(wait)],
        }
    }
}

#[cfg(test)]
mod tests;

//! What an attempt is doing, to be shown while connecting.

use std::{fmt, sync::Arc};

use tokio::sync::watch;

/// The part of the way to an agent that is being gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Reading the SSH configuration.
    Resolving,
    /// Look-up, TCP or proxy, key exchange and the check of the host key.
    Dialing,
    /// Logging in. Shown from the first question on; a login that asks nothing is part of dialling.
    Authenticating,
    /// Asking the host what it is and what it has.
    Probing,
    /// Putting the program there and trying it.
    Installing {
        /// Bytes handed over so far.
        done: u64,
        /// Size of the program; 0 while it is not known.
        total: u64,
    },
    /// Starting the daemon.
    Launching,
    /// Reaching the daemon and its hello.
    Attaching,
    /// Using the link.
    Live,
}

impl Stage {
    /// Says whether nobody is logged in yet.
    pub(crate) fn is_before_login(self) -> bool {
        matches!(self, Self::Resolving | Self::Dialing | Self::Authenticating)
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Resolving => "resolve",
            Self::Dialing => "connect",
            Self::Authenticating => "log in",
            Self::Probing => "probe",
            Self::Installing { total: 0, .. } => "install",
            Self::Installing { done, total } => {
                let percent = u128::from(*done) * 100 / u128::from(*total);
                return write!(f, "install ({percent} %)");
            }
            Self::Launching => "launch",
            Self::Attaching => "attach",
            Self::Live => "link",
        };
        f.write_str(text)
    }
}

/// What an attempt does at this moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Doing {
    pub(crate) stage: Stage,
    /// How many questions a person is being asked.
    pub(crate) questions: u32,
    /// Whether a question was taken back before a person answered it: the host had not the patience.
    pub(crate) unanswered: bool,
}

impl Doing {
    pub(crate) fn new(stage: Stage) -> Self {
        Self {
            stage,
            questions: 0,
            unanswered: false,
        }
    }
}

/// Where an attempt says what it does. Only the newest is kept: a screen that is late skips stages.
#[derive(Debug, Clone)]
pub(crate) struct Doings(Arc<watch::Sender<Doing>>);

impl Doings {
    pub(crate) fn new(stage: Stage) -> (Self, watch::Receiver<Doing>) {
        let (sender, receiver) = watch::channel(Doing::new(stage));
        (Self(Arc::new(sender)), receiver)
    }

    pub(crate) fn stage(&self, stage: Stage) {
        self.0
            .send_if_modified(|doing| std::mem::replace(&mut doing.stage, stage) != stage);
    }

    pub(crate) fn now(&self) -> Stage {
        self.0.borrow().stage
    }

    /// Says that a person is asked, as long as the value lives.
    pub(crate) fn asking(&self) -> Asking {
        self.0.send_modify(|doing| doing.questions += 1);
        Asking {
            doings: self.clone(),
            is_answered: false,
        }
    }
}

/// A question that is open.
pub(crate) struct Asking {
    doings: Doings,
    is_answered: bool,
}

impl Asking {
    pub(crate) fn answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.doings.0.send_modify(|doing| {
            doing.questions -= 1;
            doing.unanswered |= !self.is_answered;
        });
    }
}

impl bootstrap::Progress for Doings {
    fn update(&self, update: bootstrap::Update) {
        use bootstrap::{Stage as Step, Update};
        match update {
            Update::Stage(Step::Probe | Step::Choose) => self.stage(Stage::Probing),
            Update::Stage(Step::Upload) => self.stage(Stage::Installing { done: 0, total: 0 }),
            // Seconds at most; the full bar stays.
            Update::Stage(Step::Verify | Step::Trial | Step::Uninstall) => {}
            Update::Stage(Step::Launch) => self.stage(Stage::Launching),
            Update::Stage(Step::Attach) => self.stage(Stage::Attaching),
            Update::Uploaded { done, total } => self.stage(Stage::Installing { done, total }),
        }
    }
}

#[cfg(test)]
mod tests {
    use bootstrap::{Progress as _, Update};

    use super::*;

    #[test]
    fn updates_become_stages_and_questions_are_counted() {
        let (doings, mut receiver) = Doings::new(Stage::Dialing);
        let (one, two) = (doings.asking(), doings.asking());
        assert_eq!(receiver.borrow_and_update().questions, 2);
        one.answered();
        let doing = *receiver.borrow_and_update();
        assert_eq!((doing.questions, doing.unanswered), (1, false));
        drop(two);
        let doing = *receiver.borrow_and_update();
        assert_eq!((doing.questions, doing.unanswered), (0, true));
        doings.update(Update::Uploaded { done: 1, total: 8 });
        assert_eq!(receiver.borrow().stage.to_string(), "install (12 %)");
        doings.update(Update::Stage(bootstrap::Stage::Verify));
        assert_eq!(doings.now(), Stage::Installing { done: 1, total: 8 });
    }
}

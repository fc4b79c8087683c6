//! The login of the embedded server: a scripted sequence of steps.

use russh::{
    MethodKind, MethodSet,
    keys::PublicKey,
    server::{Auth, Response},
};

/// One step of a login. All steps have to be passed, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoginStep {
    /// One of the authorised keys.
    PublicKey,
    /// This one of the authorised keys, as in `authorized_keys`.
    ThisKey(String),
    /// This password.
    Password(String),
    /// Rounds of questions; a round may have none.
    Questions(Vec<Vec<Question>>),
}

/// A question and its right answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What is shown.
    pub prompt: String,
    /// Whether the answer may be shown while typing.
    pub echo: bool,
    /// The right answer.
    pub answer: String,
}

impl LoginStep {
    fn method(&self) -> MethodKind {
        match self {
            Self::PublicKey | Self::ThisKey(_) => MethodKind::PublicKey,
            Self::Password(_) => MethodKind::Password,
            Self::Questions(_) => MethodKind::KeyboardInteractive,
        }
    }
}

/// Where one connection stands in its login.
#[derive(Debug)]
pub(crate) struct LoginState {
    steps: Vec<LoginStep>,
    step: usize,
    round: usize,
}

impl LoginState {
    pub(crate) fn new(steps: Vec<LoginStep>) -> Self {
        Self {
            steps,
            step: 0,
            round: 0,
        }
    }

    fn current(&self) -> Option<&LoginStep> {
        self.steps.get(self.step)
    }

    fn methods(&self) -> MethodSet {
        self.current().map_or_else(MethodSet::empty, |step| {
            MethodSet::from([step.method()].as_slice())
        })
    }

    pub(crate) fn reject(&self) -> Auth {
        Auth::Reject {
            proceed_with_methods: Some(self.methods()),
            partial_success: false,
        }
    }

    fn pass(&mut self) -> Auth {
        self.step += 1;
        self.round = 0;
        if self.step >= self.steps.len() {
            return Auth::Accept;
        }
        Auth::Reject {
            proceed_with_methods: Some(self.methods()),
            partial_success: true,
        }
    }

    /// Says whether an authorised key is wanted now.
    fn wants(&self, key: &PublicKey) -> bool {
        match self.current() {
            Some(LoginStep::PublicKey) => true,
            Some(LoginStep::ThisKey(wanted)) => {
                PublicKey::from_openssh(wanted).is_ok_and(|wanted| wanted.key_data() == key.key_data())
            }
            _ => false,
        }
    }

    pub(crate) fn offered(&self, authorized: bool, key: &PublicKey) -> Auth {
        if authorized && self.wants(key) {
            Auth::Accept
        } else {
            self.reject()
        }
    }

    pub(crate) fn public_key(&mut self, authorized: bool, key: &PublicKey) -> Auth {
        if authorized && self.wants(key) {
            self.pass()
        } else {
            self.reject()
        }
    }

    pub(crate) fn password(&mut self, typed: &str) -> Auth {
        let right = matches!(self.current(), Some(LoginStep::Password(password)) if password == typed);
        if right { self.pass() } else { self.reject() }
    }

    pub(crate) fn questions(&mut self, response: Option<Response<'_>>) -> Auth {
        let Some(LoginStep::Questions(rounds)) = self.current() else {
            return self.reject();
        };
        let rounds = rounds.clone();
        match response {
            None => self.round = 0,
            Some(answers) => {
                let answers: Vec<_> = answers.collect();
                let asked = rounds.get(self.round).map(Vec::as_slice).unwrap_or_default();
                let right = asked.len() == answers.len()
                    && asked
                        .iter()
                        .zip(&answers)
                        .all(|(asked, given)| asked.answer.as_bytes() == &given[..]);
                if !right {
                    return self.reject();
                }
                self.round += 1;
            }
        }
        match rounds.get(self.round) {
            None => self.pass(),
            Some(questions) => Auth::Partial {
                name: "".into(),
                instructions: format!("round {}", self.round + 1).into(),
                prompts: questions
                    .iter()
                    .map(|asked| (asked.prompt.clone().into(), asked.echo))
                    .collect(),
            },
        }
    }
}

//! What the loop needs from its surroundings; `controller` implements it.

use std::{future::Future, pin::Pin, sync::Arc};

use conversation::{CallId, Question, Response};
use permission::{Grant, Policy};

use crate::TurnEvent;

/// A future of a port call.
pub type PortFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A request for a person's approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// The call that needs it.
    pub call: CallId,
    /// The tool's name.
    pub tool: String,
    /// What it would act on: the command, or the paths.
    pub subject: String,
    /// Why a person is asked.
    pub reason: String,
    /// What an answer for the whole session would grant.
    pub scope: Grant,
}

/// Questions of the model to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inquiry {
    /// The call that asks.
    pub call: CallId,
    /// The tool's name.
    pub tool: String,
    /// What it asks; never empty.
    pub questions: Vec<Question>,
}

/// What came of a request for approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// A person allowed it.
    Allowed,
    /// A person refused it.
    Refused,
    /// The question was withdrawn: the turn is being stopped.
    Withdrawn,
}

/// The session died; the turn must end at once and report nothing more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the session is gone")]
pub struct SessionGone;

/// The session that a turn belongs to.
pub trait SessionPort: Send + Sync {
    /// Reports something, in order. Waits while the session is behind.
    fn report(&self, event: TurnEvent) -> PortFuture<'_, Result<(), SessionGone>>;

    /// Reports something and waits until it and everything before it is on disk.
    fn commit(&self, event: TurnEvent) -> PortFuture<'_, Result<(), SessionGone>>;

    /// Puts questions of the model to a person, and waits for the replies however long it takes. `None` when the
    /// questions were withdrawn: the turn is being stopped.
    fn inquire(&self, inquiry: Inquiry) -> PortFuture<'_, Result<Option<Response>, SessionGone>>;

    /// Asks a person for approval, and waits for the answer however long it takes.
    fn ask(&self, approval: Approval) -> PortFuture<'_, Result<Verdict, SessionGone>>;

    /// Gives the policy in force now; it may change between two calls of one turn.
    fn policy(&self) -> Arc<Policy>;
}

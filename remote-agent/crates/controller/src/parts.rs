//! What a session is built from. The composition root provides it through [`Assembler`].

use std::{future::Future, pin::Pin, sync::Arc};

use agent_loop::{SessionPort, TurnInput, TurnOptions};
use permission::Policy;
use protocol::{Credentials, ErrorBody, ErrorCode, SessionId};
use provider::Provider;
use stdx::{AbsPath, task::Scope};

use crate::session::{Posture, TurnPlan};

/// A future of an assembler.
pub type AssembleFuture<'a> = Pin<Box<dyn Future<Output = Result<SessionParts, ErrorBody>> + Send + 'a>>;

/// Builds the parts of sessions from settings; implemented by the composition root.
pub trait Assembler: Send + Sync {
    /// Builds what a session needs. Tasks and processes that belong to it go below `scope`.
    ///
    /// The error is what the client that opens the session is told: an unknown model, a broken configuration.
    fn assemble<'a>(&'a self, wanted: &'a Wanted, scope: &'a Scope) -> AssembleFuture<'a>;

    /// Builds only what asks models, for a session that changes over to other credentials.
    ///
    /// # Errors
    /// As for [`Assembler::assemble`]; an assembler that knows only one kind of credentials says so.
    fn provider(&self, wanted: &Wanted) -> Result<Arc<dyn Provider>, ErrorBody> {
        let message = format!(
            "session {} cannot change to the credentials \"{}\"",
            wanted.session,
            wanted.credentials.name()
        );
        Err(ErrorBody::new(ErrorCode::Conflict, message).hint("open a new session"))
    }
}

/// Which session is to be built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The session.
    pub session: SessionId,
    /// Its workspace folder, which exists.
    pub workspace: AbsPath,
    /// The model reference; the default when absent.
    pub model: Option<String>,
    /// Whose credentials models are asked with; never unknown.
    pub credentials: Credentials,
}

/// What a session is built from.
#[derive(Debug)]
pub struct SessionParts {
    /// The model reference that is used.
    pub model: String,
    /// The system text for a new session; a session that is taken up again keeps the one in its log.
    pub system: String,
    /// The message before the first turn of a new session.
    pub context: String,
    /// How turns run.
    pub turn: TurnOptions,
    /// The configured rules; preset and grants are the session's.
    pub policy: Policy,
}

impl SessionParts {
    /// Gives how many tokens fit into the model's context window; `None` when nobody said.
    pub(crate) fn context_window(&self) -> Option<u64> {
        self.turn.model.context_window
    }

    /// Gives the policy in force under a posture.
    pub(crate) fn policy(&self, posture: &Posture) -> Policy {
        Policy {
            preset: posture.preset,
            grants: posture.grants.clone(),
            ..self.policy.clone()
        }
    }

    /// Makes the future that runs a turn.
    pub(crate) fn run(
        &self,
        plan: TurnPlan,
        port: Arc<dyn SessionPort>,
        scope: &Scope,
    ) -> impl Future<Output = ()> + use<> {
        let TurnPlan {
            messages,
            next_item,
            max_steps,
            ..
        } = plan;
        let input = TurnInput {
            messages,
            next_item,
            max_steps,
        };
        agent_loop::run_turn(self.turn.clone(), input, port, scope.clone())
    }

    /// Ends what tools left running.
    pub(crate) async fn close(&self) {
        self.turn.tools.shell.sandbox.close().await;
    }
}

//! What a turn is made from.

use std::{fmt, sync::Arc};

use conversation::{Message, ToolSpec, UserMessage};
use provider::{Price, Provider};
use tools::{Registry, ToolContext};

/// Everything that stays the same over the turns of a session. Cheap to clone.
#[derive(Clone)]
pub struct TurnOptions {
    /// Where requests go.
    pub provider: Arc<dyn Provider>,
    /// Which model, and how it is asked.
    pub model: ModelOptions,
    /// The tools.
    pub registry: Arc<Registry>,
    /// What tools are given; access is widened or narrowed for each call.
    pub tools: ToolContext,
    /// The system text.
    pub(crate) system: Arc<str>,
    /// The message before the first turn.
    pub(crate) context: Message,
    /// The tools as the model sees them.
    pub(crate) specs: Arc<[ToolSpec]>,
}

/// Which model, and how it is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelOptions {
    /// The vendor's name of the model.
    pub name: String,
    /// The sampling temperature; `None` leaves it to the vendor.
    pub temperature: Option<f64>,
    /// The limit of an answer's tokens; `None` leaves it to the vendor.
    pub max_tokens: Option<u64>,
    /// How many tokens fit into its context window; `None` when nobody said.
    pub context_window: Option<u64>,
    /// What it costs; `None` when nobody said.
    pub price: Option<Price>,
}

impl TurnOptions {
    /// States what turns are made from. `system` and `context` are the fixed prefix of every request.
    #[must_use]
    pub fn new(
        provider: Arc<dyn Provider>,
        model: ModelOptions,
        registry: Arc<Registry>,
        tools: ToolContext,
        system: &str,
        context: &str,
    ) -> Self {
        let specs = registry.schemas().into();
        let mut options = Self {
            provider,
            model,
            registry,
            tools,
            system: "".into(),
            context: user(""),
            specs,
        };
        options.set_prefix(system, context);
        options
    }

    /// Replaces the fixed prefix, for a session that already has one.
    pub fn set_prefix(&mut self, system: &str, context: &str) {
        self.system = system.into();
        self.context = user(context);
    }
}

impl fmt::Debug for TurnOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnOptions")
            .field("provider", &self.provider)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

fn user(text: &str) -> Message {
    Message::User(UserMessage {
        text: text.to_owned(),
    })
}

/// What is particular to one turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnInput {
    /// The conversation so far, the request of this turn last.
    pub messages: Vec<Message>,
    /// The number of the next streamed message.
    pub next_item: u64,
    /// Pause after this many tool rounds; 0 means no limit.
    pub max_steps: u32,
}

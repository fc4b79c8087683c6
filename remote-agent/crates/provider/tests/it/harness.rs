//! What the tests share.

use std::time::Duration;

use conversation::{Finish, Message, ToolSpec, UserMessage};
use futures_util::StreamExt as _;
use provider::{Call, Error, Options, Policy, Provider, Request, StreamItem};
use scripted_model::{Scenario, ScriptedModel};
use serde_json::json;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Long enough for any loaded machine; it only keeps a broken test from hanging.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// Options that wait next to nothing between attempts.
pub(crate) fn options(base_url: &str) -> Options {
    let mut options = Options::new("test", base_url);
    options.retry = Policy {
        first_wait: Duration::from_millis(1),
        ..Policy::default()
    };
    options
}

pub(crate) async fn start(scenario: Scenario) -> (ScriptedModel, Arc<dyn Provider>) {
    let model = ScriptedModel::start(scenario).await.unwrap();
    let provider = provider::build("openai", options(&model.base_url())).unwrap();
    (model, provider)
}

pub(crate) fn user(text: &str) -> Message {
    Message::User(UserMessage {
        text: text.to_owned(),
    })
}

pub(crate) fn tools() -> Vec<ToolSpec> {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    vec![ToolSpec {
        name: "ls".to_owned(),
        description: "Lists a folder.".to_owned(),
        schema,
    }]
}

/// Everything that a stream gave.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) items: Vec<StreamItem>,
    pub(crate) error: Option<Error>,
}

impl Answer {
    /// Gives the items after the last retry.
    fn valid(&self) -> &[StreamItem] {
        let from = self
            .items
            .iter()
            .rposition(|item| matches!(item, StreamItem::Retrying { .. }));
        &self.items[from.map_or(0, |at| at + 1)..]
    }

    pub(crate) fn text(&self) -> String {
        self.valid()
            .iter()
            .filter_map(|item| {
                if let StreamItem::Text(text) = item {
                    Some(text.as_str())
                } else {
                    None
                }
            })
            .collect()
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.valid()
            .iter()
            .filter_map(|item| {
                if let StreamItem::Call(call) = item {
                    Some(call.clone())
                } else {
                    None
                }
            })
            .collect()
    }

    pub(crate) fn retries(&self) -> usize {
        self.items
            .iter()
            .filter(|item| matches!(item, StreamItem::Retrying { .. }))
            .count()
    }

    pub(crate) fn finish(&self) -> Option<Finish> {
        if let Some(StreamItem::Finish(finish)) = self.items.last() {
            Some(*finish)
        } else {
            None
        }
    }
}

pub(crate) async fn ask(provider: &dyn Provider, messages: &[Message]) -> Answer {
    ask_until(provider, messages, &CancellationToken::new()).await
}

pub(crate) async fn ask_until(
    provider: &dyn Provider,
    messages: &[Message],
    cancel: &CancellationToken,
) -> Answer {
    let tools = tools();
    let request = Request {
        model: "m",
        system: "be brief",
        tools: &tools,
        messages,
        temperature: None,
        max_tokens: None,
    };
    let mut stream = provider.stream(&request, cancel);
    let mut answer = Answer {
        items: Vec::new(),
        error: None,
    };
    while let Some(item) = tokio::time::timeout(DEADLINE, stream.next()).await.unwrap() {
        assert!(
            answer.error.is_none() && answer.finish().is_none(),
            "the stream goes on after its end: {item:?}"
        );
        match item {
            Ok(item) => answer.items.push(item),
            Err(error) => answer.error = Some(error),
        }
    }
    assert!(
        answer.error.is_some() || answer.finish().is_some(),
        "the stream ended without an end: {answer:?}"
    );
    answer
}

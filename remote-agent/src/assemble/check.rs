//! Asks a model for a word, to see whether it can be asked at all.

use std::time::Duration;

use conversation::{FailureKind, Message, UserMessage};
use futures_util::StreamExt as _;
use protocol::ErrorBody;
use provider::{Policy, Request};
use settings::{EnvFile, Sources};
use stdx::task::Scope;

use super::model;

/// How long the answer may take; a local model may have to be loaded first.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why a model cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelTrouble {
    /// What happened, in words.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
    /// Whether the key is missing, was refused, or has no credit.
    pub is_access: bool,
}

impl From<ErrorBody> for ModelTrouble {
    fn from(error: ErrorBody) -> Self {
        Self {
            message: error.message,
            hint: error.hint,
            is_access: false,
        }
    }
}

/// Asks the model of the settings, or `wanted`, for a short answer, once. Gives its `provider/model` name.
///
/// # Errors
/// [`ModelTrouble`] in words: settings that make no request, a key that is refused, a name that is not found.
pub async fn check_model(sources: &Sources, wanted: Option<&str>) -> Result<String, ModelTrouble> {
    let trouble = |message: String| ModelTrouble {
        message,
        hint: None,
        is_access: false,
    };
    let loaded = settings::load(sources).map_err(|error| trouble(error.to_string()))?;
    let file = sources
        .home
        .as_deref()
        .unwrap_or_else(|| ".".as_ref())
        .join(".env");
    let keys = EnvFile::load(&file).map_err(|error| trouble(error.to_string()))?;
    let once = Policy {
        attempts: 1,
        ..Policy::default()
    };
    let chosen = model::choose_with(&loaded, wanted, model::Access::Keys(keys), once)?;
    let question = Message::User(UserMessage {
        text: "Answer with the word ok.".to_owned(),
    });
    let request = Request {
        model: &chosen.options.name,
        system: "You are being tested for a connection.",
        tools: &[],
        messages: &[question],
        temperature: chosen.options.temperature,
        max_tokens: chosen.options.max_tokens,
    };
    let scope = Scope::root("model check");
    let mut items = chosen.provider.stream(&request, scope.token());
    let answer = async {
        // The first piece of an answer shows all there is to see.
        items.next().await.transpose()
    };
    match tokio::time::timeout(PATIENCE, answer).await {
        Ok(Ok(Some(_))) => Ok(chosen.reference),
        Ok(Ok(None)) => Err(trouble(format!("{} answered nothing", chosen.reference))),
        Ok(Err(error)) => {
            let failure = error.failure();
            Err(ModelTrouble {
                is_access: failure.kind == FailureKind::ModelAccess,
                message: failure.message,
                hint: failure.hint,
            })
        }
        Err(_elapsed) => Err(trouble(format!(
            "{} did not answer within {} s",
            chosen.reference,
            PATIENCE.as_secs()
        ))),
    }
}

//! Questions of a turn without a screen: asked at the terminal, else refused, or left to the model, and said so.

use protocol::{Answer, OpenPrompt, PromptCommand, PromptId, PromptKind};
use tokio::sync::oneshot;

use super::inquiry;
use crate::{ask::visible, terminal};

/// An answer that is to be sent.
#[derive(Debug)]
pub(crate) struct Answered {
    /// The command that carries it.
    pub(crate) command: PromptCommand,
}

/// The question that is being asked, and those that were.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    asking: Option<(PromptId, oneshot::Receiver<PromptCommand>)>,
    last: u64,
}

impl Questions {
    /// Asks the first question that was not asked yet, unless one is being asked.
    pub(crate) fn keep(&mut self, open: &[OpenPrompt]) {
        if self.asking.is_some() {
            return;
        }
        let Some(prompt) = open.iter().find(|prompt| prompt.id.0 > self.last) else {
            return;
        };
        self.last = prompt.id.0;
        let (reply, answer) = oneshot::channel();
        self.asking = Some((prompt.id, answer));
        if !terminal::can_ask() {
            terminal::error(&unasked(prompt));
            // The receiver is in `self.asking`.
            drop(reply.send(without_asking(prompt)));
            return;
        }
        let prompt = prompt.clone();
        // Reading the terminal cannot be interrupted, so it gets a thread that ends with the process.
        drop(
            std::thread::Builder::new()
                .name("question".to_owned())
                .spawn(move || {
                    // The question may have been answered elsewhere meanwhile.
                    drop(reply.send(asked(&prompt)));
                }),
        );
    }

    /// Waits for the answer to the question that is being asked; for ever when none is.
    pub(crate) async fn answered(&mut self) -> Answered {
        let Some((prompt, answer)) = &mut self.asking else {
            return std::future::pending().await;
        };
        let refused = PromptCommand::Answer {
            prompt: *prompt,
            answer: Answer::Deny,
        };
        let command = answer.await.unwrap_or(refused);
        self.asking = None;
        Answered { command }
    }
}

/// Says what becomes of a question that nobody is asked.
fn unasked(prompt: &OpenPrompt) -> String {
    if let PromptKind::Question { questions } = &prompt.kind {
        let asked = inquiry::one_line(questions);
        return format!("not answered: {asked} (nobody can be asked here, the model decides)");
    }
    let what = stdx::bounded::one_line(&visible(&prompt.subject), 200);
    format!(
        "denied: {} {what} needs approval ({}) and nobody can be asked here",
        prompt.tool, prompt.reason
    )
}

/// Answers where nobody can be asked.
fn without_asking(prompt: &OpenPrompt) -> PromptCommand {
    let answer = match prompt.kind {
        PromptKind::Question { .. } => Answer::Nobody,
        PromptKind::Approval | PromptKind::Unknown => Answer::Deny,
    };
    let prompt = prompt.id;
    PromptCommand::Answer { prompt, answer }
}

/// Asks at the terminal.
fn asked(prompt: &OpenPrompt) -> PromptCommand {
    let id = prompt.id;
    let answer = match &prompt.kind {
        PromptKind::Question { questions } => match inquiry::put(questions, terminal::ask) {
            Some(replies) => return PromptCommand::Reply { prompt: id, replies },
            None => Answer::Deny,
        },
        PromptKind::Approval => approval(&question(prompt)),
        PromptKind::Unknown => Answer::Deny,
    };
    PromptCommand::Answer { prompt: id, answer }
}

fn approval(question: &str) -> Answer {
    match terminal::ask(question)
        .map(|answer| answer.to_ascii_lowercase())
        .as_deref()
    {
        Some("y" | "yes") => Answer::AllowOnce,
        Some("a" | "always") => Answer::AllowSession,
        _ => Answer::Deny,
    }
}

fn question(prompt: &OpenPrompt) -> String {
    let scope = prompt
        .scope
        .as_ref()
        .map(|scope| format!(", [a]lways in this session ({})", visible(scope)));
    format!(
        "\n{} wants to run:\n  {}\n{}\nAllow? [y]es once{}, [N]o",
        prompt.tool,
        visible(&prompt.subject).replace('\n', "\n  "),
        prompt.reason,
        scope.unwrap_or_default()
    )
}

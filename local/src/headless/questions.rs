//! Questions of a turn without a screen: asked at the terminal, else refused and said so.

use protocol::{Answer, OpenPrompt, PromptCommand, PromptId};
use tokio::sync::oneshot;

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
    asking: Option<(PromptId, oneshot::Receiver<Answer>)>,
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
            let what = stdx::bounded::one_line(&visible(&prompt.subject), 200);
            terminal::error(&format!(
                "denied: {} {what} needs approval ({}) and nobody can be asked here",
                prompt.tool, prompt.reason
            ));
            // The receiver is in `self.asking`.
            let _ = reply.send(Answer::Deny);
            return;
        }
        let text = question(prompt);
        // Reading the terminal cannot be interrupted, so it gets a thread that ends with the process.
        drop(
            std::thread::Builder::new()
                .name("question".to_owned())
                .spawn(move || {
                    let answer = match terminal::ask(&text)
                        .map(|answer| answer.to_ascii_lowercase())
                        .as_deref()
                    {
                        Some("y" | "yes") => Answer::AllowOnce,
                        Some("a" | "always") => Answer::AllowSession,
                        _ => Answer::Deny,
                    };
                    // The question may have been answered elsewhere meanwhile.
                    let _ = reply.send(answer);
                }),
        );
    }

    /// Waits for the answer to the question that is being asked; for ever when none is.
    pub(crate) async fn answered(&mut self) -> Answered {
        let Some((prompt, answer)) = &mut self.asking else {
            return std::future::pending().await;
        };
        let (prompt, answer) = (*prompt, answer.await.unwrap_or(Answer::Deny));
        self.asking = None;
        Answered {
            command: PromptCommand::Answer { prompt, answer },
        }
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

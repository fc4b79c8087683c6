//! Questions of the link, asked on the terminal; without one they are refused.

use std::sync::{Arc, Mutex, PoisonError};

use link::{Answer, HostKeyAnswer, HostKeyQuestion, Prompter, SecretKind, SecretQuestion};
use stdx::Secret;

use crate::{exit::Exit, headless::Signals, report::Failure, terminal};

/// Gives who answers: the person at the terminal, or nobody.
pub(crate) fn prompter() -> Arc<dyn Prompter> {
    if terminal::can_ask() {
        Arc::new(AtTerminal)
    } else {
        Arc::new(Unattended)
    }
}

/// Answers nothing, but passes on what is said: somebody may read it, such as that a security key waits to be touched.
struct Unattended;

impl Prompter for Unattended {
    fn notice(&self, text: &str) {
        terminal::error(&visible(text));
    }

    fn banner(&self, host: &str, text: &str) {
        terminal::error(&said_by(host, text));
    }
}

/// Passes questions to whoever answers now: the terminal until the screen is there, the screen from then on.
pub(crate) struct Handover(Mutex<Arc<dyn Prompter>>);

impl Handover {
    /// Starts with the one who answers first.
    pub(crate) fn new(first: Arc<dyn Prompter>) -> Self {
        Self(Mutex::new(first))
    }

    /// Lets somebody else answer from now on.
    pub(crate) fn hand_over(&self, next: Arc<dyn Prompter>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = next;
    }

    fn now(&self) -> Arc<dyn Prompter> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Prompter for Handover {
    fn host_key<'a>(&'a self, question: &'a HostKeyQuestion) -> Answer<'a, HostKeyAnswer> {
        let now = self.now();
        Box::pin(async move { now.host_key(question).await })
    }

    fn secret<'a>(&'a self, question: &'a SecretQuestion) -> Answer<'a, Option<Secret>> {
        let now = self.now();
        Box::pin(async move { now.secret(question).await })
    }

    fn confirm<'a>(&'a self, question: &'a str) -> Answer<'a, bool> {
        let now = self.now();
        Box::pin(async move { now.confirm(question).await })
    }

    fn notice(&self, text: &str) {
        self.now().notice(text);
    }

    fn banner(&self, host: &str, text: &str) {
        self.now().banner(host, text);
    }
}

/// Asks on standard error and reads from the terminal.
struct AtTerminal;

impl Prompter for AtTerminal {
    fn host_key<'a>(&'a self, question: &'a HostKeyQuestion) -> Answer<'a, HostKeyAnswer> {
        let mut text = format!(
            "The host {} is not known.\nIts {} key is {}.\n",
            visible(&named(question)),
            visible(&question.algorithm),
            visible(&question.fingerprint)
        );
        for known in &question.known_otherwise {
            let place = format!("{}:{}", known.file.display(), known.line);
            text.push_str(&format!(
                "Careful: it is known by another key, {} {} ({place}).\n",
                known.algorithm, known.fingerprint
            ));
        }
        text.push_str("Trust it? [y]es and remember, [o]nce, [N]o");
        Box::pin(async move {
            match on_terminal(text).await.as_deref() {
                Some("y" | "yes") => HostKeyAnswer::Remember,
                Some("o" | "once") => HostKeyAnswer::Once,
                _ => HostKeyAnswer::Refuse,
            }
        })
    }

    fn secret<'a>(&'a self, question: &'a SecretQuestion) -> Answer<'a, Option<Secret>> {
        let label = label(question);
        let (echo, instructions) = (question.echo, visible(&question.instructions));
        Box::pin(async move {
            if !instructions.trim().is_empty() {
                terminal::error(&instructions);
            }
            if echo {
                return stdx::task::blocking(move || terminal::ask(&label))
                    .await
                    .map(Secret::new);
            }
            stdx::task::blocking(move || rpassword::prompt_password(label).ok())
                .await
                .map(Secret::new)
        })
    }

    fn confirm<'a>(&'a self, question: &'a str) -> Answer<'a, bool> {
        let text = format!("{} [y/N]", visible(question));
        Box::pin(async move { matches!(on_terminal(text).await.as_deref(), Some("y" | "yes")) })
    }

    fn notice(&self, text: &str) {
        terminal::error(&visible(text));
    }

    fn banner(&self, host: &str, text: &str) {
        terminal::error(&said_by(host, text));
    }
}

/// Gives the person's name for a host, and the name by which known-hosts files list it where that is another one.
fn named(question: &HostKeyQuestion) -> String {
    if question.host == question.listed_as {
        question.host.clone()
    } else {
        format!("{} ({})", question.host, question.listed_as)
    }
}

/// Gives what stands before the answer. A host's own question names the host, since it could read like one of ours.
fn label(question: &SecretQuestion) -> String {
    let asked = visible(question.label.trim_end_matches([' ', ':']));
    let again = question.round > 1;
    match question.kind {
        // A host may ask for several things one after the other.
        SecretKind::Challenge => {
            let again = if again { " again" } else { "" };
            format!("{} asks{again}: {asked}: ", visible(&question.host))
        }
        SecretKind::Password | SecretKind::Passphrase { .. } => {
            let wrong = if again { "That was wrong; again. " } else { "" };
            format!("{wrong}{asked}: ")
        }
    }
}

async fn on_terminal(text: String) -> Option<String> {
    let answer = stdx::task::blocking(move || terminal::ask(&text)).await?;
    Some(answer.to_ascii_lowercase())
}

/// Lets a person be asked several things: Ctrl-C ends it, and the terminal is left as it was found.
pub(crate) async fn with_person<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let mut signals = Signals::new()?;
    let modes = terminal::Modes::now();
    tokio::select! {
        biased;
        _signal = signals.next() => {
            // The question may have hidden what is typed.
            modes.restore();
            terminal::error("");
            Err(given_up())
        }
        outcome = work => outcome,
    }
}

/// Asks for a line; it may be empty.
pub(crate) async fn line(question: &str) -> Result<String, Failure> {
    let question = format!("{question}:");
    stdx::task::blocking(move || terminal::ask(&question))
        .await
        .ok_or_else(given_up)
}

/// Asks for something that is not shown while it is typed.
pub(crate) async fn hidden(label: &str) -> Result<Secret, Failure> {
    let label = format!("{label}: ");
    stdx::task::blocking(move || rpassword::prompt_password(label).ok())
        .await
        .map(Secret::new)
        .ok_or_else(given_up)
}

/// Asks until something is typed.
pub(crate) async fn needed(question: &str) -> Result<String, Failure> {
    loop {
        let answer = line(question).await?;
        if !answer.is_empty() {
            return Ok(answer);
        }
    }
}

/// Asks a question to which an empty line says yes.
pub(crate) async fn yes(question: &str) -> Result<bool, Failure> {
    let answer = line(&format!("{question} [Y/n]")).await?;
    Ok(matches!(answer.to_ascii_lowercase().as_str(), "" | "y" | "yes"))
}

/// Asks for a line; an empty one means the default.
pub(crate) async fn or_default(question: &str, default: &str) -> Result<String, Failure> {
    let answer = line(&format!("{question} [{default}]")).await?;
    Ok(if answer.is_empty() {
        default.to_owned()
    } else {
        answer
    })
}

fn given_up() -> Failure {
    Failure::new(Exit::Interrupted, "interrupted; nothing more was changed")
}

/// Puts the host's name before each line of what it says: a line could read like one of ours.
fn said_by(host: &str, text: &str) -> String {
    let text = visible(text.trim_end());
    let lines = text.split('\n').map(|line| format!("{}: {line}", visible(host)));
    lines.collect::<Vec<_>>().join("\n")
}

/// Makes a host's text safe to show: no control character but line end and tab reaches the terminal, and nothing that
/// shows text in another order than it has, such as a command in a question.
pub(crate) fn visible(text: &str) -> String {
    let steers = |c: char| match c {
        '\n' | '\t' => false,
        // Embeddings, overrides and isolates of the Unicode bidirectional algorithm (UAX #9).
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        c => c.is_control(),
    };
    text.chars()
        .map(|c| if steers(c) { '\u{fffd}' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_of_a_host_cannot_pass_for_one_of_ours() {
        let question = SecretQuestion {
            kind: SecretKind::Challenge,
            host: "lab".to_owned(),
            label: "Passphrase for /home/me/.ssh/id_ed25519:\r ".to_owned(),
            instructions: String::new(),
            echo: false,
            round: 2,
        };
        assert_eq!(
            label(&question),
            "lab asks again: Passphrase for /home/me/.ssh/id_ed25519:\u{fffd}: "
        );
        let ours = SecretQuestion {
            kind: SecretKind::Password,
            label: "Password of me on lab".to_owned(),
            round: 1,
            ..question
        };
        assert_eq!(label(&ours), "Password of me on lab: ");
        let wrong = SecretQuestion { round: 2, ..ours };
        assert_eq!(label(&wrong), "That was wrong; again. Password of me on lab: ");
    }

    #[test]
    fn a_banner_cannot_pass_for_a_message_of_ours() {
        assert_eq!(
            said_by("lab", "Welcome\r\nerror: fake\n"),
            "lab: Welcome\u{fffd}\nlab: error: fake"
        );
    }

    #[test]
    fn a_host_cannot_steer_the_terminal() {
        assert_eq!(
            super::visible("a\x1b[2Jb\r\nc\u{9b}d"),
            "a\u{fffd}[2Jb\u{fffd}\nc\u{fffd}d"
        );
        assert_eq!(
            super::visible("rm \u{202e}txt.a\u{2066}"),
            "rm \u{fffd}txt.a\u{fffd}"
        );
    }
}

//! Keyboard-interactive authentication (RFC 4256): rounds of questions that the host asks.

use russh::client::{KeyboardInteractiveAuthResponse as Response, Prompt};
use stdx::Secret;

use crate::{
    Error, ErrorKind, Login, SecretKind, SecretQuestion,
    auth::{Context, Tried},
};

/// A host that asks more often than this in one attempt is not after answers.
const MAX_REQUESTS: u32 = 20;

/// Plays one attempt to its end. Rounds without questions are answered with nothing, as the RFC wants.
pub(super) async fn try_once(
    cx: &mut Context<'_>,
    failed_before: u32,
    login: &mut Login,
) -> Result<Tried, Error> {
    let (user, asker) = (cx.user().to_owned(), cx.asker.clone());
    let mut response = asker
        .answered(cx.handle.authenticate_keyboard_interactive_start(user, None))
        .await;
    let (mut noted, mut asked) = (false, false);
    for _ in 0..MAX_REQUESTS {
        let (instructions, prompts) = match response {
            Ok(Ok(Response::Success)) => return Ok(Tried::Success),
            Ok(Ok(Response::Failure {
                remaining_methods,
                partial_success: true,
            })) => return Ok(Tried::Partial(remaining_methods)),
            Ok(Ok(Response::Failure {
                remaining_methods,
                partial_success: false,
            })) => {
                if !asked && !remaining_methods.is_empty() {
                    // Nothing was asked, so asking again would only use up the host's patience (as OpenSSH).
                    return Ok(Tried::Exhausted);
                }
                return Ok(Tried::Failure(remaining_methods));
            }
            Ok(Ok(Response::InfoRequest {
                name,
                instructions,
                prompts,
            })) => (format!("{name}\n{instructions}").trim().to_owned(), prompts),
            Ok(Err(_)) => return Err(cx.lost().await),
            Err(_) => return Err(cx.silent()),
        };
        asked = true;
        if prompts.is_empty() && !instructions.is_empty() {
            asker.banner(&cx.resolved.alias, &instructions);
        }
        let mut answers = Vec::new();
        for prompt in &prompts {
            login.one_time_factor = true;
            match answer(cx, prompt, &instructions, failed_before).await {
                Some(text) => answers.push(text.expose().to_owned()),
                None => {
                    let label = stdx::bounded::one_line(&prompt.prompt, 80);
                    // The host waits for this answer and for nothing else.
                    return Ok(Tried::Unanswered(format!("an answer to {label:?}")));
                }
            }
            if !noted {
                cx.offered.push("answers to the host's questions".into());
                noted = true;
            }
        }
        response = asker
            .answered(cx.handle.authenticate_keyboard_interactive_respond(answers))
            .await;
    }
    Err(cx.error(
        ErrorKind::Protocol,
        format!("the host asked more than {MAX_REQUESTS} times in one attempt"),
    ))
}

async fn answer(cx: &Context<'_>, prompt: &Prompt, instructions: &str, failed_before: u32) -> Option<Secret> {
    let question = SecretQuestion {
        kind: SecretKind::Challenge,
        host: cx.resolved.alias.clone(),
        label: prompt.prompt.clone(),
        instructions: instructions.to_owned(),
        echo: prompt.echo,
        round: failed_before + 1,
    };
    cx.asker.secret(&question).await
}

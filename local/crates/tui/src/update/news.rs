//! What the agent, the link and the link's questions tell.

use link::{BrokerState, LinkState};
use protocol::{Event, Frame, PromptEvent, PromptKind, SessionEvent, TurnEvent};

use super::{decisions, open};
use crate::{
    Question,
    effects::Effect,
    model::Model,
    msg::{SessionMsg, SessionNews},
    overlays::{Approval, Ask, Cause, Confirm, HostKeyDialog, Overlay, SecretDialog, sentence},
    panes::transcript::Level,
    session::Stage,
};

/// Takes news of a session.
pub(super) fn session(model: &mut Model, msg: SessionMsg) -> Vec<Effect> {
    if msg.session != model.session.id() {
        return Vec::new();
    }
    let now = model.screen.now;
    let asked_again = model
        .session
        .is_open()
        .then_some(model.session.snapshot.asked_again);
    match msg.news {
        SessionNews::Replaced(snapshot) => {
            model.session.replace(*snapshot, now);
            model.transcript.replace(&model.session.snapshot);
            folded(model, asked_again);
        }
        SessionNews::Frame(frame) => {
            if let Frame::Event(envelope) = &*frame {
                event(model, &envelope.event);
            }
            if !model.session.apply(&frame, now) {
                return vec![super::follow(model)];
            }
            model.transcript.apply(&model.session.snapshot, &frame);
            folded(model, asked_again);
        }
        SessionNews::Interrupted(error) => tracing::debug!(%error, "the session's stream broke off"),
        SessionNews::Closed => {
            model.session.stage = Stage::Over;
            model.notice(
                Level::Info,
                "The session was closed. What you send next begins a new one.",
            );
        }
        SessionNews::Failed(error) => {
            model.session.stage = Stage::Over;
            let cause = Cause::Session(error);
            decisions::fail(model, cause);
        }
    }
    Vec::new()
}

/// Sees to what follows from a new state. `asked_again` is the count before, where this screen had one.
fn folded(model: &mut Model, asked_again: Option<u64>) {
    let (session, at) = (model.session.id(), model.session.snapshot.at);
    model.outbox.folded(session, at);
    if asked_again.is_some_and(|before| model.session.snapshot.asked_again > before) {
        model.notice(
            Level::Warning,
            "The model was asked once more: the machine with the key had gone away before its answer was whole.",
        );
    }
    sync_prompts(model);
}

/// Sees to what an event means beside the state.
fn event(model: &mut Model, event: &Event) {
    match event {
        Event::Turn(TurnEvent::Submitted { command, .. }) => model.outbox.arrived(*command),
        Event::Session(SessionEvent::CommandIgnored { command, reason })
            if model.outbox.is_ours(*command) =>
        {
            model.notice(Level::Warning, sentence(&richtext::safe_line(reason)));
        }
        Event::Prompt(PromptEvent::Answered {
            prompt,
            answer,
            command,
            ..
        }) => {
            let shown = model
                .overlays
                .iter()
                .any(|overlay| overlay.prompt() == Some(*prompt));
            if shown && !model.outbox.is_ours(*command) {
                let words = decisions::in_words(*answer);
                model.notice(
                    Level::Info,
                    format!("The question was answered from elsewhere: {words}."),
                );
            }
        }
        Event::Prompt(PromptEvent::Withdrawn { prompt, reason }) => {
            let shown = model
                .overlays
                .iter()
                .any(|overlay| overlay.prompt() == Some(*prompt));
            if shown && model.session.stopping.is_none() {
                let reason = richtext::safe_line(reason);
                model.notice(Level::Info, format!("The question was withdrawn: {reason}"));
            }
        }
        _ => {}
    }
}

/// Shows a dialog for each open question that was not answered here, and no others.
pub(super) fn sync_prompts(model: &mut Model) {
    let now = model.screen.now;
    let (session, overlays) = (&model.session, &mut model.overlays);
    let wanted: Vec<_> = session
        .snapshot
        .prompts
        .iter()
        .filter(|prompt| !session.answered.contains(&prompt.id))
        .collect();
    let is_wanted = |overlay: &Overlay| match overlay.prompt() {
        Some(id) => wanted.iter().any(|prompt| prompt.id == id),
        None => true,
    };
    overlays.retain(is_wanted, now);
    for prompt in wanted {
        if overlays.iter().any(|overlay| overlay.prompt() == Some(prompt.id)) {
            continue;
        }
        let overlay = match &prompt.kind {
            PromptKind::Question { .. } => Overlay::Ask(Ask::new(prompt.clone())),
            PromptKind::Approval | PromptKind::Unknown => Overlay::Approval(Approval::new(prompt.clone())),
        };
        overlays.push_behind(overlay, now);
    }
}

/// Takes a state of the link.
pub(super) fn link(model: &mut Model, state: LinkState) -> Vec<Effect> {
    let now = model.screen.now;
    let failed_before = matches!(model.link.state, LinkState::Failed(_));
    model.link.state = state;
    model.overlays.drop_moot(now);
    match &model.link.state {
        LinkState::Failed(error) => {
            let cause = Cause::Link(error.clone());
            decisions::fail(model, cause);
        }
        _ if failed_before => {
            let about_link =
                |overlay: &Overlay| matches!(overlay, Overlay::Failure(dialog) if dialog.is_about_link());
            model.overlays.retain(|overlay| !about_link(overlay), now);
        }
        _ => {}
    }
    if !model.link.state.is_live() {
        return Vec::new();
    }
    model.link.was_live = true;
    let picking = |overlay: &Overlay| matches!(overlay, Overlay::Sessions(_));
    if model.picks && model.session.stage == Stage::Unasked && !model.overlays.iter().any(picking) {
        return vec![Effect::ListSessions];
    }
    Vec::new()
}

/// Takes what goes on with requests that are made here. What a person should know of stays in the transcript.
pub(super) fn broker(model: &mut Model, state: BrokerState) {
    let before = model.link.broker.replace(state.clone()).unwrap_or_default();
    if let Some(refusal) = state.refusal.filter(|_| state.refused > before.refused) {
        let text = format!("Not asked for {}: {refusal}. {}.", model.host(), refusal.hint);
        model.notice(Level::Warning, text);
    }
}

/// Takes a question of the link.
pub(super) fn question(model: &mut Model, question: Question) {
    let overlay = match question {
        Question::HostKey(question, answer) => Overlay::HostKey(HostKeyDialog::new(question, answer)),
        Question::Secret(question, answer) => Overlay::Secret(SecretDialog::new(question, answer)),
        Question::Confirm(text, answer) => Overlay::Confirm(Confirm::link(text, answer)),
        Question::Notice(text) => {
            let text = richtext::sanitize(&text).trim().to_owned();
            let host = model.host().to_owned();
            if !text.is_empty() {
                model.notice(Level::Info, format!("{host} says:\n{text}"));
            }
            return;
        }
    };
    open(model, overlay);
}

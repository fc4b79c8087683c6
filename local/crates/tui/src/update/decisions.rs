//! What a person decided, in a dialog or by a key.

use protocol::{
    Answer, Command, OpenSession, Preset, PromptCommand, PromptId, SessionCommand, SessionId, SessionInfo,
    TurnCommand, TurnId,
};

use super::{follow, is_worth_a_word, keys::confirm_leaving, open};
use crate::{
    Why,
    effects::Effect,
    model::Model,
    overlays::{
        Cause, Confirm, Decision, Overlay,
        picker::{Picker, Row},
        sentence,
    },
    panes::transcript::{Level, Transcript},
    session::{Session, Stage},
    session_task::Wanted,
};

/// Does what was decided in a dialog.
pub(super) fn decided(model: &mut Model, decision: Decision) -> Vec<Effect> {
    match decision {
        Decision::Answer(prompt, answer) => {
            answer_prompt(model, prompt, PromptCommand::Answer { prompt, answer });
            Vec::new()
        }
        Decision::Reply(prompt, replies) => {
            answer_prompt(model, prompt, PromptCommand::Reply { prompt, replies });
            Vec::new()
        }
        Decision::Preset(preset) => set_preset(model, preset),
        Decision::Session(session) => show(model, Session::new(Wanted::existing(session))),
        Decision::NewSession => new_session(model),
        Decision::RetrySession => vec![follow(model)],
        Decision::RetryLink => vec![Effect::Retry],
        Decision::Ports(ask) => super::ports::ask(model, ask),
        Decision::Leave => match model.link.state.cause() {
            Some(cause) if matches!(model.link.state, link::LinkState::Failed(_)) => {
                vec![Effect::Quit(Why::Failed(cause.clone()))]
            }
            _ => quit(),
        },
    }
}

fn answer_prompt(model: &mut Model, prompt: PromptId, command: PromptCommand) {
    model.session.answered.insert(prompt);
    model.outbox.push(model.session.id(), Command::Prompt(command));
}

/// Sends what was typed.
pub(super) fn submit(model: &mut Model, text: String) -> Vec<Effect> {
    let mut effects = Vec::new();
    match model.session.stage {
        Stage::Unasked => {
            model.picks = false;
            effects.push(follow(model));
        }
        Stage::Over => {
            effects.extend(new_session(model));
            model.notice(Level::Info, "The session of before is over; this is a new one.");
        }
        Stage::Asked | Stage::Open => {}
    }
    let submit = TurnCommand::Submit { text, max_steps: 0 };
    model.outbox.push(model.session.id(), Command::Turn(submit));
    model
        .transcript
        .update(crate::panes::transcript::TranscriptMsg::Bottom);
    effects
}

/// Asks a turn to stop.
pub(super) fn cancel(model: &mut Model, turn: TurnId) {
    model.session.stopping = Some(turn);
    let cancel = TurnCommand::Cancel { turn };
    model.outbox.push(model.session.id(), Command::Turn(cancel));
}

/// Goes to the next preset.
pub(super) fn cycle_preset(model: &mut Model) -> Vec<Effect> {
    let next = match model.session.snapshot.session.preset {
        Preset::ReadOnly => Preset::WorkspaceWrite,
        Preset::WorkspaceWrite => Preset::DangerFullAccess,
        Preset::DangerFullAccess | Preset::Unknown => Preset::ReadOnly,
    };
    ask_preset(model, next)
}

/// Goes to full access, or back to the preset of before.
pub(super) fn toggle_full_access(model: &mut Model) -> Vec<Effect> {
    let next = match model.session.snapshot.session.preset {
        Preset::DangerFullAccess => model.safe_preset,
        safe => {
            model.safe_preset = safe;
            Preset::DangerFullAccess
        }
    };
    ask_preset(model, next)
}

/// Changes the preset; full access asks first.
pub(super) fn ask_preset(model: &mut Model, preset: Preset) -> Vec<Effect> {
    if preset != Preset::DangerFullAccess {
        return set_preset(model, preset);
    }
    let text = format!(
        "With full access, commands run on {} without the sandbox, and nothing asks before it changes or deletes \
         anything, except what a rule denies.",
        model.host()
    );
    let dialog = Confirm::screen(
        "Full access?",
        &text,
        "full access",
        Decision::Preset(Preset::DangerFullAccess),
    );
    open(model, Overlay::Confirm(dialog));
    Vec::new()
}

fn set_preset(model: &mut Model, preset: Preset) -> Vec<Effect> {
    let current = model.session.snapshot.session.preset;
    if current != Preset::DangerFullAccess {
        model.safe_preset = current;
    }
    let command = SessionCommand::SetPreset { preset };
    model.outbox.push(model.session.id(), Command::Session(command));
    Vec::new()
}

/// Shows another session. The one of before goes on where it is.
fn show(model: &mut Model, session: Session) -> Vec<Effect> {
    let now = model.screen.now;
    model.overlays.retain(|overlay| overlay.prompt().is_none(), now);
    model.picks = false;
    model.session = session;
    model.transcript = Transcript::new();
    let queued = model.outbox.queued(model.session.id());
    model.transcript.set_queued(&queued);
    model.screen.room = None;
    vec![follow(model)]
}

/// Shows a new session in the same workspace.
pub(super) fn new_session(model: &mut Model) -> Vec<Effect> {
    let head = &model.session.snapshot.session;
    let known = !head.workspace.is_empty();
    let workspace = if known {
        Some(head.workspace.clone())
    } else {
        model.session.wanted.open.workspace.clone()
    };
    let model_name = model.session.wanted.open.model.clone();
    let preset = match head.preset {
        _ if !known => model.session.wanted.open.preset,
        // A new session never begins with more than was asked for.
        Preset::DangerFullAccess | Preset::Unknown => None,
        preset => Some(preset),
    };
    let open = OpenSession {
        session: SessionId::fresh(),
        workspace,
        model: model_name,
        preset,
        credentials: None,
    };
    show(model, Session::new(Wanted::new_session(open)))
}

/// Shows the session that a command names.
pub(super) fn resume(model: &mut Model, session: SessionId) -> Vec<Effect> {
    show(model, Session::new(Wanted::existing(session)))
}

/// Lets the person pick a session.
pub(super) fn pick(model: &mut Model, sessions: &[SessionInfo]) -> Vec<Effect> {
    let rows: Vec<Row<SessionId>> = sessions.iter().map(row).collect();
    if rows.is_empty() {
        model.notice(Level::Info, format!("There are no sessions on {}.", model.host()));
        return do_not_pick(model);
    }
    open(model, Overlay::Sessions(Picker::new("Sessions", rows)));
    Vec::new()
}

fn row(info: &SessionInfo) -> Row<SessionId> {
    let title = match info.title.trim() {
        "" => "(nothing asked yet)",
        title => title,
    };
    let running = if info.phase.and_then(protocol::Phase::turn).is_some() {
        "working · "
    } else {
        ""
    };
    let changed = stdx::clock::rfc3339(info.changed_at);
    let changed = changed.get(..16).unwrap_or_default().replace('T', " ");
    Row {
        cells: vec![
            format!("{running}{title}"),
            info.workspace.clone(),
            format!("{changed} UTC"),
        ],
        value: info.session,
    }
}

/// Opens a new session where none was picked.
pub(super) fn do_not_pick(model: &mut Model) -> Vec<Effect> {
    model.picks = false;
    if model.session.stage == Stage::Unasked {
        return vec![follow(model)];
    }
    Vec::new()
}

/// Sees to what a dialog that went away leaves open.
pub(super) fn after_dialog(model: &mut Model) -> Vec<Effect> {
    let picking = model
        .overlays
        .iter()
        .any(|overlay| matches!(overlay, Overlay::Sessions(_)));
    if model.picks && !picking && model.session.stage == Stage::Unasked {
        return do_not_pick(model);
    }
    Vec::new()
}

/// Says what the agent refused, and gives typed text back.
pub(super) fn refused(model: &mut Model, command: Command, error: &client::Error) {
    let hint = error
        .hint()
        .map(|hint| format!("\nhint: {hint}"))
        .unwrap_or_default();
    match command {
        Command::Turn(TurnCommand::Submit { text, .. }) => {
            model.notice(
                Level::Error,
                format!("{}{hint}", sentence(&format!("not sent: {error}"))),
            );
            if model.composer.is_empty() {
                model.composer.set_draft(&text);
            } else {
                model.notice(Level::Info, text);
            }
        }
        Command::Prompt(PromptCommand::Answer { prompt, .. } | PromptCommand::Reply { prompt, .. }) => {
            let still_open = model
                .session
                .snapshot
                .prompts
                .iter()
                .any(|open| open.id == prompt);
            model.session.answered.remove(&prompt);
            if is_worth_a_word(!still_open, error) {
                model.notice(
                    Level::Warning,
                    sentence(&format!("the answer was not taken: {error}{hint}")),
                );
                super::news::sync_prompts(model);
            }
        }
        Command::Turn(TurnCommand::Cancel { .. }) => model.session.stopping = None,
        Command::Session(_) => {
            model.notice(Level::Warning, format!("{}{hint}", sentence(&error.to_string())));
        }
    }
}

/// Says in words what an answer permits.
pub(super) fn in_words(answer: Answer) -> &'static str {
    match answer {
        Answer::AllowOnce => "allowed once",
        Answer::AllowSession => "allowed for this session",
        Answer::Replied => "answered",
        Answer::Nobody => "left to the model, as nobody could be asked",
        Answer::Deny | Answer::Unknown => "refused",
    }
}

/// Leaves, and asks first when something would be left behind.
pub(super) fn leave(model: &mut Model) -> Vec<Effect> {
    let undelivered = model.outbox.undelivered();
    let mut left = Vec::new();
    if model.session.snapshot.phase.turn().is_some() {
        left.push(match &model.link.host {
            Some(host) => format!("A turn is still running on {host}, and goes on there."),
            None => "A turn is still running. It is interrupted when this program ends.".to_owned(),
        });
    }
    match undelivered {
        0 => {}
        1 => left.push("One request has not reached the agent and would be lost.".to_owned()),
        many => left.push(format!(
            "{many} requests have not reached the agent and would be lost."
        )),
    }
    if left.is_empty() {
        return quit();
    }
    if let Some(way_back) = model.way_back() {
        left.push(format!("Come back with: {way_back}"));
    }
    confirm_leaving(model, &left.join("\n"));
    Vec::new()
}

/// Leaves.
pub(super) fn quit() -> Vec<Effect> {
    vec![Effect::Quit(Why::Quit)]
}

/// Shows why the link or the session needs a person.
pub(super) fn fail(model: &mut Model, cause: Cause) {
    let now = model.screen.now;
    model
        .overlays
        .retain(|overlay| !matches!(overlay, Overlay::Failure(_)), now);
    open(model, Overlay::Failure(crate::overlays::Failure::new(cause)));
}

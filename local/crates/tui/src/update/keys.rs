//! Keys, pastes and the mouse.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, MouseEvent, MouseEventKind};

use super::{commands, decisions, open};
use crate::{
    effects::Effect,
    interrupt::{Situation, Step},
    keymap::{Action, Context, Scroll},
    model::Model,
    overlays::{Confirm, Decision, Overlay, help::Help},
    panes::{
        composer::{ComposerEffect, ComposerMsg},
        transcript::{Level, TranscriptMsg},
    },
};

/// Takes a key: what works everywhere, else the dialog in front, else the panes.
pub(super) fn key(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    if key.kind == KeyEventKind::Release {
        return Vec::new();
    }
    let context = if model.overlays.is_empty() {
        Context::Main
    } else {
        Context::Overlay
    };
    let action = model.keymap.action(context, key);
    if action != Some(Action::Interrupt) {
        model.interrupts.reset();
    }
    if let Some(action) = action {
        return act(model, action);
    }
    if context == Context::Overlay {
        let decided = model.overlays.key(key, model.screen.now);
        let mut effects = decided.map_or_else(Vec::new, |decision| decisions::decided(model, decision));
        effects.extend(decisions::after_dialog(model));
        return effects;
    }
    if model.overlays.swallows(model.screen.now) {
        return Vec::new();
    }
    if key.code == KeyCode::Char('?') && key.modifiers.is_empty() && model.composer.is_empty() {
        open(model, Overlay::Help(Help::new()));
        return Vec::new();
    }
    typed(model, ComposerMsg::Key(key))
}

/// Takes pasted text.
pub(super) fn paste(model: &mut Model, text: &str) -> Vec<Effect> {
    if model.overlays.swallows(model.screen.now) {
        return Vec::new();
    }
    if model.overlays.is_empty() {
        return typed(model, ComposerMsg::Paste(text.to_owned()));
    }
    model.overlays.paste(text);
    Vec::new()
}

/// Takes the mouse: the wheel scrolls.
pub(super) fn mouse(model: &mut Model, event: MouseEvent) -> Vec<Effect> {
    match event.kind {
        MouseEventKind::ScrollUp => model.transcript.update(TranscriptMsg::WheelUp),
        MouseEventKind::ScrollDown => model.transcript.update(TranscriptMsg::WheelDown),
        _ => {}
    }
    Vec::new()
}

fn typed(model: &mut Model, msg: ComposerMsg) -> Vec<Effect> {
    let mut effects = Vec::new();
    for effect in model.composer.update(msg) {
        match effect {
            ComposerEffect::Submit(text) => effects.extend(decisions::submit(model, text)),
            ComposerEffect::Slash(call) => effects.extend(commands::perform(model, call.effect)),
            ComposerEffect::Remember(prompt) => effects.push(Effect::Remember(prompt)),
            ComposerEffect::Notice(text) => model.notice(Level::Warning, text),
        }
    }
    effects
}

fn act(model: &mut Model, action: Action) -> Vec<Effect> {
    let scroll = match action {
        Action::Interrupt => return interrupt(model),
        Action::EndOfInput if model.composer.is_empty() => return decisions::leave(model),
        Action::EndOfInput => return typed(model, ComposerMsg::Key(KeyCode::Delete.into())),
        Action::Suspend => return vec![Effect::Suspend],
        Action::RetryLink => return vec![Effect::Retry],
        Action::CyclePreset => return decisions::cycle_preset(model),
        Action::ToggleFullAccess => return decisions::toggle_full_access(model),
        Action::Redraw => return vec![Effect::Redraw],
        Action::Ports => return super::ports::show(model),
        Action::Help => {
            open(model, Overlay::Help(Help::new()));
            return Vec::new();
        }
        Action::Scroll(Scroll::LineUp) => TranscriptMsg::LineUp,
        Action::Scroll(Scroll::LineDown) => TranscriptMsg::LineDown,
        Action::Scroll(Scroll::PageUp) => TranscriptMsg::PageUp,
        Action::Scroll(Scroll::PageDown) => TranscriptMsg::PageDown,
        Action::Scroll(Scroll::Top) => TranscriptMsg::Top,
        Action::Scroll(Scroll::Bottom) => TranscriptMsg::Bottom,
        Action::ToggleReasoning => TranscriptMsg::ToggleReasoning,
        Action::ToggleOutput => TranscriptMsg::ToggleOutput,
    };
    model.transcript.update(scroll);
    Vec::new()
}

/// Answers Ctrl-C, whatever else is going on.
fn interrupt(model: &mut Model) -> Vec<Effect> {
    let now = model.screen.now;
    let mut dismissible = false;
    match model.overlays.top() {
        // The answer to “really?” that is given with the same key.
        Some(Overlay::Confirm(dialog)) if dialog.decision() == Some(&Decision::Leave) => {
            return decisions::quit();
        }
        Some(Overlay::Failure(_)) => return decisions::decided(model, Decision::Leave),
        // Stopping the turn takes the question away; nothing is answered by this key.
        Some(Overlay::Approval(_) | Overlay::Ask(_)) | None => {}
        Some(_) => dismissible = true,
    }
    let situation = Situation {
        dismissible,
        turn: model.session.stoppable(),
        typed: model.overlays.is_empty() && !model.composer.is_empty(),
    };
    match model.interrupts.press(situation, now) {
        Step::Dismiss => {
            model.overlays.pop(now);
            return decisions::after_dialog(model);
        }
        Step::CancelTurn(turn) => decisions::cancel(model, turn),
        Step::Clear => model.composer.clear(),
        Step::Warn => {}
        Step::Leave => return decisions::leave(model),
    }
    Vec::new()
}

/// Asks before leaving.
pub(super) fn confirm_leaving(model: &mut Model, text: &str) {
    let dialog = Confirm::screen("Leave?", text, "leave", Decision::Leave);
    open(model, Overlay::Confirm(dialog));
}

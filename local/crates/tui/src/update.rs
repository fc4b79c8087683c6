//! What follows from what happened: synchronous, without any I/O. Routes each message to where its topic is handled.

mod commands;
mod decisions;
mod keys;
mod news;
mod ports;

use crate::{
    effects::Effect,
    model::Model,
    msg::{Done, Msg},
    outbox::{Delivery, came_too_late},
    overlays::{Overlay, sentence},
    panes::{
        composer::ComposerMsg,
        transcript::{Level, TranscriptMsg},
    },
    session::{Older, Stage},
};

/// Says what a screen that has just begun wants done.
pub(crate) fn begin(model: &mut Model) -> Vec<Effect> {
    resize(model, model.screen.size);
    let mut effects = Vec::new();
    if !model.picks {
        effects.push(follow(model));
    }
    // The link may have got far, or have failed, before there was a screen.
    effects.extend(news::link(model, model.link.state.clone()));
    effects
}

/// Takes a message in.
pub(crate) fn update(model: &mut Model, msg: Msg) -> Vec<Effect> {
    let mut effects = match msg {
        Msg::Key(key) => keys::key(model, key),
        Msg::Paste(text) => keys::paste(model, &text),
        Msg::Mouse(event) => keys::mouse(model, event),
        Msg::Resize(width, height) => {
            resize(model, (width, height));
            Vec::new()
        }
        Msg::Session(news) => news::session(model, news),
        Msg::Link(state) => news::link(model, state),
        Msg::Broker(state) => {
            news::broker(model, state);
            Vec::new()
        }
        Msg::Question(question) => {
            news::question(model, question);
            Vec::new()
        }
        Msg::Done(done) => finished(model, done),
        Msg::Tick => {
            model.overlays.drop_moot(model.screen.now);
            Vec::new()
        }
    };
    effects.extend(flush(model));
    effects.extend(want_older(model));
    fit(model);
    effects
}

fn resize(model: &mut Model, size: (u16, u16)) {
    model.screen.size = size;
    // The result is nothing: a new width sends nothing.
    drop(model.composer.update(ComposerMsg::Width(size.0)));
    fit(model);
}

/// Gives the transcript the room that composer, dialogs and link leave.
fn fit(model: &mut Model) {
    let area = crate::view::transcript_area(model);
    let room = (area.width, area.height);
    if model.screen.room != Some(room) {
        model.screen.room = Some(room);
        model.transcript.update(TranscriptMsg::Resize {
            width: area.width,
            height: area.height,
        });
    }
}

/// Asks for the shown session.
pub(crate) fn follow(model: &mut Model) -> Effect {
    model.session.stage = Stage::Asked;
    Effect::Follow(model.session.wanted.clone())
}

/// Sends what can be sent now.
fn flush(model: &mut Model) -> Vec<Effect> {
    let session = model.session.id();
    let mut effects = Vec::new();
    if model.session.is_open() && model.link.state.is_live() {
        let ready = model.outbox.ready(session).into_iter();
        effects.extend(ready.map(|request| Effect::Send(session, request)));
    }
    if model.outbox.take_changed() {
        model.transcript.set_queued(&model.outbox.queued(session));
    }
    effects
}

/// Asks for the history before the snapshot once its start is in sight.
fn want_older(model: &mut Model) -> Option<Effect> {
    if !model.session.is_open() || model.session.snapshot.items_before == 0 || !model.transcript.wants_older()
    {
        return None;
    }
    if let Some(items) = model.session.take_older() {
        model.transcript.prepend(items);
        return None;
    }
    if !matches!(model.session.older, Older::Unasked) || !model.link.state.is_live() {
        return None;
    }
    model.session.older = Older::Asked;
    Some(Effect::Older(
        model.session.id(),
        model.session.snapshot.items_before,
    ))
}

fn finished(model: &mut Model, done: Done) -> Vec<Effect> {
    match done {
        Done::Command(id, result) => {
            match model.outbox.delivered(id, result) {
                Delivery::Refused(command, error) => decisions::refused(model, command, &error),
                Delivery::Confirmed | Delivery::Again | Delivery::Unknown => {}
            }
            let (session, at) = (model.session.id(), model.session.snapshot.at);
            model.outbox.folded(session, at);
            Vec::new()
        }
        Done::Sessions(Ok(sessions)) => decisions::pick(model, &sessions),
        Done::Sessions(Err(error)) => {
            model.notice(
                Level::Error,
                sentence(&format!("could not list the sessions: {error}")),
            );
            if model.picks {
                return decisions::do_not_pick(model);
            }
            Vec::new()
        }
        Done::Older(session, result) if session == model.session.id() => {
            older(model, result);
            Vec::new()
        }
        Done::Older(..) => Vec::new(),
        Done::Ports(news, dialog) => ports::took(model, news, dialog),
        Done::Told(level, text) => {
            model.notice(level, text);
            Vec::new()
        }
    }
}

fn older(model: &mut Model, result: Result<Vec<protocol::Item>, client::Error>) {
    match result {
        Ok(items) => model.session.older = Older::Here(items),
        Err(error) => {
            // Scrolling up again asks again.
            model.session.older = Older::Unasked;
            model.transcript.update(TranscriptMsg::LineDown);
            model.notice(
                Level::Warning,
                sentence(&format!("could not fetch the older history: {error}")),
            );
        }
    }
}

/// Says whether a refusal is worth a word: an answer that came second is not.
fn is_worth_a_word(overlay_is_gone: bool, error: &client::Error) -> bool {
    !(overlay_is_gone && came_too_late(error))
}

/// Puts a dialog in front.
fn open(model: &mut Model, overlay: Overlay) {
    let now = model.screen.now;
    model.overlays.push(overlay, now);
}

#[cfg(test)]
mod random;
#[cfg(test)]
mod tests;

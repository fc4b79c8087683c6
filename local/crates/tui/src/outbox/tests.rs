use protocol::{ErrorBody, Preset, SessionCommand};

use super::*;

fn submit(text: &str) -> Command {
    Command::Turn(TurnCommand::Submit {
        text: text.to_owned(),
        max_steps: 0,
    })
}

fn receipt(id: CommandId, at: u64) -> Result<Receipt, client::Error> {
    Ok(Receipt { id, at, turn: None })
}

fn broken() -> client::Error {
    client::Error::Stalled {
        what: "the agent".to_owned(),
        after: std::time::Duration::from_secs(1),
    }
}

fn texts(outbox: &Outbox, session: SessionId) -> Vec<(String, bool)> {
    let queued = outbox.queued(session).into_iter();
    queued.map(|queued| (queued.text, queued.is_sent)).collect()
}

#[test]
fn submits_go_one_after_the_other_and_the_rest_passes_them() {
    let session = SessionId::fresh();
    let mut outbox = Outbox::default();
    let first = outbox.push(session, submit("one"));
    let second = outbox.push(session, submit("two"));
    let preset = Command::Session(SessionCommand::SetPreset {
        preset: Preset::ReadOnly,
    });
    let third = outbox.push(session, preset);
    let ids = |requests: Vec<CommandRequest>| requests.iter().map(|request| request.id).collect::<Vec<_>>();
    assert_eq!(ids(outbox.ready(session)), [first, third]);
    assert_eq!(ids(outbox.ready(session)), []);
    assert_eq!(
        texts(&outbox, session),
        [("one".to_owned(), true), ("two".to_owned(), false)]
    );
    assert!(matches!(
        outbox.delivered(first, receipt(first, 3)),
        Delivery::Confirmed
    ));
    assert_eq!(ids(outbox.ready(session)), [second]);
    // Confirmed, and shown until its event is there.
    assert_eq!((outbox.queued(session).len(), outbox.undelivered()), (2, 1));
    outbox.folded(session, 3);
    assert_eq!(texts(&outbox, session), [("two".to_owned(), true)]);
}

#[test]
fn a_break_sends_the_same_id_again() {
    let session = SessionId::fresh();
    let mut outbox = Outbox::default();
    let id = outbox.push(session, submit("one"));
    let sent = outbox.ready(session);
    assert!(matches!(outbox.delivered(id, Err(broken())), Delivery::Again));
    assert_eq!(texts(&outbox, session), [("one".to_owned(), false)]);
    assert_eq!(outbox.ready(session), sent);
    // Its event comes before the receipt of the second try: it is shown once, in the transcript.
    outbox.arrived(id);
    assert!(outbox.queued(session).is_empty());
    assert!(matches!(outbox.delivered(id, receipt(id, 2)), Delivery::Unknown));
    assert!(outbox.is_ours(id) && !outbox.is_ours(CommandId::fresh()));
}

#[test]
fn a_refusal_gives_the_command_back() {
    let session = SessionId::fresh();
    let mut outbox = Outbox::default();
    let id = outbox.push(session, submit("one"));
    assert_eq!(outbox.ready(session).len(), 1);
    let refusal = client::Error::Agent(ErrorBody::new(ErrorCode::TooLarge, "too much"));
    match outbox.delivered(id, Err(refusal)) {
        Delivery::Refused(command, _) => assert_eq!(command, submit("one")),
        other => panic!("{other:?}"),
    }
    assert_eq!(outbox.undelivered(), 0);
}

#[test]
fn sessions_do_not_mix() {
    let (here, there) = (SessionId::fresh(), SessionId::fresh());
    let mut outbox = Outbox::default();
    outbox.push(here, submit("here"));
    assert!(outbox.ready(there).is_empty());
    assert!(outbox.queued(there).is_empty());
    assert_eq!((outbox.ready(here).len(), outbox.undelivered()), (1, 1));
}

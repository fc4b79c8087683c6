//! The demo with a person at a screen: here a few lines that ask, answer and leave.

use std::{path::Path, sync::Arc, time::Duration};

use client::SessionView;
use demo::{Audience, DemoHost, DemoOptions, Summary};
use link::{DenyAll, LinkState, Patience};
use protocol::{
    Answer, Command, CommandId, CommandRequest, Item, Outcome, PromptCommand, Snapshot, TurnCommand,
};

use crate::{
    program::reasonix,
    whole::{PATIENCE, assert_clean},
};

/// Opens the session, asks for the work, answers the question and waits for the end of the turn.
async fn play(demo: &DemoHost, answer: Answer) -> Snapshot {
    demo.link().wait_live(Patience::For(PATIENCE)).await.unwrap();
    let agent = demo.link().agent();
    agent.open_session(&demo.session()).await.unwrap();
    let mut view = SessionView::open(agent.session(demo.session().session))
        .await
        .unwrap();
    let submit = Command::Turn(TurnCommand::Submit {
        text: DemoHost::task().to_owned(),
        max_steps: 0,
    });
    send(&view, submit).await;
    let mut is_answered = false;
    loop {
        let state = view.snapshot();
        if state
            .items
            .iter()
            .any(|item| matches!(item, Item::TurnEnd { .. }))
        {
            return state.clone();
        }
        if let (Some(prompt), false) = (state.prompts.first(), is_answered) {
            assert!(prompt.subject.contains("add.sh"), "{prompt:?}");
            let reply = Command::Prompt(PromptCommand::Answer {
                prompt: prompt.id,
                answer,
            });
            is_answered = true;
            send(&view, reply).await;
            continue;
        }
        // Every loss is mended by the next look.
        if view.next().await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

async fn send(view: &SessionView, command: Command) {
    let id = CommandId::fresh();
    view.client()
        .command(&CommandRequest { id, command })
        .await
        .unwrap();
}

async fn with_person(temporary: &Path, answer: Answer) -> (Snapshot, Option<Summary>, bool) {
    let options = DemoOptions {
        audience: Audience::Person,
        ..DemoOptions::new(reasonix(), env!("CARGO_PKG_VERSION"), temporary.to_owned())
    };
    let demo = DemoHost::open(&options, Arc::new(DenyAll)).await.unwrap();
    let mut states = demo.link().states();
    let mut was_away = false;
    let watch = async {
        while states.changed().await.is_ok() {
            was_away |= matches!(*states.borrow_and_update(), LinkState::Waiting { .. });
        }
        std::future::pending::<()>().await;
    };
    let mut companion = demo.companion();
    let played = async { tokio::join!(play(&demo, answer), companion.follow()) };
    let (state, ()) = tokio::select! {
        biased;
        () = watch => unreachable!("it goes on until it is dropped"),
        played = tokio::time::timeout(PATIENCE, played) => played.unwrap(),
    };
    let summary = companion.verdict().await.unwrap();
    demo.close().await.unwrap();
    (state, summary, was_away)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_who_says_yes_sees_the_host_away_and_loses_nothing() {
    let temporary = tempfile::tempdir().unwrap();
    let (state, summary, was_away) = with_person(temporary.path(), Answer::AllowOnce).await;
    assert!(
        matches!(
            state.items.back(),
            Some(Item::TurnEnd {
                outcome: Outcome::Completed,
                ..
            })
        ),
        "{state:#?}"
    );
    let summary = summary.unwrap();
    assert_eq!((summary.events.lost, summary.events.doubled), (0, 0));
    assert!(was_away, "the link is down for long enough to be seen");
    assert_clean(temporary.path());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_who_says_no_gets_an_answer_and_no_verdict() {
    let temporary = tempfile::tempdir().unwrap();
    let (state, summary, was_away) = with_person(temporary.path(), Answer::Deny).await;
    let said = state.items.iter().rev().find_map(|item| match item {
        Item::Assistant { text, .. } => Some(text.as_str()),
        _ => None,
    });
    assert!(said.unwrap().contains("You said no"), "{state:#?}");
    assert!(summary.is_none() && !was_away);
    assert_clean(temporary.path());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_who_leaves_at_once_leaves_nothing_behind() {
    let temporary = tempfile::tempdir().unwrap();
    let options = DemoOptions {
        audience: Audience::Person,
        ..DemoOptions::new(reasonix(), env!("CARGO_PKG_VERSION"), temporary.path().to_owned())
    };
    let demo = DemoHost::open(&options, Arc::new(DenyAll)).await.unwrap();
    let companion = demo.companion();
    assert_eq!(companion.verdict().await.unwrap(), None);
    demo.close().await.unwrap();
    assert_clean(temporary.path());
}

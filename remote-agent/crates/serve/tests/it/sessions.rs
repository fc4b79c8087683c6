//! Sessions through the real client.

use client::{Error, SessionView, Update};
use protocol::{
    Applied, Command, CommandRequest, ErrorCode, Event, Frame, OpenSession, Phase, Preset, SessionCommand,
    SessionEvent, SessionId, ShutdownRequest, Snapshot,
};
use scripted_model::{Reply, Scenario};

use crate::rig::{Pipes, Rig, command, is_end, submit, view_until};

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_through_the_wire_from_hello_to_shutdown() {
    let rig = Rig::new(Scenario::new().say("Hello, 汉字.")).await;
    let agent = Pipes::new(&rig).agent();
    assert_eq!(agent.hello().await.unwrap(), rig.manager.hello());
    let request = rig.open_request(Preset::ReadOnly);
    let info = agent.open_session(&request).await.unwrap();
    assert_eq!(agent.open_session(&request).await.unwrap().session, info.session);
    let mut view = SessionView::open(agent.session(info.session)).await.unwrap();

    let go = submit("go");
    let receipt = view.client().command(&go).await.unwrap();
    assert_eq!(
        view.client().command(&go).await.unwrap(),
        receipt,
        "sent twice, run once"
    );
    let other = CommandRequest {
        id: go.id,
        ..submit("something else")
    };
    let error = view.client().command(&other).await.unwrap_err();
    assert!(matches!(error, Error::Agent(body) if body.code == ErrorCode::Conflict));

    view_until(&mut view, is_end).await;
    assert_eq!(*view.snapshot(), view.client().snapshot().await.unwrap());
    let counts = view.counts();
    assert_eq!((counts.duplicates, counts.gaps, counts.in_snapshots), (0, 0, 0));
    let listed = agent.sessions().await.unwrap().sessions;
    assert_eq!((listed.len(), listed[0].title.as_str()), (1, "go"));
    assert_eq!(rig.model.requests().len(), 1);

    assert!(
        agent
            .shutdown(ShutdownRequest { force: false })
            .await
            .unwrap()
            .stopping
    );
    rig.manager.shutdown_requested().await;
    assert!(agent.hello().await.unwrap().draining);
}

#[tokio::test(flavor = "multi_thread")]
async fn history_pages_add_up_to_every_event() {
    let rig = Rig::new(Scenario::new().say("x").repeated()).await;
    let agent = Pipes::new(&rig).agent();
    let request = rig.open_request(Preset::ReadOnly);
    agent.open_session(&request).await.unwrap();
    let mut view = SessionView::open(agent.session(request.session)).await.unwrap();
    for _ in 0..3 {
        view.client().command(&submit("go")).await.unwrap();
        view_until(&mut view, is_end).await;
    }
    let mut folded = Snapshot::empty(request.session);
    loop {
        let page = view.client().history(folded.at, 4).await.unwrap();
        assert!(page.events.len() <= 4);
        for event in &page.events {
            assert_eq!(folded.apply(event), Ok(Applied::Changed));
        }
        if folded.at == page.newest {
            break;
        }
    }
    assert_eq!(&folded, view.snapshot());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_is_cut_again_and_again_arrives_whole() {
    let words: Vec<String> = (0..400).map(|n| format!("word{n} ")).collect();
    let mut reply = Reply::new();
    for (part, words) in words.chunks(20).enumerate() {
        reply = reply.say(words.concat()).gate(format!("part {part}"));
    }
    let rig = Rig::new(Scenario::new().reply(reply)).await;
    let pipes = Pipes::new(&rig);
    let agent = pipes.agent();
    let request = rig.open_request(Preset::ReadOnly);
    agent.open_session(&request).await.unwrap();
    let mut view = SessionView::open(agent.session(request.session)).await.unwrap();
    view.client().command(&submit("go")).await.unwrap();
    for part in 0..words.len() / 20 {
        let gate = rig.model.gate(&format!("part {part}"));
        gate.reached(1).await;
        if part % 2 == 0 {
            // What has arrived so far is applied before the cut, or not: both must do.
            if let Err(error) = view.next().await {
                assert!(error.is_retryable(), "{error:?}");
            }
        }
        pipes.cut();
        gate.open();
    }
    view_until(&mut view, is_end).await;
    assert_eq!(*view.snapshot(), view.client().snapshot().await.unwrap());
    let text = view.snapshot().items.iter().find_map(|item| match item {
        protocol::Item::Assistant { text, .. } => Some(text.clone()),
        _ => None,
    });
    assert_eq!(text, Some(words.concat()));
    assert_eq!(view.counts().gaps, 0);
    assert_eq!(rig.model.requests().len(), 1);
    assert!(pipes.connects() > 2, "{}", pipes.connects());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_far_behind_gets_a_snapshot_first() {
    let options = serve::Options {
        snapshot_when_behind: 3,
        ..serve::Options::default()
    };
    let rig = Rig::with(Scenario::new().say("x"), options).await;
    let agent = Pipes::new(&rig).agent();
    let request = rig.open_request(Preset::ReadOnly);
    agent.open_session(&request).await.unwrap();
    let session = agent.session(request.session);
    let mut view = SessionView::open(session.clone()).await.unwrap();
    session.command(&submit("go")).await.unwrap();
    view_until(&mut view, is_end).await;
    let newest = view.snapshot().at;
    assert!(newest > 4);
    let mut stream = session.events(0).await.unwrap();
    let Some(Frame::Snapshot(first)) = stream.next().await.unwrap() else {
        panic!("no snapshot came");
    };
    assert_eq!(*first, *view.snapshot());
    let mut near = session.events(newest - 3).await.unwrap();
    assert!(matches!(near.next().await.unwrap(), Some(Frame::Event(event)) if event.n == newest - 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_that_knows_more_than_the_log_is_told() {
    let rig = Rig::new(Scenario::new()).await;
    let agent = Pipes::new(&rig).agent();
    let request = rig.open_request(Preset::ReadOnly);
    agent.open_session(&request).await.unwrap();
    let session = agent.session(request.session);
    let error = session.events(1000).await.unwrap_err();
    assert!(matches!(error, Error::Agent(body) if body.code == ErrorCode::Conflict));
    let mut ahead = session.snapshot().await.unwrap();
    let real = ahead.clone();
    ahead.at = 1000;
    let mut view = SessionView::from_snapshot(session, ahead);
    assert_eq!(view.next().await.unwrap(), Update::Refreshed);
    assert_eq!(*view.snapshot(), real);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_session_says_so_and_takes_no_more() {
    let rig = Rig::new(Scenario::new()).await;
    let agent = Pipes::new(&rig).agent();
    let request = rig.open_request(Preset::ReadOnly);
    agent.open_session(&request).await.unwrap();
    let mut view = SessionView::open(agent.session(request.session)).await.unwrap();
    let close = command(Command::Session(SessionCommand::Close));
    let receipt = view.client().command(&close).await.unwrap();
    view_until(&mut view, |event| {
        matches!(event, Event::Session(SessionEvent::Closed { .. }))
    })
    .await;
    assert_eq!(
        (view.snapshot().phase, view.snapshot().at),
        (Phase::Closed, receipt.at)
    );
    let error = view.client().command(&submit("more")).await.unwrap_err();
    assert!(matches!(error, Error::Agent(body) if body.code == ErrorCode::Conflict));
    assert_eq!(view.client().command(&close).await.unwrap(), receipt);
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_the_agent_reach_the_client() {
    let rig = Rig::new(Scenario::new()).await;
    let agent = Pipes::new(&rig).agent();
    let unknown = agent.session(SessionId::fresh());
    let error = unknown.snapshot().await.unwrap_err();
    assert!(matches!(error, Error::Agent(body) if body.code == ErrorCode::NotFound));
    let error = unknown.events(0).await.unwrap_err();
    assert!(matches!(error, Error::Agent(body) if body.code == ErrorCode::NotFound));
    let elsewhere = OpenSession {
        workspace: Some("/nowhere/at/all".to_owned()),
        ..rig.open_request(Preset::ReadOnly)
    };
    let error = agent.open_session(&elsewhere).await.unwrap_err();
    assert!(error.to_string().contains("/nowhere/at/all"), "{error}");
    assert!(error.hint().is_some());
}

//! Opening again: the same request, another one, after a restart.

use protocol::{
    Applied, Command, ErrorCode, Event, EventEnvelope, Frame, OpenSession, Phase, Preset, SessionCommand,
    SessionEvent, SessionId, ShutdownRequest, Snapshot,
};
use scripted_model::{Reply, Scenario};

use crate::rig::{Rig, command, is_end, submit, until};

#[tokio::test(flavor = "multi_thread")]
async fn opening_is_idempotent_and_conflicts_are_named() {
    let rig = Rig::new(Scenario::new().say("x").repeated()).await;
    let session = SessionId::fresh();
    let request = OpenSession {
        session,
        workspace: Some(rig.work()),
        model: None,
        preset: None,
        credentials: None,
    };
    let first = rig.manager.open(request.clone()).await.unwrap();
    let again = rig.manager.open(request.clone()).await.unwrap();
    assert_eq!(first.newest(), again.newest());
    let other = OpenSession {
        preset: Some(Preset::ReadOnly),
        ..request.clone()
    };
    assert_eq!(
        rig.manager.open(other).await.unwrap_err().code,
        ErrorCode::Conflict
    );
    let unknown = rig.manager.get(SessionId::fresh()).await.unwrap_err();
    assert_eq!(unknown.code, ErrorCode::NotFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_that_cannot_be_entered_is_refused_never_replaced() {
    let rig = Rig::new(Scenario::new()).await;
    std::fs::write(rig.dir.path().join("file"), "").unwrap();
    let missing = rig.dir.path().join("missing").display().to_string();
    let file = rig.dir.path().join("file").display().to_string();
    for workspace in [missing.as_str(), file.as_str(), "relative/path", "~other/x"] {
        let request = OpenSession {
            session: SessionId::fresh(),
            workspace: Some(workspace.to_owned()),
            model: None,
            preset: None,
            credentials: None,
        };
        let error = rig.manager.open(request).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Workspace, "{workspace}");
        assert!(error.message.contains(workspace), "{}", error.message);
        assert!(error.hint.is_some());
    }
    assert!(
        rig.manager.list().await.unwrap().sessions.is_empty(),
        "nothing was made"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_continues_the_conversation_with_the_same_prefix() {
    let scenario = Scenario::new()
        .say("first")
        .reply(Reply::new().say("second").when("again"));
    let mut rig = Rig::new(scenario).await;
    let (id, session) = rig.open(Preset::WorkspaceWrite).await;
    let mut events = session.subscribe(0);
    submit(&session, "go").await;
    until(&mut events, is_end).await;
    let before = session.newest();
    rig.restart().await;
    assert!(
        events.next().await.is_none(),
        "the old daemon's followers are told"
    );

    let listed = rig.manager.list().await.unwrap().sessions;
    assert_eq!((listed[0].session, listed[0].title.as_str()), (id, "go"));
    assert_eq!((listed[0].turns, listed[0].phase), (Some(1), None));
    let session = rig.manager.get(id).await.unwrap();
    assert_eq!(session.newest(), before + 1, "resumed is on record");
    let mut events = session.subscribe(before);
    submit(&session, "again").await;
    until(&mut events, is_end).await;
    let requests = rig.model.requests();
    let (one, two) = (requests[0].messages(), requests[1].messages());
    assert_eq!(one, &two[..one.len()], "the second request begins with the first");
    assert_eq!(two.len(), one.len() + 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn shutdown_waits_for_turns_unless_forced() {
    let scenario = Scenario::new().reply(Reply::new().gate("held").say("x"));
    let rig = Rig::new(scenario).await;
    let (id, session) = rig.open(Preset::WorkspaceWrite).await;
    submit(&session, "go").await;
    rig.model.wait_for_requests(1).await;
    let refused = rig.manager.shutdown(ShutdownRequest { force: false }).await;
    assert!(!refused.stopping);
    assert_eq!(refused.running, [id]);
    assert!(
        rig.manager
            .shutdown(ShutdownRequest { force: true })
            .await
            .stopping
    );
    rig.manager.shutdown_requested().await;
    assert!(rig.manager.hello().draining);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_whose_birth_was_cut_off_is_born_again() {
    for kept in [0, 1] {
        let mut rig = Rig::new(Scenario::new().say("hello")).await;
        let request = OpenSession {
            session: SessionId::fresh(),
            workspace: Some(rig.work()),
            model: None,
            preset: None,
            credentials: None,
        };
        rig.manager.open(request.clone()).await.unwrap();
        rig.restart().await;
        let slugs = std::fs::read_dir(rig.dir.path().join("sessions")).unwrap();
        let slug = slugs.map(|slug| slug.unwrap().path()).next().unwrap();
        let log = slug.join(request.session.to_string()).join("log.jsonl");
        let text = std::fs::read_to_string(&log).unwrap();
        let lines: String = text.split_inclusive('\n').take(kept).collect();
        std::fs::write(&log, lines).unwrap();

        let session = rig.manager.open(request.clone()).await.unwrap();
        let mut events = session.subscribe(0);
        submit(&session, "go").await;
        let frames = until(&mut events, is_end).await;
        let begun = frames.iter().filter(|frame| {
            matches!(
                frame,
                Frame::Event(EventEnvelope {
                    event: Event::Session(SessionEvent::Opened { .. } | SessionEvent::PrefixMade { .. }),
                    ..
                })
            )
        });
        assert_eq!(begun.count(), 2, "{frames:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_enough_to_choose_from() {
    let mut rig = Rig::new(Scenario::new().say("x").repeated()).await;
    let (id, session) = rig.open(Preset::WorkspaceWrite).await;
    let mut events = session.subscribe(0);
    for text in ["first\nthing", "second"] {
        submit(&session, text).await;
        until(&mut events, is_end).await;
    }
    // A folder whose daemon died before the first record.
    let never = SessionId::fresh().to_string();
    let beside = std::fs::read_dir(rig.dir.path().join("sessions")).unwrap();
    for workspace in beside {
        std::fs::create_dir(workspace.unwrap().path().join(&never)).unwrap();
    }
    let open = rig.manager.list().await.unwrap().sessions;
    assert_eq!(open.len(), 1, "{open:?}");
    assert_eq!((open[0].session, open[0].turns), (id, Some(2)));
    assert_eq!(
        (open[0].title.as_str(), open[0].phase),
        ("first thing", Some(Phase::Idle))
    );
    session
        .command(command(Command::Session(SessionCommand::Close)))
        .await
        .unwrap();
    rig.restart().await;
    let stored = rig.manager.list().await.unwrap().sessions;
    assert_eq!(stored.len(), 1);
    assert_eq!((stored[0].turns, stored[0].phase), (Some(2), Some(Phase::Closed)));
    assert_eq!(stored[0].workspace, open[0].workspace);
    assert!(stored[0].changed_at >= open[0].changed_at);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_known_of_the_model_follows_the_settings_and_the_cost_stays() {
    let scenario = Scenario::new().say("x").repeated();
    let mut rig = Rig::measured(scenario, Some(1_000)).await;
    let (id, session) = rig.open(Preset::WorkspaceWrite).await;
    let mut events = session.subscribe(0);
    submit(&session, "go").await;
    until(&mut events, is_end).await;
    let before = session.snapshot().await.unwrap();
    assert_eq!(before.context.window, Some(1_000));
    assert_eq!(before.context.used, Some(before.usage.input));
    let total = before.cost.total().unwrap();
    // A dollar for a token, so that the sum is in plain sight.
    let tokens = before.usage.input + before.usage.output;
    assert_eq!(
        (total.currency.as_str(), total.micros),
        ("USD", tokens * 1_000_000)
    );
    assert!(before.cost.is_complete());

    rig.window(None);
    rig.restart().await;
    let session = rig.manager.get(id).await.unwrap();
    let after = session.snapshot().await.unwrap();
    assert_eq!(
        (after.context.window, after.context.used),
        (None, before.context.used)
    );
    assert_eq!(after.cost, before.cost);
    let mut fresh = Snapshot::empty(id);
    let mut events = session.subscribe(0);
    while fresh.at < after.at {
        if let Some(Frame::Event(event)) = events.next().await {
            assert_eq!(fresh.apply(&event), Ok(Applied::Changed));
        }
    }
    assert_eq!((fresh.context, &fresh.cost), (after.context, &after.cost));
}

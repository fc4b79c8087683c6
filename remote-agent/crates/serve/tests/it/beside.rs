//! Two daemons of one home beside each other: the older one drains, and no client has to know which has its session.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

use client::{Agent, ByteStream, Error, SessionView};
use controller::Manager;
use futures_util::FutureExt as _;
use protocol::{DrainRequest, ErrorCode, Hello, Identity, OpenSession, Phase, Preset, SessionId};
use scripted_model::{Reply, Scenario};
use serve::{bind_unix, serve_unix};

use crate::rig::{DEADLINE, Rig, hello, is_end, manager, submit, view_until};

/// A daemon in the folder of a rig, with a socket of its own.
struct Daemon {
    manager: Manager,
    socket: PathBuf,
}

impl Daemon {
    fn start(rig: &Rig, name: &str) -> Self {
        let folder = rig.dir.path().join(name);
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        let socket = folder.join("s");
        let identity = Identity {
            socket: socket.display().to_string(),
            ..hello().identity
        };
        let hello = Hello { identity, ..hello() };
        let manager = manager(rig.dir.path(), &rig.model, hello, &rig.scope);
        let router = serve::router(manager.clone(), serve::Options::default());
        let listener = bind_unix(&socket).unwrap();
        let connections = rig.scope.child("connections");
        drop(
            rig.scope
                .spawn(serve_unix(listener, router, stdx::Gauge::default(), connections)),
        );
        Self { manager, socket }
    }

    fn client(&self, rig: &Rig) -> Agent {
        let path = self.socket.clone();
        let connector = move || {
            let path = path.clone();
            async move {
                let stream = tokio::net::UnixStream::connect(path).await?;
                Ok(Box::new(stream) as Box<dyn ByteStream>)
            }
            .boxed()
        };
        Agent::new(connector, client::Options::default(), &rig.scope)
    }

    fn drain_to(&self, other: &Self) -> DrainRequest {
        assert_ne!(self.socket, other.socket);
        DrainRequest {
            successor: Some(other.socket.display().to_string()),
        }
    }
}

fn resume(session: SessionId) -> OpenSession {
    OpenSession {
        session,
        workspace: None,
        model: None,
        preset: None,
        credentials: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_goes_on_while_its_daemon_drains_and_clients_of_both_see_it() {
    let scenario = Scenario::new()
        .reply(Reply::new().gate("held").say("first"))
        .say("second");
    let rig = Rig::new(scenario).await;
    let (old, new) = (Daemon::start(&rig, "old"), Daemon::start(&rig, "new"));
    let (before, after) = (old.client(&rig), new.client(&rig));
    let request = rig.open_request(Preset::ReadOnly);
    before.open_session(&request).await.unwrap();
    let mut left = SessionView::open(before.session(request.session)).await.unwrap();
    left.client().command(&submit("go")).await.unwrap();
    rig.model.wait_for_requests(1).await;

    let reply = before.drain(&old.drain_to(&new)).await.unwrap();
    assert_eq!(reply.running, [request.session]);
    assert!(before.hello().await.unwrap().draining);
    assert!(!after.hello().await.unwrap().draining);

    // Who asks the new daemon finds the session where it is.
    let info = after.open_session(&resume(request.session)).await.unwrap();
    assert!(matches!(info.phase, Some(Phase::Running { .. })), "{info:?}");
    let listed = after.sessions().await.unwrap().sessions;
    assert_eq!(listed[0].held_by.as_deref(), old.socket.to_str());
    assert!(
        matches!(listed[0].phase, Some(Phase::Running { .. })),
        "{listed:?}"
    );
    let mut right = SessionView::open(after.session(request.session)).await.unwrap();
    // Who asks the old one for a new session gets it, from the new one.
    let fresh = OpenSession {
        session: SessionId::fresh(),
        ..request.clone()
    };
    before.open_session(&fresh).await.unwrap();
    assert_eq!(new.manager.list().await.unwrap().sessions.len(), 2);
    assert!(new.manager.open(fresh).await.is_ok());

    rig.model.gate("held").open();
    view_until(&mut left, is_end).await;
    view_until(&mut right, is_end).await;
    tokio::time::timeout(DEADLINE, old.manager.shutdown_requested())
        .await
        .unwrap();

    // The session goes on in the new daemon, seen by who was there before.
    right.client().command(&submit("more")).await.unwrap();
    view_until(&mut right, is_end).await;
    let counts = right.counts();
    assert_eq!((counts.duplicates, counts.gaps), (0, 0));
    let listed = after.sessions().await.unwrap().sessions;
    assert!(listed.iter().all(|info| info.held_by.is_none()), "{listed:?}");
    assert_eq!(right.snapshot().cost.unpriced, 2, "{:?}", right.snapshot().cost);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_at_rest_is_let_go_at_once() {
    let rig = Rig::new(Scenario::new().say("x").repeated()).await;
    let (old, new) = (Daemon::start(&rig, "old"), Daemon::start(&rig, "new"));
    let (before, after) = (old.client(&rig), new.client(&rig));
    let request = rig.open_request(Preset::ReadOnly);
    before.open_session(&request).await.unwrap();
    let mut view = SessionView::open(before.session(request.session)).await.unwrap();
    view.client().command(&submit("go")).await.unwrap();
    view_until(&mut view, is_end).await;

    // Held by a daemon that serves: followed there.
    after.open_session(&resume(request.session)).await.unwrap();
    assert!(new.manager.get(request.session).await.is_err());
    let reply = old.manager.drain(old.drain_to(&new)).await;
    assert!(reply.running.is_empty(), "{reply:?}");
    tokio::time::timeout(DEADLINE, old.manager.shutdown_requested())
        .await
        .unwrap();
    // The ended daemon has let its lease go before it said so.
    new.manager.get(request.session).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_successor_new_sessions_are_refused_and_turns_go_on() {
    let rig = Rig::new(Scenario::new().reply(Reply::new().gate("held").say("x"))).await;
    let old = Daemon::start(&rig, "old");
    let agent = old.client(&rig);
    let request = rig.open_request(Preset::ReadOnly);
    agent.open_session(&request).await.unwrap();
    let mut view = SessionView::open(agent.session(request.session)).await.unwrap();
    view.client().command(&submit("go")).await.unwrap();
    rig.model.wait_for_requests(1).await;
    agent.drain(&DrainRequest::default()).await.unwrap();
    let refused = agent.open_session(&rig.open_request(Preset::ReadOnly)).await;
    assert!(
        matches!(&refused, Err(Error::Agent(body)) if body.code == ErrorCode::Draining),
        "{refused:?}"
    );
    // A question whether it may end meanwhile is answered as ever.
    let reply = agent
        .shutdown(protocol::ShutdownRequest { force: false })
        .await
        .unwrap();
    assert!(!reply.stopping);
    rig.model.gate("held").open();
    view_until(&mut view, is_end).await;
    tokio::time::timeout(DEADLINE, old.manager.shutdown_requested())
        .await
        .unwrap();
}

//! First visits, warm ones, and the ways to a daemon's socket.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use link::{
    AgentLink, Answer, Arrival, ErrorKind, LinkState, Patience, Prompter, SecretQuestion, Stage, Via,
};
use stdx::Secret;
use tokio::sync::Notify;
use transport::testing::{Forwarding, LoginStep};

use crate::bench::{Bench, live, record, state};

#[tokio::test]
async fn the_first_visit_installs_and_the_second_attaches_at_once() {
    let bench = Bench::new().await;
    let link = bench.open();
    let seen = record(&link, &bench.scope);
    let ready = live(&link).await;
    assert_eq!(
        (ready.arrival, ready.via),
        (Some(Arrival::Installed), Via::Streamlocal)
    );
    assert!(
        ready.program.contains("/home/.reasonix/bin/reasonix-0.2.0-"),
        "{ready:?}"
    );
    assert_eq!(link.agent().hello().await.unwrap().identity, ready.hello.identity);
    assert!(link.connection().is_some() && link.states().borrow().is_live());
    {
        let seen = seen.lock().unwrap();
        let installs = |state: &LinkState| matches!(state, LinkState::Connecting(Stage::Installing { done, total }) if done == total && *total > 0);
        assert!(seen.iter().any(installs), "{seen:?}");
    }
    let files: Vec<_> = fs::read_dir(bench.path("state")).unwrap().collect();
    let [Ok(file)] = files.as_slice() else {
        panic!("{files:?}");
    };
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    link.close().await;
    assert!(link.agent().hello().await.is_err());

    let (execs, launches) = (bench.execs(), bench.daemon.launches());
    let (_link, ready) = bench.live().await;
    assert_eq!((ready.arrival, ready.via), (None, Via::Streamlocal));
    assert_eq!(
        (bench.execs(), bench.daemon.launches()),
        (execs, launches),
        "a warm visit runs no command"
    );
}

#[tokio::test]
async fn a_refused_socket_is_reached_through_the_bridge_and_that_is_remembered() {
    let bench = Bench::with(|options| {
        options.forwarding = Forwarding {
            tcp: false,
            streamlocal: false,
        }
    })
    .await;
    let (link, ready) = bench.live().await;
    assert_eq!(
        (ready.arrival, ready.via),
        (Some(Arrival::Installed), Via::Bridge)
    );
    link.close().await;
    let execs = bench.execs();
    let (_link, ready) = bench.live().await;
    assert_eq!((ready.arrival, ready.via), (None, Via::Bridge));
    assert_eq!(bench.execs(), execs + 1, "the bridge and nothing else");
}

#[tokio::test]
async fn one_session_at_a_time_is_enough() {
    let bench = Bench::with(|options| {
        options.forwarding.streamlocal = false;
        options.max_sessions = 1;
    })
    .await;
    let (link, ready) = bench.live().await;
    assert_eq!(ready.via, Via::Bridge);
    bench.daemon.kill();
    state(&link, "loss", |state| !state.is_live()).await;
    let ready = live(&link).await;
    assert_eq!(
        (ready.arrival, bench.daemon.launches()),
        (Some(Arrival::Launched), 2)
    );
    assert_eq!(bench.server.logins(), 1, "all of it on one connection");
}

#[tokio::test]
async fn openssh_gives_the_socket() {
    let bench = Bench::real(&[]).await;
    let (link, ready) = bench.live().await;
    assert_eq!(
        (ready.arrival, ready.via),
        (Some(Arrival::Installed), Via::Streamlocal)
    );
    bench.daemon.kill();
    state(&link, "loss", |state| !state.is_live()).await;
    assert_eq!(live(&link).await.arrival, Some(Arrival::Launched));
    assert_eq!(bench.server.logins(), 1);
}

#[tokio::test]
async fn openssh_with_everything_forbidden_gives_the_bridge() {
    let bench = Bench::real(&["MaxSessions 1", "DisableForwarding yes"]).await;
    let (link, ready) = bench.live().await;
    assert_eq!(
        (ready.arrival, ready.via),
        (Some(Arrival::Installed), Via::Bridge)
    );
    bench.daemon.kill();
    state(&link, "loss", |state| !state.is_live()).await;
    assert_eq!(live(&link).await.arrival, Some(Arrival::Launched));
    bench.proxy.cut();
    state(&link, "loss", |state| !state.is_live()).await;
    assert_eq!(live(&link).await.arrival, None);
    assert_eq!(bench.server.logins(), 2);
}

#[tokio::test]
async fn a_daemon_that_drains_is_left_for_a_new_one() {
    let bench = Bench::new().await;
    let (link, _) = bench.live().await;
    bench.daemon.change(|hello| hello.draining = true);
    bench.proxy.cut();
    state(&link, "loss", |state| !state.is_live()).await;
    let ready = live(&link).await;
    assert_eq!(ready.arrival, Some(Arrival::Launched));
    assert!(!link.agent().hello().await.unwrap().draining);
}

#[tokio::test]
async fn a_workspace_is_checked_by_the_first_bootstrap() {
    let bench = Bench::new().await;
    fs::create_dir(bench.path("home/project")).unwrap();
    std::os::unix::fs::symlink("project", bench.path("home/link")).unwrap();
    let mut options = bench.options();
    options.install.workspace = Some("~/nowhere".into());
    let link = link::Link::open(options.clone(), &bench.scope);
    let error = link.wait_live(Patience::FirstTry).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Bootstrap(_)), "{error}");
    assert!(matches!(&*link.states().borrow(), LinkState::Failed(_)));
    options.install.workspace = Some("~/link".into());
    let link = link::Link::open(options, &bench.scope);
    let workspace = live(&link).await.workspace.unwrap();
    assert!(workspace.ends_with("/home/project"), "{workspace}");
}

/// Holds questions back until it is let.
#[derive(Default)]
struct Person {
    asked: AtomicUsize,
    lets: Notify,
}

impl Prompter for Person {
    fn secret<'a>(&'a self, _: &'a SecretQuestion) -> Answer<'a, Option<Secret>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Box::pin(async {
            self.lets.notified().await;
            Some(Secret::new("hunter2"))
        })
    }
}

#[tokio::test]
async fn a_password_is_asked_once_and_the_state_shows_it() {
    let mut bench = Bench::with(|options| options.login = vec![LoginStep::Password("hunter2".into())]).await;
    let person = Arc::new(Person::default());
    bench.prompter = Arc::<Person>::clone(&person);
    let link = bench.open();
    state(&link, "prompt", |state| matches!(state, LinkState::Prompting)).await;
    // A wake-up leaves the person in peace.
    link.woke();
    person.lets.notify_one();
    live(&link).await;
    for _ in 0..3 {
        bench.proxy.cut();
        state(&link, "loss", |state| !state.is_live()).await;
        live(&link).await;
    }
    assert_eq!(person.asked.load(Ordering::SeqCst), 1);
    assert_eq!(bench.proxy.connections(), 4);
}

#[tokio::test]
async fn going_offline_lasts_until_somebody_wants_it_back() {
    let bench = Bench::new().await;
    let (link, _) = bench.live().await;
    link.disconnect();
    state(&link, "offline", |state| matches!(state, LinkState::Offline)).await;
    let error = link.agent().hello().await.unwrap_err();
    assert!(error.to_string().contains("connect to the agent"), "{error}");
    assert!(link.connection().is_none());
    link.retry_now();
    live(&link).await;
    let both = AgentLink::from(link.clone());
    assert_eq!(both.host(), Some("testhost"));
    both.close().await;
    let error = link.wait_live(Patience::FirstTry).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Closed), "{error}");
}

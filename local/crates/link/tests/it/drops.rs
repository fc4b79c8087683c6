//! Networks, daemons and machines that go away.

use std::time::Duration;

use link::{Arrival, ErrorKind, Health, LinkState, NetworkChange, Timings};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use crate::bench::{Bench, PATIENCE, live, record, state};

/// So short that tests need not wait.
fn short() -> Timings {
    Timings {
        ping_interval: Duration::from_millis(50),
        dead_after: Duration::from_millis(500),
        ..Timings::default()
    }
}

#[tokio::test]
async fn the_tenth_cut_is_mended_like_the_first() {
    let bench = Bench::new().await;
    let (link, _) = bench.live().await;
    let seen = record(&link, &bench.scope);
    let execs = bench.execs();
    for _ in 0..10 {
        bench.proxy.cut();
        state(&link, "loss", |state| !state.is_live()).await;
        let ready = live(&link).await;
        assert_eq!(ready.arrival, None);
        link.agent().hello().await.unwrap();
    }
    assert_eq!(bench.proxy.connections(), 11);
    assert_eq!(
        (bench.execs(), bench.daemon.launches()),
        (execs, 1),
        "each one is a warm attach"
    );
    let seen = seen.lock().unwrap();
    let attempts: Vec<u32> = seen
        .iter()
        .filter_map(|state| match state {
            LinkState::Waiting { attempts, .. } => Some(*attempts),
            _ => None,
        })
        .collect();
    assert!(
        !attempts.is_empty() && attempts.iter().all(|attempts| *attempts == 1),
        "{attempts:?}"
    );
}

#[tokio::test]
async fn a_request_that_is_made_during_an_outage_is_answered_after_it() {
    let bench = Bench::new().await;
    let (link, _) = bench.live().await;
    link.disconnect();
    state(&link, "offline", |state| matches!(state, LinkState::Offline)).await;
    bench.proxy.black_hole(true);
    link.retry_now();
    state(&link, "dialling", |state| {
        matches!(state, LinkState::Connecting(_))
    })
    .await;
    let agent = link.agent();
    let answer = bench.scope.spawn(async move { agent.hello().await });
    bench.proxy.restore();
    tokio::time::timeout(PATIENCE, answer)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    live(&link).await;
}

#[tokio::test]
async fn a_half_closed_connection_is_dialled_again() {
    let bench = Bench::new().await;
    let (link, _) = bench.live().await;
    bench.proxy.half_close();
    state(&link, "loss", |state| !state.is_live()).await;
    live(&link).await;
    assert_eq!(bench.proxy.connections(), 2);
}

#[tokio::test]
async fn a_black_hole_is_noticed_and_left() {
    let mut bench = Bench::new().await;
    bench.timings = short();
    let (link, _) = bench.live().await;
    bench.proxy.black_hole(true);
    state(&link, "silence", |state| {
        matches!(
            state,
            LinkState::Live {
                health: Health::Quiet,
                ..
            }
        )
    })
    .await;
    let waiting = state(&link, "loss", |state| !state.is_live()).await;
    assert!(waiting.to_string().contains("no sign of life"), "{waiting}");
    bench.proxy.restore();
    live(&link).await;
}

#[tokio::test]
async fn after_a_wake_up_a_dead_connection_is_noticed_at_once() {
    let mut bench = Bench::new().await;
    bench.timings = Timings {
        dead_after: Duration::from_secs(3600),
        stalled_after: Duration::from_secs(3600),
        wake_grace: Duration::from_millis(300),
        ..Timings::default()
    };
    let (link, _) = bench.live().await;
    let asked = bench.daemon.asked();
    link.woke();
    let answered = async {
        while bench.daemon.asked() == asked {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, answered).await.unwrap();
    live(&link).await;
    assert_eq!(bench.proxy.connections(), 1, "a living connection is kept");
    bench.proxy.black_hole(true);
    link.woke();
    state(&link, "loss", |state| !state.is_live()).await;
    bench.proxy.restore();
    live(&link).await;
    assert_eq!(bench.proxy.connections(), 2);
}

#[tokio::test]
async fn an_agent_that_stands_still_does_not_condemn_its_host_when_the_network_changes() {
    let mut bench = Bench::new().await;
    let hour = Duration::from_secs(3600);
    // Nothing is said by itself, so that only the proof can be what the host answers.
    bench.timings = Timings {
        ping_interval: hour,
        dead_after: hour,
        stalled_after: hour,
        wake_grace: Duration::from_millis(600),
        ..Timings::default()
    };
    let (link, _) = bench.live().await;
    bench.daemon.mute(true);
    let seen = record(&link, &bench.scope);
    link.network_changed(NetworkChange::Moved);
    link.woke();
    // Longer than the grace and the ticks around it: a proof that failed would have shown.
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(seen.lock().unwrap().iter().all(LinkState::is_live), "{seen:?}");
    assert_eq!(bench.proxy.connections(), 1, "the host answered");
    bench.proxy.black_hole(true);
    link.network_changed(NetworkChange::Moved);
    state(&link, "loss", |state| !state.is_live()).await;
}

#[tokio::test]
async fn a_process_that_got_no_processor_for_seconds_keeps_its_link() {
    let mut bench = Bench::new().await;
    bench.timings = short();
    let (link, _) = bench.live().await;
    let seen = record(&link, &bench.scope);
    // Everything of this test runs on this thread, so nothing moves. Far longer than the silence that is allowed.
    std::thread::sleep(Duration::from_secs(3));
    let asked = bench.daemon.asked();
    let answered = async {
        while bench.daemon.asked() == asked {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, answered).await.unwrap();
    link.agent().hello().await.unwrap();
    assert_eq!(bench.proxy.connections(), 1);
    let seen = seen.lock().unwrap();
    assert!(seen.iter().all(LinkState::is_live), "{seen:?}");
}

#[tokio::test]
async fn an_agent_that_hangs_is_shown_and_kept() {
    let mut bench = Bench::new().await;
    bench.timings = short();
    let (link, _) = bench.live().await;
    bench.daemon.hang(true);
    state(&link, "stall", |state| {
        matches!(
            state,
            LinkState::Live {
                health: Health::Stalled,
                ..
            }
        )
    })
    .await;
    bench.daemon.hang(false);
    state(&link, "recovery", |state| {
        matches!(
            state,
            LinkState::Live {
                health: Health::Good,
                ..
            }
        )
    })
    .await;
    assert_eq!(bench.proxy.connections(), 1);
}

#[tokio::test]
async fn an_agent_that_moves_no_byte_for_long_is_dialled_again() {
    let mut bench = Bench::new().await;
    bench.timings = Timings {
        stalled_after: Duration::from_secs(1),
        attach: Duration::from_secs(2),
        ..short()
    };
    let (link, _) = bench.live().await;
    bench.daemon.mute(true);
    let lost = state(&link, "loss", |state| state.cause().is_some()).await;
    let cause = lost.cause().unwrap();
    assert!(matches!(cause.kind(), ErrorKind::Silent(_)), "{cause}");
    bench.daemon.mute(false);
    live(&link).await;
    assert!(bench.proxy.connections() > 1);
    assert_eq!(bench.daemon.launches(), 1);
}

#[tokio::test]
async fn a_dead_daemon_is_started_again_without_another_login() {
    let bench = Bench::new().await;
    let (link, before) = bench.live().await;
    bench.daemon.kill();
    state(&link, "loss", |state| !state.is_live()).await;
    let after = live(&link).await;
    assert_eq!(after.arrival, Some(Arrival::Launched));
    assert_ne!(after.hello.identity.instance, before.hello.identity.instance);
    assert_eq!((bench.daemon.launches(), bench.proxy.connections()), (2, 1));
    link.agent().hello().await.unwrap();
}

#[tokio::test]
async fn a_restarted_host_is_the_same_and_another_machine_is_not() {
    let bench = Bench::new().await;
    bench.daemon.change(|hello| {
        hello.identity.machine = "machine".into();
        hello.identity.uid = 1000;
    });
    let (link, _) = bench.live().await;
    bench
        .daemon
        .change(|hello| hello.identity.boot_id = "later".into());
    bench.proxy.cut();
    state(&link, "loss", |state| !state.is_live()).await;
    live(&link).await;
    bench
        .daemon
        .change(|hello| hello.identity.machine = "other".into());
    bench.proxy.cut();
    let failed = state(&link, "failure", |state| matches!(state, LinkState::Failed(_))).await;
    let cause = failed.cause().unwrap();
    assert!(matches!(cause.kind(), ErrorKind::OtherMachine(_)), "{cause}");
    assert_eq!(
        cause.to_string(),
        "attach on testhost: another machine or user answers under this name: it was machine machine, user 1000; now it \
         is machine other, user 1000"
    );
    // What is open here is on the other one, so nobody is asked whether to go on.
    assert!(cause.hint().unwrap().contains("try again to reach it"), "{cause}");
}

/// Sends a word through a forward to an echo and waits for it.
async fn echo(port: u16) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(b"word").await.unwrap();
    let mut back = [0; 4];
    tokio::time::timeout(PATIENCE, stream.read_exact(&mut back))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(&back, b"word");
}

#[tokio::test]
async fn a_forward_goes_on_after_a_drop_and_while_a_daemon_is_replaced() {
    let bench = Bench::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = listener.local_addr().unwrap().port();
    let (scope, token) = (bench.scope.clone(), bench.scope.token().clone());
    bench.scope.spawn(async move {
        loop {
            let mut stream = tokio::select! {
                biased;
                () = token.cancelled() => return,
                accepted = listener.accept() => accepted.unwrap().0,
            };
            scope.spawn(async move {
                let (mut read, mut write) = stream.split();
                let _gone = tokio::io::copy(&mut read, &mut write).await;
            });
        }
    });
    let (link, _) = bench.live().await;
    let rule = format!("L:127.0.0.1:0:127.0.0.1:{target}");
    link.forwards().add(rule.parse().unwrap()).await.unwrap();
    let [rule] = link.forwards().list().try_into().unwrap();
    let forward::Endpoint::Tcp { port, .. } = rule.bound else {
        panic!("{rule:?}")
    };
    echo(port).await;
    bench.proxy.cut();
    state(&link, "loss", |state| !state.is_live()).await;
    echo(port).await;
    live(&link).await;
    bench.daemon.kill();
    state(&link, "loss", |state| !state.is_live()).await;
    assert!(link.connection().is_some(), "the line is still there");
    echo(port).await;
    live(&link).await;
}

//! Two machines under one name: load balancers, clones, and hosts that were replaced.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use link::{Answer, Error, ErrorKind, Link, LinkState, Patience, Prompter};

use crate::bench::{Bench, PATIENCE, live, state};

/// Somebody who accepts another machine, or does not, and is asked nothing else.
struct Person {
    accepts: bool,
    asked: AtomicUsize,
}

impl Person {
    fn new(accepts: bool) -> Arc<Self> {
        let asked = AtomicUsize::default();
        Arc::new(Self { accepts, asked })
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Prompter for Person {
    fn confirm<'a>(&'a self, question: &'a str) -> Answer<'a, bool> {
        assert!(
            question.starts_with("testhost was machine machine, user 1000; now "),
            "{question}"
        );
        self.asked.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(self.accepts))
    }
}

/// Goes there once, as a process of before did.
async fn visited() -> Bench {
    let bench = Bench::new().await;
    become_known(&bench);
    let (link, _) = bench.live().await;
    link.close().await;
    bench
}

fn become_known(bench: &Bench) {
    bench.daemon.change(|hello| {
        hello.identity.machine = "machine".into();
        hello.identity.uid = 1000;
    });
}

fn become_another(bench: &Bench) {
    bench
        .daemon
        .change(|hello| hello.identity.machine = "other".into());
}

async fn refused(link: &Link) -> Error {
    let error = link.wait_live(Patience::FirstTry).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::OtherMachine(_)), "{error}");
    assert!(matches!(&*link.states().borrow(), LinkState::Failed(_)));
    error
}

#[tokio::test]
async fn a_later_process_notices_another_machine_before_any_work() {
    let bench = visited().await;
    let paths = bench.daemon.paths();
    become_another(&bench);
    let link = bench.open();
    // Waits for the link, as the first request of a front end does.
    let agent = link.agent();
    let request = bench.scope.spawn(async move { agent.sessions().await });
    let error = refused(&link).await;
    assert_eq!(error.exit_class().code(), 4);
    assert_eq!(
        error.to_string(),
        "attach on testhost: another machine or user answers under this name: it was machine machine, user 1000; now it \
         is machine other, user 1000"
    );
    let hint = error.hint().unwrap();
    assert!(
        hint.contains("`reasonix remote trust testhost --machine`"),
        "{hint}"
    );
    let answer = tokio::time::timeout(PATIENCE, request).await.unwrap().unwrap();
    assert!(answer.is_err());
    assert_eq!(bench.daemon.paths(), paths, "only its hello was asked for");
    assert!(link.connection().is_none(), "no forward goes there either");
}

#[tokio::test]
async fn a_person_accepts_a_replaced_machine_once() {
    let mut bench = visited().await;
    become_another(&bench);
    let doubtful = Person::new(false);
    bench.prompter = Arc::<Person>::clone(&doubtful);
    let link = bench.open();
    refused(&link).await;
    assert_eq!(doubtful.asked(), 1);
    // Asked again only by somebody who wants to try again.
    link.retry_now();
    refused(&link).await;
    assert_eq!(doubtful.asked(), 2);
    link.close().await;

    let willing = Person::new(true);
    bench.prompter = Arc::<Person>::clone(&willing);
    for _ in 0..2 {
        let (link, ready) = bench.live().await;
        assert_eq!(ready.hello.identity.machine, "other");
        link.agent().hello().await.unwrap();
        link.close().await;
    }
    assert_eq!(willing.asked(), 1);
}

#[tokio::test]
async fn another_user_on_the_same_machine_is_noticed_as_well() {
    let bench = visited().await;
    bench.daemon.change(|hello| hello.identity.uid = 0);
    let error = refused(&bench.open()).await;
    assert!(
        error.to_string().ends_with("now it is machine machine, user 0"),
        "{error}"
    );
}

#[tokio::test]
async fn a_restart_and_a_machine_without_an_id_are_no_other_machine() {
    let bench = visited().await;
    bench.daemon.change(|hello| {
        hello.identity.boot_id = "later".into();
        hello.identity.machine.clear();
    });
    let (link, _) = bench.live().await;
    link.close().await;
    // What was known is not lost by that.
    become_another(&bench);
    refused(&bench.open()).await;
}

#[tokio::test]
async fn what_is_forgotten_is_learned_anew() {
    let bench = visited().await;
    become_another(&bench);
    let options = bench.options();
    let link::Host::Resolved(resolved) = &options.host else {
        panic!("resolved by hand")
    };
    let state_dir = options.state_dir.as_ref().unwrap();
    assert!(link::forget_machine(state_dir, &resolved.endpoint).unwrap());
    assert!(!link::forget_machine(state_dir, &resolved.endpoint).unwrap());
    let (link, ready) = bench.live().await;
    assert_eq!(ready.hello.identity.machine, "other");
    link.close().await;
    bench
        .daemon
        .change(|hello| hello.identity.machine = "machine".into());
    refused(&bench.open()).await;
}

#[tokio::test]
async fn of_a_pool_the_machine_that_is_open_is_waited_for() {
    let bench = Bench::new().await;
    become_known(&bench);
    let (link, _) = bench.live().await;
    become_another(&bench);
    bench.proxy.cut();
    state(&link, "refusal", |state| matches!(state, LinkState::Failed(_))).await;
    bench
        .daemon
        .change(|hello| hello.identity.machine = "machine".into());
    link.retry_now();
    live(&link).await;
}

#[tokio::test]
async fn nothing_is_put_on_another_machine_that_has_no_agent_yet() {
    let mut bench = visited().await;
    bench.daemon.kill();
    std::fs::remove_dir_all(bench.path("home/.reasonix/bin")).unwrap();
    // Whoever is asked now is this very machine, which is not the one that was met.
    let link = bench.open();
    refused(&link).await;
    link.close().await;
    let programs = || std::fs::read_dir(bench.path("home/.reasonix/bin")).map_or(0, Iterator::count);
    assert_eq!((bench.daemon.launches(), programs()), (1, 0));

    let willing = Person::new(true);
    bench.prompter = Arc::<Person>::clone(&willing);
    bench.daemon.change(|hello| {
        hello.identity.machine.clear();
        hello.identity.uid = rustix::process::geteuid().as_raw();
    });
    bench.live().await;
    assert_eq!((willing.asked(), bench.daemon.launches()), (1, 2));
}

//! Cancelling, running out of time, and commands that want a person.

use std::time::Duration;

use sandbox::{End, Mode, RunOptions, SandboxError};
use tokio_util::sync::CancellationToken;

use crate::world::{World, running, unique_sleep, until};

/// Runs a tree of processes, ends it in the given way and checks that nothing is left of it.
async fn check_tree_ends(world: &World, mode: Mode, prelude: &str, timeout: Option<Duration>) -> End {
    let mark = unique_sleep();
    let token = CancellationToken::new();
    let mut options = RunOptions::new(token.clone());
    options.timeout = timeout;
    options.grace = Duration::from_millis(200);
    let script = format!("{prelude} (sleep {mark} & sleep {mark}; true) & echo started; wait; sleep {mark}");
    let policy = world.policy(mode);
    let run = world.run_with(&policy, &script, options);
    let cancel = async {
        if timeout.is_none() {
            until("both are running", || {
                running(&format!("sleep\0{mark}")).len() == 2
            })
            .await;
            token.cancel();
        }
    };
    let (outcome, ()) = tokio::join!(run, cancel);
    let outcome = outcome.unwrap();
    assert_eq!(outcome.output.text(), "started\n");
    assert_eq!(outcome.background, None);
    until("all are gone", || running(&format!("sleep\0{mark}")).is_empty()).await;
    outcome.end
}

#[tokio::test]
async fn cancel_ends_the_whole_tree() {
    let world = World::new().await;
    assert_eq!(
        check_tree_ends(&world, Mode::Unconfined, "", None).await,
        End::Cancelled
    );
    assert_eq!(
        check_tree_ends(&world, Mode::Unconfined, "trap '' TERM;", None).await,
        End::Cancelled
    );
    if world.confines().await {
        assert_eq!(
            check_tree_ends(&world, Mode::WorkspaceWrite, "", None).await,
            End::Cancelled
        );
        assert_eq!(
            check_tree_ends(&world, Mode::WorkspaceWrite, "trap '' TERM;", None).await,
            End::Cancelled
        );
    }
}

#[tokio::test]
async fn timeout_ends_the_whole_tree() {
    let world = World::new().await;
    let limit = Duration::from_secs(2);
    assert_eq!(
        check_tree_ends(&world, Mode::Unconfined, "", Some(limit)).await,
        End::TimedOut(limit)
    );
}

#[tokio::test]
async fn a_confined_process_cannot_leave_by_setsid() {
    let world = World::new().await;
    if !world.confines().await {
        return;
    }
    let mark = unique_sleep();
    let token = CancellationToken::new();
    let policy = world.policy(Mode::WorkspaceWrite);
    let mut options = RunOptions::new(token.clone());
    options.grace = Duration::from_millis(100);
    let script = format!("setsid sleep {mark} & sleep {mark}");
    let run = world.run_with(&policy, &script, options);
    let cancel = async {
        until("both are running", || {
            running(&format!("sleep\0{mark}")).len() == 2
        })
        .await;
        token.cancel();
    };
    let (outcome, ()) = tokio::join!(run, cancel);
    assert_eq!(outcome.unwrap().end, End::Cancelled);
    until("all are gone", || running(&format!("sleep\0{mark}")).is_empty()).await;
}

#[tokio::test]
async fn dropping_the_run_ends_the_tree() {
    let world = World::new().await;
    let mark = unique_sleep();
    let policy = world.policy(Mode::Unconfined);
    let script = format!("sleep {mark} & sleep {mark}");
    {
        let run = world.run_with(&policy, &script, RunOptions::new(CancellationToken::new()));
        let started = until("both are running", || {
            running(&format!("sleep\0{mark}")).len() == 2
        });
        tokio::select! {
            biased;
            outcome = run => panic!("ended by itself: {outcome:?}"),
            () = started => {}
        }
    }
    until("all are gone", || running(&format!("sleep\0{mark}")).is_empty()).await;
}

#[tokio::test]
async fn asking_on_the_terminal_fails_at_once() {
    let world = World::new().await;
    for mode in [Mode::Unconfined, Mode::WorkspaceWrite] {
        if mode == Mode::WorkspaceWrite && !world.confines().await {
            continue;
        }
        let outcome = world
            .run(
                mode,
                "(read x </dev/tty && echo got) || echo refused; read y || echo end",
            )
            .await;
        let text = outcome.output.text();
        assert!(
            text.contains("/dev/tty") && text.ends_with("refused\nend\n"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_missing_workspace_is_refused() {
    let world = World::new().await;
    for (mode, gone) in [(Mode::Unconfined, "gone"), (Mode::WorkspaceWrite, "file")] {
        if mode == Mode::WorkspaceWrite && !world.confines().await {
            continue;
        }
        std::fs::write(world.workspace.join("file"), "").unwrap();
        let mut policy = world.policy(mode);
        policy.workspace = world.workspace.resolve(gone);
        let error = world.try_run(&policy, "pwd").await.unwrap_err();
        assert!(matches!(error, SandboxError::WorkspaceMissing(_)), "{error}");
        assert!(error.to_string().contains(gone));
    }
}

#[tokio::test]
async fn a_script_that_cannot_be_passed_is_an_error() {
    let world = World::new().await;
    let error = world
        .try_run(&world.policy(Mode::Unconfined), &"#".repeat(200_000))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("200000 bytes"), "{error}");
    assert!(error.hint().is_some());
}

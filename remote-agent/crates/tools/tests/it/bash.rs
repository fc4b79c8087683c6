//! bash.

use conversation::CallOutcome;
use sandbox::{Backend, Mode};
use serde_json::json;

use crate::world::World;

async fn run(world: &World, command: &str) -> String {
    world.ok("bash", json!({"command": command})).await
}

#[tokio::test]
async fn folder_and_variables_survive() {
    let mut worlds = vec![World::new()];
    worlds.extend(World::confined().await);
    for world in worlds {
        std::fs::create_dir_all(world.cx.workspace.join("sub dir's")).unwrap();
        assert_eq!(
            run(
                &world,
                "cd \"sub dir's\"; export FOO=1; export MULTI='a\nb'; LOCAL=x; unset HOME"
            )
            .await,
            ""
        );
        let want = format!("{}\n1|a\nb||unset\n", world.path("sub dir's"));
        assert_eq!(
            run(&world, "pwd; echo \"$FOO|$MULTI|$LOCAL|${HOME-unset}\"").await,
            want
        );
        assert_eq!(
            world.cx.shell.state.directory().unwrap().to_str().unwrap(),
            world.path("sub dir's")
        );
        // A failing command passes its state on as well, and exec does not lose it.
        world
            .fails(
                "bash",
                json!({"command": "export BAR=2; false"}),
                "error: exit status 1",
            )
            .await;
        assert_eq!(run(&world, "exec true").await, "");
        assert_eq!(
            run(&world, "echo $FOO $BAR; pwd | tail -c 10").await,
            "1 2\nub dir's\n".replacen("ub", "sub", 1)
        );
    }
}

#[tokio::test]
async fn a_private_folder_is_kept_as_the_current_one() {
    let Some(world) = World::confined().await else {
        return;
    };
    run(&world, "mkdir /tmp/build; cd /tmp/build").await;
    assert_eq!(run(&world, "pwd; echo $TMPDIR").await, "/tmp/build\n/tmp\n");
}

#[tokio::test]
async fn a_folder_that_is_gone_is_left() {
    let world = World::new();
    run(&world, "mkdir d; cd d").await;
    std::fs::remove_dir(world.cx.workspace.join("d")).unwrap();
    let text = run(&world, "pwd").await;
    assert_eq!(
        text,
        format!(
            "folder {} is gone; this command runs in the workspace\n{}\n",
            world.path("d"),
            world.cx.workspace
        )
    );
    assert_eq!(run(&world, "pwd").await, format!("{}\n", world.cx.workspace));
}

#[tokio::test]
async fn state_does_not_leave_the_sandbox() {
    let Some(mut world) = World::confined().await else {
        return;
    };
    run(&world, "export EVIL=1; mkdir d; cd d").await;
    world.cx.shell.policy.mode = Mode::Unconfined;
    assert_eq!(
        run(&world, "echo \"$EVIL\"; pwd").await,
        format!("\n{}\n", world.cx.workspace)
    );
}

#[tokio::test]
async fn failures_say_how() {
    let world = World::new();
    let result = world
        .call("bash", json!({"command": "echo out; echo err >&2; exit 3"}))
        .await;
    assert_eq!(result.content, "error: exit status 3\nout\nerr\n");
    assert_eq!(
        (result.outcome, result.exit_status),
        (CallOutcome::Failed, Some(3))
    );
    for command in ["", "  \n"] {
        assert_eq!(
            world.fails("bash", json!({"command": command}), "").await,
            "error: command is required"
        );
    }
    let text = world
        .fails("bash", json!({"command": "echo one\nif"}), "syntax error")
        .await;
    assert!(text.contains("line 2") || text.contains("line 3"), "{text}");
    world
        .fails(
            "bash",
            json!({"command": format!("true {}", "#".repeat(200_000))}),
            "too long",
        )
        .await;
}

#[tokio::test]
async fn an_ssh_agent_is_named_while_it_is_lent() {
    let mut world = World::new();
    let socket = world.cx.workspace.resolve("keys/agent.sock");
    world.cx.shell.key_agent = Some(socket.clone());
    let asks = "echo ${SSH_AUTH_SOCK-none}";
    assert_eq!(run(&world, asks).await, "none\n");
    world.put("keys/agent.sock", "");
    assert_eq!(run(&world, asks).await, format!("{socket}\n"));
    // A shell passes its variables on.
    std::fs::remove_file(socket.as_path()).unwrap();
    assert_eq!(run(&world, asks).await, "none\n");
    // An agent of the command's own.
    run(&world, "export SSH_AUTH_SOCK=/own").await;
    world.put("keys/agent.sock", "");
    assert_eq!(run(&world, asks).await, "/own\n");
}

#[tokio::test]
async fn a_timeout_resets_the_shell() {
    let world = World::new();
    run(&world, "mkdir d; cd d; export FOO=1").await;
    let text = world
        .fails(
            "bash",
            json!({"command": "echo begun; sleep 3600", "timeout_ms": 1000}),
            "",
        )
        .await;
    assert!(
        text.starts_with("error: command timed out (> 1000ms)\n"),
        "{text}"
    );
    assert!(
        text.ends_with("The shell was reset: the next call starts fresh in the workspace."),
        "{text}"
    );
    assert_eq!(
        run(&world, "pwd; echo $FOO").await,
        format!("{}\n\n", world.cx.workspace)
    );
}

#[tokio::test]
async fn the_configured_limit_wins() {
    let mut world = World::new();
    world.cx.shell.time_limit = Some(std::time::Duration::from_millis(200));
    world
        .fails(
            "bash",
            json!({"command": "sleep 3600", "timeout_ms": 600_000}),
            "command timed out (> 200ms)",
        )
        .await;
    world
        .fails(
            "bash",
            json!({"command": "sleep 3600"}),
            "command timed out (> 200ms)",
        )
        .await;
}

#[tokio::test]
async fn cancelling_and_dying_reset_the_shell() {
    let mut world = World::new();
    run(&world, "export FOO=1").await;
    world
        .fails("bash", json!({"command": "kill -KILL $$"}), "ended by signal 9")
        .await;
    assert_eq!(run(&world, "echo $FOO; export FOO=2").await, "\n");
    let token = world.cx.token.clone();
    let (sender, mut receiver) = tokio::sync::mpsc::channel(4);
    world.cx.live = Some(sender);
    let cancel = async {
        assert_eq!(receiver.recv().await.unwrap(), "begun\n");
        token.cancel();
    };
    let (result, ()) = tokio::join!(
        world.call("bash", json!({"command": "echo begun; sleep 3600"})),
        cancel
    );
    assert_eq!(result.outcome, CallOutcome::Interrupted);
    assert!(
        result
            .content
            .starts_with("error: command cancelled\nbegun\nThe shell was reset"),
        "{}",
        result.content
    );
    world.cx.token = tokio_util::sync::CancellationToken::new();
    world.cx.live = None;
    assert_eq!(run(&world, "echo $FOO").await, "\n");
}

#[tokio::test]
async fn long_output_keeps_both_ends() {
    let world = World::new();
    let result = world
        .call("bash", json!({"command": "echo first; seq 100000; echo last"}))
        .await;
    assert!(result.content.len() <= 16_000);
    assert!(result.content.starts_with("first\n1\n") && result.content.ends_with("\n100000\nlast\n"));
    let notice = result.notice.unwrap();
    assert!(
        notice.starts_with("[tool output truncated: ") && notice.contains(" of 588906 bytes elided]"),
        "{notice}"
    );
    assert!(result.content.contains(&notice));
    assert_eq!(result.raw.unwrap().len(), 588_906);
    for character in ["汉", "👩‍💻"] {
        for shift in 0..4 {
            let command = format!(
                "printf '%{shift}s'; for i in $(seq 2000); do printf '%s' {}; done",
                character.repeat(10)
            );
            let content = run(&world, &command).await;
            assert!(content.len() <= 16_000 && !content.contains('\u{fffd}'));
        }
    }
}

#[tokio::test]
async fn background_processes_are_named() {
    let mut worlds = vec![World::new()];
    worlds.extend(World::confined().await);
    for world in worlds {
        let text = run(&world, "sleep 3600 & echo started").await;
        assert!(
            text.starts_with("started\n[Still running in the background: sleep (pid "),
            "{text}"
        );
        assert!(text.ends_with("stopped at the session's end]"), "{text}");
        assert_eq!(run(&world, "echo next").await, "next\n");
        world.cx.shell.sandbox.close().await;
        assert!(world.cx.shell.sandbox.background().is_empty());
    }
}

#[tokio::test]
async fn confinement_is_never_skipped() {
    let world = World::with(
        Backend::None("bubblewrap (bwrap) is not installed".into()),
        Mode::WorkspaceWrite,
    );
    let text = world
        .fails(
            "bash",
            json!({"command": "touch ran"}),
            "error: shell sandbox requested but unavailable",
        )
        .await;
    assert!(text.contains("\nhint: install bubblewrap"), "{text}");
    assert!(!world.cx.workspace.join("ran").exists());
}

#[tokio::test]
async fn confined_commands_use_the_policy() {
    let Some(mut world) = World::confined().await else {
        return;
    };
    let outside = world.root.resolve("outside");
    let command = json!({"command": format!("touch {outside}/f")});
    world
        .fails("bash", command.clone(), "Read-only file system")
        .await;
    world.cx.shell.policy.write_roots = vec![outside.clone()];
    world.ok("bash", command).await;
    world.cx.shell.policy.mode = Mode::ReadOnly;
    world
        .fails("bash", json!({"command": "touch f"}), "Read-only file system")
        .await;
}

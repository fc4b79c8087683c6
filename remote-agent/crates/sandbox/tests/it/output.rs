//! What a command prints comes back whole, in order, in bounded memory.

use sandbox::{End, LiveOutput, Mode, RunOptions};
use tokio_util::sync::CancellationToken;

use crate::world::World;

async fn printed(script: &str) -> String {
    let outcome = World::new().await.run(Mode::Unconfined, script).await;
    assert_eq!(outcome.end, End::Exited(0), "{}", outcome.output.text());
    assert_eq!(outcome.background, None);
    outcome.output.text()
}

#[tokio::test]
async fn both_streams_arrive_in_order() {
    assert_eq!(
        printed("echo a; echo b >&2; echo c; echo d >&2").await,
        "a\nb\nc\nd\n"
    );
}

#[tokio::test]
async fn a_failing_command_says_how_it_ended() {
    let world = World::new().await;
    for mode in [Mode::Unconfined, Mode::WorkspaceWrite] {
        if mode == Mode::WorkspaceWrite && !world.confines().await {
            continue;
        }
        let outcome = world.run(mode, "echo said; exit 7").await;
        assert_eq!(
            (outcome.end, outcome.output.text().as_str()),
            (End::Exited(7), "said\n")
        );
    }
    assert_eq!(
        world.run(Mode::Unconfined, "kill -KILL $$").await.end,
        End::Signaled(9)
    );
}

#[tokio::test]
async fn characters_split_over_writes_stay_whole() {
    assert_eq!(
        printed(r"printf '\346'; sleep 0.05; printf '\261\211\n'").await,
        "汉\n"
    );
    assert_eq!(
        printed(r"printf '\346'; echo err >&2; printf '\261\211\n'").await,
        "err\n汉\n"
    );
    assert_eq!(printed(r"printf 'a\377b'").await, "a\u{fffd}b");
}

#[tokio::test]
async fn endless_output_is_bounded() {
    let outcome = World::new()
        .await
        .run(
            Mode::Unconfined,
            "echo first; head -c 200000000 /dev/zero; echo; echo last",
        )
        .await;
    assert_eq!(outcome.output.total_bytes(), 200_000_012);
    let rendered = outcome.output.render(16_000, |elided, total| {
        format!("[{elided} of {total} bytes elided]")
    });
    assert!(rendered.text.len() <= 16_000);
    assert!(rendered.text.starts_with("first\n") && rendered.text.ends_with("last\n"));
    assert!(rendered.text.contains("of 200000012 bytes elided]"));
    assert!(outcome.output.text().len() < 8 << 20);
}

#[tokio::test]
async fn live_output_follows_the_command() {
    let world = World::new().await;
    let (sender, mut receiver) = tokio::sync::mpsc::channel(4);
    let mut options = RunOptions::new(CancellationToken::new());
    options.live = Some(LiveOutput::new(sender));
    let policy = world.policy(Mode::Unconfined);
    // The command goes on only when its first line has been seen.
    let run = world.run_with(
        &policy,
        "echo one; while ! test -e go; do sleep 0.01; done; printf 'two'",
        options,
    );
    let watch = async {
        let mut seen = receiver.recv().await.unwrap();
        assert_eq!(seen, "one\n");
        std::fs::write(world.workspace.join("go"), "").unwrap();
        while let Some(text) = receiver.recv().await {
            seen.push_str(&text);
        }
        seen
    };
    let (outcome, seen) = tokio::join!(run, watch);
    assert_eq!(seen, "one\ntwo");
    assert_eq!(outcome.unwrap().output.text(), seen);
}

#[tokio::test]
async fn a_reader_that_does_not_read_does_not_slow_the_command() {
    let world = World::new().await;
    let (sender, _receiver) = tokio::sync::mpsc::channel(1);
    let mut options = RunOptions::new(CancellationToken::new());
    options.live = Some(LiveOutput::new(sender));
    let outcome = world
        .run_with(&world.policy(Mode::Unconfined), "seq 200000", options)
        .await
        .unwrap();
    assert!(outcome.output.text().ends_with("\n200000\n"));
}

#[tokio::test]
async fn chinese_names_and_text_survive_without_a_locale() {
    let world = World::new().await;
    std::fs::create_dir(world.workspace.join("目录")).unwrap();
    std::fs::write(world.workspace.join("目录/文件 一.txt"), "你好\n").unwrap();
    let outcome = world
        .run(Mode::Unconfined, "ls 目录; cat 目录/*; locale charmap")
        .await;
    assert_eq!(outcome.output.text(), "文件 一.txt\n你好\nUTF-8\n");
}

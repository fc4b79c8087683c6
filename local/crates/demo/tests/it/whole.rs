//! Runs of the demo.

use std::{fs, path::Path, time::Duration};

use demo::{DemoError, DemoOptions, Line, Summary, Topic};

use crate::program::reasonix;

/// Far more than a run needs, since a debug build on a busy machine takes its time to be uploaded.
pub(crate) const PATIENCE: Duration = Duration::from_secs(240);

fn options(temporary: &Path) -> DemoOptions {
    DemoOptions {
        deadline: PATIENCE,
        ..DemoOptions::new(reasonix(), env!("CARGO_PKG_VERSION"), temporary.to_owned())
    }
}

/// Runs it and gives the lines too; `each` sees every line.
async fn run(options: DemoOptions, mut each: impl FnMut(&Line)) -> (Result<Summary, DemoError>, Vec<Line>) {
    let mut lines = Vec::new();
    let result = demo::run(options, &mut |line| {
        each(&line);
        lines.push(line);
    })
    .await;
    (result, lines)
}

/// Nothing is left: no folder, and no process that runs a program from it.
pub(crate) fn assert_clean(temporary: &Path) {
    let left: Vec<_> = fs::read_dir(temporary).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    let temporary = temporary.canonicalize().unwrap();
    for entry in fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
        if let Ok(program) = fs::read_link(entry.path().join("exe")) {
            assert!(
                !program.starts_with(&temporary),
                "{} runs {}",
                entry.path().display(),
                program.display()
            );
        }
    }
}

fn text(lines: &[Line]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_whole_way_loses_nothing_and_leaves_nothing() {
    let temporary = tempfile::tempdir().unwrap();
    let (result, lines) = run(options(temporary.path()), |_| {}).await;
    let told = text(&lines);
    let summary = result.unwrap_or_else(|error| panic!("{error}\n{:?}\n{told}", error.details()));
    let names: Vec<_> = summary.stages.iter().map(|stage| stage.name).collect();
    assert_eq!(
        names,
        [
            "connect",
            "upload",
            "launch",
            "session",
            "turn",
            "cut",
            "reconnected",
            "check",
            "stop"
        ]
    );
    assert_eq!((summary.events.lost, summary.events.doubled), (0, 0));
    // Opened, submitted, started; five answers; four calls with start and end; the end.
    assert!(summary.events.in_log >= 17, "{:?}", summary.events);
    assert_eq!(
        summary.events.received + summary.events.covered,
        summary.events.in_log
    );
    assert_eq!(
        summary.to_string().lines().last(),
        Some("demo: ok lost=0 doubled=0")
    );

    // The cut is in mid-answer: text before it, and text after the connection is back.
    let at = |topic| lines.iter().position(|line| line.topic == topic).unwrap();
    let (cut, back) = (at(Topic::Cut), at(Topic::Back));
    assert_eq!(lines[cut - 1].topic, Topic::Model, "{told}");
    assert!(
        cut < back && lines[back..].iter().any(|line| line.topic == Topic::Model),
        "{told}"
    );
    // The test fails first and passes then.
    let tools: String = lines
        .iter()
        .filter(|line| line.topic == Topic::Tool)
        .map(|line| format!("{}\n", line.text))
        .collect();
    let (fails, passes) = (
        tools.find("FAIL").unwrap(),
        tools.rfind("ok    2 + 3 = 5").unwrap(),
    );
    assert!(fails < passes, "{tools}");
    for call in ["-> bash ", "-> read_file ", "-> edit_file "] {
        assert!(tools.contains(call), "{tools}");
    }
    assert_clean(temporary.path());
}

/// Interrupts the run at the first line of a topic.
async fn interrupt_at(topic: Topic) {
    let temporary = tempfile::tempdir().unwrap();
    let options = options(temporary.path());
    let token = options.token.clone();
    let (result, lines) = run(options, |line| {
        if line.topic == topic {
            token.cancel();
        }
    })
    .await;
    assert!(
        matches!(result, Err(DemoError::Interrupted)),
        "{topic}: {result:?}\n{}",
        text(&lines)
    );
    assert!(lines.iter().any(|line| line.topic == topic), "{}", text(&lines));
    assert_clean(temporary.path());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interrupted_during_the_upload_nothing_is_left() {
    interrupt_at(Topic::Upload).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interrupted_while_a_tool_runs_nothing_is_left() {
    interrupt_at(Topic::Tool).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interrupted_while_the_link_is_down_nothing_is_left() {
    interrupt_at(Topic::Cut).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deadline_that_is_too_short_is_said_and_nothing_is_left() {
    let temporary = tempfile::tempdir().unwrap();
    let options = DemoOptions {
        deadline: Duration::from_secs(10),
        ..options(temporary.path())
    };
    let (result, lines) = run(options, |_| {}).await;
    let error = result.unwrap_err();
    assert!(
        matches!(error, DemoError::Overdue { seconds: 10, .. }),
        "{error}\n{}",
        text(&lines)
    );
    assert_clean(temporary.path());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_is_none_is_refused_in_words_and_nothing_is_left() {
    let temporary = tempfile::tempdir().unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), "#!/bin/sh\nexit 3\n").unwrap();
    let options = DemoOptions {
        program: file.path().to_owned(),
        ..options(temporary.path())
    };
    let (result, lines) = run(options, |_| {}).await;
    let error = result.unwrap_err();
    assert!(matches!(error, DemoError::Link(_)), "{error:?}\n{}", text(&lines));
    assert_clean(temporary.path());
}

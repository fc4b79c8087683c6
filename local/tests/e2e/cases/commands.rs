//! Commands come back, whatever they leave behind or print.

use std::{fs, path::Path};

use scripted_model::{Reply, Scenario};
use serde_json::{Value, json};

use crate::{
    local_rig::LocalRig,
    rig::{eventually, kill},
};

fn bash(command: &str) -> Value {
    json!({"command": command})
}

#[tokio::test(flavor = "multi_thread")]
async fn ra_22_a_child_in_the_background_does_not_hold_the_call() {
    let rows = [
        (
            "ticking",
            "( while :; do echo tick; sleep 1; done ) & echo $! > ticking; echo started",
        ),
        ("silent", "sleep 600 & echo $! > silent; echo started"),
        ("stderr", "sleep 600 >/dev/null & echo $! > stderr; echo started"),
        (
            "setsid",
            "setsid sh -c 'echo $$ > setsid; exec sleep 600' & until [ -s setsid ]; do :; done; echo started",
        ),
        (
            "nohup",
            "nohup sleep 600 >/dev/null 2>&1 & echo $! > nohup; echo started",
        ),
        ("disown", "sleep 600 & disown; echo $! > disown; echo started"),
    ];
    let scenario = rows.iter().fold(Scenario::new(), |scenario, (_, command)| {
        scenario.call("bash", &bash(command))
    });
    let rig = LocalRig::new(scenario.call("bash", &bash("echo next")).say("Done.")).await;
    rig.task(&[]).await.ok();
    let answers = rig.answers();
    assert_eq!(answers.last().map(|answer| answer.trim()), Some("next"));
    for ((name, _), answer) in rows.iter().zip(&answers) {
        let pid: u32 = String::from_utf8(rig.read(name)).unwrap().trim().parse().unwrap();
        assert!(answer.contains("started\n"), "{name}: {answer}");
        assert!(answer.contains("running"), "{name}: {answer}");
        if answer.contains("it is stopped at the session's end") {
            let process = format!("/proc/{pid}/cwd");
            eventually("the child of the session is gone", || {
                !Path::new(&process).exists()
            })
            .await;
        } else {
            assert!(
                answer.contains("left the command's process group"),
                "{name}: {answer}"
            );
            kill(pid);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ra_23_characters_survive_being_read_in_pieces() {
    let scenario = Scenario::new()
        .call("bash", &bash(r"printf '\346'; sleep 0.05; printf '\261\211\n'"))
        .call(
            "bash",
            &bash(r"printf '\360\237'; sleep 0.05; printf 'note\n' >&2; printf '\221\251\n'"),
        )
        .call("bash", &bash(r"printf 'a\377b\n'"))
        .say("Read.");
    let rig = LocalRig::new(scenario).await;
    rig.task(&[]).await.ok();
    let answers = rig.answers();
    assert_eq!(answers[0].trim(), "汉");
    assert!(
        answers[1].contains('👩') && answers[1].contains("note"),
        "{}",
        answers[1]
    );
    assert!(!answers[1].contains('\u{fffd}'), "{}", answers[1]);
    assert!(
        answers[2].starts_with('a') && answers[2].trim_end().ends_with('b'),
        "{}",
        answers[2]
    );
    assert!(answers[2].trim().len() > 2, "the invalid byte is shown");
}

#[tokio::test(flavor = "multi_thread")]
async fn ra_24_endless_output_is_bounded_and_its_size_is_told() {
    const BYTES: usize = 50_000_000;
    const MOST_KIB: u64 = 200 * 1024;
    let scenario = Scenario::new()
        .call("bash", &bash(&format!("head -c {BYTES} /dev/zero | tr '\\0' a")))
        .call("bash", &bash("yes | head -n 20000000"))
        .reply(Reply::new().gate("measured").call("bash", &bash("echo next")))
        .say("Done.");
    let rig = LocalRig::new(scenario).await;
    let run = rig.start(&["run", "--output-format", "stream-json", "flood"]);
    let gate = rig.model.gate("measured");
    rig.held("measured").await;
    let status = fs::read_to_string(format!("/proc/{}/status", run.child.id().unwrap())).unwrap();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kib < MOST_KIB, "the process took {kib} KiB");
    gate.open();
    let (_, status, stderr) = run.finish().await;
    assert_eq!(status.code(), Some(0), "{stderr}");
    let answers = rig.answers();
    assert!(answers[0].len() <= 32 * 1024 && answers[1].len() <= 32 * 1024);
    assert!(answers[0].contains(&BYTES.to_string()), "the true size is told");
    assert!(answers[1].contains("40000000"), "the true size is told");
    assert_eq!(answers[2].trim(), "next");
}

#[tokio::test(flavor = "multi_thread")]
async fn ra_25_a_command_cannot_read_the_persons_terminal() {
    let scenario = Scenario::new()
        .call("bash", &bash("bash -c 'read x </dev/tty && echo got'"))
        .call("bash", &bash("git init -q . && git commit --allow-empty -q"))
        .call(
            "bash",
            &bash("git -c user.name=a -c user.email=a@b commit --allow-empty -qm one && git log"),
        )
        .say("Done.");
    let rig = LocalRig::new(scenario).await;
    // `script` gives the program a terminal of its own, as a person has.
    let line = format!("{} run look", crate::rig::program().display());
    let args = ["-qec", line.as_str(), "/dev/null"];
    let ran = crate::rig::ended(&args, rig.other_command("script", &args).output()).await;
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let answers = rig.answers();
    assert!(
        answers[0].starts_with("error: ") && !answers[0].contains("got\n"),
        "{}",
        answers[0]
    );
    assert!(answers[1].starts_with("error: "), "{}", answers[1]);
    assert!(answers[2].contains("one"), "{}", answers[2]);
}

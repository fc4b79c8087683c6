//! Sessions come back after damage and interruption; cuts never split a character.

use std::fs;

use rustix::process::Signal;
use scripted_model::{Reply, Scenario};
use serde_json::json;

use crate::{
    local_rig::LocalRig,
    rig::{eventually, send_signal, session_of},
};

/// Makes a damaged line from a good one.
type Damage = fn(&str) -> String;

/// What happens to a line, and how.
const DAMAGE: [(&str, Damage); 6] = [
    ("cut in half", |line| line[..line.len() / 2].to_owned()),
    ("empty", |_| String::new()),
    ("zeros", |_| "\0".repeat(512)),
    ("two on one line", |line| format!("{line}{line}")),
    ("a raw line end", |line| line.replacen(',', ",\n", 1)),
    ("an unknown kind", |line| {
        line.replacen("\"kind\":\"", "\"kind\":\"new_", 1)
    }),
];

#[tokio::test(flavor = "multi_thread")]
async fn ra_45_a_damaged_line_hides_nothing_behind_it() {
    for (name, damage) in DAMAGE {
        let rig = LocalRig::new(Scenario::new()).await;
        let mut session = None;
        for turn in 0..5 {
            rig.model.push(Reply::new().call("ls", &json!({})));
            rig.model.push(Reply::new().say(format!("Answer {turn}.")));
            let options: Vec<&str> = session.as_deref().map_or(Vec::new(), |id| vec!["--resume", id]);
            session = Some(rig.task(&options).await.ok().session());
        }
        let session = session.unwrap();
        let log = rig.log(&session);
        let text = fs::read_to_string(&log).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines[4] = damage(&lines[4]);
        let damaged = lines.join("\n") + "\n";
        fs::write(&log, &damaged).unwrap();
        rig.model.push(Reply::new().say("Still here."));
        let done = rig.task(&["--resume", &session]).await.ok();
        assert_eq!(done.result["result"], "Still here.", "{name}");
        assert!(done.stderr.contains("line 5"), "{name}: {}", done.stderr);
        let request = String::from_utf8(rig.model.requests().pop().unwrap().bytes.to_vec()).unwrap();
        for turn in 1..5 {
            assert!(
                request.contains(&format!("Answer {turn}.")),
                "{name}: turn {turn} is missing"
            );
        }
        assert_eq!(rig.model.refusals(), [""; 0], "{name}");
        assert!(
            fs::read_to_string(&log).unwrap().starts_with(&damaged),
            "{name}: the file was changed"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ra_46_an_interrupted_call_does_not_spoil_the_session() {
    let running = || Scenario::new().call("bash", &json!({"command": "echo up > up; sleep 600"}));
    let streaming = || {
        let call = json!({"command": "echo up > up"});
        Scenario::new().reply(Reply::new().say("I will").call("bash", &call).gate("held"))
    };
    let after = || {
        Scenario::new()
            .call("bash", &json!({"command": "echo up > up"}))
            .reply(Reply::new().gate("held"))
    };
    let rows = [
        ("call streaming", streaming(), 1, false),
        ("running", running(), 1, true),
        ("after the result", after(), 2, true),
    ];
    for (name, scenario, requests, ran) in rows {
        for signal in [Signal::INT, Signal::KILL, Signal::TERM] {
            let rig = LocalRig::new(scenario.clone()).await;
            let mut run = rig.start(&["run", "--output-format", "stream-json", "work"]);
            let lines = run.until(|line| line["event"]["type"] == "opened").await;
            let session = session_of(&lines).to_string();
            rig.asked(requests).await;
            if ran {
                eventually("the command runs", || rig.has("up")).await;
            } else {
                rig.held("held").await;
            }
            send_signal(run.child.id().unwrap(), signal);
            let (_, status, stderr) = run.finish().await;
            let want = if signal == Signal::KILL { None } else { Some(130) };
            assert_eq!(status.code(), want, "{name}, {signal:?}: {stderr}");
            rig.model.push(Reply::new().say("Going on."));
            let done = rig.task(&["--resume", &session]).await.ok();
            assert_eq!(done.result["result"], "Going on.", "{name}, {signal:?}");
            assert_eq!(rig.model.refusals(), [""; 0], "{name}, {signal:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ra_51_long_text_is_cut_between_characters() {
    for (offset, character) in
        (0..4).flat_map(|offset| ["汉", "👩\u{200d}💻"].map(|character| (offset, character)))
    {
        let prefix = "x".repeat(offset);
        let times = 200_000 / character.len();
        let command = format!(
            "printf %s '{prefix}'; i=0; while [ $i -lt 10 ]; do printf '{character}%.0s' $(seq {}); i=$((i+1)); done",
            times / 10
        );
        let long = format!("{prefix}{}", character.repeat(2_000));
        let name = format!("{prefix}{}", character.repeat(200 / character.len()));
        let scenario = Scenario::new()
            .call("bash", &json!({"command": command}))
            .call("write_file", &json!({"path": name, "content": long}))
            .call("grep", &json!({"pattern": character}))
            .say(long.clone());
        let rig = LocalRig::new(scenario).await;
        let ran = rig.run(&["run", &long]).await;
        assert_eq!(ran.code, Some(0), "{offset} {character}: {}", ran.stderr);
        assert!(!ran.stdout.contains('\u{fffd}') && ran.stdout.contains(&long));
        for answer in rig.answers() {
            assert!(
                !answer.contains('\u{fffd}') && answer.len() <= 32 * 1024,
                "{offset} {character}"
            );
        }
        assert_eq!(rig.read(&name), long.as_bytes());
        let list = rig.run(&["sessions"]).await;
        assert!(
            list.stdout.contains(character) && !list.stdout.contains('\u{fffd}'),
            "{list:#?}"
        );
    }
}

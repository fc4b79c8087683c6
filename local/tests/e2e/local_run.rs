//! Local use: the agent in the same process, no socket, no daemon, no network but the model.

use std::fs;

use scripted_model::{Reply, Scenario};
use serde_json::json;

use crate::{
    local_rig::{LocalRig, running_in, sound},
    rig::{daemon_below, ended, program},
};

/// A run of tools and an answer.
fn some_work() -> Scenario {
    Scenario::new()
        .call("bash", &json!({"command": "echo one > made.txt"}))
        .call("read_file", &json!({"path": "made.txt"}))
        .say("Done.")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_local_run_opens_no_socket_and_talks_to_the_model_only() {
    let rig = LocalRig::new(some_work()).await;
    let trace = rig.root().join("trace");
    let program = program();
    let args = [
        "-f",
        "-qq",
        "-e",
        "trace=listen,accept,accept4,connect,bind,execve",
        "-o",
        trace.to_str().unwrap(),
        program.to_str().unwrap(),
        "run",
        "make a file",
    ];
    let ran = sound(ended(&args, rig.other_command("strace", &args).output()).await);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(rig.has("made.txt"));
    let trace = fs::read_to_string(trace).unwrap();
    let address = rig.model.address();
    let model = format!(
        "sin_port=htons({}), sin_addr=inet_addr(\"127.0.0.1\")",
        address.port()
    );
    let calls = |name: &str| -> Vec<&str> {
        let call = format!(" {name}(");
        trace.lines().filter(|line| line.contains(&call)).collect()
    };
    for name in ["listen", "accept", "accept4"] {
        assert_eq!(calls(name), [""; 0], "{name}");
    }
    let (to_network, on_this_machine): (Vec<&str>, Vec<&str>) = calls("connect")
        .into_iter()
        .partition(|line| line.contains("AF_INET"));
    assert!(!to_network.is_empty());
    for line in to_network {
        assert!(line.contains(&model), "{line}");
    }
    // The C library asks its name cache.
    for line in on_this_machine {
        assert!(line.contains("/nscd/"), "{line}");
    }
    for line in calls("bind") {
        assert!(line.contains("AF_NETLINK"), "{line}");
    }
    assert!(!trace.contains("\"serve\"") && !trace.contains("\"daemon\""));
    assert_eq!(daemon_below(rig.root()), None);
    assert_eq!(running_in(&rig.work()), [0; 0]);
    rig.left_nothing();
}

#[tokio::test(flavor = "multi_thread")]
async fn instructions_reach_the_model_from_broad_to_specific_without_paths() {
    let rig = LocalRig::new(Scenario::new().say("Hello.")).await;
    fs::write(rig.state().join("REASONIX.md"), "Rule of the user.").unwrap();
    fs::write(rig.state().join("AGENTS.md"), "Second rule of the user.").unwrap();
    rig.put("REASONIX.md", "Rule of the project.");
    rig.put("AGENTS.md", "Second rule of the project.");
    rig.put("sub/AGENTS.md", "Rule of a folder below.");
    rig.task(&[]).await.ok();
    let request = rig.model.requests().remove(0);
    let system = request.system();
    let places: Vec<_> = [
        "Rule of the user.",
        "Second rule of the user.",
        "Rule of the project.",
        "Second rule of the project.",
    ]
    .iter()
    .map(|rule| {
        system
            .find(rule)
            .unwrap_or_else(|| panic!("{rule} is not in {system}"))
    })
    .collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(!system.contains("below"), "{system}");
    for path in [rig.root().to_str().unwrap(), "/home/", "/tmp/"] {
        assert!(!system.contains(path), "{path} is in {system}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_folders_with_the_same_files_share_the_whole_prefix() {
    let rig = LocalRig::new(Scenario::new().say("Hello.").repeated()).await;
    let mut seen = Vec::new();
    for name in ["one", "another"] {
        let folder = rig.root().join(name);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("AGENTS.md"), "Be brief.").unwrap();
        rig.task(&["--dir", folder.to_str().unwrap()]).await.ok();
        let request = rig.model.requests().pop().unwrap();
        seen.push((request.system(), request.body["tools"].to_string()));
    }
    assert!(seen[0].0.contains("Be brief."));
    assert_eq!(seen[0], seen[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_session_goes_on_with_the_same_prefix_whatever_changed_meanwhile() {
    let rig = LocalRig::new(some_work()).await;
    rig.put("AGENTS.md", "Be brief.");
    let session = rig.task(&[]).await.ok().session();
    rig.put("AGENTS.md", "Be verbose.");
    rig.model.push(Reply::new().say("Going on."));
    let done = rig.task(&["--resume", &session]).await.ok();
    assert_eq!(
        (done.session(), done.result["result"].as_str()),
        (session, Some("Going on."))
    );
    let requests = rig.model.requests();
    let (before, after) = (&requests[2], &requests[3]);
    assert_eq!(before.body["tools"], after.body["tools"]);
    assert_eq!(
        after.messages()[..before.messages().len()],
        *before.messages(),
        "the history is sent as it was"
    );
    assert!(rig.model.refusals().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_found_by_the_beginning_of_its_id() {
    let rig = LocalRig::new(Scenario::new().say("One.").say("Two.").say("Three.")).await;
    let first = rig.task(&[]).await.ok().session();
    let second = rig.task(&[]).await.ok().session();
    let same = first
        .bytes()
        .zip(second.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    let ambiguous = rig.task(&["--resume", &first[..same]]).await;
    assert_eq!(ambiguous.code, Some(2));
    let message = ambiguous.result["error"]["message"].as_str().unwrap();
    assert!(message.contains(&first) && message.contains(&second), "{message}");
    let done = rig.task(&["--resume", &first[..=same]]).await.ok();
    assert_eq!(done.session(), first);
    let list = rig.run(&["sessions"]).await;
    assert!(
        list.stdout.contains(&first) && list.stdout.contains(&second),
        "{list:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_run_left_among_the_temporary_files_goes_with_the_next_start() {
    let scenario = Scenario::new()
        .call("bash", &json!({"command": "echo kept > /dev/null"}))
        .reply(Reply::new().gate("held").say("Done."))
        .say("Done again.");
    let rig = LocalRig::new(scenario).await;
    let mut run = rig.command(&["run", "do it"]).spawn().unwrap();
    rig.held("held").await;
    let left = || fs::read_dir(rig.temp()).unwrap().count();
    assert!(left() > 0, "a command has had its folder");
    run.kill().await.unwrap();
    assert!(left() > 0, "a kill leaves no time for cleaning up");
    rig.task(&[]).await.ok();
    rig.left_nothing();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_left_to_the_model_where_nobody_can_answer() {
    let question = json!({"questions": [{
        "header": "Storage",
        "question": "Where should the data live?",
        "options": [{"label": "SQLite"}, {"label": "Postgres"}],
    }]});
    let rig = LocalRig::new(Scenario::new().call("ask", &question).say("Done.")).await;
    let ran = rig.run(&["run", "store it"]).await;
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(
        ran.stderr.contains("not answered: Where should the data live?"),
        "{ran:#?}"
    );
    let results = rig.model.requests().pop().unwrap().tool_results();
    assert!(
        format!("{results:?}").contains("[model assumption] No person can answer now"),
        "{results:?}"
    );
}

//! What is not allowed does not run, and the end says so.

use std::fs;

use scripted_model::{Reply, Scenario};
use serde_json::json;

use crate::local_rig::LocalRig;

/// A task that runs commands one after another, whatever becomes of each.
fn commands<'a>(list: impl IntoIterator<Item = &'a str>) -> Scenario {
    list.into_iter()
        .fold(Scenario::new(), |scenario, command| {
            scenario.call("bash", &json!({"command": command}))
        })
        .say("Done.")
}

#[tokio::test(flavor = "multi_thread")]
async fn ra_28_a_prefix_rule_does_not_cover_what_a_command_hides() {
    let hidden = [
        "git status $(touch mark)",
        "git status `touch mark`",
        "git status <(touch mark)",
        "git status >(touch mark)",
        "git status \"$(touch mark)\"",
        "git status ${x:-$(touch mark)}",
        "git status <<END\n$(touch mark)\nEND",
    ];
    let plain = "git log --format='$(x)'";
    let rig = LocalRig::new(commands(hidden.into_iter().chain([plain]))).await;
    rig.configure("[permissions]\nallow = [\"Bash(git *)\"]\n");
    let done = rig.task(&["--permission-mode", "read-only"]).await;
    assert_eq!(done.code, Some(1), "{done:#?}");
    assert_eq!(done.denied("command"), hidden);
    assert!(!rig.has("mark"));
    let answers = rig.answers();
    assert!(
        !answers[hidden.len()].starts_with("blocked"),
        "{}",
        answers[hidden.len()]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn ra_29_every_command_of_a_chain_is_judged() {
    let chains = [
        "git --version && NEXT",
        "git --version || NEXT",
        "git --version; NEXT",
        "git --version | NEXT",
        "git --version & NEXT",
        "git --version\nNEXT",
        "if git --version; then NEXT; fi",
        "{ git --version; NEXT; }",
        "( git --version; NEXT )",
        "! NEXT",
        "git --version # a comment\nNEXT",
        "git --version; NEXT # a comment",
    ];
    let with = |next: &str| chains.map(|chain| chain.replace("NEXT", next));
    let (allowed, unlisted, denied) = (with("git --help"), with("touch made"), with("rm -r keep"));
    let all = allowed.iter().chain(&unlisted).chain(&denied);
    let unreadable = "git status 'unclosed";
    let rig = LocalRig::new(commands(all.map(String::as_str).chain([unreadable]))).await;
    fs::create_dir(rig.work().join("keep")).unwrap();
    rig.configure("[permissions]\nallow = [\"Bash(git *)\"]\ndeny = [\"Bash(rm *)\"]\n");
    let done = rig.task(&["--permission-mode", "read-only"]).await;
    assert_eq!(done.code, Some(1));
    let refused: Vec<&str> = unlisted
        .iter()
        .chain(&denied)
        .map(String::as_str)
        .chain([unreadable])
        .collect();
    assert_eq!(done.denied("command"), refused, "{:#?}", rig.answers());
    assert!(rig.has("keep") && !rig.has("made"));
}

#[tokio::test(flavor = "multi_thread")]
async fn ra_29_a_denied_command_of_a_chain_stays_denied_in_every_preset() {
    let chains = [
        "ls && rm -r keep",
        "echo x; rm -r keep",
        "ls | rm -r keep",
        "(rm -r keep)",
    ];
    for preset in ["workspace-write", "danger-full-access"] {
        let rig = LocalRig::new(commands(chains)).await;
        fs::create_dir(rig.work().join("keep")).unwrap();
        rig.configure("[permissions]\ndeny = [\"Bash(rm *)\"]\n");
        let done = rig.task(&["--permission-mode", preset]).await;
        assert_eq!(
            (done.code, done.denied("command")),
            (Some(1), chains.map(str::to_owned).to_vec())
        );
        assert!(rig.has("keep"), "{preset}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ra_30_a_denied_file_is_denied_under_every_spelling() {
    const SECRET: &str = "correct-horse-battery";
    let rig = LocalRig::new(Scenario::new()).await;
    rig.put(".env", format!("KEY={SECRET}\n"));
    rig.put("sub/.env.local", format!("KEY={SECRET}\n"));
    rig.put("sub/plain", "nothing\n");
    std::os::unix::fs::symlink(".env", rig.work().join("alias")).unwrap();
    rig.configure("[permissions]\ndeny = [\"Read(./.env)\", \"Read(**/.env*)\"]\n");
    let absolute = rig.work().join(".env").display().to_string();
    let spellings = [
        ".env",
        "./.env",
        ".//.env",
        "sub/../.env",
        absolute.as_str(),
        "~/../work/.env",
        "sub/.env.local",
        "alias",
    ];
    for path in spellings {
        rig.model
            .push(Reply::new().call("read_file", &json!({"path": path})));
        rig.model
            .push(Reply::new().call("grep", &json!({"pattern": "KEY", "path": path})));
        rig.model.push(Reply::new().call(
            "edit_file",
            &json!({"path": path, "old_string": "nothing such", "new_string": "x"}),
        ));
        // A link is followed by the file tools; of a command only its words are known.
        if path != "alias" {
            rig.model
                .push(Reply::new().call("bash", &json!({"command": format!("cat {path}")})));
        }
    }
    rig.model
        .push(Reply::new().call("grep", &json!({"pattern": "KEY"})));
    rig.model.push(Reply::new().say("Done."));
    let done = rig.task(&[]).await;
    assert_eq!(done.code, Some(1), "{done:#?}");
    for (number, request) in rig.model.requests().iter().enumerate() {
        let text = String::from_utf8_lossy(&request.bytes);
        assert!(
            !text.contains(SECRET),
            "request {number}: {:#?}",
            request.messages().last()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ra_31_a_denied_call_is_told_by_exit_code_and_list() {
    let call = json!({"path": "probe.txt", "content": "x"});
    let scenario = || Scenario::new().call("write_file", &call).say("I could not.");
    let rig = LocalRig::new(scenario()).await;
    let done = rig.task(&["--permission-mode", "read-only"]).await;
    assert_eq!((done.code, done.result["exit_code"].as_u64()), (Some(1), Some(1)));
    assert_eq!(done.result["is_error"], true);
    let denied = &done.result["denied_calls"][0];
    assert_eq!(
        (&denied["tool"], &denied["arguments"]),
        (&json!("write_file"), &call)
    );
    assert!(!denied["reason"].as_str().unwrap().is_empty());
    assert!(!rig.has("probe.txt"));

    for rule in ["Edit", "write_file(probe.txt)", "Edit(*.txt)"] {
        let rig = LocalRig::new(scenario()).await;
        rig.configure(&format!("[permissions]\nallow = [\"{rule}\"]\n"));
        let done = rig.task(&["--permission-mode", "read-only"]).await.ok();
        assert_eq!(done.result["denied_calls"], json!([]), "{rule}");
        assert_eq!(rig.read("probe.txt"), b"x");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ask_rule_is_refused_where_nobody_can_be_asked() {
    let rig = LocalRig::new(commands(["touch made"])).await;
    rig.configure("[permissions]\nask = [\"Bash(touch *)\"]\n");
    let done = rig.task(&[]).await;
    assert_eq!(done.code, Some(1));
    assert_eq!(done.denied("command"), ["touch made"]);
    assert!(done.stderr.contains("denied: bash touch made"), "{}", done.stderr);
    assert!(!rig.has("made"));
}

#[tokio::test(flavor = "multi_thread")]
async fn ra_50_broken_rules_never_fall_back_to_fewer_rules() {
    let deny = "[permissions]\ndeny = [\"Bash(touch *)\"]\n";
    let rows = [
        (format!("{deny}mode = \"offf\"\n"), "permissions.mode"),
        (format!("{deny}mode = 7\n"), "permissions.mode"),
        (format!("{deny}mode = \n"), "not TOML"),
        (format!("{deny}allow = \"Bash\"\n"), "permissions.allow"),
        (
            deny.replace("touch *", ""),
            "permissions.deny[0]: permission rule `Bash()`",
        ),
        (
            format!("{deny}[agent]\ntemperature = \"hot\"\n"),
            "agent.temperature",
        ),
    ];
    for (config, named) in rows {
        let rig = LocalRig::new(commands(["touch made"])).await;
        rig.configure(&config);
        let ran = rig.run(&["run", "try"]).await;
        assert_eq!(ran.code, Some(2), "{config}: {ran:#?}");
        assert!(ran.stderr.contains("config.toml"), "{config}: {ran:#?}");
        assert!(ran.stderr.contains(named), "{config}: {ran:#?}");
        assert!(rig.model.requests().is_empty() && !rig.has("made"), "{config}");
    }
    // An unknown key is told, and everything else holds.
    let rig = LocalRig::new(commands(["touch made"])).await;
    rig.configure(&format!("{deny}denny = [\"Bash\"]\n"));
    let done = rig.task(&[]).await;
    assert_eq!(done.code, Some(1), "{done:#?}");
    assert!(done.stderr.contains("permissions.denny"), "{}", done.stderr);
    assert!(!rig.has("made"));
    // Something in the file's place that cannot be read is no missing file.
    let rig = LocalRig::new(commands(["touch made"])).await;
    fs::remove_file(rig.config_file()).unwrap();
    fs::create_dir(rig.config_file()).unwrap();
    let ran = rig.run(&["run", "try"]).await;
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    assert!(ran.stderr.contains("config.toml"), "{ran:#?}");
}

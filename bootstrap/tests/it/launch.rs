//! Starting the daemon, finding one that runs, and failing in words.

use std::{fs, time::Duration};

use bootstrap::{Arrival, End, ErrorKind, Stage, Stay, Verdict, bridge_call};

use crate::{
    host::{Host, write_program},
    stand_in::{go, hello, program, program_with, wanted},
};

#[tokio::test]
async fn the_identity_line_is_found_in_noise() {
    let host = Host::with_startup("echo '{\"instance\":\"no\"}'");
    let ready = go(&host, &wanted(&host, &program(20_000))).await.unwrap();
    assert_eq!((ready.hello, ready.stay), (Some(hello()), Some(Stay::Detached)));
    assert_eq!(host.execs(), 3);
    let seen = host.seen.lock().unwrap();
    assert!(
        seen.iter()
            .all(|seen| seen.command.starts_with("exec /bin/sh -c ") && seen.command.len() < 200)
    );
}

#[tokio::test]
async fn a_failed_start_says_everything() {
    let host = Host::with_startup("echo 'start-up noise' >&2");
    let content = program_with("echo 'cannot bind socket' >&2; exit 9", 20_000);
    let error = go(&host, &wanted(&host, &content)).await.unwrap_err();
    assert_eq!(
        (error.stage(), error.host(), error.exit_code()),
        (Stage::Launch, "testhost", 5)
    );
    assert!(error.command().unwrap().ends_with("serve --detach"), "{error:?}");
    assert_eq!(error.status().unwrap().to_string(), "exit code 9");
    assert_eq!(error.stderr(), ["cannot bind socket"]);
    assert_eq!(error.to_string(), "launch on testhost: the daemon did not start");
}

#[tokio::test]
async fn nonsense_and_strangers_are_refused() {
    let host = Host::new();
    let error = go(&host, &wanted(&host, &program_with("echo \"$4 {} $4\"", 20_000)))
        .await
        .unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::BadAnswer(_)), "{error:?}");
    let mut later = hello();
    later.protocol.min = 5;
    later.protocol.max = 6;
    let json = serde_json::to_string(&later).unwrap();
    let content = program_with(&format!("printf '%s %s %s\\n' \"$4\" '{json}' \"$4\""), 20_000);
    let error = go(&host, &wanted(&host, &content)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "launch on testhost: the daemon speaks protocol 5..6, this program 1..1"
    );
}

#[tokio::test]
async fn a_start_that_hangs_is_ended() {
    let host = Host::new();
    // Time passes quickly for the watchdog.
    host.fake("sleep", "exit 0");
    let mark = host.dir.path().join("pid");
    let content = program_with(
        &format!("echo $$ >'{}'; exec /bin/sleep 1000", mark.display()),
        20_000,
    );
    let error = go(&host, &wanted(&host, &content)).await.unwrap_err();
    assert_eq!(error.stage(), Stage::Launch, "{error:?}");
    let pid = fs::read_to_string(mark).unwrap();
    let gone = async {
        while fs::exists(format!("/proc/{}", pid.trim())).unwrap() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone)
        .await
        .expect("no process stays");
}

#[tokio::test]
async fn the_daemon_gets_the_users_environment() {
    let mut host = Host::new();
    host.env.push(("LANG".into(), "de_DE.UTF-8".into()));
    let out = host.dir.path().join("environment");
    let content = program_with(
        &format!("/usr/bin/env >'{}'; trap >>'{0}'", out.display()),
        20_000,
    );
    let mut wanted = wanted(&host, &content);
    wanted.home = Some("~/r h".into());
    go(&host, &wanted).await.unwrap_err();
    let environment = fs::read_to_string(out).unwrap();
    let lines: Vec<&str> = environment.lines().collect();
    assert!(lines.contains(&"LANG=de_DE.UTF-8"), "{environment}");
    assert!(
        lines.contains(&format!("REASONIX_HOME={}/r h", host.home().display()).as_str()),
        "{environment}"
    );
    assert!(
        !environment.contains("LC_ALL") && !environment.contains("rx_"),
        "{environment}"
    );
}

#[tokio::test]
async fn a_running_daemon_is_attached_to() {
    let mut host = Host::new();
    let runtime = host.dir.path().join("run");
    fs::create_dir_all(runtime.join("reasonix-0a")).unwrap();
    fs::create_dir_all(host.home().join(".reasonix")).unwrap();
    host.env
        .push(("XDG_RUNTIME_DIR".into(), runtime.display().to_string()));
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let mut hello = hello();
    hello.identity.pid = std::process::id();
    hello.identity.start_time = stat
        .rsplit_once(')')
        .unwrap()
        .1
        .split_whitespace()
        .nth(19)
        .unwrap()
        .parse()
        .unwrap();
    hello.identity.boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .unwrap()
        .trim()
        .to_owned();
    let record = |hello: &protocol::Hello| {
        let mut record = serde_json::to_value(hello).unwrap();
        record["home"] = host.home().join(".reasonix").to_str().unwrap().into();
        fs::write(runtime.join("reasonix-0a/identity.json"), record.to_string()).unwrap();
    };
    record(&hello);
    let wanted = wanted(&host, &program(20_000));
    let ready = go(&host, &wanted).await.unwrap();
    assert_eq!((ready.arrival, host.execs()), (Arrival::Attached, 1));
    assert_eq!(
        (ready.hello, ready.program.as_str()),
        (Some(hello.clone()), "/opt/reasonix")
    );
    // The same number, another process.
    hello.identity.start_time += 1;
    record(&hello);
    assert_eq!(go(&host, &wanted).await.unwrap().arrival, Arrival::Installed);
}

#[tokio::test]
async fn the_bridge_hands_the_stream_over() {
    for shell in ["/bin/bash", "/bin/tcsh", "/usr/bin/fish", "/bin/dash"] {
        let host = Host::with_shell(shell);
        let path = host.home().join("it's a program");
        write_program(
            &path,
            "#!/bin/sh\necho \"$3 connected $3\"; echo $REASONIX_HOME; exec cat\n",
        );
        let mut call = bridge_call(path.to_str().unwrap(), Some("/r/h"), End::Socket("/r/s"));
        let mut input = call.preface.clone();
        input.extend_from_slice(b"PRI * HTTP/2.0\n\0\xff");
        let output = host.raw(&call.command, &input).await;
        let (verdict, rest) = call.reader.push(&output.stdout).unwrap();
        assert_eq!(
            (verdict, rest.as_slice()),
            (Verdict::Connected, &b"/r/h\nPRI * HTTP/2.0\n\0\xff"[..]),
            "{shell}"
        );
    }
}

//! Hosts as they are: other login shells, start-up noise, forbidding administrators, odd folder names.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, chown},
};

use scripted_model::{Reply, Scenario};
use serde_json::json;

use crate::rig::{HostOptions, Ran, Rig, eventually, numbers};

const SHELLS: [&str; 4] = ["/bin/bash", "/bin/dash", "/usr/bin/fish", "/bin/tcsh"];

/// Start-up output that a careless reader takes for an answer: colours, a NUL, JSON, and no line end at last.
const NOISE: &str = r#"printf '\033[1;32mWelcome\033[0m\n'; printf 'a\000b\n'; echo '{"v":1,"type":"hello","pid":1}'
printf 'HTTP/1.1 200 OK\r\n\r\n'; echo 'warning: disk nearly full' >&2; printf 'motd on stderr' >&2; printf 'last login: yesterday'"#;

fn with_shell(shell: &str, noise: &str, sshd: &[&str]) -> HostOptions {
    HostOptions {
        sshd: sshd.iter().map(ToString::to_string).collect(),
        shell: Some((shell.to_owned(), noise.to_owned())),
        ..HostOptions::installed()
    }
}

fn with_sshd(sshd: &[&str]) -> HostOptions {
    HostOptions {
        sshd: sshd.iter().map(ToString::to_string).collect(),
        ..HostOptions::installed()
    }
}

/// One command on the host, then an answer.
fn one_command(command: &str, answer: &str) -> Scenario {
    Scenario::new()
        .call("bash", &json!({ "command": command }))
        .say(answer)
}

fn succeeded(ran: &Ran, label: &str) {
    assert_eq!(
        ran.code,
        Some(0),
        "{label}\n-- stdout\n{}\n-- stderr\n{}",
        ran.stdout,
        ran.stderr
    );
}

/// A whole turn on the first visit, and another one by the same daemon on the second.
async fn two_visits(host: HostOptions, label: &str) -> Rig {
    let rig = Rig::new(one_command("echo first > one.txt; pwd", "First done."), host).await;
    let first = rig.run(&["run", "--remote", "box", "first"]).await;
    succeeded(&first, label);
    assert!(first.stdout.contains("First done."), "{label}: {}", first.stdout);
    assert_eq!(
        fs::read_to_string(rig.work().join("one.txt")).unwrap(),
        "first\n",
        "{label}"
    );
    let daemon = rig.daemon_pid().unwrap_or_else(|| panic!("{label}: no daemon"));

    rig.model
        .push(Reply::new().call("bash", &json!({"command": "echo second > two.txt"})));
    rig.model.push(Reply::new().say("Second done."));
    let second = rig.run(&["run", "--remote", "box", "second"]).await;
    succeeded(&second, label);
    assert!(
        second.stdout.contains("Second done."),
        "{label}: {}",
        second.stdout
    );
    assert!(rig.work().join("two.txt").exists(), "{label}");
    assert_eq!(rig.daemon_pid(), Some(daemon), "{label}: the daemon is the same");
    assert_eq!(
        fs::read_dir(rig.local_work()).unwrap().count(),
        0,
        "{label}: nothing on the laptop"
    );
    assert_eq!(rig.model.refusals(), [""; 0], "{label}");
    rig
}

/// Says how the daemon was reached at the last visit.
fn remembered_way(rig: &Rig) -> String {
    let folder = rig.laptop().join(".reasonix/hosts");
    let texts = fs::read_dir(folder)
        .unwrap()
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
    texts.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_login_shell_works() {
    for shell in SHELLS.into_iter().chain(["/bin/zsh"]) {
        two_visits(with_shell(shell, "", &[]), shell).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn start_up_noise_does_not_matter() {
    for shell in SHELLS {
        two_visits(with_shell(shell, NOISE, &[]), shell).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn noise_on_a_host_that_only_allows_commands_does_not_matter() {
    let sshd = ["DisableForwarding yes", "MaxSessions 1"];
    for shell in SHELLS {
        let rig = two_visits(with_shell(shell, NOISE, &sshd), shell).await;
        assert!(remembered_way(&rig).contains("bridge"), "{shell}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn megabytes_of_noise_on_both_outputs_do_not_matter() {
    let noise = "head -c 2000000 /dev/zero | tr '\\000' x; head -c 2000000 /dev/zero >&2; echo; echo motd";
    for sshd in [&[][..], &["DisableForwarding yes", "MaxSessions 1"]] {
        two_visits(with_shell("/bin/bash", noise, sshd), "megabytes").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_forwarding_is_forbidden_the_bridge_is_used() {
    let forbidding: [&[&str]; 5] = [
        &["AllowTcpForwarding no", "AllowStreamLocalForwarding no"],
        &["AllowStreamLocalForwarding no"],
        &["DisableForwarding yes"],
        &["PermitOpen none"],
        &["AllowTcpForwarding remote", "AllowStreamLocalForwarding remote"],
    ];
    for sshd in forbidding {
        let rig = two_visits(with_sshd(sshd), sshd[0]).await;
        assert!(remembered_way(&rig).contains("bridge"), "{sshd:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_session_at_a_time_is_enough() {
    for sessions in ["MaxSessions 1", "MaxSessions 2"] {
        let rig = two_visits(with_sshd(&[sessions]), "forwarding allowed").await;
        assert!(remembered_way(&rig).contains("streamlocal"), "{sessions}");
    }
    for forbidding in ["DisableForwarding yes", "AllowStreamLocalForwarding no"] {
        let rig = two_visits(with_sshd(&["MaxSessions 1", forbidding]), forbidding).await;
        assert!(remembered_way(&rig).contains("bridge"), "{forbidding}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_session_at_a_time_is_enough_for_an_upload_too() {
    let host = HostOptions {
        sshd: vec!["MaxSessions 1".into(), "DisableForwarding yes".into()],
        shell: Some(("/bin/tcsh".into(), NOISE.into())),
        ..HostOptions::default()
    };
    two_visits(host, "upload").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_banner_and_new_keys_in_mid_upload_do_not_matter() {
    let host = HostOptions {
        sshd: vec![
            "Banner /etc/passwd".into(),
            "RekeyLimit 1M".into(),
            "ClientAliveInterval 1".into(),
        ],
        ..HostOptions::default()
    };
    two_visits(host, "banner and rekeying").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_home_with_an_odd_name_works() {
    for sshd in [&[][..], &["DisableForwarding yes"]] {
        for shell in SHELLS {
            // fish mistakes the bytes of the home for Latin-1 where no locale is set.
            let noise =
                "LANG=C.UTF-8; export LANG; HOME=\"$HOME/ho me's \\\"ü\\\"\"; export HOME; cd \"$HOME\"";
            let rig = Rig::new(
                one_command("pwd; echo \"$HOME\"", "ok"),
                with_shell(shell, noise, sshd),
            )
            .await;
            let home = rig.host().join("ho me's \"ü\"");
            fs::create_dir(&home).unwrap();
            fs::rename(rig.host().join(".reasonix"), home.join(".reasonix")).unwrap();
            fs::create_dir(home.join("w")).unwrap();
            succeeded(&rig.run(&["run", "--remote", "box:~/w", "go"]).await, shell);
            let seen = rig.model.requests().last().unwrap().tool_results().join("\n");
            assert!(seen.contains(home.join("w").to_str().unwrap()), "{shell}: {seen}");
            rig.model.push(Reply::new().say("Still here."));
            succeeded(&rig.run(&["run", "--remote", "box:w", "again"]).await, shell);
            assert!(!rig.host().join(".reasonix").exists(), "{shell}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_over_the_only_allowed_session_comes_back_after_cuts() {
    let scenario = Scenario::new().reply(
        Reply::new()
            .say("One. ")
            .gate("one")
            .say("Two. ")
            .gate("two")
            .say("Three."),
    );
    let sshd = ["MaxSessions 1", "DisableForwarding yes"];
    let rig = Rig::new(scenario, with_shell("/usr/bin/fish", NOISE, &sshd)).await;
    let mut run = rig.start(&["run", "--remote", "box", "--output-format", "stream-json", "go"]);
    let mut lines = run.until(|line| line["frame"] == "delta").await;
    for gate in ["one", "two"] {
        let before = rig.proxy.connections();
        rig.proxy.cut();
        eventually("another connection", || rig.proxy.connections() > before).await;
        rig.model.gate(gate).open();
    }
    let (rest, status, stderr) = run.finish().await;
    lines.extend(rest);
    assert_eq!(status.code(), Some(0), "{stderr}");
    let seen = numbers(&lines);
    assert_eq!(
        seen,
        (1..=seen.len() as u64).collect::<Vec<_>>(),
        "none lost, none twice"
    );
    assert_eq!(lines.last().unwrap()["result"], "One. Two. Three.");
    assert_eq!(rig.model.requests().len(), 1, "the model was asked once");
    assert!(stderr.contains("trying again"), "{stderr}");
}

/// Runs `echo` of a variable that a start-up file exports, and gives what the model saw.
async fn exported(shell: &str, file: &str, text: &str) -> String {
    let host = with_shell(shell, "", &[]);
    let rig = Rig::new(
        one_command("echo \"from=$FROM_PROFILE\"; echo \"key=$MY_API_KEY\"", "ok"),
        host,
    )
    .await;
    let file = rig.host().join(file);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
    succeeded(&rig.run(&["run", "--remote", "box", "go"]).await, shell);
    rig.model.requests().last().unwrap().tool_results().join("\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_find_what_the_login_shell_exports() {
    // Each reads standard input too, which must not hang.
    let posix = "echo welcome\nread answer\nexport FROM_PROFILE='a b' MY_API_KEY=hidden\n";
    let fish = "echo welcome\nread answer\nset -gx FROM_PROFILE 'a b'\nset -gx MY_API_KEY hidden\n";
    let csh = "echo welcome\nset answer = $<\nsetenv FROM_PROFILE 'a b'\nsetenv MY_API_KEY hidden\n";
    for (shell, file, text) in [
        ("/bin/bash", ".bash_profile", posix),
        ("/bin/bash", ".profile", posix),
        ("/bin/dash", ".profile", posix),
        ("/usr/bin/fish", ".config/fish/config.fish", fish),
        ("/bin/tcsh", ".login", csh),
    ] {
        let seen = exported(shell, file, text).await;
        assert!(seen.contains("from=a b"), "{shell} {file}: {seen}");
        assert!(!seen.contains("hidden"), "{shell} {file}: {seen}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_up_file_that_eats_the_script_does_not_matter() {
    // The script goes into the command line then, and the program over SFTP.
    let host = with_shell("/bin/bash", "cat > /dev/null", &[]);
    let rig = Rig::new(Scenario::new().say("Here."), host).await;
    let ran = rig.run(&["run", "--remote", "box", "go"]).await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("Here."), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_runs_no_commands_is_named_with_its_words() {
    let rig = Rig::new(Scenario::new(), with_shell("/usr/sbin/nologin", "", &[])).await;
    let ran = rig.run(&["run", "--remote", "box", "go"]).await;
    assert_eq!(ran.code, Some(5), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("This account is currently not available"),
        "{}",
        ran.stderr
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_names_of_workspaces_are_taken_as_they_are() {
    let names = [
        "a b's \"ü\"",
        "目录",
        "-rf",
        "$(touch pwned)`touch pwned`",
        "a:b;c&d|e",
        "tab\there",
        "two\nlines",
        "!bang*?[x]{y}~\\",
    ];
    for shell in ["/bin/bash", "/usr/bin/fish", "/bin/tcsh"] {
        let rig = Rig::new(Scenario::new(), with_shell(shell, "", &[])).await;
        for name in names {
            let folder = rig.host().join(name);
            fs::create_dir(&folder).unwrap();
            let command = json!({"command": "echo here > made.txt"});
            let mut forms = vec![format!("box:{}", folder.display())];
            if shell == "/bin/bash" {
                forms.push(format!("box:~/{name}"));
            }
            for form in forms {
                rig.model.push(Reply::new().call("bash", &command));
                rig.model.push(Reply::new().say("ok"));
                succeeded(&rig.run(&["run", "--remote", &form, "go"]).await, &form);
                assert!(folder.join("made.txt").exists(), "{form}");
                fs::remove_file(folder.join("made.txt")).unwrap();
            }
        }
        let stray = ["pwned", "made.txt", "work/pwned", "work/made.txt"];
        assert!(stray.iter().all(|file| !rig.host().join(file).exists()));
    }
}

/// Lists everything below the host's home but Reasonix's own folder.
fn listing(rig: &Rig) -> Vec<String> {
    fn walk(folder: &std::path::Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with(".reasonix") {
                continue;
            }
            found.push(path.display().to_string());
            if path.is_dir() && !path.is_symlink() {
                walk(&path, found);
            }
        }
    }
    let mut found = Vec::new();
    walk(&rig.host(), &mut found);
    found.sort();
    found
}

/// A workspace that cannot be used is refused, cold and warm, and nothing is made.
async fn refused(rig: &Rig, workspace: &str, words: &str) {
    let before = listing(rig);
    let form = format!("box:{workspace}");
    let ran = rig.run(&["run", "--remote", &form, "go"]).await;
    assert_eq!(ran.code, Some(2), "{form}: {}", ran.stderr);
    assert!(
        ran.stderr.contains(workspace) && ran.stderr.contains(words),
        "{form}: {}",
        ran.stderr
    );
    assert!(ran.stderr.contains("hint: "), "{form}: {}", ran.stderr);
    assert_eq!(listing(rig), before, "{form}");
    assert!(rig.model.requests().is_empty(), "{form}: no model was asked");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_that_is_missing_or_no_folder_is_refused() {
    let rig = Rig::new(Scenario::new(), HostOptions::installed()).await;
    let path = |name: &str| rig.host().join(name).display().to_string();
    fs::write(path("file"), "x").unwrap();
    std::os::unix::fs::symlink("/nonexistent", path("dangling")).unwrap();
    let cases = [
        (path("missing"), "does not exist"),
        (path("missing/below"), "does not exist"),
        (path("file"), "not a folder"),
        (path("dangling"), "symbolic link"),
    ];
    for (workspace, words) in &cases {
        refused(&rig, workspace, words).await;
    }
    assert_eq!(rig.running_programs(), [0; 0], "no daemon was started for it");

    // The same with a daemon that runs and a link that is remembered.
    let warm = Rig::new(Scenario::new().say("warm"), HostOptions::installed()).await;
    succeeded(&warm.run(&["run", "--remote", "box", "go"]).await, "warm");
    let asked = warm.model.requests().len();
    fs::write(warm.host().join("file"), "x").unwrap();
    for name in ["missing", "file"] {
        let form = format!("box:{}", warm.host().join(name).display());
        let before = listing(&warm);
        let ran = warm.run(&["run", "--remote", &form, "go"]).await;
        assert_eq!(ran.code, Some(2), "{form}: {}", ran.stderr);
        assert!(ran.stderr.contains(name), "{form}: {}", ran.stderr);
        assert_eq!(listing(&warm), before, "{form}");
    }
    assert_eq!(warm.model.requests().len(), asked);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_that_may_not_be_entered_is_refused() {
    const NOBODY: u32 = 65_534;
    let is_root = rustix::process::getuid().is_root();
    // Mode bits do not hold root back, so the account becomes another one behind the login.
    let shell = if is_root {
        "/usr/bin/setpriv --reuid=65534 --regid=65534 --clear-groups /bin/sh"
    } else {
        "/bin/sh"
    };
    let rig = Rig::new(Scenario::new(), with_shell(shell, "", &[])).await;
    let locked = rig.host().join("locked");
    fs::create_dir_all(locked.join("inner")).unwrap();
    if is_root {
        fs::set_permissions(rig.host().parent().unwrap(), fs::Permissions::from_mode(0o711)).unwrap();
        for path in [rig.host(), locked.clone(), rig.host().join(".reasonix")] {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o600)).unwrap();
    let before = listing_if(&rig, is_root);
    for workspace in [locked.clone(), locked.join("inner")] {
        let form = format!("box:{}", workspace.display());
        let ran = rig.run(&["run", "--remote", &form, "go"]).await;
        assert_eq!(ran.code, Some(2), "{form}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("permission denied") && ran.stderr.contains("locked"),
            "{form}: {}",
            ran.stderr
        );
    }
    assert_eq!(listing_if(&rig, is_root), before);
    assert_eq!(rig.running_programs(), [0; 0]);
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o700)).unwrap();
}

/// As [`listing`], where this process may look everywhere.
fn listing_if(rig: &Rig, may_look: bool) -> Vec<String> {
    if may_look { listing(rig) } else { Vec::new() }
}

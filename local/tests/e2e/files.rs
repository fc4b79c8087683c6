//! `reasonix remote fs`: files of a host, with the real program, over sshd's SFTP and through the agent.

mod copies;
mod editing;

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::Path,
};

use scripted_model::Scenario;
use serde_json::{Value, json};

use crate::{
    local_rig::only_line,
    rig::{HostOptions, Ran, Rig, ended},
};

const STRANGE: &[u8] = b"a b\n\xff\x1b[2J";

async fn rig(host: HostOptions) -> Rig {
    Rig::new(Scenario::new().say("Hello."), host).await
}

/// Runs `remote fs` with words that need not be text.
async fn fs_with(rig: &Rig, words: &[&OsStr]) -> Ran {
    let mut command = rig.command(&["remote", "fs"]);
    command.args(words);
    ended(&["remote", "fs"], command.output()).await
}

async fn fs_run(rig: &Rig, words: &[&str]) -> Ran {
    let words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
    fs_with(rig, &words).await
}

fn ok(ran: &Ran) -> &Ran {
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    ran
}

fn on_box(path: &[u8]) -> OsString {
    OsString::from_vec([b"box:", path].concat())
}

fn strange(folder: &Path) -> std::path::PathBuf {
    folder.join(OsStr::from_bytes(STRANGE))
}

/// Lists what a transfer may have left behind in a folder.
fn litter(folder: &Path) -> Vec<OsString> {
    let names = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    names
        .filter(|name| name.to_string_lossy().contains("reasonix-"))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_listed_whatever_they_are() {
    let rig = rig(HostOptions::default()).await;
    let folder = rig.host().join("there");
    fs::create_dir_all(folder.join("sub")).unwrap();
    fs::write(strange(&folder), "12345").unwrap();
    fs::write(folder.join(".hidden"), "").unwrap();
    std::os::unix::fs::symlink("no where", folder.join("link")).unwrap();
    let shown = "a b\\n\\xff\\u{1b}[2J";

    // `~`, a relative path and an absolute one are the same; the name steers no terminal and ends no line.
    let absolute = format!("box:{}", folder.display());
    for place in ["box:there", "box:~/there", &absolute] {
        let ran = fs_run(&rig, &["ls", place]).await;
        assert_eq!(ok(&ran).stdout, format!("{shown}\nlink\nsub\n"), "{place}");
    }
    let ran = fs_run(&rig, &["ls", "-l", "-a", "box:there"]).await;
    let lines: Vec<&str> = ok(&ran).stdout.lines().collect();
    assert!(
        lines[0].starts_with("-rw") && lines[0].ends_with(" .hidden"),
        "{ran:#?}"
    );
    assert!(
        lines[2].starts_with("lrwx") && lines[2].ends_with(" link -> no where"),
        "{ran:#?}"
    );
    let ran = fs_run(&rig, &["ls", "--json", "box:there"]).await;
    let value: Value = only_line(ok(&ran));
    let first = &value["groups"][0]["entries"][0];
    assert_eq!((&first["size"], &first["kind"]), (&json!(5), &json!("file")));
    assert_eq!(first["name_hex"], "6120620aff1b5b324a");
    let mut command = rig.command(&["remote", "fs", "ls", "-0", "box:there"]);
    let raw = command.output().await.unwrap().stdout;
    assert_eq!(raw, [STRANGE, b"\0link\0sub\0"].concat());

    // The home where nothing is named; a pattern is the host's; nothing that matches is a failure.
    let ran = fs_run(&rig, &["ls", "box"]).await;
    assert!(ok(&ran).stdout.contains("there\n"), "{ran:#?}");
    let ran = fs_run(&rig, &["ls", "box:th*/su?"]).await;
    assert_eq!(ok(&ran).code, Some(0));
    for (place, code, says) in [
        ("box:there/x*", 1, "nothing matches"),
        ("box:missing", 1, "missing"),
        (":x", 2, "names no host"),
    ] {
        let ran = fs_run(&rig, &["ls", "--json", place]).await;
        assert_eq!(ran.code, Some(code), "{ran:#?}");
        let value: Value = only_line(&ran);
        assert_eq!(value["error"]["code"], code);
        assert!(ran.stderr.contains(says), "{ran:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cat_prints_files_one_after_the_other() {
    let rig = rig(HostOptions::default()).await;
    fs::write(rig.host().join("1.txt"), "one\n").unwrap();
    fs::write(rig.host().join("2.txt"), "two\n").unwrap();
    fs::write(strange(&rig.host()), "strange\n").unwrap();
    let ran = fs_run(&rig, &["cat", "box:[12].txt", "box:1.txt"]).await;
    assert_eq!(ok(&ran).stdout, "one\ntwo\none\n");
    let ran = fs_with(&rig, &[OsStr::new("cat"), &on_box(STRANGE)]).await;
    assert_eq!(ok(&ran).stdout, "strange\n");
    // What says that it is empty may not be.
    let ran = fs_run(&rig, &["cat", "box:/proc/self/comm"]).await;
    assert!(ok(&ran).stdout.contains("sftp-server"), "{ran:#?}");
    let ran = fs_run(&rig, &["cat", "box:work"]).await;
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert!(ran.stderr.contains("folder"), "{ran:#?}");
    let ran = fs_run(&rig, &["cat", "box:2024"]).await;
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    assert!(ran.stderr.contains("box:./2024"), "{ran:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_sftp_the_agent_serves_files() {
    let host = HostOptions {
        sshd: vec!["Subsystem sftp /bin/false".into()],
        ..HostOptions::installed()
    };
    let rig = rig(host).await;
    fs::write(rig.host().join("note"), "text").unwrap();
    // Without an agent there is no way, and both reasons are told.
    let ran = fs_run(&rig, &["cat", "box:note"]).await;
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    for part in [
        "over SFTP: ",
        "through its agent: none runs there",
        "remote connect box",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {ran:#?}");
    }
    ok(&rig.run(&["run", "--remote", "box", "go"]).await);
    let ran = fs_run(&rig, &["cat", "box:~/note"]).await;
    assert_eq!((ok(&ran).stdout.as_str(), ran.stderr.as_str()), ("text", ""));
    let ran = fs_run(&rig, &["ls", "-v", "box:no*"]).await;
    assert!(ok(&ran).stderr.contains("files through its agent"), "{ran:#?}");

    // Copies and trees go the same way.
    let content = vec![7_u8; 6_000_000];
    fs::create_dir(rig.local_work().join("tree")).unwrap();
    fs::write(strange(&rig.local_work().join("tree")), &content).unwrap();
    ok(&fs_run(&rig, &["put", "-r", "tree", "box:"]).await);
    assert!(fs::read(strange(&rig.host().join("tree"))).unwrap() == content);
    ok(&fs_run(&rig, &["get", "-r", "box:tree", "back"]).await);
    assert!(fs::read(strange(&rig.local_work().join("back"))).unwrap() == content);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_session_is_enough() {
    let host = HostOptions {
        sshd: vec!["MaxSessions 1".into()],
        ..HostOptions::default()
    };
    let rig = rig(host).await;
    let content: Vec<u8> = (0..9_000_000_u32).map(|n| (n % 251) as u8).collect();
    fs::write(rig.host().join("big"), &content).unwrap();
    let ran = fs_run(&rig, &["get", "-v", "box:big"]).await;
    assert!(ok(&ran).stderr.contains("files over SFTP"), "{ran:#?}");
    assert!(fs::read(rig.local_work().join("big")).unwrap() == content);
}

//! Edits keep what they do not change; searches search what they are given.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
};

use scripted_model::{Reply, Scenario};
use serde_json::{Value, json};

use crate::local_rig::LocalRig;

/// A reply that makes one call for each of the arguments.
fn each(tool: &str, arguments: impl IntoIterator<Item = Value>) -> Reply {
    arguments
        .into_iter()
        .fold(Reply::new(), |reply, arguments| reply.call(tool, &arguments))
}

/// A task that reads files, edits them, and ends.
fn edits(edits: &[(&str, &str, &str)]) -> Scenario {
    let read = |(path, _, _): &(&str, &str, &str)| json!({"path": path});
    let edit =
        |(path, old, new): &(&str, &str, &str)| json!({"path": path, "old_string": old, "new_string": new});
    Scenario::new()
        .reply(each("read_file", edits.iter().map(read)))
        .reply(each("edit_file", edits.iter().map(edit)))
        .say("Edited.")
}

#[tokio::test(flavor = "multi_thread")]
async fn ra_19_line_ends_survive_an_edit() {
    let (old, new) = ("one\ntwo", "one\n2a\n2b");
    let rows = [
        (
            "crlf",
            old,
            new,
            "one\r\ntwo\r\nthree\r\n",
            "one\r\n2a\r\n2b\r\nthree\r\n",
        ),
        (
            "open",
            old,
            new,
            "one\r\ntwo\r\nthree",
            "one\r\n2a\r\n2b\r\nthree",
        ),
        (
            "asked",
            "one\r\ntwo",
            new,
            "one\r\ntwo\r\n",
            "one\r\n2a\r\n2b\r\n",
        ),
        ("lf", old, new, "one\ntwo\nthree", "one\n2a\n2b\nthree"),
        (
            "mark",
            old,
            new,
            "\u{feff}one\r\ntwo\r\n",
            "\u{feff}one\r\n2a\r\n2b\r\n",
        ),
    ];
    let rig = LocalRig::new(edits(&rows.map(|(name, old, new, ..)| (name, old, new)))).await;
    for (name, _, _, before, _) in rows {
        rig.put(name, before);
    }
    rig.task(&[]).await.ok();
    for (name, _, _, _, after) in rows {
        assert_eq!(String::from_utf8(rig.read(name)).unwrap(), after, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ra_20_old_and_new_text_are_literal() {
    let codes = [
        "$$", "$&", "$1", "${1}", "$`", "$'", "\\1", "\\n", "%s", "\\0", "$0", "&",
    ];
    let names: Vec<String> = (0..=codes.len()).map(|number| format!("f{number}")).collect();
    let mut rows: Vec<_> = names
        .iter()
        .zip(codes)
        .map(|(name, code)| (name.as_str(), "X", code))
        .collect();
    rows.push((&names[codes.len()], ".*[(", "plain"));
    let rig = LocalRig::new(edits(&rows)).await;
    for (name, old, _) in &rows {
        rig.put(name, format!("before {old} after $1\n"));
    }
    rig.task(&[]).await.ok();
    for (name, _, new) in rows {
        assert_eq!(
            String::from_utf8(rig.read(name)).unwrap(),
            format!("before {new} after $1\n")
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ra_21_modes_and_links_survive_edits_and_writes() {
    let names = ["run.sh", "secret.txt", "link", "hard"];
    let write = |name: &&str| json!({"path": name, "content": "written\n"});
    let rows = names.map(|name| (name, "old", "new"));
    let mut scenario = edits(&rows);
    scenario
        .replies
        .insert(2, each("write_file", names.iter().map(write)).gate("looked"));
    let rig = LocalRig::new(scenario).await;
    for (name, mode) in [
        ("run.sh", 0o755),
        ("secret.txt", 0o600),
        ("target", 0o640),
        ("hard", 0o444),
    ] {
        rig.put(name, "old\n");
        rig.chmod(name, mode);
    }
    symlink("target", rig.work().join("link")).unwrap();
    fs::hard_link(rig.work().join("hard"), rig.work().join("twin")).unwrap();
    let gate = rig.model.gate("looked");
    let check = |want: &str| {
        for (name, mode) in [
            ("run.sh", 0o755),
            ("secret.txt", 0o600),
            ("target", 0o640),
            ("twin", 0o444),
        ] {
            assert_eq!(rig.read(name), want.as_bytes(), "{name}");
            let found = fs::metadata(rig.work().join(name)).unwrap().permissions().mode() & 0o7777;
            assert_eq!(found, mode, "{name} has mode {found:o}");
        }
        assert_eq!(
            fs::read_link(rig.work().join("link")).unwrap().to_str(),
            Some("target")
        );
        assert_eq!(fs::metadata(rig.work().join("hard")).unwrap().nlink(), 2);
    };
    let look = async {
        rig.held("looked").await;
        check("new\n");
        gate.open();
    };
    let (done, ()) = tokio::join!(rig.task(&[]), look);
    done.ok();
    check("written\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn ra_26_patterns_and_paths_are_never_options() {
    let rig = LocalRig::new(Scenario::new()).await;
    let marker = rig.put("marker.sh", "#!/bin/sh\ntouch \"$(dirname \"$0\")/marker\"\n");
    rig.chmod("marker.sh", 0o755);
    let pre = format!("--pre={}", marker.display());
    let patterns = [pre.as_str(), "--files", "-e", "-f/etc/hostname", "--help", "->"];
    for (number, pattern) in patterns.iter().enumerate() {
        rig.put(&format!("tree/{number}"), format!("{pattern}\n"));
    }
    rig.put("-x/--files", "inside\n");
    let searches = patterns.map(|pattern| json!({"pattern": pattern, "path": "tree"}));
    rig.model.push(each("grep", searches));
    rig.model.push(
        each("grep", [json!({"pattern": "inside", "path": "-x"})])
            .call("glob", &json!({"pattern": "-x/*"}))
            .call("glob", &json!({"pattern": "--files"})),
    );
    rig.model.push(Reply::new().say("Searched."));
    rig.task(&[]).await.ok();
    let answers = rig.answers();
    for (number, pattern) in patterns.iter().enumerate() {
        let own = format!("tree/{number}:1:{pattern}");
        assert!(answers[number].contains(&own), "{pattern}: {}", answers[number]);
    }
    assert!(answers[6].contains("-x/--files:1:inside"), "{}", answers[6]);
    assert!(answers[7].contains("-x/--files"), "{}", answers[7]);
    assert!(!answers[8].contains("error"), "{}", answers[8]);
    assert!(!rig.has("marker"), "a search ran a script");
}

#[tokio::test(flavor = "multi_thread")]
async fn ra_27_obstacles_do_not_hide_what_was_found() {
    let rig = LocalRig::new(
        Scenario::new()
            .reply(each("grep", [json!({"pattern": "needle"})]).call("glob", &json!({"pattern": "**/*.txt"})))
            .say("Searched."),
    )
    .await;
    for name in ["a.txt", "b/c.txt", "odd\nname.txt", "locked/d.txt"] {
        rig.put(name, "needle\n");
    }
    rig.chmod("locked", 0);
    symlink("nowhere", rig.work().join("dangling.txt")).unwrap();
    symlink("self.txt", rig.work().join("self.txt")).unwrap();
    symlink(".", rig.work().join("round")).unwrap();
    rig.task(&[]).await.ok();
    rig.chmod("locked", 0o755);
    let answers = rig.answers();
    for found in [
        "a.txt:1:needle",
        "b/c.txt:1:needle",
        "name.txt:1:needle",
        "skipped",
    ] {
        assert!(answers[0].contains(found), "{found}: {}", answers[0]);
    }
    for found in ["a.txt", "b/c.txt", "name.txt"] {
        assert!(answers[1].contains(found), "{found}: {}", answers[1]);
    }
}

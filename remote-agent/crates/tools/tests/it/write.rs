//! write_file, and what counts as seen.

use conversation::CallOutcome;
use serde_json::json;
use tools::{PathSubject, Subject, WriteScope};

use crate::world::World;

#[tokio::test]
async fn creates_with_folders_and_reports_bytes() {
    let world = World::new();
    let text = world
        .ok("write_file", json!({"path": "a/b/文件.txt", "content": "汉\n"}))
        .await;
    assert_eq!(text, format!("wrote 4 bytes to {}", world.path("a/b/文件.txt")));
    assert_eq!(world.text("a/b/文件.txt"), "汉\n");
    // What it wrote it has seen.
    world
        .ok("write_file", json!({"path": "a/b/文件.txt", "content": "two"}))
        .await;
    world
        .ok(
            "edit_file",
            json!({"path": "a/b/文件.txt", "old_string": "two", "new_string": "three"}),
        )
        .await;
    assert_eq!(world.text("a/b/文件.txt"), "three");
}

#[tokio::test]
async fn an_unseen_file_is_not_replaced() {
    let world = World::new();
    world.put("f", "old");
    world
        .fails(
            "write_file",
            json!({"path": "f", "content": "new"}),
            "FS_NOT_OBSERVED",
        )
        .await;
    world
        .fails(
            "edit_file",
            json!({"path": "f", "old_string": "old", "new_string": "new"}),
            "FS_NOT_OBSERVED",
        )
        .await;
    // A command does not count as reading.
    world.ok("bash", json!({"command": "cat f"})).await;
    world
        .fails(
            "write_file",
            json!({"path": "f", "content": "new"}),
            "FS_NOT_OBSERVED",
        )
        .await;
    assert_eq!(world.text("f"), "old");
    world.ok("read_file", json!({"path": "f", "limit": 1})).await;
    world
        .ok("write_file", json!({"path": "f", "content": "new"}))
        .await;
    world.cx.observed.clear();
    world
        .fails(
            "write_file",
            json!({"path": "f", "content": "x"}),
            "FS_NOT_OBSERVED",
        )
        .await;
}

#[tokio::test]
async fn a_changed_file_must_be_read_again() {
    let world = World::new();
    world.put("f", "one");
    world.ok("read_file", json!({"path": "f"})).await;
    // The same size and times: only the content differs.
    world
        .ok(
            "bash",
            json!({"command": "cp -p f ref; printf two >f; touch -r ref f"}),
        )
        .await;
    world
        .fails(
            "write_file",
            json!({"path": "f", "content": "x"}),
            "FS_STALE_VERSION",
        )
        .await;
    world
        .fails(
            "edit_file",
            json!({"path": "f", "old_string": "two", "new_string": "x"}),
            "FS_STALE_VERSION",
        )
        .await;
    assert_eq!(world.text("f"), "two");
    world.ok("read_file", json!({"path": "f"})).await;
    world
        .ok(
            "edit_file",
            json!({"path": "f", "old_string": "two", "new_string": "x"}),
        )
        .await;
    std::fs::remove_file(world.cx.workspace.join("f")).unwrap();
    world
        .fails(
            "write_file",
            json!({"path": "f", "content": "y"}),
            "FS_STALE_VERSION",
        )
        .await;
    world
        .fails("read_file", json!({"path": "f"}), "FS_NOT_FOUND")
        .await;
    world.ok("write_file", json!({"path": "f", "content": "y"})).await;
}

#[tokio::test]
async fn a_file_that_somebody_created_meanwhile_is_kept() {
    let world = World::new();
    world
        .fails("read_file", json!({"path": "f"}), "FS_NOT_FOUND")
        .await;
    world.put("f", "theirs");
    world
        .fails(
            "write_file",
            json!({"path": "f", "content": "mine"}),
            "FS_ALREADY_EXISTS",
        )
        .await;
    assert_eq!(world.text("f"), "theirs");
}

#[tokio::test]
async fn nothing_is_written_outside_the_roots() {
    let mut world = World::new();
    let outside = world.root.resolve("outside");
    world.link(&outside, "link");
    world.link(outside.join("missing"), "dangling");
    world.put("dir/f", "");
    for path in [
        "link/f",
        "dangling",
        "../outside/f",
        "dir/../../outside/f",
        "~/f",
        outside.join("f").to_str().unwrap(),
    ] {
        let result = world
            .call("write_file", json!({"path": path, "content": "x"}))
            .await;
        assert_eq!(result.outcome, CallOutcome::Denied, "{path}: {}", result.content);
        let want =
            format!("blocked: this directory is outside the writable roots ({outside}). To make it writable");
        assert!(result.content.starts_with(&want), "{path}: {}", result.content);
    }
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    world.cx.files.write = WriteScope::Anywhere;
    world
        .ok("write_file", json!({"path": "dangling", "content": "x"}))
        .await;
    assert!(outside.join("missing").is_file());
}

#[tokio::test]
async fn a_protected_folder_is_outside_of_the_roots_around_it() {
    let mut world = World::new();
    world.put("user/.home/config", "strict\n");
    world.link("user/.home", "alias");
    world.cx.files.protected = vec![world.cx.workspace.resolve("user/.home")];
    world.ok("read_file", json!({"path": "user/.home/config"})).await;
    for path in ["user/.home/config", "alias/config", "user/.home/new/file"] {
        let call = json!({"path": path, "content": "x"});
        let subjects = world.subjects("write_file", &call);
        assert!(
            matches!(&subjects[..], [Subject::Path(path)] if !path.inside_write_roots),
            "{subjects:?}"
        );
        let result = world.call("write_file", call).await;
        assert_eq!(result.outcome, CallOutcome::Denied, "{path}: {}", result.content);
    }
    assert_eq!(world.text("user/.home/config"), "strict\n");
    world.cx.files.write = WriteScope::Roots(vec![world.cx.workspace.resolve("user/.home")]);
    world
        .ok("write_file", json!({"path": "user/.home/config", "content": "x"}))
        .await;
}

#[tokio::test]
async fn subjects_show_where_paths_lead() {
    let world = World::new();
    let outside = world.root.resolve("outside");
    world.link(&outside, "link");
    let check = |raw: &str, resolved: stdx::AbsPath, inside: bool| {
        let want = PathSubject {
            raw: raw.to_owned(),
            cleaned: world.cx.workspace.resolve(raw),
            resolved: resolved.into_path_buf(),
            inside_write_roots: inside,
        };
        for tool in ["write_file", "edit_file", "read_file"] {
            assert_eq!(
                world.subjects(tool, &json!({"path": raw})),
                [Subject::Path(want.clone())]
            );
        }
    };
    check("a/../b", world.cx.workspace.resolve("b"), true);
    check("link/new", outside.resolve("new"), false);
    check("../outside/x", outside.resolve("x"), false);
    let command = world.subjects("bash", &json!({"command": "ls"}));
    let directory = world.cx.workspace.as_path().to_owned();
    assert_eq!(
        command,
        [Subject::Command {
            text: "ls".into(),
            directory
        }]
    );
}

#[tokio::test]
async fn folders_and_special_files_are_not_written() {
    let mut world = World::new();
    world.put("dir/f", "");
    world
        .fails(
            "write_file",
            json!({"path": "dir", "content": ""}),
            "is a directory",
        )
        .await;
    world
        .fails(
            "edit_file",
            json!({"path": "dir", "old_string": "a", "new_string": ""}),
            "is a directory",
        )
        .await;
    world
        .fails(
            "write_file",
            json!({"path": "dir/f/g", "content": ""}),
            "Not a directory",
        )
        .await;
    world
        .fails(
            "edit_file",
            json!({"path": "gone", "old_string": "a", "new_string": ""}),
            "FS_NOT_FOUND",
        )
        .await;
    world.cx.token.cancel();
    let result = world
        .call("write_file", json!({"path": "new", "content": ""}))
        .await;
    assert_eq!(result.outcome, CallOutcome::Interrupted);
    world.cx.token = tokio_util::sync::CancellationToken::new();
    assert!(!world.cx.workspace.join("new").exists());
}

//! read_file.

use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn lines_are_numbered() {
    let world = World::new();
    world.put("f", "one\ntwo\nthree");
    assert_eq!(
        world.ok("read_file", json!({"path": "f"})).await,
        "1→one\n2→two\n3→three\n"
    );
    world.put("目录/文件 一.txt", "你好\n");
    assert_eq!(
        world.ok("read_file", json!({"path": "目录/文件 一.txt"})).await,
        "1→你好\n"
    );
}

#[tokio::test]
async fn windows_say_where_they_are() {
    let world = World::new();
    world.put("f", (1..=12).map(|n| format!("line {n}\n")).collect::<String>());
    let check = async |offset: u64, limit: u64, want: &str| {
        let got = world
            .ok(
                "read_file",
                json!({"path": "f", "offset": offset, "limit": limit}),
            )
            .await;
        assert_eq!(got, want);
    };
    check(8, 2, " 9→line 9\n10→line 10\n[PARTIAL view: showing lines 9-10 of at least 11; pass offset=10 to see more]").await;
    check(
        10,
        5,
        "11→line 11\n12→line 12\n[PARTIAL view: showing lines 11-12 of at least 12]",
    )
    .await;
    check(12, 5, "(offset 12 is past EOF — file has 12 lines)").await;
    check(99, 5, "(offset 99 is past EOF — file has 12 lines)").await;
}

#[tokio::test]
async fn the_window_is_bounded_by_lines_and_bytes() {
    let world = World::new();
    world.put("long", "x\n".repeat(2001));
    let text = world.ok("read_file", json!({"path": "long"})).await;
    assert!(text.contains("showing lines 1-2000 of at least 2001; pass offset=2000"));
    for character in ["汉", "👩‍💻"] {
        world.put("wide", format!("{}\n", character.repeat(100)).repeat(1000));
        let text = world.ok("read_file", json!({"path": "wide"})).await;
        assert!(
            text.len() <= tools::MAX_CONTENT && text.contains("[PARTIAL view"),
            "{}",
            text.len()
        );
        world.put("one", character.repeat(200_000));
        let text = world.ok("read_file", json!({"path": "one"})).await;
        assert!(text.len() < 5000 && text.contains("… [line of"), "{}", text.len());
    }
}

#[tokio::test]
async fn bom_and_cr_are_hidden() {
    let world = World::new();
    world.put("f", "\u{feff}one\r\ntwo\r\n");
    assert_eq!(
        world.ok("read_file", json!({"path": "f"})).await,
        "1→one\n2→two\n"
    );
}

#[tokio::test]
async fn large_files_are_read_in_windows() {
    let world = World::new();
    world.put("big", "0123456789\n".repeat(2_000_000));
    let text = world
        .ok(
            "read_file",
            json!({"path": "big", "offset": 1_999_999, "limit": 5}),
        )
        .await;
    assert!(text.starts_with("2000000→0123456789\n"), "{text}");
}

#[tokio::test]
async fn what_cannot_be_read_says_why() {
    let world = World::new();
    world.put("dir/f", "x");
    world.put("bin", b"a\0b");
    world.put("empty", "");
    world.link("missing", "dangling");
    world.link("loop", "loop");
    world
        .fails("read_file", json!({"path": "dir"}), "is a directory")
        .await;
    world
        .fails(
            "read_file",
            json!({"path": "missing"}),
            "FS_NOT_FOUND: file does not exist",
        )
        .await;
    world
        .fails("read_file", json!({"path": "dangling"}), "FS_NOT_FOUND")
        .await;
    world
        .fails("read_file", json!({"path": "dir/f/x"}), "Not a directory")
        .await;
    world
        .fails("read_file", json!({"path": "loop"}), "symbolic links")
        .await;
    world
        .fails(
            "read_file",
            json!({"path": "bin"}),
            "binary file (NUL byte detected)",
        )
        .await;
    world
        .fails("read_file", json!({"path": ""}), "path is required")
        .await;
    world
        .fails("read_file", json!({"path": "a\0b"}), "NUL character")
        .await;
    world
        .fails("read_file", json!({"path": "/dev/zero"}), "not a regular file")
        .await;
    assert_eq!(
        world.ok("read_file", json!({"path": "empty"})).await,
        "(empty file)"
    );
    world.put("latin", b"caf\xe9\n");
    assert_eq!(
        world.ok("read_file", json!({"path": "latin"})).await,
        "1→caf\u{fffd}\n"
    );
}

#[tokio::test]
async fn a_pipe_does_not_block() {
    let world = World::new();
    world.ok("bash", json!({"command": "mkfifo pipe"})).await;
    world
        .fails("read_file", json!({"path": "pipe"}), "not a regular file")
        .await;
    world
        .fails(
            "grep",
            json!({"path": "pipe", "pattern": "x"}),
            "not a regular file",
        )
        .await;
    assert_eq!(world.ok("grep", json!({"pattern": "x"})).await, "(no matches)");
}

#[tokio::test]
async fn a_pipe_in_place_of_ignore_rules_does_not_block() {
    let world = World::new();
    world.put("a", "needle\n");
    world.put("dir/b", "needle\n");
    world.put("dir/odd/c", "needle\n");
    world
        .ok("bash", json!({"command": "mkfifo dir/odd/.ignore"}))
        .await;
    let found = world.ok("grep", json!({"pattern": "needle"})).await;
    assert_eq!(found.lines().count(), 3, "{found}");
    assert!(found.ends_with("(skipped 1 unreadable entry)"), "{found}");
    world.ok("bash", json!({"command": "mkfifo .gitignore"})).await;
    for path in [".", "dir"] {
        let found = world.ok("grep", json!({"pattern": "needle", "path": path})).await;
        assert!(found.contains("dir/odd/c:1:needle"), "{path}: {found}");
    }
}

#[tokio::test]
async fn forbidden_files_look_missing_to_every_tool() {
    let mut world = World::new();
    world.put("home/.env", "KEY=hunter2\n");
    world.put("home/other", "KEY=public\n");
    world.link("home/.env", "alias");
    world.cx.files.forbid_read = vec![world.cx.workspace.resolve("home/.env")];
    for path in ["home/.env", "alias", "home/../home/.env"] {
        world
            .fails("read_file", json!({"path": path}), "FS_NOT_FOUND")
            .await;
        world
            .fails("grep", json!({"path": path, "pattern": "KEY"}), "FS_NOT_FOUND")
            .await;
        world
            .fails(
                "edit_file",
                json!({"path": path, "old_string": "KEY", "new_string": ""}),
                "FS_NOT_FOUND",
            )
            .await;
        world
            .fails("write_file", json!({"path": path, "content": ""}), "FS_NOT_FOUND")
            .await;
    }
    world.cx.files.forbid_read = vec![world.cx.workspace.resolve("home")];
    assert_eq!(world.ok("grep", json!({"pattern": "KEY"})).await, "(no matches)");
    assert_eq!(
        world.ok("glob", json!({"pattern": "**/*"})).await,
        format!("{}", world.path("alias"))
    );
    assert_eq!(world.ok("ls", json!({})).await, "alias -> home/.env");
    world.fails("ls", json!({"path": "home"}), "FS_NOT_FOUND").await;
    assert_eq!(world.text("home/.env"), "KEY=hunter2\n");
}

//! grep, and searches that meet obstacles.

use serde_json::json;

use crate::world::World;

async fn matches(world: &World, args: serde_json::Value) -> Vec<String> {
    let text = world.ok("grep", args).await;
    let workspace = format!("{}/", world.cx.workspace);
    text.lines()
        .map(|line| line.strip_prefix(&workspace).unwrap_or(line).to_owned())
        .collect()
}

#[tokio::test]
async fn finds_lines_with_path_and_number() {
    let world = World::new();
    world.put("a.txt", "one\ntwo\r\nTwo\n");
    world.put("dir/b.txt", "two twice two\n");
    world.put("目录/文件 一.txt", "你好 two\n");
    let want = [
        "a.txt:2:two",
        "dir/b.txt:1:two twice two",
        "目录/文件 一.txt:1:你好 two",
    ];
    assert_eq!(
        matches(&world, json!({"pattern": "two$|two "})).await,
        ["a.txt:2:two", "dir/b.txt:1:two twice two", want[2]]
    );
    assert_eq!(matches(&world, json!({"pattern": "two"})).await, want);
    assert_eq!(
        matches(&world, json!({"pattern": "(?i)^TWO$"})).await,
        ["a.txt:2:two", "a.txt:3:Two"]
    );
    assert_eq!(
        matches(&world, json!({"pattern": "two", "path": "dir"})).await,
        ["dir/b.txt:1:two twice two"]
    );
    assert_eq!(
        matches(&world, json!({"pattern": "one", "path": "a.txt"})).await,
        ["a.txt:1:one"]
    );
    assert_eq!(matches(&world, json!({"pattern": "你好"})).await, [want[2]]);
    assert_eq!(
        matches(&world, json!({"pattern": "three"})).await,
        ["(no matches)"]
    );
    world
        .fails("grep", json!({"pattern": "("}), "error: invalid pattern: ")
        .await;
    world
        .fails("grep", json!({"pattern": "x", "path": "gone"}), "FS_NOT_FOUND")
        .await;
}

#[tokio::test]
async fn leaves_out_hidden_ignored_and_binary_files() {
    let world = World::new();
    for path in ["seen", ".hidden", "ignored/f", "sub/f.log"] {
        world.put(path, "needle\n");
    }
    world.put("binary", b"\0needle\n");
    world.put(".gitignore", "ignored/\n*.log\n");
    assert_eq!(
        matches(&world, json!({"pattern": "needle"})).await,
        ["seen:1:needle"]
    );
    // What is named is searched.
    assert_eq!(
        matches(&world, json!({"pattern": "needle", "path": ".hidden"})).await,
        [".hidden:1:needle"]
    );
    assert_eq!(
        matches(&world, json!({"pattern": "needle", "path": "sub/f.log"})).await,
        ["sub/f.log:1:needle"]
    );
}

#[tokio::test]
async fn patterns_are_never_options() {
    let world = World::new();
    let script = world.path("marker.sh");
    world.put(
        "marker.sh",
        format!("#!/bin/sh\ntouch {}\n", world.path("marker")),
    );
    world.chmod("marker.sh", 0o755);
    let patterns = [
        format!("--pre={script}"),
        "--files".into(),
        "-e".into(),
        "-f/etc/hostname".into(),
        "--help".into(),
        "->".into(),
    ];
    for (index, pattern) in patterns.iter().enumerate() {
        world.put(&format!("d/{index}"), format!("<{pattern}>\n"));
    }
    for (index, pattern) in patterns.iter().enumerate() {
        let found = matches(&world, json!({"pattern": format!("<{pattern}"), "path": "d"})).await;
        assert_eq!(found, [format!("d/{index}:1:<{pattern}>")]);
    }
    world.put("-x", "dash\n");
    assert_eq!(
        matches(&world, json!({"pattern": "dash", "path": "-x"})).await,
        ["-x:1:dash"]
    );
    assert!(!world.cx.workspace.join("marker").exists());
}

#[tokio::test]
async fn obstacles_are_counted_and_passed() {
    let world = World::new();
    for path in ["a", "b/c", "new\nline"] {
        world.put(path, "needle\n");
    }
    world.put("locked/f", "needle\n");
    world.link("gone", "dangling");
    world.link("self", "self");
    world.link(".", "round");
    world.chmod("locked", 0o000);
    // Root may read everything.
    let reads_locked = std::fs::read_dir(world.cx.workspace.join("locked")).is_ok();
    let mut want = vec!["a:1:needle", "b/c:1:needle"];
    want.extend(reads_locked.then_some("locked/f:1:needle"));
    want.push("new\\nline:1:needle");
    let skipped = format!(
        "(skipped {} unreadable entries)",
        if reads_locked { 2 } else { 3 }
    );
    want.push(&skipped);
    assert_eq!(matches(&world, json!({"pattern": "needle"})).await, want);
    let text = world.ok("glob", json!({"pattern": "**/c"})).await;
    assert_eq!(text, format!("{}\n{skipped}", world.path("b/c")));
    world.chmod("locked", 0o755);
}

#[tokio::test]
async fn matches_are_capped() {
    let world = World::new();
    world.put("f", "x\n".repeat(200));
    assert_eq!(matches(&world, json!({"pattern": "x"})).await.len(), 200);
    world.put("g", "x\n");
    let found = matches(&world, json!({"pattern": "x"})).await;
    assert_eq!(found.len(), 201);
    assert_eq!(found[200], "... (truncated at 200 matches)");
}

#[tokio::test]
async fn long_lines_and_long_results_are_cut() {
    let world = World::new();
    for shift in 0..4 {
        let line = format!("{}needle{}\n", "x".repeat(shift), "汉".repeat(10_000));
        world.put(&format!("f{shift}"), line.repeat(100));
    }
    let text = world.ok("grep", json!({"pattern": "needle"})).await;
    assert!(
        text.len() <= tools::MAX_CONTENT
            && text.contains("… [line of ")
            && text.contains("[result truncated"),
        "{}",
        text.len()
    );
}

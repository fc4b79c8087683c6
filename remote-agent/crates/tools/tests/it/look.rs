//! ls and glob.

use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn ls_shows_folders_sizes_and_links() {
    let world = World::new();
    world.put("b.txt", "12345");
    world.put("a/inner", "");
    world.put(".hidden", "1");
    world.link("nowhere", "dangling");
    world.put("文件 一.txt", "x");
    let want = ".hidden\t1\na/\nb.txt\t5\ndangling -> nowhere\n文件 一.txt\t1";
    assert_eq!(world.ok("ls", json!({})).await, want);
    assert_eq!(world.ok("ls", json!({"path": "."})).await, want);
    assert_eq!(world.ok("ls", json!({"path": "a"})).await, "inner\t0");
    std::fs::create_dir(world.cx.workspace.join("empty")).unwrap();
    assert_eq!(
        world.ok("ls", json!({"path": "empty"})).await,
        "(empty directory)"
    );
    world
        .fails("ls", json!({"path": "b.txt"}), "is not a directory")
        .await;
    world.fails("ls", json!({"path": "gone"}), "FS_NOT_FOUND").await;
}

#[tokio::test]
async fn ls_goes_down_but_not_everywhere() {
    let world = World::new();
    for path in [
        "a/b/c",
        "a/z",
        ".github/x",
        ".git/config",
        "node_modules/p/index.js",
        "new\nline/f",
    ] {
        world.put(path, "");
    }
    world.link("..", "a/up");
    let want = ".git/\n.github/\n.github/x\t0\na/\na/b/\na/b/c\t0\na/up -> ..\na/z\t0\nnew\\nline/\nnew\\nline/f\t0\n\
        node_modules/";
    assert_eq!(world.ok("ls", json!({"recursive": true})).await, want);
}

#[tokio::test]
async fn ls_is_bounded() {
    let world = World::new();
    for number in 0..2001 {
        world.put(&format!("{number:04}"), "");
    }
    let text = world.ok("ls", json!({})).await;
    assert!(text.ends_with("1999\t0\n... (truncated at 2000 entries)"));
}

async fn globbed(world: &World, pattern: &str) -> Vec<String> {
    let text = world.ok("glob", json!({"pattern": pattern})).await;
    let workspace = format!("{}/", world.cx.workspace);
    text.lines()
        .map(|line| line.strip_prefix(&workspace).unwrap_or(line).to_owned())
        .collect()
}

#[tokio::test]
async fn glob_matches_names() {
    let world = World::new();
    for path in [
        "a.rs",
        "src/b.rs",
        "src/deep/c.rs",
        "src/deep/d.txt",
        ".github/w.yml",
        "目录/文件 一.txt",
        "-x",
        "[q].rs",
    ] {
        world.put(path, "");
    }
    for path in ["node_modules/p/e.rs", ".git/f.rs"] {
        world.put(path, "");
    }
    let check =
        async |pattern: &str, want: &[&str]| assert_eq!(globbed(&world, pattern).await, want, "{pattern}");
    check("*.rs", &["[q].rs", "a.rs"]).await;
    check("**/*.rs", &["[q].rs", "a.rs", "src/b.rs", "src/deep/c.rs"]).await;
    check("src/**/*.rs", &["src/b.rs", "src/deep/c.rs"]).await;
    check("src/*", &["src/b.rs", "src/deep/"]).await;
    check("**/*.yml", &[".github/w.yml"]).await;
    check("目录/*", &["目录/文件 一.txt"]).await;
    check("src/deep/[cd].*", &["src/deep/c.rs", "src/deep/d.txt"]).await;
    check("src/?.rs", &["src/b.rs"]).await;
    check("node_modules/**/*.rs", &["node_modules/p/e.rs"]).await;
    check("**/node_modules/**/*.rs", &["node_modules/p/e.rs"]).await;
    check("-x", &["-x"]).await;
    check("-*", &["-x"]).await;
    check("src", &["src/"]).await;
    check("gone/*", &["(no matches)"]).await;
    check("gone", &["(no matches)"]).await;
    check("*.py", &["(no matches)"]).await;
    let absolute = format!("{}/src/*.rs", world.cx.workspace);
    check(&absolute, &["src/b.rs"]).await;
    world
        .fails("glob", json!({"pattern": "a[b"}), "invalid pattern")
        .await;
    world
        .fails("glob", json!({"pattern": ""}), "pattern is required")
        .await;
}

#[tokio::test]
async fn cancelled_looking_stops() {
    let world = World::new();
    world.put("f", "x");
    world.cx.token.cancel();
    for (tool, args) in [
        ("ls", json!({})),
        ("glob", json!({"pattern": "*"})),
        ("grep", json!({"pattern": "x"})),
        ("read_file", json!({"path": "f"})),
    ] {
        let result = world.call(tool, args).await;
        assert!(result.is_error(), "{tool}: {}", result.content);
    }
}

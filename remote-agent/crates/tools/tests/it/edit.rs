//! edit_file.

use serde_json::json;

use crate::world::World;

async fn edited(content: &[u8], old: &str, new: &str) -> (Vec<u8>, String) {
    let world = World::new();
    world.put("f", content);
    world.ok("read_file", json!({"path": "f"})).await;
    let text = world
        .ok(
            "edit_file",
            json!({"path": "f", "old_string": old, "new_string": new}),
        )
        .await;
    assert!(
        text.starts_with(&format!(
            "edited {}\n@@ replacement 1 of 1 (1 occurrence) @@\n",
            world.path("f")
        )),
        "{text}"
    );
    (
        world.bytes("f"),
        text.lines().skip(2).collect::<Vec<_>>().join("\n"),
    )
}

async fn check(content: &str, old: &str, new: &str, want: &str) {
    let (got, _) = edited(content.as_bytes(), old, new).await;
    assert_eq!(String::from_utf8(got).unwrap(), want);
}

#[tokio::test]
async fn line_ends_stay() {
    check(
        "one\r\ntwo\r\nthree\r\n",
        "one\ntwo",
        "one\n2a\n2b",
        "one\r\n2a\r\n2b\r\nthree\r\n",
    )
    .await;
    check("one\r\ntwo", "one\r\ntwo", "1\n2", "1\r\n2").await;
    check("one\ntwo", "two", "2", "one\n2").await;
    check("\u{feff}one\r\ntwo\r\n", "one", "1", "\u{feff}1\r\ntwo\r\n").await;
}

#[tokio::test]
async fn text_is_literal() {
    for token in ["$$", "$&", "$1", "${1}", "$`", "$'", r"\1", r"\n", "%s"] {
        check("a X b\n", "X", token, &format!("a {token} b\n")).await;
    }
    check("f(.*[() \n", ".*[(", "x", "f(x) \n").await;
    check("same", "same", "same", "same").await;
}

#[tokio::test]
async fn the_receipt_shows_whole_lines() {
    let (_, receipt) = edited(b"one\nfn two() {}\nthree\n", "two", "zwei").await;
    assert_eq!(receipt, "-fn two() {}\n+fn zwei() {}");
    let (_, receipt) = edited(b"one\ntwo\nthree\n", "two\n", "").await;
    assert_eq!(receipt, "-two");
    let (_, receipt) = edited(b"a\n", "a", &"x\n".repeat(100)).await;
    assert!(receipt.ends_with("+… (60 more lines)"), "{receipt}");
}

#[tokio::test]
async fn what_cannot_be_placed_is_refused() {
    let world = World::new();
    world.put("f", "a\nb\na\n\tindented\n");
    world.ok("read_file", json!({"path": "f"})).await;
    let text = world
        .fails(
            "edit_file",
            json!({"path": "f", "old_string": "a", "new_string": "x"}),
            "WRITE_TARGET_AMBIGUOUS",
        )
        .await;
    assert!(
        text.contains("occurs 2 times") && text.contains("(lines 1, 3)"),
        "{text}"
    );
    let text = world
        .fails(
            "edit_file",
            json!({"path": "f", "old_string": "zzz", "new_string": "x"}),
            "WRITE_EVIDENCE_STALE",
        )
        .await;
    assert!(text.contains("old_string not found in"), "{text}");
    let text = world
        .fails(
            "edit_file",
            json!({"path": "f", "old_string": "    indented", "new_string": "x"}),
            "WRITE_EVIDENCE_STALE",
        )
        .await;
    assert!(text.contains("at line 4 when blanks are ignored"), "{text}");
    world
        .fails(
            "edit_file",
            json!({"path": "f", "old_string": "", "new_string": "x"}),
            "error: old_string is required",
        )
        .await;
    assert_eq!(world.text("f"), "a\nb\na\n\tindented\n");
}

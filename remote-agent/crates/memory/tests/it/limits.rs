//! Limits.

use memory::limits::{CUT_MARK, MAX_FILE_BYTES, MAX_TOTAL_BYTES};

use crate::support::Fixture;

#[test]
fn a_long_file_is_cut_at_a_line_and_says_so() {
    let fixture = Fixture::new().file("ws/AGENTS.md", &"größer\n".repeat(20_000));
    let text = fixture.text();
    assert!(text.len() <= MAX_FILE_BYTES && text.len() > MAX_FILE_BYTES - 200);
    assert!(text.ends_with(&format!("größer\n{CUT_MARK}")));
    assert_eq!(
        fixture.diagnostics(),
        ["workspace/AGENTS.md is cut: one file may have 65536 bytes, all together 262144"]
    );
}

#[test]
fn a_file_of_exactly_the_limit_is_whole() {
    let text = format!("{}\n", "x".repeat(MAX_FILE_BYTES - 1));
    let fixture = Fixture::new().file("ws/AGENTS.md", &text);
    assert_eq!(fixture.text(), text);
    assert_eq!(fixture.diagnostics(), Vec::<String>::new());
}

#[test]
fn imports_count_towards_the_file_that_imports() {
    let fixture = Fixture::new()
        .file("ws/AGENTS.md", &"@big.md\n".repeat(1_000))
        .file("ws/big.md", &"line\n".repeat(10_000));
    assert!(fixture.text().len() <= MAX_FILE_BYTES);
    assert!(fixture.diagnostics().iter().any(|line| line.contains("is cut")));
}

#[test]
fn together_they_are_cut_from_the_least_specific_on() {
    let mut fixture = Fixture::new();
    for (index, name) in [
        "home/AGENTS.md",
        "home/CLAUDE.md",
        "ws/AGENTS.md",
        "ws/CLAUDE.md",
        "ws/REASONIX.md",
    ]
    .iter()
    .enumerate()
    {
        fixture = fixture.file(name, &format!("file {index}\n").repeat(10_000));
    }
    let loaded = fixture.load();
    let total: usize = loaded.list.iter().map(|instruction| instruction.text.len()).sum();
    assert!(total <= MAX_TOTAL_BYTES, "{total}");
    assert!(loaded.list[0].text.ends_with(CUT_MARK) && loaded.list[0].text.len() < 1_000);
    assert!(
        loaded.list[4].text.len() > MAX_FILE_BYTES - 200,
        "the most specific one keeps its size"
    );
}

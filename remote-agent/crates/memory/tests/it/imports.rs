//! `@relative/path`.

use std::os::unix::fs::symlink;

use crate::support::Fixture;

#[test]
fn an_import_stands_in_place() {
    let fixture = Fixture::new()
        .file("ws/AGENTS.md", "before\n  @sub/a.md\nafter\n")
        .file("ws/sub/a.md", "a\n@b.md\n@../c.md\n")
        .file("ws/sub/b.md", "b")
        .file("ws/c.md", "c");
    assert_eq!(
        fixture.text(),
        "before\n<instruction-import path=\"sub/a.md\">\na\n<instruction-import path=\"b.md\">\nb\n</instruction-import>\n\
         <instruction-import path=\"../c.md\">\nc\n</instruction-import>\n</instruction-import>\nafter\n"
    );
    assert_eq!(fixture.diagnostics(), Vec::<String>::new());
}

#[test]
fn only_a_line_that_is_a_path_is_an_import() {
    let text = "ask @alice.b about it\n@alice\n@ a.md\n@a.md and more\n```\n@a.md\n```\n~~~\n@a.md\n~~~\nmail me@a.md\n";
    let fixture = Fixture::new().file("ws/AGENTS.md", text).file("ws/a.md", "no");
    assert_eq!(fixture.text(), text);
    assert_eq!(fixture.diagnostics(), Vec::<String>::new());
}

#[test]
fn what_leads_out_or_nowhere_is_marked_and_reported() {
    let fixture = Fixture::new()
        .file("x.md", "secret")
        .file("ws/real.md", "r")
        .file("ws/sub/AGENTS.md", "@../real.md");
    symlink(fixture.path("x.md"), fixture.path("ws/link.md")).unwrap();
    let absolute = fixture.path("x.md").display().to_string();
    for (path, word) in [
        ("../x.md", "import_outside_source"),
        ("sub/../../x.md", "import_outside_source"),
        ("/etc/hostname", "import_outside_source"),
        ("link.md", "import_outside_source"),
        ("missing.md", "import_unreadable"),
        ("./sub", "import_unreadable"),
        ("AGENTS.md", "import_cycle"),
    ] {
        let fixture = Fixture::new();
        std::fs::create_dir(fixture.path("ws/sub")).unwrap();
        let fixture = fixture
            .file("x.md", "secret")
            .file("ws/AGENTS.md", &format!("a\n@{path}\n"));
        symlink(fixture.path("x.md"), fixture.path("ws/link.md")).unwrap();
        assert_eq!(fixture.text(), format!("a\n@{path}  <!-- rejected: {word} -->\n"));
        assert_eq!(
            fixture.diagnostics(),
            [format!(
                "workspace/AGENTS.md:2: import of {path} rejected: {word}"
            )]
        );
    }
    assert!(absolute.starts_with('/'));
    // A file deeper down is confined to its own directory, not to the root.
    let deeper = fixture.load_for("ws/sub");
    assert!(deeper.list[0].text.contains("import_outside_source"));
}

#[test]
fn cycles_and_depth_end() {
    let cycle = Fixture::new()
        .file("ws/AGENTS.md", "@a.md")
        .file("ws/a.md", "@b.md")
        .file("ws/b.md", "@./a.md\nend");
    assert!(
        cycle
            .text()
            .contains("@./a.md  <!-- rejected: import_cycle -->\nend\n")
    );
    assert_eq!(
        cycle.diagnostics(),
        ["workspace/AGENTS.md:1: import of ./a.md rejected: import_cycle"]
    );
    let mut deep = Fixture::new().file("ws/AGENTS.md", "@1.md");
    for level in 1..8 {
        deep = deep.file(
            &format!("ws/{level}.md"),
            &format!("level {level}\n@{}.md", level + 1),
        );
    }
    let text = deep.text();
    assert!(
        text.contains("level 5\n@6.md  <!-- rejected: import_too_deep -->"),
        "{text}"
    );
    assert!(!text.contains("level 6"));
}

#[test]
fn the_same_file_may_be_imported_twice() {
    let fixture = Fixture::new()
        .file("ws/AGENTS.md", "@a.md\n@a.md\n")
        .file("ws/a.md", "a");
    assert_eq!(fixture.text().matches("\na\n").count(), 2);
}

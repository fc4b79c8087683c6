//! Which files, in which order.

use std::{fs, os::unix::fs::symlink};

use memory::{Directories, Scope};

use crate::support::Fixture;

#[test]
fn user_then_root_then_target_and_local_files_last() {
    let mut fixture = Fixture::new();
    for folder in ["home", "ws", "ws/a", "ws/a/b", "ws/c"] {
        for name in [
            "CLAUDE.local.md",
            "CLAUDE.md",
            "REASONIX.local.md",
            "AGENTS.md",
            "REASONIX.md",
            "AGENTS.local.md",
        ] {
            fixture = fixture.file(&format!("{folder}/{name}"), &format!("{folder}/{name}"));
        }
    }
    let names = |folder: &str| {
        [
            "REASONIX.md",
            "AGENTS.md",
            "CLAUDE.md",
            "REASONIX.local.md",
            "AGENTS.local.md",
            "CLAUDE.local.md",
        ]
        .map(|name| format!("{folder}/{name}"))
    };
    let order: Vec<String> = fixture
        .headings("ws/a/b")
        .iter()
        .map(|heading| heading.split(' ').next().unwrap().to_owned())
        .collect();
    assert_eq!(
        order,
        ["user", "workspace", "workspace/a", "workspace/a/b"]
            .map(names)
            .concat()
    );
    let headings = fixture.headings("ws/a");
    assert_eq!(headings[0], "user/REASONIX.md (user, applies to every workspace)");
    assert_eq!(
        headings[6],
        "workspace/REASONIX.md (project, applies to workspace)"
    );
    assert_eq!(
        headings[15],
        "workspace/a/REASONIX.local.md (local, applies to workspace/a)"
    );
    assert_eq!(fixture.load().list[9].scope, Scope::Local);
}

#[test]
fn nothing_is_fine() {
    let fixture = Fixture::new().file("ws/AGENTS.md", " \n\n");
    let loaded = fixture.load();
    assert_eq!((loaded.render().as_str(), loaded.diagnostics.len()), ("", 0));
    let nowhere = Directories {
        home: Some("/nowhere/at/all".into()),
        workspace: "/nowhere".into(),
        target: None,
    };
    assert_eq!(memory::load(&nowhere), memory::Instructions::default());
}

#[test]
fn the_same_text_is_kept_once_where_it_is_most_specific() {
    let fixture = Fixture::new()
        .file("home/AGENTS.md", "same\n")
        .file("ws/AGENTS.md", "same")
        .file("ws/CLAUDE.md", "same\n\n")
        .file("ws/REASONIX.md", "other");
    assert_eq!(
        fixture.headings("ws"),
        [
            "workspace/REASONIX.md (project, applies to workspace)",
            "workspace/CLAUDE.md (project, applies to workspace)"
        ]
    );
    let linked = Fixture::new().file("ws/AGENTS.md", "one");
    symlink("AGENTS.md", linked.path("ws/CLAUDE.md")).unwrap();
    assert_eq!(
        linked.headings("ws"),
        ["workspace/AGENTS.md (project, applies to workspace)"]
    );
}

#[test]
fn files_that_cannot_be_read_are_reported_and_the_rest_is_read() {
    let fixture = Fixture::new().file("ws/CLAUDE.md", "fine").file("secret", "s");
    fs::create_dir(fixture.path("ws/AGENTS.md")).unwrap();
    fs::write(fixture.path("ws/REASONIX.md"), b"\xff\xfe").unwrap();
    symlink(fixture.path("secret"), fixture.path("ws/AGENTS.local.md")).unwrap();
    symlink("nowhere", fixture.path("ws/CLAUDE.local.md")).unwrap();
    assert_eq!(fixture.text(), "fine\n");
    let diagnostics = fixture.diagnostics();
    assert_eq!(
        diagnostics[..3],
        [
            "could not read workspace/REASONIX.md: it is not UTF-8 text",
            "could not read workspace/AGENTS.md: it is not a file",
            "could not read workspace/AGENTS.local.md: it is a link that leads out of its directory",
        ]
    );
    assert!(
        diagnostics[3].starts_with("could not read workspace/CLAUDE.local.md: "),
        "{diagnostics:?}"
    );
}

#[test]
fn a_target_outside_the_workspace_reads_the_root_only() {
    let fixture = Fixture::new()
        .file("ws/AGENTS.md", "a")
        .file("elsewhere/AGENTS.md", "b");
    let loaded = fixture.load_for("elsewhere");
    assert_eq!(loaded.list.len(), 1);
    assert_eq!(
        loaded.diagnostics[0].to_string(),
        "the target directory is outside the workspace"
    );
}

#[test]
fn the_rendering_is_stable() {
    let fixture = Fixture::new()
        .file("home/AGENTS.md", "\u{feff}one\r\ntwo")
        .file("ws/AGENTS.md", "three\n\n");
    assert_eq!(
        fixture.load().render(),
        "## user/AGENTS.md (user, applies to every workspace)\n\none\ntwo\n\n## workspace/AGENTS.md (project, applies to workspace)\n\nthree\n"
    );
    assert_eq!(fixture.load(), fixture.load());
}

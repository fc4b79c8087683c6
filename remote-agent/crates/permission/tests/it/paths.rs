//! Rules for files, under every spelling of a path.

use permission::{Effect, Family, Grant, PathCase, Preset, Request, Subject};

use crate::support::{Outcome, bash, file, outcome, plain_path, policy};

const SPELLINGS: &[&str] = &[
    ".env",
    "./.env",
    ".//.env",
    "sub/../.env",
    "/ws/.env",
    "/ws/./sub/..//.env",
    "../ws/.env",
    "~/../../ws/.env",
];

#[test]
fn a_denied_file_is_denied_under_every_spelling_and_to_every_tool() {
    for rule in [
        "Read(./.env)",
        "Read(.env)",
        "Read(**/.env*)",
        "Read(/ws/.env)",
        "Read(.env*)",
        "Read=.env",
    ] {
        for preset in [Preset::ReadOnly, Preset::FullAccess] {
            let policy = policy(preset, &["Read", "Edit", "Bash"], &[], &[rule]);
            for spelling in SPELLINGS {
                for tool in ["read_file", "grep", "glob", "ls"] {
                    let request = file(tool, Effect::Read, spelling);
                    assert_eq!(
                        outcome(&policy, &request),
                        Outcome::Deny,
                        "{rule} {tool} {spelling}"
                    );
                }
                let request = file("edit_file", Effect::WriteInside, spelling);
                assert_eq!(
                    outcome(&policy, &request),
                    Outcome::Deny,
                    "{rule} edit_file {spelling}"
                );
                assert!(policy.hides(&plain_path(spelling)).is_some());
            }
            assert_eq!(
                outcome(&policy, &file("read_file", Effect::Read, "env")),
                Outcome::Allow
            );
            assert!(policy.hides(&plain_path("env")).is_none());
        }
    }
}

#[test]
fn commands_that_mention_a_denied_file_are_denied() {
    let policy = policy(Preset::FullAccess, &[], &[], &["Read(./.env)", "Edit(locked/**)"]);
    for spelling in SPELLINGS {
        for command in [
            "cat {}",
            "cat<{}",
            "cd sub && cat ../{}",
            "sudo cat {}",
            "sh -c 'cat {}'",
            "x --file={}",
            "echo $(cat {})",
        ] {
            if command.contains("../") && spelling.starts_with(['/', '~']) {
                continue;
            }
            let command = command.replace("{}", spelling);
            assert_eq!(outcome(&policy, &bash(&command)), Outcome::Deny, "{command}");
        }
    }
    assert_eq!(outcome(&policy, &bash("echo x > locked/b")), Outcome::Deny);
    assert_eq!(outcome(&policy, &bash("echo x >> ok/../locked/b")), Outcome::Deny);
    assert_eq!(outcome(&policy, &bash("cat locked/b")), Outcome::Allow);
    assert_eq!(outcome(&policy, &bash("cat .envrc")), Outcome::Allow);
}

#[test]
fn edits_of_a_locked_folder_are_denied_under_every_spelling() {
    let policy = policy(Preset::WorkspaceWrite, &[], &[], &["Edit(locked/**)"]);
    for spelling in [
        "locked/a",
        "./locked/b",
        "ok/../locked/c",
        "/ws/locked/d/e",
        "locked",
    ] {
        assert_eq!(
            outcome(&policy, &file("write_file", Effect::WriteInside, spelling)),
            Outcome::Deny,
            "{spelling}"
        );
    }
    assert_eq!(
        outcome(&policy, &file("write_file", Effect::WriteInside, "unlocked/a")),
        Outcome::Allow
    );
    assert_eq!(
        outcome(&policy, &file("read_file", Effect::Read, "locked/a")),
        Outcome::Allow
    );
}

#[test]
fn a_symbolic_link_neither_evades_a_denial_nor_widens_a_permission() {
    let link = |raw: &str, resolved: &str| Request {
        tool: "edit_file",
        family: Family::Edit,
        effect: Effect::WriteInside,
        subjects: vec![Subject::Path {
            raw: raw.into(),
            cleaned: format!("/ws/{raw}"),
            resolved: resolved.into(),
        }],
    };
    let denying = policy(Preset::WorkspaceWrite, &[], &[], &["Edit(locked/**)"]);
    assert_eq!(outcome(&denying, &link("docs/x", "/ws/locked/x")), Outcome::Deny);
    let allowing = policy(Preset::ReadOnly, &["Edit(docs/**)"], &[], &[]);
    assert_eq!(outcome(&allowing, &link("docs/x", "/ws/docs/x")), Outcome::Allow);
    assert_eq!(outcome(&allowing, &link("docs/x", "/ws/src/x")), Outcome::Ask);
    assert_eq!(
        outcome(
            &allowing,
            &file("edit_file", Effect::WriteInside, "docs/../src/x")
        ),
        Outcome::Ask
    );
}

#[test]
fn case_matters_where_the_disk_says_so() {
    let mut policy = policy(Preset::FullAccess, &[], &[], &["Read(./.env)"]);
    assert_eq!(
        outcome(&policy, &file("read_file", Effect::Read, ".ENV")),
        Outcome::Allow
    );
    policy.places.case = PathCase::Insensitive;
    assert_eq!(
        outcome(&policy, &file("read_file", Effect::Read, ".ENV")),
        Outcome::Deny
    );
}

#[test]
fn both_paths_of_a_move_must_pass() {
    let both = |from: &str, to: &str| Request {
        tool: "move_file",
        family: Family::Edit,
        effect: Effect::WriteInside,
        subjects: vec![plain_path(from), plain_path(to)],
    };
    let allowing = policy(
        Preset::ReadOnly,
        &["Edit(a/**)", "Edit(b/**)"],
        &[],
        &["Edit(b/no)"],
    );
    assert_eq!(outcome(&allowing, &both("a/x", "b/x")), Outcome::Allow);
    assert_eq!(outcome(&allowing, &both("a/x", "c/x")), Outcome::Ask);
    assert_eq!(outcome(&allowing, &both("a/x", "b/no")), Outcome::Deny);
}

#[test]
fn a_granted_folder_covers_what_is_in_it() {
    let mut policy = policy(Preset::WorkspaceWrite, &["Edit"], &[], &[]);
    let outside = |path: &str| file("write_file", Effect::WriteOutside, path);
    assert_eq!(
        outcome(&policy, &outside("/srv/x/a")),
        Outcome::Ask,
        "a rule for all files stays inside"
    );
    policy.grants.add(Grant::Directory("/srv/x".into()));
    assert_eq!(outcome(&policy, &outside("/srv/x/a")), Outcome::Allow);
    assert_eq!(outcome(&policy, &outside("/srv/x2/a")), Outcome::Ask);
    assert_eq!(outcome(&policy, &outside("/srv/x/../a")), Outcome::Ask);
}

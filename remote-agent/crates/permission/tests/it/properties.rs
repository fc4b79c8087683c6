//! What holds for every text.

use permission::{Preset, shell};
use proptest::prelude::*;

use crate::support::{bash, outcome, policy};

/// Pieces that together reach every part of the shell reader.
fn piece() -> impl Strategy<Value = String> {
    let fixed = [
        "git status",
        "rm -r x",
        "touch y",
        "make",
        " ",
        "\n",
        ";",
        "&&",
        "||",
        "|",
        "&",
        "(",
        ")",
        "{",
        "}",
        "((",
        "))",
        "$(",
        "`",
        "${x:-",
        "}",
        "<(",
        ">(",
        "'",
        "\"",
        "\\",
        "\\\n",
        "<<E\n",
        "E\n",
        "<<'E'\n",
        ">",
        "2>&1",
        "/dev/null",
        "if ",
        "then ",
        "fi",
        "do ",
        "done",
        "for x in ",
        "case x in ",
        "*) ",
        ";;",
        " esac",
        "f() ",
        "#",
        "$x",
        "A=1 ",
        "A=(",
        "sudo ",
        "sh -c ",
        "eval ",
        "[[ ",
        " ]]",
        "! ",
        "$'",
        "é",
        "\u{0}",
        "\r",
        "$((",
        "1+",
    ];
    prop_oneof![3 => prop::sample::select(fixed.to_vec()).prop_map(str::to_owned), 1 => "[ -~]{0,3}"]
}

fn script() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..24).prop_map(|pieces| pieces.concat())
}

/// A well-formed command line, so that a command put behind it is one.
fn well_formed() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "git status",
        "git log",
        "rm -r x",
        "touch y",
        "make",
        "ls",
        "A=1 git log",
        "git log > f",
        "git log 2>&1",
        "sudo ls",
        "sh -c 'git log'",
        "git log 'a;b'",
        "[[ a < b ]]",
        "cat .env",
        "X=1",
    ]);
    words.prop_map(str::to_owned).prop_recursive(4, 24, 3, |inner| {
        let frames = prop::sample::select(vec![
            "{a} && {b}",
            "{a}; {b}",
            "{a} | {b}",
            "{a} || {b}",
            "({a}; {b})",
            "{ {a}; {b}; }",
            "! {a}",
            "if {a}; then {b}; fi",
            "while {a}; do {b}; done",
            "git log $({a})",
            "git log \"$({a}) `git log`\"",
            "git log <({a})",
            "f() { {a}; }; {b}",
            "case x in *) {a};; esac",
            "git log ${x:-$({a})} && {b}",
            "git log <<E\n$(touch y)\nE\n{b}",
            "{a} &\n{b}",
        ]);
        (frames, inner.clone(), inner).prop_map(|(frame, a, b)| frame.replace("{a}", &a).replace("{b}", &b))
    })
}

/// A complete command and the operator in front of it.
fn appended() -> impl Strategy<Value = String> {
    let joiners = prop::sample::select(vec![" && ", " || ", "; ", " | ", " & ", "\n"]);
    let commands = prop::sample::select(vec![
        "git status",
        "touch y",
        "rm -r x",
        "make",
        "ls",
        "(ls)",
        "echo 'a'",
    ]);
    (joiners, commands).prop_map(|(joiner, command)| format!("{joiner}{command}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_reader_fail(text in script(), any in ".{0,200}") {
        for text in [text, any] {
            drop(shell::parse(&text));
            let _classified: bool = shell::is_read_only(&text);
            let policy = policy(Preset::ReadOnly, &["Bash(git *)"], &[], &["Bash(rm *)", "Read(.env)"]);
            let _outcome = outcome(&policy, &bash(&text));
        }
    }

    #[test]
    fn appending_a_command_never_permits_more(text in well_formed(), suffix in appended()) {
        prop_assert!(shell::parse(&text).is_ok(), "{:?}", shell::parse(&text));
        for preset in [Preset::ReadOnly, Preset::WorkspaceWrite, Preset::FullAccess] {
            let policy = policy(
                preset,
                &["Bash(git *)", "Bash=make"],
                &["Bash(touch:*)"],
                &["Bash(rm *)", "Bash=git status", "Bash(make | *)"],
            );
            let before = outcome(&policy, &bash(&text));
            let after = outcome(&policy, &bash(&format!("{text}{suffix}")));
            prop_assert!(after >= before, "{before:?} became {after:?}");
        }
    }

    #[test]
    fn the_same_request_gets_the_same_decision(text in script()) {
        let policy = policy(Preset::ReadOnly, &["Bash(git *)"], &["Bash(touch *)"], &["Bash(rm *)"]);
        prop_assert_eq!(permission::decide(&policy, &bash(&text)), permission::decide(&policy, &bash(&text)));
    }
}

//! Presets, precedence and the fallback mode.

use permission::{Decision, Effect, Family, Grant, Mode, Preset, Request, Subject, decide};

use crate::support::{Outcome, bash, file, outcome, policy, reason};

const PRESETS: [Preset; 3] = [Preset::ReadOnly, Preset::WorkspaceWrite, Preset::FullAccess];

#[test]
fn each_preset_lets_its_own_calls_run() {
    use Outcome::{Allow, Ask};
    for (request, expected) in [
        (
            file("read_file", Effect::Read, "/etc/passwd"),
            [Allow, Allow, Allow],
        ),
        (file("write_file", Effect::WriteInside, "a"), [Ask, Allow, Allow]),
        (
            file("write_file", Effect::WriteOutside, "/etc/x"),
            [Ask, Ask, Allow],
        ),
        (bash("git status"), [Allow, Allow, Allow]),
        (bash("cargo test"), [Ask, Allow, Allow]),
        (
            bash("x() { :; }; for a in *; do $a <(b) | c & done"),
            [Ask, Allow, Allow],
        ),
    ] {
        for (preset, expected) in PRESETS.into_iter().zip(expected) {
            assert_eq!(
                outcome(&policy(preset, &[], &[], &[]), &request),
                expected,
                "{preset} {request:?}"
            );
        }
    }
}

#[test]
fn deny_beats_ask_beats_allow_in_every_combination() {
    for preset in PRESETS {
        for (allow, ask, deny) in (0..8).map(|bits| (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0)) {
            let list = |on: bool| if on { vec!["Bash(make:*)"] } else { vec![] };
            let policy = policy(preset, &list(allow), &list(ask), &list(deny));
            let expected = match (deny, ask, allow, preset) {
                (true, ..) => Outcome::Deny,
                (_, true, _, Preset::ReadOnly | Preset::WorkspaceWrite) => Outcome::Ask,
                (_, _, false, Preset::ReadOnly) => Outcome::Ask,
                _ => Outcome::Allow,
            };
            assert_eq!(
                outcome(&policy, &bash("make all")),
                expected,
                "{preset} {allow} {ask} {deny}"
            );
        }
    }
}

#[test]
fn an_ask_rule_for_one_part_of_a_chain_is_enough() {
    let policy = policy(Preset::WorkspaceWrite, &["Bash"], &["Bash(git push:*)"], &[]);
    assert_eq!(outcome(&policy, &bash("cargo test && git push")), Outcome::Ask);
    assert_eq!(outcome(&policy, &bash("cargo test")), Outcome::Allow);
}

#[test]
fn mode_deny_refuses_what_no_rule_allows() {
    for preset in PRESETS {
        let mut policy = policy(preset, &["Bash(make:*)"], &[], &[]);
        policy.mode = Mode::Deny;
        assert_eq!(outcome(&policy, &bash("make")), Outcome::Allow);
        assert_eq!(outcome(&policy, &bash("git status")), Outcome::Allow);
        assert_eq!(outcome(&policy, &bash("touch x")), Outcome::Deny);
        assert_eq!(
            outcome(&policy, &file("write_file", Effect::WriteInside, "x")),
            Outcome::Deny
        );
        assert_eq!(
            outcome(&policy, &file("read_file", Effect::Read, "x")),
            Outcome::Allow
        );
    }
}

#[test]
fn mode_allow_lifts_no_preset() {
    let mut policy = policy(Preset::ReadOnly, &[], &[], &[]);
    policy.mode = Mode::Allow;
    assert_eq!(outcome(&policy, &bash("touch x")), Outcome::Ask);
}

#[test]
fn allowed_tools_open_exactly_those() {
    let policy = policy(Preset::ReadOnly, &["Bash(touch:*)", "Edit"], &[], &[]);
    assert_eq!(outcome(&policy, &bash("touch a")), Outcome::Allow);
    assert_eq!(
        outcome(&policy, &file("edit_file", Effect::WriteInside, "a")),
        Outcome::Allow
    );
    assert_eq!(
        outcome(&policy, &file("write_file", Effect::WriteOutside, "/a")),
        Outcome::Ask
    );
    assert_eq!(outcome(&policy, &bash("mkdir a")), Outcome::Ask);
    assert_eq!(outcome(&policy, &bash("touch a; mkdir b")), Outcome::Ask);
}

#[test]
fn other_tools_are_named_exactly() {
    let call = |tool: &'static str| Request {
        tool,
        family: Family::of(tool),
        effect: Effect::WriteInside,
        subjects: vec![Subject::Text("https://x/y".into())],
    };
    let denying = policy(
        Preset::FullAccess,
        &[],
        &[],
        &["mcp__git__*", "web_fetch(https://x/*)", "edit_file"],
    );
    assert_eq!(outcome(&denying, &call("mcp__git__push")), Outcome::Allow);
    assert_eq!(outcome(&denying, &call("web_fetch")), Outcome::Deny);
    assert_eq!(
        outcome(&denying, &file("edit_file", Effect::WriteInside, "a")),
        Outcome::Deny
    );
    assert_eq!(
        outcome(&denying, &file("write_file", Effect::WriteInside, "a")),
        Outcome::Allow
    );
    let Decision::Ask { suggested, .. } =
        decide(&policy(Preset::ReadOnly, &[], &[], &[]), &call("web_fetch"))
    else {
        panic!("not asked")
    };
    assert_eq!(suggested, Grant::Tool("web_fetch".into()));
}

#[test]
fn a_rule_with_a_subject_does_not_match_a_call_without_one() {
    let bare = Request {
        tool: "bash",
        family: Family::Bash,
        effect: Effect::Execute,
        subjects: Vec::new(),
    };
    assert_eq!(
        outcome(&policy(Preset::FullAccess, &[], &[], &["Bash(x)"]), &bare),
        Outcome::Allow
    );
    assert_eq!(
        outcome(&policy(Preset::FullAccess, &[], &[], &["Bash"]), &bare),
        Outcome::Deny
    );
}

#[test]
fn reasons_name_what_decided() {
    let policy = policy(
        Preset::ReadOnly,
        &["Bash(make:*)"],
        &["Bash(git push:*)"],
        &["Bash(rm:*)"],
    );
    assert_eq!(reason(&decide(&policy, &bash("make"))), "Bash(make:*)");
    assert_eq!(reason(&decide(&policy, &bash("git push"))), "Bash(git push:*)");
    assert_eq!(reason(&decide(&policy, &bash("rm x"))), "Bash(rm:*)");
    let outside = decide(&policy, &file("write_file", Effect::WriteOutside, "/srv/x/y"));
    assert_eq!(
        reason(&outside),
        "this directory is outside the writable roots (/srv/x)"
    );
}

#[test]
fn older_names_never_give_full_access() {
    for (name, expected) in [
        ("read-only", Preset::ReadOnly),
        ("ask", Preset::ReadOnly),
        ("workspace-write", Preset::WorkspaceWrite),
        ("auto", Preset::WorkspaceWrite),
        ("yolo", Preset::WorkspaceWrite),
        ("danger-full-access", Preset::FullAccess),
    ] {
        assert_eq!(name.parse::<Preset>().unwrap(), expected);
    }
    assert_eq!(
        "plan".parse::<Preset>().unwrap_err().to_string(),
        "unknown permission mode `plan` (known: read-only, workspace-write, danger-full-access)"
    );
}

//! Lines and what they are.

use std::collections::HashSet;

use protocol::{Preset, SessionId};

use super::{super::effect::Fact, *};
use crate::Appearance;

fn effect(line: &str) -> Effect {
    match parse(line) {
        Parsed::Call(call) => call.effect,
        other => panic!("{line:?} is {other:?}"),
    }
}

fn wrong(line: &str) -> String {
    match parse(line) {
        Parsed::Wrong(words) => words,
        other => panic!("{line:?} is {other:?}"),
    }
}

#[test]
fn commands_do_what_they_say() {
    let session = SessionId::fresh();
    let resume = format!("/resume {session}");
    let table = [
        ("/help", Effect::Help),
        ("/?", Effect::Help),
        ("/HELP  ", Effect::Help),
        ("/help\n", Effect::Help),
        ("/new", Effect::NewSession),
        ("/resume", Effect::Sessions(None)),
        ("/sessions", Effect::Sessions(None)),
        (resume.as_str(), Effect::Sessions(Some(session))),
        ("/cls", Effect::ClearScreen),
        ("/status", Effect::Show(Fact::Status)),
        ("/cost", Effect::Show(Fact::Cost)),
        ("/context", Effect::Show(Fact::Context)),
        ("/queue", Effect::Show(Fact::Queue)),
        ("/permissions", Effect::Show(Fact::Permissions)),
        ("/permissions read-only", Effect::SetPreset(Preset::ReadOnly)),
        (
            "/permissions full-access",
            Effect::SetPreset(Preset::DangerFullAccess),
        ),
        // A name of before never widens to full access.
        ("/preset yolo", Effect::SetPreset(Preset::WorkspaceWrite)),
        ("/copy", Effect::Copy(1)),
        ("/copy 3", Effect::Copy(3)),
        ("/retry", Effect::RetryLink),
        ("/theme", Effect::Show(Fact::Appearance)),
        ("/theme light", Effect::SetAppearance(Appearance::Light)),
        ("/verbose", Effect::ToggleOutput),
        ("/reasoning", Effect::ToggleReasoning),
        ("/mouse", Effect::Mouse(None)),
        ("/mouse off", Effect::Mouse(Some(false))),
        ("/export", Effect::Export(None)),
        ("/export a b.md ", Effect::Export(Some("a b.md".to_owned()))),
        ("/quit", Effect::Quit),
        ("/exit", Effect::Quit),
        ("exit", Effect::Quit),
    ];
    for (line, want) in table {
        assert_eq!(effect(line), want, "{line}");
    }
}

#[test]
fn what_has_not_the_shape_of_a_command_is_text() {
    for text in [
        "",
        "hello",
        "/",
        "/ help",
        " /help",
        "//help",
        "// a comment",
        "/usr/bin",
        "/usr/bin/env is missing",
        "/etc.",
        "/*.rs",
        "/1",
        "/汉字",
        "/help\nand more",
        "exit now",
        "Exit",
    ] {
        assert_eq!(parse(text), Parsed::Text, "{text:?}");
    }
}

#[test]
fn mistakes_are_answered_here() {
    assert_eq!(
        wrong("/hlep"),
        "unknown command /hlep, did you mean /help? (to send it as text, put a space in front)"
    );
    assert!(wrong("/compact").contains("/help lists them"));
    assert_eq!(wrong("/profile x"), "/profile is retired; use /permissions");
    assert_eq!(
        wrong("/theme pink"),
        "unknown theme \"pink\"; usage: /theme [auto|dark|light|plain]"
    );
    assert!(wrong("/copy 0").contains("usage: /copy [n]"));
    assert!(wrong("/copy x").contains("usage: /copy [n]"));
    assert!(wrong("/resume box").contains("is no session id"));
    assert!(wrong("/permissions all").contains("danger-full-access"));
    assert!(wrong("/mouse maybe").contains("neither on nor off"));
    assert!(wrong("/new york is nice").contains("space in front"));
}

#[test]
fn names_are_unique_and_have_the_shape_of_a_command() {
    let mut seen = HashSet::new();
    for command in COMMANDS {
        for name in std::iter::once(&command.name).chain(command.aliases) {
            assert!(seen.insert(*name), "{name} twice");
            let line = format!("/{name}");
            assert_eq!(command_word(&line), Some((*name, "")));
        }
        assert!(!command.about.is_empty());
    }
    for (name, instead) in RETIRED {
        assert!(Command::find(name).is_none() && Command::find(instead).is_some());
    }
}

#[test]
fn every_choice_is_accepted() {
    for command in COMMANDS {
        if let super::super::Arguments::Choice(words) = command.arguments {
            for word in words {
                assert!((command.effect)(word).is_ok(), "/{} {word}", command.name);
            }
        }
    }
}

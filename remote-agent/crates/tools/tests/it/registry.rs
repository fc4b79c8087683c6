//! Looking tools up, and what the model is told.

use std::sync::Arc;

use serde_json::json;
use tools::{Registry, Rejection, builtin};

use crate::world::World;

fn bytes(registry: &Registry) -> String {
    let lines = registry.schemas().into_iter().map(|spec| {
        serde_json::to_string_pretty(
            &json!({"name": spec.name, "description": spec.description, "schema": spec.schema}),
        )
        .unwrap()
    });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// The tools are part of every request's cached prefix: their bytes change only when somebody means it.
#[test]
fn schemas_are_byte_stable() {
    let registry = Registry::with_builtin();
    let got = bytes(&registry);
    assert_eq!(got, include_str!("../fixtures/schemas.txt"), "{got}");
    let backwards = Registry::new(builtin().into_iter().rev());
    assert_eq!(bytes(&backwards), got);
}

#[test]
fn tools_are_found_and_limited() {
    let registry = Registry::with_builtin();
    let names: Vec<_> = registry.iter().map(|tool| tool.spec().name.clone()).collect();
    assert_eq!(
        names,
        [
            "ask",
            "bash",
            "edit_file",
            "glob",
            "grep",
            "ls",
            "read_file",
            "write_file"
        ]
    );
    let limited = registry.only(|name| name == "ls");
    assert!(limited.find("ls").is_some() && limited.find("bash").is_none());
    let doubled = Registry::new(builtin().into_iter().chain(builtin().iter().map(Arc::clone)));
    assert_eq!(doubled.schemas().len(), 8);
}

#[test]
fn unknown_tools_and_wrong_arguments_are_rejected() {
    let registry = Registry::with_builtin();
    let rejected = |name: &str, args: &str| registry.check(name, args).map(|_| ()).unwrap_err();
    let unknown = rejected("frobnicate", "{}").to_string();
    assert!(
        unknown.starts_with("unknown tool \"frobnicate\"") && unknown.contains("read_file"),
        "{unknown}"
    );
    assert!(rejected(&"汉".repeat(1000), "{}").to_string().len() < 300);
    for (tool, parameter) in [
        ("bash", "command"),
        ("edit_file", "new_string, old_string, path"),
        ("glob", "pattern"),
        ("grep", "pattern"),
        ("read_file", "path"),
        ("write_file", "content, path"),
    ] {
        let Rejection::Arguments(advice) = rejected(tool, "{}") else {
            panic!()
        };
        assert!(
            advice.contains(&format!(
                "- /: required; expected required properties: {parameter}"
            )),
            "{advice}"
        );
    }
    assert!(registry.check("ls", "").is_ok());
    assert!(
        rejected("ls", "{oops")
            .to_string()
            .contains("- /: json; expected one valid JSON object")
    );
}

#[tokio::test]
async fn a_missing_workspace_is_never_replaced() {
    let world = World::new();
    std::fs::remove_dir(&world.cx.workspace).unwrap();
    for (tool, args) in [
        ("bash", json!({"command": "touch here"})),
        (
            "edit_file",
            json!({"path": "f", "old_string": "a", "new_string": "b"}),
        ),
        ("glob", json!({"pattern": "*"})),
        ("grep", json!({"pattern": "x"})),
        ("ls", json!({})),
        ("read_file", json!({"path": "f"})),
        ("write_file", json!({"path": "f", "content": "x"})),
    ] {
        let text = world.fails(tool, args, "workspace").await;
        assert!(text.contains("missing"), "{tool}: {text}");
    }
    assert!(!world.cx.workspace.exists());
}

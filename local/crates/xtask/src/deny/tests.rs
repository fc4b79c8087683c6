//! Shows on the real graph and on a made-up one that the policy holds and that it can be broken.

use serde_json::json;

use super::*;
use crate::system;

const POLICY: &str = r#"
    graph = {}
    advisories = {}
    [bans]
    multiple-versions = "allow"
    deny = [{ crate = "risky", wrappers = ["keeper"], reason = "one crate per risk" }, { crate = "banned" }]
    [licenses]
    unused-allowed-license = "allow"
    private = {}
    allow = ["MIT"]
    exceptions = [{ crate = "copyleft", allow = ["MPL-2.0"] }]
    [sources]
    unknown-registry = "deny"
    unknown-git = "deny"
    allow-registry = ["https://example.org/index"]
    allow-git = []
"#;

/// Checks a graph in which `user` depends on one package from the given source, with the given licence.
fn check(user: &str, name: &str, source: &str, licence: Option<&str>, expected: &[&str]) {
    let package = |name: &str, source: Option<&str>, licence: Option<&str>| {
        json!({
            "id": name, "name": name, "version": "1.0.0", "source": source, "license": licence,
            "manifest_path": "Cargo.toml", "dependencies": [], "targets": [],
        })
    };
    let metadata: Metadata = serde_json::from_value(json!({
        "packages": [package(user, None, None), package(name, Some(source), licence)],
        "workspace_members": [user],
        "target_directory": "target",
        "resolve": { "nodes": [
            { "id": user, "deps": [{ "pkg": name, "dep_kinds": [] }] },
            { "id": name, "deps": [] },
        ] },
    }))
    .unwrap();
    let config: Config = toml::from_str(POLICY).unwrap();
    assert_eq!(violations(&config, &metadata).unwrap(), expected);
}

const INDEX: &str = "registry+https://example.org/index";

#[test]
fn the_repository_follows_its_policy() {
    let root = system::repository_root();
    let config = Config::load(&root).unwrap();
    let found = violations(&config, &Metadata::load(&root).unwrap()).unwrap();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn every_risky_dependency_of_invariant_7_has_its_wrapper() {
    let config = Config::load(&system::repository_root()).unwrap();
    for name in ["russh", "axum", "ratatui", "crossterm"] {
        let ban = config.bans.deny.iter().find(|ban| ban.name == name);
        assert!(ban.is_some_and(|ban| !ban.wrappers.is_empty()), "{name}");
    }
}

#[test]
fn a_plain_dependency_passes() {
    check("app", "plain", INDEX, Some("MIT OR GPL-3.0"), &[]);
    check("app", "copyleft", INDEX, Some("MPL-2.0"), &[]);
    check("keeper", "risky", INDEX, Some("MIT"), &[]);
}

#[test]
fn a_banned_dependency_is_found() {
    check(
        "app",
        "banned",
        INDEX,
        Some("MIT"),
        &["app depends on banned: it is banned"],
    );
    check(
        "app",
        "risky",
        INDEX,
        Some("MIT"),
        &["app depends on risky: one crate per risk"],
    );
}

#[test]
fn a_licence_outside_the_list_is_found() {
    check(
        "app",
        "other",
        INDEX,
        Some("MPL-2.0"),
        &["other 1.0.0 has the licence `MPL-2.0`, which is not allowed"],
    );
    check("app", "other", INDEX, None, &["other 1.0.0 states no licence"]);
    check(
        "app",
        "other",
        INDEX,
        Some("MIT OR"),
        &["other 1.0.0 has the licence `MIT OR`: the expression ends too early"],
    );
}

#[test]
fn a_source_outside_the_list_is_found() {
    for source in [
        "git+https://example.org/index",
        "registry+https://other.example",
        "sparse+https://example.org",
    ] {
        check(
            "app",
            "other",
            source,
            Some("MIT"),
            &[&format!("other 1.0.0 comes from {source}")],
        );
    }
}

#[test]
fn an_unknown_key_is_an_error() {
    assert!(toml::from_str::<Config>(&POLICY.replace("allow-git", "alow-git")).is_err());
}

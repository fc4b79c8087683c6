//! The rules of the repository, each a test with a second test beside it that shows how the rule is broken.
//!
//! Numbers are judged in [`exceptions`]; the other modules each look after one kind of rule.

mod dependencies_page;
mod dependency_use;
mod exceptions;
mod integration_tests;
mod machine_paths;
mod modules;
mod rank_table;
mod ranks;
mod root_entries;
mod sizes;
mod source;
mod tokens;

use crate::metadata::Metadata;
use crate::system;

/// Returns what cargo says about this repository.
fn metadata() -> Metadata {
    Metadata::load(&system::repository_root()).unwrap()
}

/// Reads a file of this repository.
fn read(path: &str) -> String {
    std::fs::read_to_string(system::repository_root().join(path))
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Fails with a line for each violation.
#[track_caller]
fn assert_none(violations: &[String]) {
    assert!(
        violations.is_empty(),
        "\n{}\n(docs/CONTRIBUTING.md says what each rule is for)\n",
        violations.join("\n")
    );
}

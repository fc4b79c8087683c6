//! Compares docs/DEPENDENCIES.md with the third-party crates that the workspace manifest names.

use std::collections::BTreeSet;

/// Returns the names in `[workspace.dependencies]` that are not folders of this repository.
fn third_party(manifest: &toml::Table) -> BTreeSet<String> {
    let dependencies = manifest["workspace"]["dependencies"].as_table().unwrap();
    let outside = dependencies
        .iter()
        .filter(|(_, value)| value.get("path").is_none());
    outside.map(|(name, _)| name.clone()).collect()
}

/// Returns the names in backticks in the first column of the page's tables.
fn listed(page: &str) -> BTreeSet<String> {
    let names = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    names.map(|(name, _)| name.to_owned()).collect()
}

/// Finds crates that stand on one side only.
fn check(used: &BTreeSet<String>, listed: &BTreeSet<String>) -> Vec<String> {
    let unexplained = used
        .difference(listed)
        .map(|name| format!("{name}: docs/DEPENDENCIES.md does not say why"));
    let gone = listed
        .difference(used)
        .map(|name| format!("{name}: listed in docs/DEPENDENCIES.md but not in Cargo.toml"));
    unexplained.chain(gone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{assert_none, read};

    #[test]
    fn every_dependency_is_explained() {
        let manifest = toml::from_str(&read("Cargo.toml")).unwrap();
        assert_none(&check(
            &third_party(&manifest),
            &listed(&read("docs/DEPENDENCIES.md")),
        ));
    }

    #[test]
    fn differences_are_found_both_ways() {
        let manifest =
            "[workspace.dependencies]\na = \"1\"\nb = { version = \"1\" }\nours = { path = \"ours\" }\n";
        let used = third_party(&toml::from_str(manifest).unwrap());
        let listed = listed("| Crate | Why |\n| --- | --- |\n| `a` | it is good |\n| `c` | it was good |\n");
        assert_eq!(
            check(&used, &listed),
            [
                "b: docs/DEPENDENCIES.md does not say why",
                "c: listed in docs/DEPENDENCIES.md but not in Cargo.toml",
            ]
        );
    }
}

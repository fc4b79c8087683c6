//! Keeps the top level of the repository at the agreed entries.

use std::collections::BTreeSet;

const ENTRIES: [&str; 12] = [
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "bootstrap",
    "docs",
    "files",
    "forward",
    "local",
    "reasonix.example.toml",
    "remote-agent",
    "transport",
];

/// What builds leave behind; git does not see it.
const LEFTOVERS: [&str; 2] = ["target", "dist"];

/// Finds entries that are missing or in excess. Dotfiles are free.
fn check(names: &BTreeSet<String>) -> Vec<String> {
    let excess = names.iter().filter(|name| {
        !name.starts_with('.') && !LEFTOVERS.contains(&name.as_str()) && !ENTRIES.contains(&name.as_str())
    });
    let missing = ENTRIES.iter().filter(|entry| !names.contains(**entry));
    let excess = excess.map(|name| format!("{name} does not belong at the top level"));
    excess
        .chain(missing.map(|entry| format!("{entry} is missing at the top level")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system;
    use crate::tidy::assert_none;

    #[test]
    fn the_top_level_holds_exactly_the_agreed_entries() {
        let listing = std::fs::read_dir(system::repository_root()).unwrap();
        let names = listing
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        assert_none(&check(&names));
    }

    #[test]
    fn missing_and_additional_entries_are_found() {
        let mut names: BTreeSet<_> = ENTRIES.iter().map(|entry| (*entry).to_owned()).collect();
        names.extend([".ci".to_owned(), "target".to_owned()]);
        assert!(check(&names).is_empty());
        names.remove("docs");
        names.insert("scripts".to_owned());
        assert_eq!(
            check(&names),
            [
                "scripts does not belong at the top level",
                "docs is missing at the top level"
            ]
        );
    }
}

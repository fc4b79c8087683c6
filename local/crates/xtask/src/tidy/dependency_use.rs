//! Finds dependencies that no source file names: they cost build time and blur the picture.

use std::collections::BTreeSet;

/// Returns the declared crates whose name does not occur as a word in any of the texts.
fn unused<'a>(declared: impl Iterator<Item = &'a str>, texts: &[&str]) -> Vec<&'a str> {
    let words: BTreeSet<_> = texts
        .iter()
        .flat_map(|text| text.split(|c: char| !c.is_alphanumeric() && c != '_'))
        .collect();
    declared
        .filter(|name| !words.contains(name.replace('-', "_").as_str()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system;
    use crate::tidy::{assert_none, metadata, read, source};

    #[test]
    fn every_crate_uses_what_it_declares() {
        let root = system::repository_root();
        let files = source::rust_files();
        let mut found = Vec::new();
        for package in metadata().members() {
            let folder = package
                .manifest_path
                .parent()
                .unwrap()
                .strip_prefix(&root)
                .unwrap()
                .to_string_lossy();
            let places = ["src", "tests", "benches", "build.rs"].map(|place| format!("{folder}/{place}"));
            let own = files
                .iter()
                .filter(|file| places.iter().any(|place| file.path.starts_with(place)));
            let texts: Vec<_> = own.map(|file| file.text.as_str()).collect();
            let declared = package
                .dependencies
                .iter()
                .map(|dependency| dependency.name.as_str());
            found.extend(
                unused(declared, &texts)
                    .into_iter()
                    .map(|name| format!("{}: never uses {name}", package.name)),
            );
        }
        assert_none(&found);
    }

    #[test]
    fn the_workspace_lists_only_what_some_crate_declares() {
        let manifest: toml::Table = toml::from_str(&read("Cargo.toml")).unwrap();
        let metadata = metadata();
        let declared: BTreeSet<_> = metadata
            .members()
            .flat_map(|package| &package.dependencies)
            .map(|dependency| &dependency.name)
            .collect();
        let listed = manifest["workspace"]["dependencies"].as_table().unwrap().keys();
        let unused = listed.filter(|name| !declared.contains(name));
        assert_none(
            &unused
                .map(|name| format!("Cargo.toml lists {name}, which no crate uses"))
                .collect::<Vec<_>>(),
        );
    }

    #[test]
    fn a_name_counts_as_a_whole_word() {
        let names = ["serde", "tokio-util", "http"];
        assert_eq!(
            unused(
                names.into_iter(),
                &["use serde_json::x;", "use tokio_util::y; use http::Uri;"]
            ),
            ["serde"]
        );
    }
}

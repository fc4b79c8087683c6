//! Keeps paths of the machines on which this is written, and other sources of crates, out of the repository.

use super::exceptions::{Measure, Rule};
use crate::tree::TextFile;

/// Folders that exist on some machine by accident. In two parts, so that this file does not find itself.
const FOLDERS: [[&str; 2]; 2] = [["/wo", "rk/"], ["/ro", "ot/"]];

/// Words in cargo's files with which crates would come from somewhere else than the usual index.
const OTHER_SOURCES: [&str; 5] = [
    "[source",
    "[registries",
    "[registry",
    "registry =",
    "replace-with",
];

/// Counts the machine paths in a file.
fn measure(file: &TextFile) -> Measure {
    let value = FOLDERS
        .iter()
        .map(|parts| count_absolute(&file.text, &parts.concat()))
        .sum();
    Measure {
        rule: Rule::MachinePaths,
        item: file.path.clone(),
        value,
    }
}

/// Counts places where `folder` begins a path, rather than stands in the middle of one.
fn count_absolute(text: &str, folder: &str) -> usize {
    let within_a_path = |c: char| c.is_alphanumeric() || "_-.~}$*/".contains(c);
    text.match_indices(folder)
        .filter(|(at, _)| !text[..*at].ends_with(within_a_path))
        .count()
}

/// Finds words about other registries in manifests and in cargo's configuration.
fn other_sources(file: &TextFile) -> Vec<String> {
    let name = file.path.rsplit('/').next().unwrap_or_default();
    if name != "Cargo.toml" && !file.path.starts_with(".cargo/") {
        return Vec::new();
    }
    let lines = file.text.lines().filter(|line| {
        OTHER_SOURCES
            .iter()
            .any(|word| line.trim_start().starts_with(word))
    });
    lines
        .map(|line| format!("{}: `{}` changes where crates come from", file.path, line.trim()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::assert_none;
    use crate::tidy::exceptions::{judge, load};
    use crate::{system, tree};

    fn files() -> Vec<TextFile> {
        let root = system::repository_root();
        tree::text_files(&root, &root).unwrap()
    }

    #[test]
    fn no_file_names_a_folder_of_some_machine() {
        let measures: Vec<_> = files().iter().map(measure).collect();
        assert_none(&judge(&measures, &load(&[Rule::MachinePaths])));
    }

    #[test]
    fn crates_come_from_the_usual_index() {
        assert_none(&files().iter().flat_map(other_sources).collect::<Vec<_>>());
    }

    #[test]
    fn only_the_beginning_of_a_path_counts() {
        let count = |text: &str| count_absolute(text, &FOLDERS[0].concat());
        let folder = FOLDERS[0].concat();
        assert_eq!(count(&format!("see `{folder}main` and {folder}x")), 2);
        assert_eq!(
            count(&format!("~{folder}x /home/me{folder}x ${{HOME}}{folder}x")),
            0
        );
    }

    #[test]
    fn a_changed_source_is_found_in_cargo_files_only() {
        let check = |path: &str, text: &str| {
            other_sources(&TextFile {
                path: path.to_owned(),
                text: text.to_owned(),
            })
            .len()
        };
        assert_eq!(
            check(".cargo/config.toml", "[source.crates-io]\nreplace-with = \"x\"\n"),
            2
        );
        assert_eq!(check("a/Cargo.toml", "[dependencies]\nb = \"1\"\n"), 0);
        assert_eq!(check("a.rs", "[source.crates-io]\n"), 0);
    }
}

//! Writes the pages that say what the program itself says: `docs/CLI.md` and `docs/CONFIG.md`.

mod cli;
mod settings;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;

use crate::job::{Echo, Interrupt, Job, JobOptions};
use crate::metadata::Metadata;
use crate::system;

/// Whether to write pages or to compare them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Write,
    Check,
}

/// Builds the program the way the tests do, so that nothing is built twice, and returns where it is.
pub(crate) fn build_binary(root: &Path, interrupt: Interrupt) -> anyhow::Result<PathBuf> {
    let target = Metadata::load(root)?.target_directory;
    let options = JobOptions {
        log: target.join("xtask/docgen.log"),
        echo: Echo::Live,
        deadline: system::now() + Duration::from_secs(60 * 60),
        interrupt,
    };
    let mut command = system::cargo(root);
    command.args([
        "build",
        "--workspace",
        "--exclude",
        "xtask",
        "--all-features",
        "--bin",
        "reasonix",
    ]);
    Job::start(command, options)?.finish()?;
    Ok(target.join("debug/reasonix"))
}

/// Writes or compares every page; `false` when a compared page differs.
pub(crate) fn run(root: &Path, binary: &Path, mode: Mode) -> anyhow::Result<bool> {
    let example = std::fs::read_to_string(root.join("reasonix.example.toml"))
        .context("could not read reasonix.example.toml")?;
    let pages = [
        ("docs/CLI.md", cli::page(binary)?),
        ("docs/CONFIG.md", settings::page(&example)),
    ];
    let mut fine = true;
    for (name, page) in pages {
        let path = root.join(name);
        if mode == Mode::Write {
            std::fs::write(&path, page).with_context(|| format!("could not write {name}"))?;
            continue;
        }
        let old = std::fs::read_to_string(&path).unwrap_or_default();
        if let Some(line) = first_difference(&old, &page) {
            println!("{name} differs from line {line} on: run `cargo xtask docgen`");
            fine = false;
        }
    }
    Ok(fine)
}

/// Returns the number of the first line in which two texts differ.
fn first_difference(old: &str, new: &str) -> Option<usize> {
    if old == new {
        return None;
    }
    let same = old
        .lines()
        .zip(new.lines())
        .take_while(|(old, new)| old == new)
        .count();
    Some(same + 1)
}

#[cfg(test)]
mod tests {
    use super::first_difference;

    #[test]
    fn differences_are_found_by_line() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(first_difference("a\nb\n", "a\nc\n"), Some(2));
        assert_eq!(first_difference("a\n", "a\nb\n"), Some(2));
        assert_eq!(first_difference("", "a\n"), Some(1));
        assert_eq!(first_difference("a", "a\n"), Some(2));
    }
}

//! Draws pictures of real screens for the README and docs/TUI.md.
//!
//! The screens come from the end-to-end tests of the screen, which run the program in a real terminal (tmux): told by
//! [`VARIABLE`] where to, `local/tests/e2e/screen/pictures.rs` leaves what the terminal showed there, one file a
//! picture. Whatever differs from run to run (addresses, times, ids) it replaces first.

mod capture;
mod colour;
mod glyph;
mod svg;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};

use self::capture::Capture;
use crate::job::{Echo, Interrupt, Job, JobOptions};
use crate::metadata::Metadata;
use crate::system;

/// Tells the tests of the screen which folder to leave screens in.
const VARIABLE: &str = "REASONIX_SCREENS";
/// Where pictures are.
const FOLDER: &str = "docs/pictures";
/// The pages that show them.
const PAGES: [&str; 2] = ["README.md", "docs/TUI.md"];
/// How the name of a screen's file ends.
const SCREEN: &str = ".screen";

/// Takes every screen and draws it.
pub(crate) fn run(root: &Path, interrupt: Interrupt) -> anyhow::Result<bool> {
    let target = Metadata::load(root)?.target_directory;
    let screens = target.join("xtask/screens");
    if screens.exists() {
        fs::remove_dir_all(&screens).with_context(|| format!("could not empty {}", screens.display()))?;
    }
    fs::create_dir_all(&screens).with_context(|| format!("could not create {}", screens.display()))?;
    let options = JobOptions {
        log: target.join("xtask/shots.log"),
        echo: Echo::Live,
        deadline: system::now() + Duration::from_secs(60 * 60),
        interrupt,
    };
    let mut command = system::cargo(root);
    command.env(VARIABLE, &screens).args([
        "test",
        "-p",
        "local",
        "--test",
        "e2e",
        "--",
        "screen::pictures::",
        "--test-threads=2",
    ]);
    Job::start(command, options)?.finish()?;
    let names = draw_all(&screens, &root.join(FOLDER))?;
    ensure!(
        !names.is_empty(),
        "the tests of the screen left nothing in {}",
        screens.display()
    );
    println!("{FOLDER}: {}", names.join(" "));
    check(root)
}

/// Draws every screen of a folder into another and gives their names.
fn draw_all(screens: &Path, pictures: &Path) -> anyhow::Result<Vec<String>> {
    fs::create_dir_all(pictures).with_context(|| format!("could not create {}", pictures.display()))?;
    let mut names: Vec<String> = files(screens)?
        .iter()
        .filter_map(|file| file.strip_suffix(SCREEN).map(str::to_owned))
        .collect();
    names.sort();
    for name in &names {
        let from = screens.join(format!("{name}{SCREEN}"));
        let text = fs::read_to_string(&from).with_context(|| format!("could not read {}", from.display()))?;
        let capture = Capture::parse(&text).with_context(|| format!("{} is no screen", from.display()))?;
        let to = pictures.join(format!("{name}.svg"));
        fs::write(&to, svg::render(&capture)).with_context(|| format!("could not write {}", to.display()))?;
    }
    Ok(names)
}

/// Compares the pictures that there are with those that pages show; `false` when one is missing or shown nowhere.
pub(crate) fn check(root: &Path) -> anyhow::Result<bool> {
    let mut shown = BTreeSet::new();
    for page in PAGES {
        let text = fs::read_to_string(root.join(page)).with_context(|| format!("could not read {page}"))?;
        shown.extend(pictures_in(&text));
    }
    ensure!(!shown.is_empty(), "no page shows a picture of {FOLDER}");
    let there: BTreeSet<String> = files(&root.join(FOLDER))?.into_iter().collect();
    let complaints = differences(&shown, &there);
    for complaint in &complaints {
        println!("{complaint}");
    }
    Ok(complaints.is_empty())
}

fn differences(shown: &BTreeSet<String>, there: &BTreeSet<String>) -> Vec<String> {
    let missing = shown
        .difference(there)
        .map(|name| format!("{FOLDER}/{name} is missing: run `cargo xtask shots`"));
    let unused = there
        .difference(shown)
        .map(|name| format!("{FOLDER}/{name} is shown by none of {}", PAGES.join(", ")));
    missing.chain(unused).collect()
}

/// Finds the pictures that a page shows: `(pictures/NAME.svg)`, with or without `docs/` before.
fn pictures_in(page: &str) -> Vec<String> {
    let links = page.split("pictures/").skip(1);
    links
        .filter_map(|rest| rest.split_once(".svg"))
        .map(|(name, _)| format!("{name}.svg"))
        .filter(|name| !name.contains(|c: char| c.is_whitespace() || "()\"".contains(c)))
        .collect()
}

fn files(folder: &Path) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    let listing = fs::read_dir(folder).with_context(|| format!("could not list {}", folder.display()))?;
    for entry in listing {
        let entry = entry.with_context(|| format!("could not list {}", folder.display()))?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_screen_of_a_folder_becomes_a_picture() {
        let folder = tempfile::tempdir().unwrap();
        let (screens, pictures) = (folder.path().join("s"), folder.path().join("p"));
        fs::create_dir(&screens).unwrap();
        fs::write(screens.join("b.screen"), "4 1\nB\nb").unwrap();
        fs::write(screens.join("a.screen"), "4 1\nA\na").unwrap();
        fs::write(screens.join("other"), "").unwrap();
        assert_eq!(draw_all(&screens, &pictures).unwrap(), ["a", "b"]);
        assert!(
            fs::read_to_string(pictures.join("a.svg"))
                .unwrap()
                .contains(">A</title>")
        );

        fs::write(screens.join("c.screen"), "no screen").unwrap();
        let error = draw_all(&screens, &pictures).unwrap_err();
        assert!(error.to_string().ends_with("c.screen is no screen"), "{error}");
    }

    #[test]
    fn every_picture_that_a_page_shows_is_there() {
        assert!(check(&system::repository_root()).unwrap());
    }

    #[test]
    fn pictures_that_are_missing_or_shown_nowhere_are_named() {
        let names = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        assert_eq!(differences(&names("a.svg b.svg"), &names("a.svg b.svg")), [""; 0]);
        assert_eq!(
            differences(&names("a.svg"), &names("b.svg")),
            [
                "docs/pictures/a.svg is missing: run `cargo xtask shots`",
                "docs/pictures/b.svg is shown by none of README.md, docs/TUI.md",
            ]
        );
        assert_eq!(
            pictures_in("![x](pictures/a.svg) and <img src=\"docs/pictures/b.svg\"> in pictures/ (x.svg)"),
            ["a.svg", "b.svg"]
        );
    }
}

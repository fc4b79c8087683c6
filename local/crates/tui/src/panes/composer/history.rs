//! Prompts typed before: in memory, and in a file with one JSON string per line.

use std::{
    fs,
    io::{self, Read as _},
    os::unix::fs::DirBuilderExt as _,
    path::Path,
};

/// Prompts that are kept.
const ENTRIES: usize = 1_000;
/// Bytes that are kept; the newest prompt always is.
const BYTES: usize = 4 * 1024 * 1024;
/// Bytes of one prompt that goes into the file; a longer one is kept for this run.
const IN_FILE: usize = 64 * 1024;
/// Bytes of a file that are read: more than a file of ours can have.
const READ: u64 = 16 * 1024 * 1024;

/// What was typed before, the oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct History {
    entries: Vec<String>,
    bytes: usize,
}

impl History {
    /// Reads the file. One that does not exist gives nothing; lines that are no JSON strings are left out.
    ///
    /// # Errors
    /// The file exists and cannot be read.
    pub(crate) fn load(path: &Path) -> io::Result<Self> {
        let mut bytes = Vec::new();
        match fs::metadata(path) {
            // Opening a pipe waits for somebody who writes into it.
            Ok(found) if !found.is_file() => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "it is no regular file",
                ));
            }
            Ok(_) => fs::File::open(path)?.take(READ).read_to_end(&mut bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        let mut history = Self::default();
        for line in bytes.split(|byte| *byte == b'\n') {
            if let Ok(entry) = serde_json::from_slice(line) {
                history.push(entry);
            }
        }
        Ok(history)
    }

    /// Remembers a prompt; tells whether it was one to remember.
    ///
    /// What begins with a blank is not remembered, nor what was typed just before.
    pub(super) fn push(&mut self, entry: String) -> bool {
        if entry.trim().is_empty() || entry.starts_with(' ') || self.entries.last() == Some(&entry) {
            return false;
        }
        self.bytes += entry.len();
        self.entries.push(entry);
        let mut first = 0;
        let left = |first| self.entries.len() - first;
        while left(first) > ENTRIES || (self.bytes > BYTES && left(first) > 1) {
            self.bytes -= self.entries[first].len();
            first += 1;
        }
        self.entries.drain(..first);
        true
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn get(&self, index: usize) -> Option<&str> {
        self.entries.get(index).map(String::as_str)
    }

    /// Gives the prompts that contain a text, the newest first, each once. Capitals count only when some are asked for.
    pub(super) fn matches(&self, wanted: &str) -> Vec<usize> {
        let ignores_case = !wanted.chars().any(char::is_uppercase);
        let mut seen = std::collections::HashSet::new();
        let fits = |entry: &str| {
            if ignores_case {
                entry.to_lowercase().contains(wanted)
            } else {
                entry.contains(wanted)
            }
        };
        let newest_first = self.entries.iter().enumerate().rev();
        newest_first
            .filter(|(_, entry)| fits(entry) && seen.insert(entry.as_str()))
            .map(|(index, _)| index)
            .collect()
    }
}

/// Adds a prompt to the file. Blocks: an effect calls it, not the pane.
///
/// The file is read anew, so that what another terminal has added meanwhile stays; it is replaced as a whole, is
/// readable for its owner only, and its folder is made when it is missing.
///
/// # Errors
/// The file cannot be read or replaced; it is then as it was.
pub(crate) fn remember(path: &Path, entry: &str) -> io::Result<()> {
    if entry.len() > IN_FILE {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut history = History::load(path)?;
    if !history.push(entry.to_owned()) {
        return Ok(());
    }
    let mut content = Vec::with_capacity(history.bytes + 3 * history.len());
    for entry in &history.entries {
        serde_json::to_writer(&mut content, entry)?;
        content.push(b'\n');
    }
    stdx::atomic_write::atomic_write(path, &content, 0o600)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn of(entries: &[&str]) -> History {
        let mut history = History::default();
        for entry in entries {
            history.push((*entry).to_owned());
        }
        history
    }

    #[test]
    fn what_is_private_or_repeated_is_not_remembered() {
        let history = of(&["one", "one", " secret", "", "  ", "two", "one"]);
        assert_eq!(history.entries, ["one", "two", "one"]);
    }

    #[test]
    fn the_oldest_go_first() {
        let mut history = History::default();
        for number in 0..1_200 {
            history.push(number.to_string());
        }
        assert_eq!((history.len(), history.get(0)), (1_000, Some("200")));
        history.push("x".repeat(BYTES + 1));
        assert_eq!(history.len(), 1, "the newest is kept whatever its size");
        history.push("y".to_owned());
        assert_eq!(history.entries, ["y"]);
        assert_eq!(history.bytes, 1);
    }

    #[test]
    fn searching_finds_the_newest_first_and_once() {
        let history = of(&["Fix it", "run", "fix more", "run", "Fix it"]);
        assert_eq!(history.matches("fix"), [4, 2]);
        assert_eq!(history.matches("Fix"), [4]);
        assert_eq!(history.matches(""), [4, 3, 2]);
        assert!(history.matches("none").is_empty());
    }

    #[test]
    fn the_file_keeps_every_character_and_belongs_to_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/history.jsonl");
        assert_eq!(History::load(&path).unwrap(), History::default());
        let entries = ["one\ntwo", "\"quoted\" \\ 汉字 👩‍💻", "tab\there"];
        for entry in entries {
            remember(&path, entry).unwrap();
        }
        remember(&path, " private").unwrap();
        remember(&path, &"x".repeat(IN_FILE + 1)).unwrap();
        assert_eq!(History::load(&path).unwrap(), of(&entries));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 3);
    }

    #[test]
    fn two_terminals_lose_nothing_and_rubbish_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history.jsonl");
        fs::write(&path, b"\"one\"\nnot json\n{\"a\":1}\n\xff\xfe\n\"two\"").unwrap();
        let mine = History::load(&path).unwrap();
        assert_eq!(mine, of(&["one", "two"]));
        remember(&path, "theirs").unwrap();
        remember(&path, "mine").unwrap();
        assert_eq!(
            History::load(&path).unwrap(),
            of(&["one", "two", "theirs", "mine"])
        );
    }

    #[test]
    fn what_cannot_be_written_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file/history.jsonl");
        fs::write(folder.path().join("file"), "").unwrap();
        assert!(remember(&path, "x").is_err());
        assert!(History::load(folder.path()).is_err(), "a folder is no history");
        let pipe = folder.path().join("pipe");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert!(History::load(&pipe).is_err(), "a pipe would be waited for");
        assert!(remember(&pipe, "x").is_err());
    }
}

//! Reasonix's `.env`: the only place that provider keys come from.
//!
//! One `NAME=value` per line. `export ` and quotes are accepted, `#` starts a comment, and
//! `# reasonix-cleared NAME` notes that a name was removed on purpose. Values never appear in messages.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use stdx::{Secret, atomic_write::atomic_write};

use crate::error::Error;

/// What precedes the name in the note that a name was removed.
const CLEARED: &str = "# reasonix-cleared ";

/// The most bytes of the file.
const MAX_BYTES: u64 = 1024 * 1024;

/// The file's content.
#[derive(Debug, Clone, Default)]
pub struct EnvFile {
    entries: BTreeMap<String, Secret>,
    cleared: BTreeSet<String>,
    /// Lines, from 1, that are neither entries nor comments. They are ignored.
    pub ignored_lines: Vec<usize>,
    /// Whether others than the owner may read the file, which deserves a warning.
    pub readable_by_others: bool,
}

impl EnvFile {
    /// Reads the file; a missing one is empty.
    ///
    /// # Errors
    /// [`Error::Unreadable`] if it exists and cannot be read, is not a file, is not UTF-8 or is larger than 1 MiB.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let Some(text) = read(path)? else {
            return Ok(Self::default());
        };
        let mode = fs::metadata(path).map_or(0, |metadata| metadata.permissions().mode());
        Ok(Self {
            readable_by_others: mode & 0o077 != 0,
            ..Self::parse(&text)
        })
    }

    /// Reads the text of a file. Of a name that occurs twice, the last value counts.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut file = Self::default();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if let Some(name) = line.strip_prefix(CLEARED) {
                file.cleared.insert(name.trim().to_owned());
            } else if line.is_empty() || line.starts_with('#') {
            } else if let Some((name, value)) = entry(line) {
                file.entries.insert(name.to_owned(), Secret::new(value));
            } else {
                file.ignored_lines.push(index + 1);
            }
        }
        file
    }

    /// Gives a value; an empty one counts as missing.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Secret> {
        self.entries.get(name).filter(|value| !value.is_empty())
    }

    /// Gives the names, sorted. Tools must not find any of them in their environment.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// Says whether the name was removed on purpose.
    #[must_use]
    pub fn is_cleared(&self, name: &str) -> bool {
        self.cleared.contains(name)
    }
}

/// Sets one name and leaves every other line as it is. The file is replaced in one step and has mode 0600.
///
/// # Errors
/// [`Error::Refused`] for a malformed name or a value with several lines, [`Error::Unreadable`] and
/// [`Error::Unwritable`] for the file.
pub fn set(path: &Path, name: &str, value: &Secret) -> Result<(), Error> {
    let refuse = |reason: &str| Error::Refused {
        path: path.to_owned(),
        reason: format!("{name}: {reason}"),
    };
    if !is_name(name) {
        return Err(refuse(
            "not a name: use letters, digits and `_`, not starting with a digit",
        ));
    }
    if value.expose().contains(['\n', '\r', '\0']) {
        return Err(refuse("the value has more than one line"));
    }
    change(path, name, &format!("{name}={}", quote(value.expose())))
}

/// Removes one name and notes that it was removed. Says whether it was there.
///
/// # Errors
/// Like [`set`].
pub fn clear(path: &Path, name: &str) -> Result<bool, Error> {
    if !is_name(name) {
        return Err(Error::Refused {
            path: path.to_owned(),
            reason: format!("{name}: not a name"),
        });
    }
    let known = EnvFile::load(path)?.entries.contains_key(name);
    if known {
        change(path, name, &format!("{CLEARED}{name}"))?;
    }
    Ok(known)
}

/// Puts `line` where `name` stood last, or at the end, and drops every other line about `name`.
fn change(path: &Path, name: &str, line: &str) -> Result<(), Error> {
    let old = read(path)?.unwrap_or_default();
    let about = |line: &str| {
        let line = line.trim();
        entry(line).is_some_and(|(known, _)| known == name)
            || line
                .strip_prefix(CLEARED)
                .is_some_and(|known| known.trim() == name)
    };
    let last = old.lines().rposition_of(about);
    let mut lines: Vec<&str> = Vec::new();
    for (index, existing) in old.lines().enumerate() {
        if Some(index) == last {
            lines.push(line);
        } else if !about(existing) {
            lines.push(existing);
        }
    }
    if last.is_none() {
        lines.push(line);
    }
    let mut text = lines.join("\n");
    text.push('\n');
    // A file that is a link, as in a dotfiles repository, stays one.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let unwritable = |source| Error::Unwritable {
        path: path.to_owned(),
        source,
    };
    atomic_write(&target, text.as_bytes(), 0o600).map_err(unwritable)
}

trait LastPosition {
    fn rposition_of(self, test: impl Fn(&str) -> bool) -> Option<usize>;
}

impl<'a, I: Iterator<Item = &'a str>> LastPosition for I {
    fn rposition_of(self, test: impl Fn(&str) -> bool) -> Option<usize> {
        self.enumerate()
            .filter(|(_, line)| test(line))
            .last()
            .map(|(index, _)| index)
    }
}

fn read(path: &Path) -> Result<Option<String>, Error> {
    let unreadable = |source| Error::Unreadable {
        path: path.to_owned(),
        source,
    };
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => return Err(unreadable(io::Error::other("it is not a file"))),
        Ok(metadata) if metadata.len() > MAX_BYTES => {
            return Err(unreadable(io::Error::other("it is larger than 1 MiB")));
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    }
    fs::read_to_string(path).map(Some).map_err(unreadable)
}

/// Reads `NAME=value`.
fn entry(line: &str) -> Option<(&str, String)> {
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, value) = line.split_once('=')?;
    let name = name.trim();
    is_name(name).then(|| (name, unquote(value.trim())))
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn unquote(value: &str) -> String {
    if let Some((inner, _)) = value.strip_prefix('\'').and_then(|rest| rest.split_once('\'')) {
        return inner.to_owned();
    }
    let Some(inner) = value.strip_prefix('"') else {
        // A comment behind an unquoted value needs a blank in front, since keys may contain `#`.
        let end = value.find(" #").unwrap_or(value.len());
        return value.get(..end).unwrap_or(value).trim_end().to_owned();
    };
    let mut result = String::new();
    let mut characters = inner.chars();
    while let Some(c) = characters.next() {
        match c {
            '"' => return result,
            '\\' => match characters.next() {
                Some('n') => result.push('\n'),
                Some(other) => result.push(other),
                None => result.push('\\'),
            },
            _ => result.push(c),
        }
    }
    // The quote is not closed, so it belongs to the value.
    value.to_owned()
}

fn quote(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+,=".contains(c);
    if !value.is_empty() && value.chars().all(plain) {
        return value.to_owned();
    }
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

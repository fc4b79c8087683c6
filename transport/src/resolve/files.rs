//! The configuration files of this machine, and what else reading them asks of it. Everything here blocks.

use std::{
    fs::File,
    io::{ErrorKind::NotFound, Read},
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
};

use crate::{
    Error, ErrorKind, ResolveOptions, Stage,
    ssh_config::{Alias, Level, Machine, aliases},
};

/// How much of a configuration file is read; more is no configuration.
const MAX_BYTES: u64 = 4 << 20;

/// Lists the hosts that the user's configuration names, in order, each once, with file and line.
///
/// # Errors
/// [`ErrorKind::Config`] where a file exists and cannot be read. A file that does not exist names nothing.
pub async fn configured_aliases(options: &ResolveOptions) -> Result<Vec<Alias>, Error> {
    let options = options.clone();
    stdx::task::blocking(move || {
        let own = options.home.join(".ssh/config");
        let file = options.config_file.as_ref().unwrap_or(&own);
        let checked = options.config_file.is_none();
        match read(file, checked) {
            Ok(Some(text)) => Ok(aliases(&text, file, &Local::new(&options))),
            Ok(None) => Ok(Vec::new()),
            Err(message) => Err(Error::new(
                ErrorKind::Config,
                Stage::Config,
                file.display().to_string(),
                message,
            )),
        }
    })
    .await
}

/// Reads a configuration file. `None`: it does not exist, or is a folder.
///
/// # Errors
/// In words, with the file: it cannot be read, is too large, or (where `checked`) somebody else could have written it.
pub(super) fn read(path: &Path, checked: bool) -> Result<Option<String>, String> {
    let fail = |why: String| format!("{}: {why}", path.display());
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == NotFound => return Ok(None),
        Err(error) => return Err(fail(format!("could not read it: {error}"))),
    };
    let metadata = file.metadata().map_err(|error| fail(error.to_string()))?;
    let own = rustix::process::getuid().as_raw();
    if checked && ((metadata.uid() != 0 && metadata.uid() != own) || metadata.mode() & 0o022 != 0) {
        return Err(fail(format!(
            "bad owner or permissions: owned by {}, mode {:o}; only you may be able to write it",
            metadata.uid(),
            metadata.mode() & 0o7777
        )));
    }
    if metadata.is_dir() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| fail(format!("could not read it: {error}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(fail(format!("larger than {} MiB", MAX_BYTES >> 20)));
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// This machine, as reading a configuration sees it.
pub(super) struct Local {
    home: PathBuf,
}

impl Local {
    pub(super) fn new(options: &ResolveOptions) -> Self {
        Self {
            home: options.home.clone(),
        }
    }
}

impl Machine for Local {
    fn included(&self, pattern: &str, level: Level) -> Result<Vec<(PathBuf, String)>, String> {
        let pattern = match (pattern.strip_prefix('~'), level) {
            (None, Level::User) => self.home.join(".ssh").join(pattern),
            (None, Level::System) => Path::new("/etc/ssh").join(pattern),
            (Some(_), Level::System) => {
                return Err(format!("bad include path {pattern}: the system has no home"));
            }
            (Some(rest), Level::User) if rest.is_empty() || rest.starts_with('/') => {
                self.home.join(rest.trim_start_matches('/'))
            }
            (Some(rest), Level::User) => {
                let (user, rest) = rest.split_once('/').unwrap_or((rest, ""));
                let home = home_of(user).ok_or_else(|| format!("no user {user} is known here"))?;
                home.join(rest.trim_start_matches('/'))
            }
        };
        let mut files = Vec::new();
        for path in expand(&pattern) {
            if let Some(text) = read(&path, true)? {
                files.push((path, text));
            }
        }
        Ok(files)
    }
}

/// Finds the home of another user, for `~name`.
pub(super) fn home_of(user: &str) -> Option<PathBuf> {
    let accounts = std::fs::read("/etc/passwd").ok()?;
    String::from_utf8_lossy(&accounts).lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next()? == user)
            .then(|| fields.nth(4).map(PathBuf::from))
            .flatten()
    })
}

/// Finds the files that a pattern of glob(7) names, sorted by name.
fn expand(pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from("/")];
    for part in pattern.components().skip(1) {
        let name = part.as_os_str().as_bytes();
        if !name.iter().any(|byte| b"*?[\\".contains(byte)) {
            found.iter_mut().for_each(|path| path.push(part));
            continue;
        }
        let mut next = Vec::new();
        let entries = found.iter().filter_map(|path| std::fs::read_dir(path).ok());
        for entry in entries.flatten().flatten() {
            let file_name = entry.file_name();
            let hidden = file_name.as_bytes().starts_with(b".") && !name.starts_with(b".");
            if !hidden && fits(name, file_name.as_bytes()) {
                next.push(entry.path());
            }
        }
        next.sort();
        found = next;
    }
    found
}

/// Matches one part of a path: `*`, `?`, `[a-z]`, `[!a-z]` and a backslash before an ordinary character.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        if n == name.len()
            && pattern
                .get(p..)
                .is_none_or(|rest| rest.iter().all(|&c| c == b'*'))
        {
            return true;
        }
        if pattern.get(p) == Some(&b'*') {
            star = Some((p, n));
            p += 1;
            continue;
        }
        if let Some(taken) = name
            .get(n)
            .and_then(|&c| one(pattern.get(p..).unwrap_or_default(), c))
        {
            p += taken;
            n += 1;
            continue;
        }
        // Let the last star take one character more.
        match star {
            Some((at, taken)) if taken < name.len() => {
                p = at + 1;
                n = taken + 1;
                star = Some((at, n));
            }
            _ => return false,
        }
    }
}

/// Says how much of the pattern stands for the character `c`, if it does.
fn one(pattern: &[u8], c: u8) -> Option<usize> {
    match *pattern.first()? {
        b'?' => Some(1),
        b'\\' if pattern.len() > 1 => (pattern[1] == c).then_some(2),
        b'[' => {
            let negated = matches!(pattern.get(1), Some(b'!' | b'^'));
            let start = 1 + usize::from(negated);
            // A ']' right at the beginning is one of the characters.
            let end = start + 1 + pattern.get(start + 1..)?.iter().position(|&c| c == b']')?;
            let mut set = &pattern[start..end];
            let mut hit = false;
            while let Some(&low) = set.first() {
                let range = set.get(2).filter(|_| set.get(1) == Some(&b'-'));
                hit |= range.map_or(low == c, |&high| (low..=high).contains(&c));
                set = &set[if range.is_some() { 3 } else { 1 }..];
            }
            (hit != negated).then_some(end + 1)
        }
        literal => (literal == c).then_some(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_file_names() {
        let check = |pattern: &str, name: &str, expected: bool| {
            assert_eq!(
                fits(pattern.as_bytes(), name.as_bytes()),
                expected,
                "{pattern} {name}"
            );
        };
        check("*.conf", "a.conf", true);
        check("*.conf", "a.config", false);
        check("a*b*c", "aXbYbZc", true);
        check("a*b*c", "aXbYbZ", false);
        check("?-x", "1-x", true);
        check("[0-9][!a]-x", "1b-x", true);
        check("[0-9][!a]-x", "1a-x", false);
        check("[]x]", "]", true);
        check("[a", "[a", false);
        check("\\*", "*", true);
        check("\\*", "a", false);
        check("*", "", true);
        check("", "a", false);
    }
}

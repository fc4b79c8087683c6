//! The known-hosts file format of OpenSSH (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT): reading, matching, adding a line.

use std::{
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use ring::hmac;
use russh::keys::PublicKey;

/// The first field of a line, if it begins with `@`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// An ordinary key.
    Plain,
    /// The key of a certificate authority: signs host certificates and is never itself a host key.
    CertAuthority,
    /// A key that must never be accepted.
    Revoked,
}

/// One usable line.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The marker.
    pub marker: Marker,
    /// The host field as written: a list of patterns, or one hashed name.
    pub hosts: String,
    /// The key.
    pub key: PublicKey,
    /// The file.
    pub file: PathBuf,
    /// The line, counted from 1.
    pub line: usize,
}

/// Reads the text of one file. Lines that are no entries are skipped, as OpenSSH does: one typo must not lock out a user.
#[must_use]
pub fn parse(text: &str, file: &Path) -> Vec<Entry> {
    let lines = text.lines().enumerate();
    lines
        .filter_map(|(index, line)| parse_line(line, file, index + 1))
        .collect()
}

fn parse_line(line: &str, file: &Path, number: usize) -> Option<Entry> {
    let mut fields = line.split([' ', '\t', '\r']).filter(|field| !field.is_empty());
    let mut first = fields.next()?;
    if first.starts_with('#') {
        return None;
    }
    let marker = match first {
        "@revoked" => Marker::Revoked,
        "@cert-authority" => Marker::CertAuthority,
        other if other.starts_with('@') => return None,
        _ => Marker::Plain,
    };
    if marker != Marker::Plain {
        first = fields.next()?;
    }
    let key = PublicKey::from_openssh(&format!("{} {}", fields.next()?, fields.next()?)).ok()?;
    Some(Entry {
        marker,
        hosts: first.to_owned(),
        key,
        file: file.to_owned(),
        line: number,
    })
}

/// Gives the name under which a host is listed: `host` on port 22, `[host]:port` elsewhere, always in lower case.
#[must_use]
pub fn listed_name(host: &str, port: u16) -> String {
    let host = host.to_ascii_lowercase();
    if port == 22 {
        host
    } else {
        format!("[{host}]:{port}")
    }
}

/// Says whether a host field names `name` (as [`listed_name`] gives it).
#[must_use]
pub fn hosts_match(hosts: &str, name: &str) -> bool {
    if hosts.starts_with("|1|") {
        hashed_match(hosts, name)
    } else {
        pattern_list_matches(&hosts.to_ascii_lowercase(), name)
    }
}

/// Matches a comma-separated list: one positive hit is needed, and a hit of a negated pattern beats everything.
pub(crate) fn pattern_list_matches(list: &str, name: &str) -> bool {
    let mut hit = false;
    for pattern in list.split(',') {
        match pattern.strip_prefix('!') {
            Some(negated) if glob(negated.as_bytes(), name.as_bytes()) => return false,
            Some(_) => {}
            None => hit |= glob(pattern.as_bytes(), name.as_bytes()),
        }
    }
    hit
}

/// Matches `*` and `?` only; brackets are ordinary characters, since they stand around host names here.
pub(crate) fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(&c) if c == b'?' || Some(&c) == text.get(t) => {
                p += 1;
                t += 1;
            }
            _ => match star {
                // Let the last star take one character more.
                Some((star_p, star_t)) => {
                    p = star_p + 1;
                    t = star_t + 1;
                    star = Some((star_p, t));
                }
                None => return false,
            },
        }
    }
    pattern
        .get(p..)
        .is_some_and(|rest| rest.iter().all(|&c| c == b'*'))
}

/// `|1|base64(salt)|base64(HMAC-SHA1(salt, name))`.
fn hashed_match(field: &str, name: &str) -> bool {
    let mut parts = field.split('|').skip(2);
    let (Some(salt), Some(digest), None) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let (Ok(salt), Ok(digest)) = (BASE64.decode(salt), BASE64.decode(digest)) else {
        return false;
    };
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &salt);
    hmac::verify(&key, name.as_bytes(), &digest).is_ok()
}

/// Reads several files, in order. A file that does not exist is empty. Blocks.
///
/// # Errors
/// A file that exists and cannot be read: its `@revoked` lines would be missed.
pub(crate) fn read_files(files: &[PathBuf]) -> Result<Vec<Entry>, (PathBuf, io::Error)> {
    let mut entries = Vec::new();
    for file in files {
        match std::fs::read(file) {
            Ok(bytes) => entries.extend(parse(&String::from_utf8_lossy(&bytes), file)),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) => {}
            Err(error) => return Err((file.clone(), error)),
        }
    }
    Ok(entries)
}

/// Adds a line to our own file, making the file (0600) and its folder (0700) if need be. Blocks.
///
/// # Errors
/// Whatever the file system says.
pub(crate) fn add_line(file: &Path, listed_as: &str, key: &PublicKey) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    let mut handle = std::fs::OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        .open(file)?;
    let mut key = key.clone();
    key.set_comment("");
    let mut line = format!(
        "{listed_as} {}\n",
        key.to_openssh().map_err(io::Error::other)?.trim_end()
    );
    if handle.seek(SeekFrom::End(0))? > 0 {
        handle.seek(SeekFrom::End(-1))?;
        let mut last = [0];
        handle.read_exact(&mut last)?;
        if last != *b"\n" {
            line.insert(0, '\n');
        }
    }
    // One write in append mode, so that two programs adding at once do not mix their lines.
    handle.write_all(line.as_bytes())
}

#[cfg(test)]
#[path = "known_hosts/tests.rs"]
mod tests;

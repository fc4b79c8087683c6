//! The known-hosts file format of OpenSSH (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT): reading and matching. Our own file is
//! written in `own`.
//!
//! Nothing here panics, whatever a file holds, and work grows with its size only.

pub(crate) mod own;

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use base64::{
    Engine,
    engine::general_purpose::{STANDARD as BASE64, STANDARD_NO_PAD},
};
use ring::{digest, hmac};
use russh::keys::{Certificate, PublicKey};

use crate::{KnownKey, disk};

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
    /// The key. Of a revoked certificate it is the key inside.
    pub key: PublicKey,
    /// The file.
    pub file: PathBuf,
    /// The line, counted from 1.
    pub line: usize,
}

impl Entry {
    /// Says whether the line names exactly this host, and not by a pattern that fits others too.
    #[must_use]
    pub fn names_exactly(&self, name: &str) -> bool {
        let is_pattern = !self.hosts.starts_with('|') && self.hosts.contains(['*', '?', '!']);
        !is_pattern && hosts_match(&self.hosts, name)
    }
}

/// An ordinary line whose key this crate cannot use: it still says that the host is known.
#[derive(Clone, Debug)]
pub struct Foreign {
    /// The host field as written.
    pub hosts: String,
    /// The key and its place.
    pub key: KnownKey,
}

/// What several files say.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    /// The usable lines.
    pub entries: Vec<Entry>,
    /// Lines with keys of other algorithms.
    pub foreign: Vec<Foreign>,
    /// File and number of lines that are neither empty, nor comments, nor entries.
    pub broken: Vec<(PathBuf, usize)>,
}

impl Listed {
    /// Adds the text of one file. Lines that are no entries are skipped, as OpenSSH does: one typo must not lock out a
    /// user.
    pub fn add(&mut self, text: &str, file: &Path) {
        for (index, line) in text.split('\n').enumerate() {
            let line = line
                .trim_start_matches([' ', '\t'])
                .trim_end_matches([' ', '\t', '\r']);
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if self.add_line(line, file, index + 1).is_none() {
                self.broken.push((file.to_owned(), index + 1));
            }
        }
    }

    fn add_line(&mut self, line: &str, file: &Path, number: usize) -> Option<()> {
        let mut fields = line.split([' ', '\t']).filter(|field| !field.is_empty());
        let mut hosts = fields.next()?;
        let marker = match hosts {
            "@revoked" => Marker::Revoked,
            "@cert-authority" => Marker::CertAuthority,
            other if other.starts_with('@') => return None,
            _ => Marker::Plain,
        };
        if marker != Marker::Plain {
            hosts = fields.next()?;
        }
        let (algorithm, encoded) = (fields.next()?, fields.next()?);
        let key = match read_key(algorithm, encoded)? {
            Key::Plain(key) => key,
            Key::Certified(key) if marker == Marker::Revoked => key,
            Key::Certified(_) | Key::Foreign if marker != Marker::Plain => return Some(()),
            Key::Certified(_) | Key::Foreign => {
                let key = KnownKey {
                    algorithm: algorithm.to_owned(),
                    fingerprint: fingerprint(&BASE64.decode(encoded).ok()?),
                    file: file.to_owned(),
                    line: number,
                };
                let hosts = hosts.to_owned();
                self.foreign.push(Foreign { hosts, key });
                return Some(());
            }
        };
        self.entries.push(Entry {
            marker,
            hosts: hosts.to_owned(),
            key,
            file: file.to_owned(),
            line: number,
        });
        Some(())
    }
}

/// Reads the usable lines of one text; see [`Listed::add`].
#[must_use]
pub fn parse(text: &str, file: &Path) -> Vec<Entry> {
    let mut listed = Listed::default();
    listed.add(text, file);
    listed.entries
}

/// What two fields of a line say.
pub(crate) enum Key {
    Plain(PublicKey),
    /// A certificate: the key inside.
    Certified(PublicKey),
    /// Well formed, and of an algorithm that nothing here can use.
    Foreign,
}

/// What stands in the name of every certificate's algorithm.
const CERTIFICATE: &[u8] = b"-cert-v0";

/// Reads the name of an algorithm and a key in base64 (RFC 4253, section 6.6). `None` where they do not fit.
pub(crate) fn read_key(algorithm: &str, encoded: &str) -> Option<Key> {
    let blob = BASE64.decode(encoded).ok()?;
    let (length, rest) = blob.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    if rest.get(..length)? != algorithm.as_bytes() {
        return None;
    }
    // A certificate may hold certificates without end as the key that signed it, and the parser follows them.
    let certificates = blob
        .windows(CERTIFICATE.len())
        .filter(|part| *part == CERTIFICATE)
        .take(2)
        .count();
    match certificates {
        0 => match PublicKey::from_bytes(&blob) {
            Ok(key) => (key.algorithm().as_str() == algorithm).then_some(Key::Plain(key)),
            Err(_) if is_ours(algorithm) => None,
            Err(_) => Some(Key::Foreign),
        },
        1 if algorithm
            .as_bytes()
            .windows(CERTIFICATE.len())
            .any(|part| part == CERTIFICATE) =>
        {
            match Certificate::from_bytes(&blob) {
                Ok(certificate) => Some(Key::Certified(PublicKey::from(certificate.public_key().clone()))),
                Err(_) => Some(Key::Foreign),
            }
        }
        _ => Some(Key::Foreign),
    }
}

/// Says whether this crate knows what keys of an algorithm look like.
fn is_ours(algorithm: &str) -> bool {
    use russh::keys::Algorithm;
    !matches!(Algorithm::new(algorithm), Ok(Algorithm::Other(_)) | Err(_))
}

/// Gives a fingerprint as `ssh-keygen -l` prints it.
fn fingerprint(blob: &[u8]) -> String {
    let sum = digest::digest(&digest::SHA256, blob);
    format!("SHA256:{}", STANDARD_NO_PAD.encode(sum))
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
    if hosts.starts_with('|') {
        hashed_match(hosts, name)
    } else {
        pattern_list_matches(&hosts.to_ascii_lowercase(), name)
    }
}

/// The longest pattern of a list that OpenSSH reads; a longer one makes the whole list match nothing.
const LONGEST_PATTERN: usize = 1022;

/// Matches a comma-separated list: one positive hit is needed, and a hit of a negated pattern beats everything.
pub(crate) fn pattern_list_matches(list: &str, name: &str) -> bool {
    let mut hit = false;
    for pattern in list.split(',') {
        if pattern.strip_prefix('!').unwrap_or(pattern).len() > LONGEST_PATTERN {
            return false;
        }
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

/// `|1|base64(salt)|base64(HMAC-SHA1(salt, name))`, with a salt as long as the hash.
fn hashed_match(field: &str, name: &str) -> bool {
    let mut parts = field.split('|').skip(1);
    let (Some("1"), Some(salt), Some(hash), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let (Ok(salt), Ok(hash)) = (BASE64.decode(salt), BASE64.decode(hash)) else {
        return false;
    };
    if salt.len() != digest::SHA1_OUTPUT_LEN {
        return false;
    }
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &salt);
    hmac::verify(&key, name.as_bytes(), &hash).is_ok()
}

/// Reads several files, in order, each for at most `limit`. A file that does not exist is empty.
///
/// # Errors
/// A file that exists and cannot be read: its `@revoked` lines would be missed.
pub(crate) async fn read_files(files: &[PathBuf], limit: Duration) -> Result<Listed, (PathBuf, io::Error)> {
    let mut listed = Listed::default();
    for file in files {
        let path = file.clone();
        let read = disk::within(limit, move || read_file(&path, listed)).await;
        listed = read.flatten().map_err(|error| (file.clone(), error))?;
    }
    Ok(listed)
}

fn read_file(file: &Path, mut listed: Listed) -> io::Result<Listed> {
    match disk::read_whole(file) {
        Ok(bytes) => listed.add(&String::from_utf8_lossy(&bytes), file),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) => {}
        Err(error) => return Err(error),
    }
    Ok(listed)
}

#[cfg(test)]
#[path = "known_hosts/tests.rs"]
mod tests;

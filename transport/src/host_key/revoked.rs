//! The files of `RevokedHostKeys`. Whoever names one relies on it, so what cannot be read refuses the connection.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    disk,
    known_hosts::{Entry, Key, Marker, read_key},
};

/// The first bytes of a key revocation list (OpenSSH, PROTOCOL.krl).
const KRL: &[u8] = b"SSHKRL\n";

/// Why a file cannot be relied on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unusable {
    #[error("could not read {file}, which RevokedHostKeys names")]
    Unreadable { file: String, source: std::io::Error },
    #[error(
        "{file} is a binary key revocation list (KRL), which is not supported: RevokedHostKeys has to name a list of public keys"
    )]
    Krl { file: String },
    #[error("{file} line {line}, which RevokedHostKeys names, is no public key")]
    Broken { file: String, line: usize },
}

/// Reads the files, each for at most `limit`: one public key or certificate a line.
pub(crate) async fn read_files(files: &[PathBuf], limit: Duration) -> Result<Vec<Entry>, Unusable> {
    let mut keys = Vec::new();
    for file in files {
        let (shown, path) = (file.display().to_string(), file.clone());
        let bytes = disk::within(limit, move || disk::read_whole(&path)).await;
        let bytes = bytes.flatten().map_err(|source| Unusable::Unreadable {
            file: shown.clone(),
            source,
        })?;
        if bytes.starts_with(KRL) {
            return Err(Unusable::Krl { file: shown });
        }
        read(&String::from_utf8_lossy(&bytes), file, &mut keys)
            .map_err(|line| Unusable::Broken { file: shown, line })?;
    }
    Ok(keys)
}

fn read(text: &str, file: &Path, keys: &mut Vec<Entry>) -> Result<(), usize> {
    for (index, line) in text.split('\n').enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut fields = line.split_ascii_whitespace();
        let (algorithm, key) = (
            fields.next().unwrap_or_default(),
            fields.next().unwrap_or_default(),
        );
        let key = match read_key(algorithm, key).ok_or(index + 1)? {
            Key::Plain(key) | Key::Certified(key) => key,
            // No host can present a key that is never asked for.
            Key::Foreign => continue,
        };
        keys.push(Entry {
            marker: Marker::Revoked,
            hosts: "*".to_owned(),
            key,
            file: file.to_owned(),
            line: index + 1,
        });
    }
    Ok(())
}

//! The decision about the key a host presents (pure), and the order in which key algorithms are asked for.

mod certificate;
mod refusal;
pub(crate) mod revoked;

use std::path::{Path, PathBuf};

use russh::keys::{Algorithm, EcdsaCurve, HashAlg, PublicKey};

use crate::{
    known_hosts::{Entry, Foreign, Listed, Marker, hosts_match, listed_name},
    prompter::KnownKey,
};

/// Everything that is known about one host.
#[derive(Clone, Debug)]
pub struct KnownHost {
    /// The host as the user named it.
    host: String,
    listed_as: String,
    /// The name without its port: OpenSSH accepts a match of it, but nothing else follows from it.
    without_port: Option<String>,
    /// The name that a certificate has to be made for.
    principal: String,
    entries: Vec<Entry>,
    foreign: Vec<Foreign>,
    /// Keys that the files of `RevokedHostKeys` list.
    revoked: Vec<Entry>,
    /// The files that were read, for messages.
    files: Vec<PathBuf>,
    /// Our own file, whose algorithms are asked for before those of others.
    own: Option<PathBuf>,
    /// Lines that were not understood, in all files.
    broken: usize,
}

/// What the known-hosts files say about a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Listed for this host.
    Known,
    /// Certified by an authority that is listed for this host: its line.
    Certified(KnownKey),
    /// Marked as revoked, or the authority that signed it is.
    Revoked(KnownKey),
    /// The host is listed with other keys of the same algorithm.
    Changed(Vec<KnownKey>),
    /// The host is listed, but only with keys of other algorithms.
    KnownOtherwise(Vec<KnownKey>),
    /// The host is not listed.
    Unknown,
}

/// A verdict, and why a certificate did not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The verdict; about the plain key, where the certificate does not count.
    pub verdict: Verdict,
    /// Why a certificate did not count.
    pub certificate: Option<String>,
}

impl KnownHost {
    /// Looks a host up. `alias` is `HostKeyAlias`, which replaces name and port.
    #[must_use]
    pub fn find(entries: &[Entry], files: &[PathBuf], host: &HostNames) -> Self {
        let (listed_as, without_port) = match host.alias {
            Some(alias) => (alias.to_ascii_lowercase(), None),
            None if host.port == 22 => (listed_name(host.name, 22), None),
            None => (
                listed_name(host.name, host.port),
                Some(listed_name(host.name, 22)),
            ),
        };
        let mut found = Self {
            host: host.typed.to_owned(),
            listed_as,
            without_port,
            principal: host
                .alias
                .map_or_else(|| host.name.to_ascii_lowercase(), str::to_owned),
            entries: Vec::new(),
            foreign: Vec::new(),
            revoked: Vec::new(),
            files: files.to_vec(),
            own: None,
            broken: 0,
        };
        found.entries = entries
            .iter()
            .filter(|entry| found.is_named(&entry.hosts))
            .cloned()
            .collect();
        found
    }

    /// Adds what else the files say: keys that cannot be used here, revoked keys, and which file is ours.
    pub(crate) fn with(mut self, listed: &Listed, revoked: Vec<Entry>, own: Option<PathBuf>) -> Self {
        self.foreign = listed
            .foreign
            .iter()
            .filter(|line| hosts_match(&line.hosts, &self.listed_as))
            .cloned()
            .collect();
        self.broken = listed.broken.len();
        self.revoked = revoked;
        self.own = own;
        self
    }

    fn is_named(&self, hosts: &str) -> bool {
        hosts_match(hosts, &self.listed_as)
            || self
                .without_port
                .as_deref()
                .is_some_and(|name| hosts_match(hosts, name))
    }

    /// Gives the name under which a new key is written.
    #[must_use]
    pub fn listed_as(&self) -> &str {
        &self.listed_as
    }

    /// Gives the number of lines in all files that were not understood.
    #[must_use]
    pub fn broken_lines(&self) -> usize {
        self.broken
    }

    /// Gives the lines that list plain keys for the host, and those of its authorities.
    #[must_use]
    pub fn lines(&self) -> (Vec<KnownKey>, Vec<KnownKey>) {
        let plain = self.plain(&self.listed_as).into_iter().map(shown);
        let foreign = self.foreign.iter().map(|line| line.key.clone());
        let authorities = self.marked(Marker::CertAuthority).map(shown);
        (plain.chain(foreign).collect(), authorities.collect())
    }

    /// Judges a key. Only an exact hit is [`Verdict::Known`]; authority lines never are.
    #[must_use]
    pub fn judge(&self, key: &PublicKey) -> Verdict {
        if let Some(line) = self.revocation(key) {
            return Verdict::Revoked(shown(line));
        }
        let by_name = self.plain(&self.listed_as);
        if by_name.iter().any(|entry| is_same(entry, key)) {
            return Verdict::Known;
        }
        let algorithm = key.algorithm();
        let (same, others): (Vec<_>, Vec<_>) = by_name
            .into_iter()
            .partition(|entry| entry.key.algorithm() == algorithm);
        if !same.is_empty() {
            return Verdict::Changed(same.into_iter().map(shown).collect());
        }
        let others: Vec<_> = others
            .into_iter()
            .map(shown)
            .chain(self.foreign.iter().map(|line| line.key.clone()))
            .collect();
        if !others.is_empty() {
            return Verdict::KnownOtherwise(others);
        }
        match &self.without_port {
            Some(name) if self.plain(name).iter().any(|entry| is_same(entry, key)) => Verdict::Known,
            _ => Verdict::Unknown,
        }
    }

    /// Says whether a line lists this key for exactly this host: not by a pattern, nor under its name without the port.
    /// Lines below `/etc` do not count, since the administrator looks after them.
    pub(crate) fn lists_exactly(&self, key: &PublicKey) -> bool {
        self.entries.iter().any(|entry| {
            entry.marker == Marker::Plain
                && is_same(entry, key)
                && entry.names_exactly(&self.listed_as)
                && !entry.file.starts_with("/etc")
        })
    }

    /// Says whether an authority is listed for the host.
    #[must_use]
    pub fn has_authority(&self) -> bool {
        self.marked(Marker::CertAuthority).next().is_some()
    }

    /// Gives the host-key algorithms to offer: those listed in our own file first, then those known from other files.
    /// SHA-1 is never among them.
    #[must_use]
    pub fn algorithms(&self) -> Vec<Algorithm> {
        let mut known = self.plain(&self.listed_as);
        if let (true, Some(name)) = (known.is_empty(), &self.without_port) {
            known = self.plain(name);
        }
        let is_ours = |file: &Path| self.own.as_deref() == Some(file);
        let rank = |offered: &Algorithm| {
            let lines = known.iter().filter(|entry| is_of(&entry.key, offered));
            let ranks = lines.map(|entry| if is_ours(&entry.file) { 0 } else { 1 });
            ranks.min().unwrap_or(2)
        };
        let mut algorithms = offered();
        algorithms.sort_by_key(rank);
        algorithms
    }

    /// Gives the algorithms of host certificates to offer: all, where an authority is listed, as OpenSSH does.
    #[must_use]
    pub fn certificate_algorithms(&self) -> Vec<Algorithm> {
        if self.has_authority() {
            offered()
        } else {
            Vec::new()
        }
    }

    fn plain(&self, name: &str) -> Vec<&Entry> {
        self.entries
            .iter()
            .filter(|entry| entry.marker == Marker::Plain && hosts_match(&entry.hosts, name))
            .collect()
    }

    fn marked(&self, marker: Marker) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.marker == marker)
    }

    fn revocation(&self, key: &PublicKey) -> Option<&Entry> {
        self.marked(Marker::Revoked)
            .chain(&self.revoked)
            .find(|entry| is_same(entry, key))
    }
}

/// The names of a host that matter for its key.
#[derive(Clone, Copy, Debug)]
pub struct HostNames<'a> {
    /// As the user typed it, for messages.
    pub typed: &'a str,
    /// The host name after resolving the configuration.
    pub name: &'a str,
    /// The port.
    pub port: u16,
    /// `HostKeyAlias`.
    pub alias: Option<&'a str>,
}

fn is_same(entry: &Entry, key: &PublicKey) -> bool {
    entry.key.key_data() == key.key_data()
}

/// Says whether a key is asked for by an algorithm; RSA has several.
pub(crate) fn is_of(key: &PublicKey, offered: &Algorithm) -> bool {
    match (key.algorithm(), offered) {
        (Algorithm::Rsa { .. }, Algorithm::Rsa { .. }) => true,
        (algorithm, offered) => algorithm == *offered,
    }
}

/// Says whether keys of this kind are ever asked for.
pub(crate) fn is_offered(key: &PublicKey) -> bool {
    offered().iter().any(|offered| is_of(key, offered))
}

fn shown(entry: &Entry) -> KnownKey {
    KnownKey {
        algorithm: entry.key.algorithm().to_string(),
        fingerprint: entry.key.fingerprint(HashAlg::Sha256).to_string(),
        file: entry.file.clone(),
        line: entry.line,
    }
}

/// RFC 8332 names for RSA; plain `ssh-rsa` signs with SHA-1 and is left out.
fn offered() -> Vec<Algorithm> {
    vec![
        Algorithm::Ed25519,
        Algorithm::Ecdsa {
            curve: EcdsaCurve::NistP256,
        },
        Algorithm::Ecdsa {
            curve: EcdsaCurve::NistP384,
        },
        Algorithm::Ecdsa {
            curve: EcdsaCurve::NistP521,
        },
        Algorithm::Rsa {
            hash: Some(HashAlg::Sha512),
        },
        Algorithm::Rsa {
            hash: Some(HashAlg::Sha256),
        },
    ]
}

#[cfg(test)]
mod tests;

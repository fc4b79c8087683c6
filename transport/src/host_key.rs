//! The decision about the key a host presents (pure), and the order in which key algorithms are asked for.

use std::path::PathBuf;

use russh::keys::{Algorithm, EcdsaCurve, HashAlg, PublicKey};

use crate::{
    Error, ErrorKind, Stage,
    known_hosts::{Entry, Marker, hosts_match, listed_name},
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
    entries: Vec<Entry>,
    /// The files that were read, for messages.
    files: Vec<PathBuf>,
}

/// What the known-hosts files say about a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Listed for this host.
    Known,
    /// Marked as revoked.
    Revoked(KnownKey),
    /// The host is listed with another key of the same algorithm.
    Changed(KnownKey),
    /// The host is listed, but only with keys of other algorithms.
    KnownOtherwise(Vec<KnownKey>),
    /// The host is not listed.
    Unknown,
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
        let names = |entry: &&Entry| {
            hosts_match(&entry.hosts, &listed_as)
                || without_port
                    .as_deref()
                    .is_some_and(|name| hosts_match(&entry.hosts, name))
        };
        let entries = entries.iter().filter(names).cloned().collect();
        Self {
            host: host.typed.to_owned(),
            listed_as,
            without_port,
            entries,
            files: files.to_vec(),
        }
    }

    /// Gives the name under which a new key is written.
    #[must_use]
    pub fn listed_as(&self) -> &str {
        &self.listed_as
    }

    /// Judges a key. Only an exact hit is [`Verdict::Known`]; authority lines never are.
    #[must_use]
    pub fn judge(&self, key: &PublicKey) -> Verdict {
        let same = |entry: &&Entry| entry.key.key_data() == key.key_data();
        if let Some(revoked) = self
            .entries
            .iter()
            .filter(|entry| entry.marker == Marker::Revoked)
            .find(same)
        {
            return Verdict::Revoked(shown(revoked));
        }
        let by_name = self.plain(&self.listed_as);
        if by_name.iter().copied().any(|entry| same(&entry)) {
            return Verdict::Known;
        }
        let algorithm = key.algorithm();
        if let Some(other) = by_name.iter().find(|entry| entry.key.algorithm() == algorithm) {
            return Verdict::Changed(shown(other));
        }
        if !by_name.is_empty() {
            return Verdict::KnownOtherwise(by_name.into_iter().map(shown).collect());
        }
        match &self.without_port {
            Some(name) if self.plain(name).iter().copied().any(|entry| same(&entry)) => Verdict::Known,
            _ => Verdict::Unknown,
        }
    }

    /// Gives the host-key algorithms to offer: those already known for the host first. SHA-1 is never among them.
    #[must_use]
    pub fn algorithms(&self) -> Vec<Algorithm> {
        let mut known = self.plain(&self.listed_as);
        if let (true, Some(name)) = (known.is_empty(), &self.without_port) {
            known = self.plain(name);
        }
        let is_known = |algorithm: &Algorithm| {
            known
                .iter()
                .any(|entry| match (entry.key.algorithm(), algorithm) {
                    (Algorithm::Rsa { .. }, Algorithm::Rsa { .. }) => true,
                    (known, offered) => known == *offered,
                })
        };
        let (mut first, rest): (Vec<_>, Vec<_>) = offered().into_iter().partition(is_known);
        first.extend(rest);
        first
    }

    fn plain(&self, name: &str) -> Vec<&Entry> {
        self.entries
            .iter()
            .filter(|entry| entry.marker == Marker::Plain && hosts_match(&entry.hosts, name))
            .collect()
    }

    /// Turns a verdict that forbids the connection into its error.
    pub(crate) fn refusal(&self, key: &PublicKey, verdict: &Verdict) -> Error {
        let presented = format!("{} {}", key.algorithm(), key.fingerprint(HashAlg::Sha256));
        let error = |kind, message| Error::new(kind, Stage::Handshake, &self.host, message);
        match verdict {
            Verdict::Revoked(line) => error(
                ErrorKind::HostKeyRevoked,
                format!("the host presents {presented}, which is marked as revoked in {}", place(line)),
            )
            .with_hint("do not connect; ask the host's administrator for its new key"),
            Verdict::Changed(line) => error(
                ErrorKind::HostKeyChanged,
                format!("the host key changed: {} lists {} {}, but the host presents {presented}", place(line), line.algorithm, line.fingerprint),
            )
            .with_hint(format!(
                "somebody may be reading along; if the host's administrator confirms the new key, remove line {} of {}",
                line.line,
                line.file.display()
            )),
            Verdict::KnownOtherwise(lines) => {
                let known: Vec<_> = lines.iter().map(|line| format!("{} in {}", line.algorithm, place(line))).collect();
                error(
                    ErrorKind::HostKeyUnknown,
                    format!("the host is known by another algorithm ({}), but presents {presented}", known.join(", ")),
                )
                .with_hint("compare the fingerprint with the host's administrator before trusting the new key")
            }
            Verdict::Unknown | Verdict::Known => {
                let files: Vec<_> = self.files.iter().map(|file| file.display().to_string()).collect();
                error(
                    ErrorKind::HostKeyUnknown,
                    format!("nobody vouched for the host key {presented} ({} is not listed in {})", self.listed_as, files.join(", ")),
                )
                .with_hint("connect once with a person to confirm the fingerprint, or add the key to a known-hosts file")
            }
        }
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

fn shown(entry: &Entry) -> KnownKey {
    KnownKey {
        algorithm: entry.key.algorithm().to_string(),
        fingerprint: entry.key.fingerprint(HashAlg::Sha256).to_string(),
        file: entry.file.clone(),
        line: entry.line,
    }
}

fn place(line: &KnownKey) -> String {
    format!("{} line {}", line.file.display(), line.line)
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
mod tests {
    use std::path::Path;

    use super::*;
    use crate::known_hosts::parse;

    const A: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ";
    const B: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti";
    const P256: &str = "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBHwf2HMM5TRXvo2SQJjsNkiDD5KqiiNjrGVv3UUh+mMT5RHxiRtOnlqvjhQtBq0VpmpCV/PwUdhOig4vkbqAcEc=";

    fn host(text: &str, port: u16) -> KnownHost {
        let names = HostNames {
            typed: "h",
            name: "H",
            port,
            alias: None,
        };
        KnownHost::find(&parse(text, Path::new("kh")), &["kh".into()], &names)
    }

    fn judge(text: &str, port: u16, key: &str) -> Verdict {
        host(text, port).judge(&PublicKey::from_openssh(key).unwrap())
    }

    #[test]
    fn the_exact_key_is_known() {
        assert_eq!(judge(&format!("h {A}\n"), 22, A), Verdict::Known);
        assert_eq!(judge(&format!("h {B}\nh {A}\n"), 22, A), Verdict::Known);
        assert_eq!(judge("", 22, A), Verdict::Unknown);
    }

    #[test]
    fn another_key_is_changed_and_names_the_line() {
        let Verdict::Changed(line) = judge(&format!("\nh {B}\n"), 22, A) else {
            panic!("not changed")
        };
        assert_eq!((line.line, line.algorithm.as_str()), (2, "ssh-ed25519"));
    }

    #[test]
    fn the_port_qualified_line_decides() {
        assert_eq!(judge(&format!("h {B}\n[h]:2222 {A}\n"), 2222, A), Verdict::Known);
        assert!(matches!(
            judge(&format!("h {A}\n[h]:2222 {B}\n"), 2222, A),
            Verdict::Changed(_)
        ));
        assert_eq!(judge(&format!("h {A}\n"), 2222, A), Verdict::Known);
        assert_eq!(judge(&format!("h {B}\n"), 2222, A), Verdict::Unknown);
    }

    #[test]
    fn revoked_beats_known_and_authorities_never_match() {
        assert!(matches!(
            judge(&format!("h {A}\n@revoked * {A}\n"), 22, A),
            Verdict::Revoked(_)
        ));
        assert_eq!(
            judge(&format!("@cert-authority h {A}\n"), 22, A),
            Verdict::Unknown
        );
        assert!(matches!(
            judge(&format!("@cert-authority h {A}\nh {B}\n"), 22, A),
            Verdict::Changed(_)
        ));
    }

    #[test]
    fn another_algorithm_is_its_own_case() {
        assert!(
            matches!(judge(&format!("h {P256}\n"), 22, A), Verdict::KnownOtherwise(lines) if lines.len() == 1)
        );
        assert!(matches!(
            judge(&format!("h {P256}\nh {B}\n"), 22, A),
            Verdict::Changed(_)
        ));
        let first = host(&format!("h {P256}\n"), 22).algorithms().remove(0);
        assert_eq!(
            first,
            Algorithm::Ecdsa {
                curve: EcdsaCurve::NistP256
            }
        );
        assert!(!host("", 22).algorithms().contains(&Algorithm::Rsa { hash: None }));
    }
}

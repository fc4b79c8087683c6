//! Host certificates (OpenSSH, PROTOCOL.certkeys): who signed, for whom, and when they count.

use russh::keys::{Algorithm, Certificate, HashAlg, PublicKey, ssh_key::certificate::CertType};

use super::{Judged, KnownHost, Verdict, is_same, shown};
use crate::known_hosts::{Entry, Marker, hosts_match};

impl KnownHost {
    /// Judges a certificate at a time in seconds since 1970. As for OpenSSH, one that does not count leaves the plain key
    /// inside it to be judged.
    #[must_use]
    pub fn judge_certificate(&self, certificate: &Certificate, now: u64) -> Judged {
        let key = PublicKey::from(certificate.public_key().clone());
        let authority = PublicKey::from(certificate.signature_key().clone());
        if let Some(line) = self.revocation(&key).or_else(|| self.revocation(&authority)) {
            return Judged {
                verdict: Verdict::Revoked(shown(line)),
                certificate: None,
            };
        }
        let checked = match self.authority(&authority) {
            Some(line) => self
                .check(certificate, now)
                .map(|()| Verdict::Certified(shown(line))),
            None => Err(format!(
                "its certificate is signed by {} {}, which is no authority for {}",
                authority.algorithm(),
                authority.fingerprint(HashAlg::Sha256),
                self.listed_as
            )),
        };
        match checked {
            Ok(verdict) => Judged {
                verdict,
                certificate: None,
            },
            Err(why) => Judged {
                verdict: self.judge(&key),
                certificate: Some(why),
            },
        }
    }

    /// Finds the line of an authority: of the name with its port, else of the name alone.
    fn authority(&self, key: &PublicKey) -> Option<&Entry> {
        let named = |name: &str| {
            self.entries.iter().find(|entry| {
                entry.marker == Marker::CertAuthority
                    && is_same(entry, key)
                    && hosts_match(&entry.hosts, name)
            })
        };
        named(&self.listed_as).or_else(|| self.without_port.as_deref().and_then(named))
    }

    fn check(&self, certificate: &Certificate, now: u64) -> Result<(), String> {
        let says = |what: &str| Err(format!("its certificate does not count: {what}"));
        if certificate.cert_type() != CertType::Host {
            return says("it is made for a user, not for a host");
        }
        if now < certificate.valid_after() {
            return says("it is not valid yet");
        }
        if now >= certificate.valid_before() {
            return says("it is expired");
        }
        let principals = certificate.valid_principals();
        if !principals.is_empty() && !principals.contains(&self.principal) {
            let names = stdx::bounded::one_line(&principals.join(", "), 200);
            return says(&format!("it is made for {names} and not for {}", self.principal));
        }
        if !certificate.critical_options().is_empty() {
            return says("it has a critical option, and none is known for hosts");
        }
        if certificate.signature().algorithm() == (Algorithm::Rsa { hash: None }) {
            return says("it is signed with SHA-1");
        }
        let authority = certificate.signature_key().fingerprint(HashAlg::Sha256);
        match certificate.validate_at(now, [&authority]) {
            Ok(()) => Ok(()),
            Err(_) => says("its signature is wrong"),
        }
    }
}

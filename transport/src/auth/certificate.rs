//! OpenSSH user certificates: reading them, and what to say about one that a host refused.

use std::path::{Path, PathBuf};

use russh::keys::{Certificate, HashAlg};

use super::key_file::{Unusable, read_small};

/// Reads a user certificate. Blocks.
pub(crate) fn read(path: &Path) -> Result<Certificate, Unusable> {
    let text = match read_small(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(Unusable::Missing),
        Err(error) => {
            return Err(Unusable::Because(format!(
                "could not read {}: {error}",
                path.display()
            )));
        }
    };
    let certificate = Certificate::from_openssh(text.expose().trim())
        .map_err(|error| Unusable::Because(format!("{} is no certificate: {error}", path.display())))?;
    if !certificate.cert_type().is_user() {
        return Err(Unusable::Because(format!(
            "{} is a host's certificate",
            path.display()
        )));
    }
    Ok(certificate)
}

/// Gives the name under which a certificate for a key file is found without being configured (ssh_config(5),
/// CertificateFile).
pub(crate) fn beside(key_file: &Path) -> PathBuf {
    let mut name = key_file.as_os_str().to_owned();
    name.push("-cert.pub");
    name.into()
}

/// Says what a certificate claims: identity, principals, validity and who signed it.
pub(crate) fn described(certificate: &Certificate) -> String {
    let principals = match certificate.valid_principals() {
        [] => "for everybody".to_owned(),
        names => format!("for {}", names.join(", ")),
    };
    format!(
        "id {:?}, {principals}, {}, signed by {}",
        stdx::bounded::one_line(certificate.key_id(), 80),
        validity(certificate),
        certificate.signature_key().fingerprint(HashAlg::Sha256)
    )
}

/// `u64::MAX` and 0 mean "no limit" (OpenSSH's PROTOCOL.certkeys).
fn validity(certificate: &Certificate) -> String {
    let (after, before) = (certificate.valid_after(), certificate.valid_before());
    match (after, before) {
        (0, u64::MAX) => "valid for ever".to_owned(),
        (0, before) => format!("valid until {}", date(before)),
        (after, u64::MAX) => format!("valid from {}", date(after)),
        (after, before) => format!("valid from {} until {}", date(after), date(before)),
    }
}

fn date(seconds: u64) -> String {
    let text = stdx::clock::rfc3339(seconds.saturating_mul(1000));
    // Seconds are enough.
    text.split_once('.')
        .map_or(text.clone(), |(whole, _)| format!("{whole}Z"))
}

/// Says why a host that refused a certificate may have done so, as far as the certificate itself tells.
pub(crate) fn doubt(certificate: &Certificate, user: &str, unix_seconds: u64) -> String {
    let name = format!(
        "the certificate {:?}",
        stdx::bounded::one_line(certificate.key_id(), 80)
    );
    if unix_seconds >= certificate.valid_before() {
        let end = date(certificate.valid_before());
        return format!("{name} was valid until {end}: have a new one signed");
    }
    if unix_seconds < certificate.valid_after() {
        let start = date(certificate.valid_after());
        return format!("{name} is not valid before {start}: is the clock of this machine right?");
    }
    let principals = certificate.valid_principals();
    if !principals.is_empty() && !principals.iter().any(|principal| principal == user) {
        let names = principals.join(", ");
        return format!("{name} is for {names} and not for {user}: is the user name right?");
    }
    format!("does the host trust the authority that signed {name} (TrustedUserCAKeys)?")
}

#[cfg(test)]
mod tests {
    use russh::keys::{
        Algorithm, PrivateKey,
        key::safe_rng,
        ssh_key::certificate::{Builder, CertType},
    };

    use super::*;

    fn certificate(principals: &[&str], after: u64, before: u64) -> Certificate {
        let key = PrivateKey::random(&mut safe_rng(), Algorithm::Ed25519).unwrap();
        let mut builder =
            Builder::new_with_random_nonce(&mut safe_rng(), key.public_key(), after, before).unwrap();
        builder.key_id("laptop of me").unwrap();
        builder.cert_type(CertType::User).unwrap();
        if principals.is_empty() {
            builder.all_principals_valid().unwrap();
        }
        for principal in principals {
            builder.valid_principal(*principal).unwrap();
        }
        builder.sign(&key).unwrap()
    }

    #[test]
    fn what_is_wrong_with_a_certificate_is_said_by_what_it_claims() {
        let check = |principals: &[&str], after, before, words: &[&str]| {
            let certificate = certificate(principals, after, before);
            let text = doubt(&certificate, "me", 1_000_000);
            for word in words {
                assert!(text.contains(word), "{word} in {text}");
            }
        };
        check(
            &["me"],
            1,
            900_000,
            &["laptop of me", "until 1970-01-11T10:00:00Z"],
        );
        check(
            &["me"],
            1_100_000,
            2_000_000,
            &["not valid before 1970-01-13", "clock"],
        );
        check(&["a", "b"], 1, 2_000_000, &["for a, b and not for me"]);
        check(&["me"], 1, 2_000_000, &["TrustedUserCAKeys"]);
        check(&[], 1, 2_000_000, &["TrustedUserCAKeys"]);
    }

    #[test]
    fn a_certificate_is_described_by_identity_principals_and_validity() {
        let text = described(&certificate(&["me", "root"], 1, 900_000));
        for word in [
            "laptop of me",
            "for me, root",
            "from 1970-01-01T00:00:01Z until 1970-01-11",
            "SHA256:",
        ] {
            assert!(text.contains(word), "{word} in {text}");
        }
        assert!(described(&certificate(&[], 0, u64::MAX)).contains("for everybody, valid for ever"));
    }
}

//! In which order keys and certificates are offered, and what signs for each: decided without any I/O.
//!
//! The order is OpenSSH's (`pubkey_prepare` there, and seen on 9.2): certificates of `CertificateFile`; what the agent
//! holds of the named files, in the agent's order; what else the agent holds (unless `IdentitiesOnly`); the rest of the
//! named files. A certificate beside a key file comes after its key, and counts only where `CertificateFile` names none.

use std::path::PathBuf;

use russh::keys::{
    Algorithm, Certificate, HashAlg, PublicKey, agent::AgentIdentity, ssh_key::public::KeyData,
};

use super::{certificate, key_file::KeyFile};

/// What is shown to a host.
#[derive(Clone, Debug)]
pub(crate) enum Public {
    Key(PublicKey),
    Certificate(Box<Certificate>),
}

impl Public {
    /// Gives the bare key, which is what signs.
    pub(crate) fn key_data(&self) -> &KeyData {
        match self {
            Self::Key(key) => key.key_data(),
            Self::Certificate(certificate) => certificate.public_key(),
        }
    }

    pub(crate) fn algorithm(&self) -> Algorithm {
        self.key_data().algorithm()
    }

    /// Says whether a person has to touch something for each signature (FIDO).
    pub(crate) fn is_security_key(&self) -> bool {
        matches!(
            self.algorithm(),
            Algorithm::SkEd25519 | Algorithm::SkEcdsaSha2NistP256
        )
    }

    /// Gives algorithm and blob as in `authorized_keys`, without the comment.
    pub(crate) fn in_words(&self) -> Option<String> {
        let text = match self {
            Self::Key(key) => key.to_openssh().ok()?,
            Self::Certificate(certificate) => certificate.to_openssh().ok()?,
        };
        let words: Vec<&str> = text.split_whitespace().take(2).collect();
        Some(words.join(" "))
    }

    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Key(key), Self::Key(other)) => key.key_data() == other.key_data(),
            (Self::Certificate(one), Self::Certificate(other)) => {
                matches!((one.to_bytes(), other.to_bytes()), (Ok(one), Ok(other)) if one == other)
            }
            _ => false,
        }
    }

    pub(crate) fn into_identity(self) -> AgentIdentity {
        match self {
            Self::Key(key) => key.into(),
            Self::Certificate(certificate) => (*certificate).into(),
        }
    }
}

/// Who makes the signature.
#[derive(Clone, Debug)]
pub(crate) enum Signs {
    /// The agent, with this identity.
    Agent(Box<Public>),
    /// The key file of this index.
    File(usize),
}

/// Something to offer. Without a public half the file has to be opened first.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    pub(crate) public: Option<Public>,
    pub(crate) signs: Signs,
    /// What messages call it.
    pub(crate) words: String,
}

/// What there is to choose from.
pub(crate) struct Stock<'a> {
    pub(crate) files: &'a [KeyFile],
    /// Certificates beside key files, by the index of the file.
    pub(crate) beside: &'a [(usize, Certificate)],
    /// `CertificateFile`, and certificates that stand as `IdentityFile`.
    pub(crate) certificates: &'a [(PathBuf, Certificate)],
    /// What the agent holds, in its order.
    pub(crate) held: &'a [Public],
    /// `IdentitiesOnly`.
    pub(crate) only_files: bool,
}

/// A candidate: what is shown, where it was named, and the file it belongs to.
struct Named {
    public: Option<Public>,
    words: String,
    file: Option<usize>,
}

impl Stock<'_> {
    /// Puts the offers in order. What nothing can sign for is told in words.
    pub(crate) fn in_order(&self) -> (Vec<Offer>, Vec<String>) {
        let mut ordered: Vec<Named> = self.certificates.iter().map(named_certificate).collect();
        let mut rest = self.named();
        let mut others = Vec::new();
        for held in self.held {
            let named = rest
                .iter()
                .position(|named| named.public.as_ref().is_some_and(|public| public.is(held)));
            match named {
                Some(place) => ordered.push(rest.remove(place)),
                None if self.only_files => {}
                None => others.push(Named {
                    public: Some(held.clone()),
                    words: held_in_words(held),
                    file: None,
                }),
            }
        }
        ordered.extend(others);
        ordered.extend(rest);
        self.with_signers(ordered)
    }

    fn named(&self) -> Vec<Named> {
        let mut named = Vec::new();
        for (index, file) in self.files.iter().enumerate() {
            named.push(Named {
                public: file.public.clone().map(Public::Key),
                words: format!("key file {}", file.path.display()),
                file: Some(index),
            });
            for (_, certificate) in self.beside.iter().filter(|(of, _)| *of == index) {
                let path = certificate::beside(&file.path);
                named.push(Named {
                    file: Some(index),
                    ..named_certificate(&(path, certificate.clone()))
                });
            }
        }
        named
    }

    fn with_signers(&self, ordered: Vec<Named>) -> (Vec<Offer>, Vec<String>) {
        let (mut offers, mut unused) = (Vec::<Offer>::new(), Vec::new());
        for named in ordered {
            let again = named.public.as_ref().is_some_and(|public| {
                let mut before = offers.iter().filter_map(|offer| offer.public.as_ref());
                before.any(|before| before.is(public))
            });
            if again {
                continue;
            }
            match self.signer(&named) {
                Ok(signs) => {
                    let mut words = named.words;
                    if matches!((&signs, named.file), (Signs::Agent(_), Some(_))) {
                        words.push_str(" by the agent");
                    }
                    offers.push(Offer {
                        public: named.public,
                        signs,
                        words,
                    });
                }
                Err(why) => unused.push(format!("{} ({why})", named.words)),
            }
        }
        (offers, unused)
    }

    /// Finds what signs: the agent's key of the same kind, else a key file, else the certificate that the agent holds.
    fn signer(&self, named: &Named) -> Result<Signs, String> {
        let own = named.file.and_then(|index| Some((index, self.files.get(index)?)));
        let why = |otherwise: &str| {
            let why = own.and_then(|(_, file)| file.why_not());
            why.unwrap_or(otherwise).to_owned()
        };
        let Some(public) = &named.public else {
            let openable = own.filter(|(_, file)| file.has_private_half());
            return openable
                .map(|(index, _)| Signs::File(index))
                .ok_or_else(|| why("it has no private half"));
        };
        let held = |public: &Public| Signs::Agent(Box::new(public.clone()));
        let same_key = |other: &&Public| other.key_data() == public.key_data();
        let bare = self.held.iter().filter(|held| matches!(held, Public::Key(_)));
        if let Some(key) = bare.clone().find(same_key) {
            return Ok(held(key));
        }
        let matching = |file: &KeyFile| match &file.public {
            Some(key) => key.key_data() == public.key_data(),
            // Encrypted, so nobody knows; the signature will tell.
            None => own.is_some_and(|(_, own)| std::ptr::eq(own, file)),
        };
        let usable = |file: &KeyFile| matching(file) && file.has_private_half();
        if let Some(index) = self.files.iter().position(usable) {
            return Ok(Signs::File(index));
        }
        if let Some(certificate) = self.held.iter().find(|held| held.is(public)) {
            return Ok(held(certificate));
        }
        Err(why("there is no private key for it"))
    }
}

fn named_certificate((path, certificate): &(PathBuf, Certificate)) -> Named {
    Named {
        words: format!(
            "certificate {} ({})",
            path.display(),
            certificate::described(certificate)
        ),
        public: Some(Public::Certificate(Box::new(certificate.clone()))),
        file: None,
    }
}

fn held_in_words(held: &Public) -> String {
    match held {
        Public::Key(key) => format!(
            "agent key {} {}",
            key.algorithm(),
            key.fingerprint(HashAlg::Sha256)
        ),
        Public::Certificate(certificate) => {
            format!("agent certificate ({})", certificate::described(certificate))
        }
    }
}

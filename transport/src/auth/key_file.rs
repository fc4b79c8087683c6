//! Keys in files: OpenSSH, PKCS#8 and PEM; an encrypted one is only opened when the host takes its public half.
//!
//! A file whose public half cannot be told without its passphrase is opened when its turn comes, as OpenSSH does.

use std::{
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use russh::{
    Signer,
    keys::{
        Algorithm, Certificate, HashAlg, PrivateKey, PublicKey,
        agent::AgentIdentity,
        decode_secret_key,
        signature::Signer as _,
        ssh_encoding::Encode,
        ssh_key::{Signature, private::KeypairData},
    },
};
use stdx::Secret;

use crate::{
    SecretKind, SecretMemory, SecretQuestion,
    auth::{ask::Asker, public_key::SignError},
};

/// Larger files are no keys.
const MAX_SIZE: u64 = 64 * 1024;

/// A key file.
pub(crate) struct KeyFile {
    pub(crate) path: PathBuf,
    /// `None`: it is encrypted and nothing else tells.
    pub(crate) public: Option<PublicKey>,
    private: Private,
}

enum Private {
    Open(Box<PrivateKey>),
    /// The text of the file.
    Locked(Secret),
    /// Not to be had here, and why; the agent may have it.
    Absent(String),
}

/// What a file that was named as `IdentityFile` holds.
pub(crate) enum Found {
    Key(KeyFile),
    Certificate(Box<Certificate>),
}

/// Why a file is of no use.
pub(crate) enum Unusable {
    Missing,
    Because(String),
}

impl KeyFile {
    /// Reads a key file, or the `.pub` file beside it when that is all there is. Blocks.
    pub(crate) fn read(path: &Path) -> Result<Found, Unusable> {
        let sibling = public_sibling(path);
        let found = |public: Option<PublicKey>, private: Private| {
            Ok(Found::Key(Self {
                path: path.to_owned(),
                public,
                private,
            }))
        };
        let only_public = |public| {
            let why = "it is only the public half, and no agent has the other";
            found(Some(public), Private::Absent(why.into()))
        };
        let text = match read_small(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return only_public(sibling.ok_or(Unusable::Missing)?);
            }
            Err(error) => {
                let why = format!("it could not be read: {error}");
                return match sibling {
                    Some(public) => found(Some(public), Private::Absent(why)),
                    None => Err(Unusable::Because(format!("{} ({why})", path.display()))),
                };
            }
        };
        if let Ok(certificate) = Certificate::from_openssh(text.expose().trim()) {
            return Ok(Found::Certificate(Box::new(certificate)));
        }
        if let Ok(public) = PublicKey::from_openssh(text.expose().trim()) {
            return only_public(public);
        }
        let (public, private) = match decode_secret_key(text.expose(), None) {
            Ok(key) => (Some(key.public_key().clone()), Private::Open(Box::new(key))),
            Err(error) => {
                // OpenSSH's format shows the public half even when the private one is encrypted; others need `.pub`.
                let shown = PrivateKey::from_openssh(text.expose())
                    .ok()
                    .filter(PrivateKey::is_encrypted)
                    .map(|key| key.public_key().clone());
                if shown.is_none() && !text.expose().contains("ENCRYPTED") {
                    let why = format!(
                        "{} ({})",
                        path.display(),
                        no_key(text.expose(), &error.to_string())
                    );
                    return Err(Unusable::Because(why));
                }
                let private = match unsupported_encryption(text.expose()) {
                    Some(why) => Private::Absent(why),
                    None => Private::Locked(text),
                };
                (shown.or(sibling), private)
            }
        };
        match unfit(path, public.as_ref()) {
            Some(why) => found(public, Private::Absent(why)),
            None => found(public, private),
        }
    }

    pub(crate) fn has_private_half(&self) -> bool {
        !matches!(self.private, Private::Absent(_))
    }

    /// Says why the private half is not to be had.
    pub(crate) fn why_not(&self) -> Option<&str> {
        match &self.private {
            Private::Absent(why) => Some(why),
            Private::Open(_) | Private::Locked(_) => None,
        }
    }

    /// Gives the signer that opens the key when the host has accepted its public half.
    pub(crate) fn signer<'a>(
        &'a mut self,
        asker: Asker,
        secrets: &'a SecretMemory,
        host: &'a str,
    ) -> FileSigner<'a> {
        FileSigner {
            file: self,
            asker,
            secrets,
            host,
        }
    }
}

/// Says why a private key must not or cannot be used although it can be read.
fn unfit(path: &Path, public: Option<&PublicKey>) -> Option<String> {
    let security_key = public.is_some_and(|key| {
        matches!(
            key.algorithm(),
            Algorithm::SkEd25519 | Algorithm::SkEcdsaSha2NistP256
        )
    });
    if security_key {
        return Some("it belongs to a security key, which only an agent can use: ssh-add it".into());
    }
    // OpenSSH's rule: others may read it, so it is no secret; files of others are their business.
    let metadata = std::fs::metadata(path).ok()?;
    let mode = metadata.mode() & 0o777;
    let own = metadata.uid() == rustix::process::getuid().as_raw();
    (own && mode & 0o077 != 0).then(|| {
        format!(
            "its permissions 0{mode:o} are too open and it is ignored: {CHMOD}{}",
            path.display()
        )
    })
}

/// Begins the command that makes a key file private.
const CHMOD: &str = "chmod 600 ";

/// Finds the command in what was said of a key file, written as `FILE (WHY)`.
pub(super) fn chmod(said: &str) -> Option<&str> {
    said.find(CHMOD).map(|at| said[at..].trim_end_matches(')'))
}

/// Old PEM files with ciphers (or kinds of keys in them) that the SSH library does not decrypt.
fn unsupported_encryption(text: &str) -> Option<String> {
    let cipher = text
        .lines()
        .find_map(|line| line.strip_prefix("DEK-Info:"))?
        .trim();
    let supported = cipher.starts_with("AES-128-CBC,") && text.contains("BEGIN RSA PRIVATE KEY");
    (!supported).then(|| {
        "its old PEM encryption is not supported: add it to the agent, or rewrite it with ssh-keygen -p"
            .into()
    })
}

/// Says what is wrong with a file that is no key, in words that help.
fn no_key(text: &str, error: &str) -> String {
    if text.contains("PRIVATE KEY") {
        return format!("its private key cannot be used: {error}");
    }
    "it is no key".into()
}

fn public_sibling(path: &Path) -> Option<PublicKey> {
    let mut name = path.as_os_str().to_owned();
    name.push(".pub");
    let text = read_small(Path::new(&name)).ok()?;
    PublicKey::from_openssh(text.expose().trim()).ok()
}

pub(crate) fn read_small(path: &Path) -> io::Result<Secret> {
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() || metadata.len() > MAX_SIZE {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "no ordinary file of a key's size",
        ));
    }
    let read = std::fs::read_to_string(path);
    // Binary files are no keys, and no failure to read.
    match read {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(Secret::new(String::new())),
        read => read.map(Secret::new),
    }
}

/// Signs with a key file, asking for its passphrase at most three times.
pub(crate) struct FileSigner<'a> {
    file: &'a mut KeyFile,
    asker: Asker,
    secrets: &'a SecretMemory,
    host: &'a str,
}

impl FileSigner<'_> {
    /// Opens an encrypted key, so that its public half is known.
    pub(crate) async fn open(&mut self) -> Result<(), SignError> {
        let Private::Locked(text) = &self.file.private else {
            return Ok(());
        };
        let text = text.clone();
        let path = self.file.path.clone();
        if let Some(passphrase) = self.secrets.take_passphrase(&path)
            && let Ok(key) = decode(text.clone(), passphrase.clone()).await
        {
            self.opened(key, passphrase);
            return Ok(());
        }
        let mut last = String::new();
        for round in 1..=3 {
            let question = SecretQuestion {
                kind: SecretKind::Passphrase { file: path.clone() },
                host: self.host.to_owned(),
                label: format!("Passphrase for {}", path.display()),
                instructions: String::new(),
                echo: false,
                round,
            };
            let Some(passphrase) = self.asker.secret(&question).await else {
                return Err(SignError::NeedsPerson(format!(
                    "the passphrase of {}",
                    path.display()
                )));
            };
            match decode(text.clone(), passphrase.clone()).await {
                Ok(key) => {
                    self.opened(key, passphrase);
                    return Ok(());
                }
                Err(error) => last = error,
            }
        }
        Err(SignError::Failed(format!(
            "{} did not open: {last}",
            path.display()
        )))
    }

    fn opened(&mut self, key: PrivateKey, passphrase: Secret) {
        self.secrets.remember_passphrase(&self.file.path, passphrase);
        self.file.public.get_or_insert_with(|| key.public_key().clone());
        self.file.private = Private::Open(Box::new(key));
    }
}

/// Deriving the key from a passphrase is slow on purpose, so it runs on the blocking pool.
async fn decode(text: Secret, passphrase: Secret) -> Result<PrivateKey, String> {
    stdx::task::blocking(move || {
        decode_secret_key(text.expose(), Some(passphrase.expose())).map_err(|error| error.to_string())
    })
    .await
}

impl Signer for FileSigner<'_> {
    type Error = SignError;

    async fn auth_sign(
        &mut self,
        _key: &AgentIdentity,
        hash: Option<HashAlg>,
        mut data: Vec<u8>,
    ) -> Result<Vec<u8>, SignError> {
        self.open().await?;
        let Private::Open(key) = &self.file.private else {
            return Err(SignError::Failed(format!(
                "the private half of {} is not here",
                self.file.path.display()
            )));
        };
        let signed: Result<Signature, _> = match key.key_data() {
            // RFC 8332: the hash is the one that was named in the request.
            KeypairData::Rsa(rsa) => (rsa, hash).try_sign(&data),
            _ => key.try_sign(&data),
        };
        let failed = |error: String| {
            SignError::Failed(format!(
                "could not sign with {}: {error}",
                self.file.path.display()
            ))
        };
        let signature = signed.map_err(|error| failed(error.to_string()))?;
        let mut blob = Vec::new();
        signature
            .encode(&mut blob)
            .map_err(|error| failed(error.to_string()))?;
        blob.encode(&mut data)
            .map_err(|error| failed(error.to_string()))?;
        Ok(data)
    }
}

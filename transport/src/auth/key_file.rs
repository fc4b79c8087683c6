//! Keys in files: OpenSSH, PKCS#8 and PEM; an encrypted one is only opened when the host takes its public half.

use std::{
    io,
    path::{Path, PathBuf},
};

use russh::{
    Signer,
    keys::{
        Error as KeyError, HashAlg, PrivateKey, PublicKey,
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

/// A key file whose public half is known.
pub(crate) struct KeyFile {
    pub(crate) path: PathBuf,
    pub(crate) public: PublicKey,
    /// The private half, if it is not encrypted or was opened already.
    private: Private,
}

enum Private {
    Open(Box<PrivateKey>),
    /// The text of the file.
    Locked(Secret),
    /// Only the public half is here; the agent may have the other.
    Elsewhere,
}

/// Why a file is no usable key.
pub(crate) enum Unusable {
    Missing,
    Because(String),
}

impl KeyFile {
    /// Reads a key file, or the `.pub` file beside it when that is all there is. Blocks.
    pub(crate) fn read(path: &Path) -> Result<Self, Unusable> {
        let sibling = public_sibling(path);
        let text = match read_small(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let public = sibling.ok_or(Unusable::Missing)?;
                return Ok(Self {
                    path: path.to_owned(),
                    public,
                    private: Private::Elsewhere,
                });
            }
            Err(error) => {
                return Err(Unusable::Because(format!(
                    "could not read {}: {error}",
                    path.display()
                )));
            }
        };
        if let Ok(public) = PublicKey::from_openssh(text.expose().trim()) {
            return Ok(Self {
                path: path.to_owned(),
                public,
                private: Private::Elsewhere,
            });
        }
        let because =
            |error: String| Unusable::Because(format!("{} is no usable key: {error}", path.display()));
        match decode_secret_key(text.expose(), None) {
            Ok(key) => Ok(Self {
                path: path.to_owned(),
                public: key.public_key().clone(),
                private: Private::Open(Box::new(key)),
            }),
            Err(error) => {
                // OpenSSH's format shows the public half even when the private one is encrypted; others need `.pub`.
                let shown = PrivateKey::from_openssh(text.expose())
                    .ok()
                    .filter(PrivateKey::is_encrypted);
                match shown.map(|key| key.public_key().clone()).or(sibling) {
                    Some(public) => Ok(Self {
                        path: path.to_owned(),
                        public,
                        private: Private::Locked(text),
                    }),
                    None if is_locked(&error, text.expose()) => {
                        Err(because("it is encrypted and has no .pub file beside it".into()))
                    }
                    None => Err(because(error.to_string())),
                }
            }
        }
    }

    pub(crate) fn has_private_half(&self) -> bool {
        !matches!(self.private, Private::Elsewhere)
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

fn is_locked(error: &KeyError, text: &str) -> bool {
    matches!(error, KeyError::KeyIsEncrypted) || text.contains("ENCRYPTED")
}

fn public_sibling(path: &Path) -> Option<PublicKey> {
    let mut name = path.as_os_str().to_owned();
    name.push(".pub");
    let text = read_small(Path::new(&name)).ok()?;
    PublicKey::from_openssh(text.expose().trim()).ok()
}

fn read_small(path: &Path) -> io::Result<Secret> {
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() || metadata.len() > MAX_SIZE {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "no ordinary file of a key's size",
        ));
    }
    std::fs::read_to_string(path).map(Secret::new)
}

/// Signs with a key file, asking for its passphrase at most three times.
pub(crate) struct FileSigner<'a> {
    file: &'a mut KeyFile,
    asker: Asker,
    secrets: &'a SecretMemory,
    host: &'a str,
}

impl FileSigner<'_> {
    async fn open(&mut self) -> Result<(), SignError> {
        let Private::Locked(text) = &self.file.private else {
            return Ok(());
        };
        let text = text.clone();
        let path = self.file.path.clone();
        if let Some(passphrase) = self.secrets.take_passphrase(&path)
            && let Ok(key) = decode(text.clone(), passphrase.clone()).await
        {
            self.secrets.remember_passphrase(&path, passphrase);
            self.file.private = Private::Open(Box::new(key));
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
                    self.secrets.remember_passphrase(&path, passphrase);
                    self.file.private = Private::Open(Box::new(key));
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

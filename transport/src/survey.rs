//! Looking at the keys that a host presents, without logging in, and accepting one after a person compared it.

use std::sync::Arc;

use russh::keys::{Algorithm, HashAlg, PublicKey, ssh_key::public::RsaPublicKey};
use stdx::task::Scope;

use crate::{
    ConnectOptions, Error, ErrorKind, KnownKey, Prompter, Resolved, Stage,
    connect::{Kind, Look, Shaken, Wanted, handshake, known_host},
    dial::dial,
    handler::Presented,
    host_key::{Judged, KnownHost, Verdict},
    known_hosts::own::{Change, Others, change},
};

/// What a host presents now, and what is known about it.
#[derive(Clone, Debug)]
pub struct Survey {
    /// The host as the user named it.
    pub host: String,
    /// The name under which known-hosts files list it.
    pub listed_as: String,
    /// The key that a connection would be given comes first; others follow where they were looked at.
    pub presented: Vec<HostKey>,
    /// Lines that list keys for the host.
    pub known: Vec<KnownKey>,
    /// Lines that list authorities for the host.
    pub authorities: Vec<KnownKey>,
    /// How many lines of all files were not understood.
    pub broken_lines: usize,
}

/// A key that a host proved to own in a key exchange.
#[derive(Clone, Debug)]
pub struct HostKey {
    key: PublicKey,
    /// What the known-hosts files say about it.
    pub judged: Judged,
}

impl HostKey {
    /// Gives the algorithm, such as `ssh-ed25519`.
    #[must_use]
    pub fn algorithm(&self) -> String {
        self.key.algorithm().to_string()
    }

    /// Gives the fingerprint, `SHA256:…`.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        self.key.fingerprint(HashAlg::Sha256).to_string()
    }

    /// Draws the fingerprint as `ssh-keygen -lv` does: eleven lines.
    #[must_use]
    pub fn picture(&self) -> String {
        let name = match self.key.algorithm() {
            Algorithm::Ed25519 => "ED25519 256".to_owned(),
            Algorithm::Ecdsa { curve } => format!("ECDSA {}", curve.as_str().trim_start_matches("nistp")),
            Algorithm::Rsa { .. } => {
                let key = self.key.key_data().rsa();
                format!("RSA {}", key.map_or(0, RsaPublicKey::key_size))
            }
            other => other.to_string(),
        };
        self.key
            .fingerprint(HashAlg::Sha256)
            .to_randomart(&format!("[{name}]"))
    }
}

/// What became of an accepted key.
#[derive(Clone, Debug)]
pub struct Accepted {
    /// Old lines of the host that went from our own file.
    pub removed: usize,
    /// Lines of other files that still list other keys for the host.
    pub left: Vec<KnownKey>,
}

impl Survey {
    /// Goes as far as the key exchange and looks at the key. A jump host is logged in to on the way, as its own key
    /// allows. Other keys are looked at too where that needs no more logins.
    ///
    /// # Errors
    /// The host is not reached, or what is known about it cannot be read.
    pub async fn make(
        resolved: &Resolved,
        options: &ConnectOptions,
        prompter: &Arc<dyn Prompter>,
        scope: &Scope,
    ) -> Result<Self, Error> {
        let known = Arc::new(known_host(resolved, options).await?);
        let look = async |wanted| look(resolved, options, prompter, (&known, wanted), scope).await;
        let mut presented = vec![look(Wanted::Usual).await?];
        if resolved.proxy.is_none() {
            let first = presented.first().map(|key| key.key.algorithm());
            for kind in Kind::ALL {
                if first.as_ref().is_some_and(|first| kind.has(first)) {
                    continue;
                }
                // A host that has no such key ends the exchange.
                presented.extend(look(Wanted::Kind(kind)).await.ok());
            }
        }
        let (lines, authorities) = known.lines();
        Ok(Self {
            host: resolved.alias.clone(),
            listed_as: known.listed_as().to_owned(),
            presented,
            known: lines,
            authorities,
            broken_lines: known.broken_lines(),
        })
    }

    /// Says why a connection would be refused for this key, as a connection does.
    ///
    /// # Errors
    /// What is known about the host cannot be read.
    pub async fn refusal(
        &self,
        resolved: &Resolved,
        options: &ConnectOptions,
        key: &HostKey,
    ) -> Result<Error, Error> {
        Ok(known_host(resolved, options)
            .await?
            .refusal(&key.key, &key.judged))
    }

    /// Lists a key in our own file in place of what it listed for the host, except keys that the host presents too. No
    /// other file is written. Afterwards the key is judged again, as a connection does.
    ///
    /// # Errors
    /// The key is revoked, there is no file of ours, it cannot be written, or something else still forbids the key.
    pub async fn accept(
        &self,
        resolved: &Resolved,
        options: &ConnectOptions,
        key: &HostKey,
    ) -> Result<Accepted, Error> {
        let before = known_host(resolved, options).await?;
        let fail = |message: String| Error::new(ErrorKind::Config, Stage::Config, &self.host, message);
        if let Verdict::Revoked(_) = before.judge(&key.key) {
            return Err(before.refusal(&key.key, &key.judged));
        }
        let Some(file) = options.known_hosts.clone() else {
            return Err(fail("there is no known-hosts file of ours".to_owned()));
        };
        let (path, listed_as, new) = (file.clone(), self.listed_as.clone(), key.key.clone());
        let presented: Vec<_> = self.presented.iter().map(|other| other.key.clone()).collect();
        let written = crate::disk::within(options.deadlines.files * 2, move || {
            let wanted = Change {
                listed_as: &listed_as,
                add: &[new],
                others: Others::GoUnless(&presented),
            };
            change(&path, &wanted)
        });
        let done = written.await.flatten().map_err(|error| {
            fail(format!("could not write {}", file.display()))
                .with_hint("is the disk full, or the file or its folder of another user?")
                .with_source(error)
        })?;
        let after = known_host(resolved, options).await?;
        match after.judge(&key.key) {
            Verdict::Known => Ok(Accepted {
                removed: done.removed,
                left: self.left(&after, &file),
            }),
            verdict => Err(after.refusal(
                &key.key,
                &Judged {
                    verdict,
                    certificate: None,
                },
            )),
        }
    }

    fn left(&self, known: &KnownHost, own: &std::path::Path) -> Vec<KnownKey> {
        let presented: Vec<_> = self.presented.iter().map(HostKey::fingerprint).collect();
        let (mut lines, _) = known.lines();
        lines.retain(|line| line.file != own && !presented.contains(&line.fingerprint));
        lines
    }
}

async fn look(
    resolved: &Resolved,
    options: &ConnectOptions,
    prompter: &Arc<dyn Prompter>,
    (known, wanted): (&Arc<KnownHost>, Wanted),
    scope: &Scope,
) -> Result<HostKey, Error> {
    let dialed = dial(resolved, options, prompter, scope, None).await?;
    let look = Look {
        accepted: None,
        only: Some(wanted),
    };
    match handshake(resolved, options, prompter, known, look, dialed).await? {
        Shaken::Rejected(presented) => {
            let Presented { key, judged, .. } = *presented;
            Ok(HostKey { key, judged })
        }
        Shaken::Hands(_) => Err(Error::new(
            ErrorKind::Protocol,
            Stage::Handshake,
            &resolved.alias,
            "the host presented no key",
        )),
    }
}

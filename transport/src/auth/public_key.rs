//! Which keys are offered, in which order, and one offer at a time.

use std::collections::VecDeque;

use russh::keys::{Algorithm, HashAlg, PublicKey};

use crate::{
    Error, ErrorKind,
    auth::{
        Context, Login, Tried,
        agent::Agent,
        key_file::{KeyFile, Unusable},
    },
};

/// Why a signature could not be made.
#[derive(Debug)]
pub(crate) enum SignError {
    /// The session is gone.
    Session,
    /// Nobody was there to give what this names.
    NeedsPerson(String),
    /// In words.
    Failed(String),
}

impl From<russh::SendError> for SignError {
    fn from(_: russh::SendError) -> Self {
        Self::Session
    }
}

/// The keys that are still to be offered.
pub(crate) struct Offers {
    agent: Option<Agent>,
    queue: VecDeque<Offer>,
    /// The key that was offered last.
    last: Option<PublicKey>,
}

enum Offer {
    InAgent(PublicKey),
    InFile(KeyFile),
}

impl Offer {
    fn public(&self) -> &PublicKey {
        match self {
            Self::InAgent(key) => key,
            Self::InFile(file) => &file.public,
        }
    }
}

/// Gives algorithm and key as in `authorized_keys`, without the comment.
fn in_words(key: &PublicKey) -> Option<String> {
    let text = key.to_openssh().ok()?;
    let words: Vec<&str> = text.split_whitespace().take(2).collect();
    Some(words.join(" "))
}

impl Offers {
    /// Collects the keys in OpenSSH's order: configured keys that the agent holds, its other keys (unless
    /// `IdentitiesOnly`), then key files.
    pub(crate) async fn collect(cx: &mut Context<'_>) -> Self {
        let identity = &cx.resolved.identity;
        let mut held = Vec::new();
        let mut agent = None;
        if let Some(socket) = &identity.agent {
            match Agent::open(socket, &cx.asker).await {
                Ok((open, keys)) => (agent, held) = (Some(open), keys),
                Err(words) => cx.notes.push(words),
            }
        }
        let paths = identity.files.clone();
        let read =
            stdx::task::blocking(move || paths.iter().map(|path| KeyFile::read(path)).collect::<Vec<_>>())
                .await;
        let mut files = Vec::new();
        for file in read {
            match file {
                Ok(file) => files.push(file),
                Err(Unusable::Missing) => {}
                Err(Unusable::Because(words)) => cx.notes.push(words),
            }
        }
        let same = |a: &PublicKey, b: &PublicKey| a.key_data() == b.key_data();
        let mut queue = VecDeque::new();
        for file in &files {
            queue.extend(
                held.iter()
                    .find(|key| same(key, &file.public))
                    .cloned()
                    .map(Offer::InAgent),
            );
        }
        if !identity.only_files {
            let others = held
                .iter()
                .filter(|key| !files.iter().any(|file| same(key, &file.public)));
            queue.extend(others.cloned().map(Offer::InAgent));
        }
        let unheld = files
            .into_iter()
            .filter(|file| file.has_private_half() && !held.iter().any(|key| same(key, &file.public)));
        queue.extend(unheld.map(Offer::InFile));
        Self {
            agent,
            queue,
            last: None,
        }
    }

    /// Puts a key before all others. `false` when it is not among them.
    pub(crate) fn put_first(&mut self, key: &str) -> bool {
        let place = self
            .queue
            .iter()
            .position(|offer| in_words(offer.public()).as_deref() == Some(key));
        let found = place.and_then(|place| self.queue.remove(place));
        found.map(|offer| self.queue.push_front(offer)).is_some()
    }

    /// Gives the key that was offered last, if nothing else was needed to log in.
    pub(crate) fn last_if_alone(&self, login: &Login) -> Option<String> {
        let alone = login.methods.len() == 1 && login.methods.iter().all(|method| method == "publickey");
        self.last.as_ref().filter(|_| alone).and_then(in_words)
    }

    /// Offers the next key. A key is offered once per login, also after a partial success.
    pub(crate) async fn try_next(&mut self, cx: &mut Context<'_>) -> Result<Tried, Error> {
        let Some(mut offer) = self.queue.pop_front() else {
            return Ok(Tried::Exhausted);
        };
        let (public, words) = match &offer {
            Offer::InAgent(key) => (key.clone(), format!("agent key {}", shown(key))),
            Offer::InFile(file) => (file.public.clone(), format!("key file {}", file.path.display())),
        };
        let Some(hash) = signature_hash(cx, &public).await? else {
            cx.notes.push(format!(
                "{words} (not offered: the host takes RSA only with SHA-1)"
            ));
            return Ok(Tried::Skipped);
        };
        self.last = Some(public.clone());
        let (user, asker) = (cx.user().to_owned(), cx.asker.clone());
        let result = match (&mut offer, &mut self.agent) {
            (Offer::InAgent(_), Some(agent)) => {
                cx.agent_keys_offered += 1;
                asker
                    .answered(cx.handle.authenticate_publickey_with(user, public, hash, agent))
                    .await
            }
            (Offer::InFile(file), _) => {
                let mut signer = file.signer(asker.clone(), cx.secrets, &cx.resolved.alias);
                asker
                    .answered(
                        cx.handle
                            .authenticate_publickey_with(user, public, hash, &mut signer),
                    )
                    .await
            }
            (Offer::InAgent(_), None) => return Ok(Tried::Exhausted),
        };
        cx.notes.push(words);
        match result {
            Ok(Ok(result)) => Ok(Tried::from(result)),
            Ok(Err(SignError::NeedsPerson(what))) if self.queue.is_empty() => Ok(Tried::NeedsPerson(what)),
            Ok(Err(SignError::NeedsPerson(what) | SignError::Failed(what))) => {
                cx.notes.push(what);
                Ok(Tried::Skipped)
            }
            Ok(Err(SignError::Session)) => Err(cx.lost().await),
            Err(_) => Err(cx.error(ErrorKind::Unreachable, "the host does not answer the login")),
        }
    }
}

/// `Some(None)`: not RSA. `None`: RSA, and the host knows only SHA-1.
async fn signature_hash(cx: &Context<'_>, key: &PublicKey) -> Result<Option<Option<HashAlg>>, Error> {
    if !matches!(key.algorithm(), Algorithm::Rsa { .. }) {
        return Ok(Some(None));
    }
    match cx.handle.best_supported_rsa_hash().await {
        Ok(Some(Some(hash))) => Ok(Some(Some(hash))),
        Ok(Some(None)) => Ok(None),
        // A host that does not say: everything since 2018 takes SHA-512.
        Ok(None) => Ok(Some(Some(HashAlg::Sha512))),
        Err(_) => Err(cx.lost().await),
    }
}

fn shown(key: &PublicKey) -> String {
    format!("{} {}", key.algorithm(), key.fingerprint(HashAlg::Sha256))
}

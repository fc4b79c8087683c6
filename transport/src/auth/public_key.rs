//! Collecting keys and certificates, and one offer at a time.

use std::{collections::VecDeque, path::PathBuf};

use russh::{
    Signer,
    client::AuthResult,
    keys::{Algorithm, Certificate, HashAlg},
};

use crate::{
    Error, Login,
    auth::{
        Context, Tried,
        agent::Agent,
        ask::Silent,
        certificate,
        key_file::{Found, KeyFile, Unusable},
        offers::{Offer, Public, Signs, Stock},
    },
    disk,
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

/// The keys and certificates that are still to be offered.
pub(crate) struct Offers {
    agent: Option<Agent>,
    files: Vec<KeyFile>,
    queue: VecDeque<Offer>,
    /// What was refused since the last success. A host that wants two keys may want them in its own order.
    refused: Vec<Offer>,
    /// What was offered last.
    last: Option<Public>,
}

/// What the files of a configuration hold.
#[derive(Default)]
struct OnDisk {
    files: Vec<KeyFile>,
    beside: Vec<(usize, Certificate)>,
    certificates: Vec<(PathBuf, Certificate)>,
    unused: Vec<String>,
}

impl OnDisk {
    /// Blocks.
    fn read(files: &[PathBuf], certificates: &[PathBuf]) -> Self {
        let mut disk = Self::default();
        for path in certificates {
            match certificate::read(path) {
                Ok(certificate) => disk.certificates.push((path.clone(), certificate)),
                Err(Unusable::Missing) => disk.unused.push(format!("{} (no such file)", path.display())),
                Err(Unusable::Because(words)) => disk.unused.push(words),
            }
        }
        for path in files {
            match KeyFile::read(path) {
                Ok(Found::Key(file)) => {
                    disk.files.push(file);
                    if certificates.is_empty() {
                        disk.read_beside(path);
                    }
                }
                Ok(Found::Certificate(certificate)) => {
                    disk.certificates.push((path.clone(), *certificate));
                }
                Err(Unusable::Missing) => {}
                Err(Unusable::Because(words)) => disk.unused.push(words),
            }
        }
        disk
    }

    fn read_beside(&mut self, key_file: &std::path::Path) {
        match certificate::read(&certificate::beside(key_file)) {
            Ok(certificate) => self.beside.push((self.files.len() - 1, certificate)),
            Err(Unusable::Missing) => {}
            Err(Unusable::Because(words)) => self.unused.push(words),
        }
    }
}

impl Offers {
    /// Collects everything that may be offered, in OpenSSH's order.
    pub(crate) async fn collect(cx: &mut Context<'_>) -> Self {
        let identity = &cx.resolved.identity;
        let wanted = cx.resolved.methods.order.iter().any(|name| name == "publickey");
        let (mut agent, mut held) = (None, Vec::new());
        if let Some(socket) = identity.agent.as_ref().filter(|_| wanted) {
            match Agent::open(socket, &cx.asker).await {
                Ok((open, keys)) => (agent, held) = (Some(open), keys),
                Err(words) => cx.unused.push(words),
            }
        }
        let (files, certificates) = (identity.files.clone(), identity.certificates.clone());
        let disk = if wanted {
            let read = disk::within(cx.asker.files_step(), move || OnDisk::read(&files, &certificates));
            read.await.unwrap_or_else(|error| OnDisk {
                unused: vec![format!("the key files ({error})")],
                ..OnDisk::default()
            })
        } else {
            OnDisk::default()
        };
        let stock = Stock {
            files: &disk.files,
            beside: &disk.beside,
            certificates: &disk.certificates,
            held: &held,
            only_files: identity.only_files,
        };
        let (queue, unused) = stock.in_order();
        cx.unused.extend(disk.unused);
        cx.unused.extend(unused);
        Self {
            agent,
            files: disk.files,
            queue: queue.into(),
            refused: Vec::new(),
            last: None,
        }
    }

    /// Puts a key before all others. `false` when it is not among them.
    pub(crate) fn put_first(&mut self, key: &str) -> bool {
        let place = self.queue.iter().position(|offer| {
            let words = offer.public.as_ref().and_then(Public::in_words);
            words.as_deref() == Some(key)
        });
        let found = place.and_then(|place| self.queue.remove(place));
        found.map(|offer| self.queue.push_front(offer)).is_some()
    }

    /// Notes that the host took the last offer; what it refused before may be what it wants next.
    pub(crate) fn passed(&mut self, login: &mut Login) {
        login.methods.push("publickey".into());
        login.one_time_factor |= self.last.as_ref().is_some_and(Public::is_security_key);
        self.queue.extend(self.refused.drain(..));
    }

    /// Gives the key that was offered last, if nothing else was needed to log in.
    pub(crate) fn last_if_alone(&self, login: &Login) -> Option<String> {
        let alone = login.methods.len() == 1 && login.methods.iter().all(|method| method == "publickey");
        self.last.as_ref().filter(|_| alone).and_then(Public::in_words)
    }

    /// Offers the next key or certificate. What the host has taken once is not offered again.
    pub(crate) async fn try_next(&mut self, cx: &mut Context<'_>) -> Result<Tried, Error> {
        let Some(mut offer) = self.queue.pop_front() else {
            return Ok(Tried::Exhausted);
        };
        let public = match offer.public.clone() {
            Some(public) => public,
            None => match self.opened(cx, &offer).await {
                Ok(public) => offer.public.insert(public).clone(),
                Err(error) => return not_signed(cx, error).await,
            },
        };
        let Some(hash) = signature_hash(cx, &public.algorithm()).await? else {
            cx.unused
                .push(format!("{} (the host takes RSA only with SHA-1)", offer.words));
            return Ok(Tried::Skipped);
        };
        self.last = Some(public.clone());
        let result = match (&offer.signs, &mut self.agent) {
            (Signs::Agent(identity), Some(agent)) => {
                cx.agent_keys_offered += 1;
                let host = &cx.resolved.alias;
                ask(
                    cx.handle,
                    cx.user().to_owned(),
                    &cx.asker,
                    public.clone(),
                    hash,
                    &mut agent.signer((**identity).clone(), host),
                )
                .await
            }
            (Signs::File(index), _) => {
                let Some(file) = self.files.get_mut(*index) else {
                    return Ok(Tried::Skipped);
                };
                let mut signer = file.signer(cx.asker.clone(), cx.secrets, &cx.resolved.alias);
                ask(
                    cx.handle,
                    cx.user().to_owned(),
                    &cx.asker,
                    public.clone(),
                    hash,
                    &mut signer,
                )
                .await
            }
            (Signs::Agent(_), None) => return Ok(Tried::Skipped),
        };
        cx.offered.push(offer.words.clone());
        match result {
            Ok(Ok(result)) => {
                let tried = Tried::from(result);
                if matches!(tried, Tried::Failure(_)) {
                    doubt(cx, &public);
                    self.refused.push(offer);
                }
                Ok(tried)
            }
            Ok(Err(error)) => not_signed(cx, error).await,
            Err(Silent) => Err(cx.silent()),
        }
    }

    /// Opens the file of an offer whose public half is not known.
    async fn opened(&mut self, cx: &Context<'_>, offer: &Offer) -> Result<Public, SignError> {
        let file = match offer.signs {
            Signs::File(index) => self.files.get_mut(index),
            Signs::Agent(_) => None,
        };
        let missing = || SignError::Failed(format!("{} has no public half", offer.words));
        let file = file.ok_or_else(missing)?;
        file.signer(cx.asker.clone(), cx.secrets, &cx.resolved.alias)
            .open()
            .await?;
        file.public.clone().map(Public::Key).ok_or_else(missing)
    }
}

/// Asks the host about a key or certificate and signs if it takes it.
async fn ask<S: Signer<Error = SignError>>(
    handle: &mut crate::connection::Handle,
    user: String,
    asker: &crate::auth::ask::Asker,
    public: Public,
    hash: Option<HashAlg>,
    signer: &mut S,
) -> Result<Result<AuthResult, SignError>, Silent> {
    match public {
        Public::Key(key) => {
            let asked = handle.authenticate_publickey_with(user, key, hash, signer);
            asker.answered(asked).await
        }
        Public::Certificate(certificate) => {
            let asked = handle.authenticate_certificate_with(user, *certificate, hash, signer);
            asker.answered(asked).await
        }
    }
}

/// What follows where no signature was made: the host waits for the next offer.
async fn not_signed(cx: &mut Context<'_>, error: SignError) -> Result<Tried, Error> {
    match error {
        SignError::NeedsPerson(what) if cx.unanswered.is_none() => cx.unanswered = Some(what),
        SignError::NeedsPerson(what) => cx.unused.push(format!("{what} was not given")),
        SignError::Failed(what) => cx.unused.push(what),
        SignError::Session => return Err(cx.lost().await),
    }
    Ok(Tried::Skipped)
}

/// Keeps what may be wrong with a certificate that was refused.
fn doubt(cx: &mut Context<'_>, public: &Public) {
    if let Public::Certificate(refused) = public {
        let now = stdx::clock::unix_millis() / 1000;
        let words = certificate::doubt(refused, cx.user(), now);
        if !cx.doubts.contains(&words) {
            cx.doubts.push(words);
        }
    }
}

/// `Some(None)`: not RSA. `None`: RSA, and the host knows only SHA-1.
async fn signature_hash(cx: &Context<'_>, algorithm: &Algorithm) -> Result<Option<Option<HashAlg>>, Error> {
    if !matches!(algorithm, Algorithm::Rsa { .. }) {
        return Ok(Some(None));
    }
    match cx.asker.answered(cx.handle.best_supported_rsa_hash()).await {
        Ok(Ok(Some(Some(hash)))) => Ok(Some(Some(hash))),
        Ok(Ok(Some(None))) => Ok(None),
        // A host that does not say: everything since 2018 takes SHA-512.
        Ok(Ok(None)) => Ok(Some(Some(HashAlg::Sha512))),
        Ok(Err(_)) => Err(cx.lost().await),
        Err(Silent) => Err(cx.silent()),
    }
}

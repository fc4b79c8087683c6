//! From a resolved host to a logged-in connection: known hosts, dial, handshake, the question about a new key, login.

use std::{borrow::Cow, path::PathBuf, sync::Arc};

use russh::{
    Preferred, cipher,
    client::Config,
    compression,
    keys::{Algorithm, HashAlg, PublicKey},
};
use stdx::task::Scope;

use crate::{
    ConnectOptions, Connection, Error, ErrorKind, HostKeyAnswer, HostKeyQuestion, Prompter, Resolved, Stage,
    Took, UnknownKeys,
    announced::{self, Learning, Vouched},
    auth,
    connection::{Established, Handle},
    dial::{Dialed, dial},
    disk,
    handler::{ClientHandler, Presented, Reports},
    host_key::{HostNames, KnownHost, Verdict, is_of, revoked},
    known_hosts::{
        own::{Change, Others, change},
        read_files,
    },
    wire::{Meter, Wire},
};

/// Measured against OpenSSH: half of it must cover the bandwidth-delay product, and more piles up in sshd.
const WINDOW: u32 = 8 * 1024 * 1024;
const PACKET: u32 = 32 * 1024;
const CHANNEL_BUFFER: usize = 100;

pub(crate) async fn connect(
    resolved: &Resolved,
    options: &ConnectOptions,
    prompter: &Arc<dyn Prompter>,
    scope: &Scope,
) -> Result<Connection, Error> {
    let known = Arc::new(known_host(resolved, options).await?);
    let mut accepted: Option<(PublicKey, HostKeyAnswer)> = None;
    let mut via: Option<Connection> = None;
    loop {
        let begun = stdx::clock::monotonic();
        let dialed = dial(resolved, options, prompter, scope, via.take()).await?;
        // The jump host, which may have asked for a one-time code, is used again after the question about a key.
        via.clone_from(&dialed.via);
        let connected = stdx::clock::monotonic();
        let accepted_key = accepted.as_ref().map(|(key, _)| key.clone());
        let look = Look {
            accepted: accepted_key,
            ..Look::default()
        };
        match handshake(resolved, options, prompter, &known, look, dialed).await? {
            Shaken::Hands(mut open) => {
                let mut vouched = Vouched::Before;
                if let Some((key, HostKeyAnswer::Remember)) = &accepted {
                    // Written only now, when the host has proven that it owns the key.
                    vouched = remember(options, &known, key, prompter).await;
                }
                let shaken = stdx::clock::monotonic();
                let login = auth::login(&mut open.handle, &open.reports, resolved, options, prompter).await?;
                let took = Took {
                    connect: connected - begun,
                    handshake: shaken - connected,
                    login: stdx::clock::monotonic() - shaken,
                };
                open.guard.disarm();
                let (handle, reports, meter, via) =
                    (open.handle, open.reports, open.guard.0.clone(), open.via);
                let established = Established {
                    handle,
                    reports,
                    meter,
                    login,
                    took,
                    via,
                };
                let learning = learning(resolved, options, &known, &established.reports, vouched);
                let connection = Connection::supervise(established, resolved, options, scope);
                if let Some(learning) = learning {
                    announced::start(&connection, learning);
                }
                return Ok(connection);
            }
            // The person is asked between two connections: the host's patience does not run out meanwhile.
            Shaken::Rejected(rejected) => {
                if accepted.is_some() {
                    return Err(known.refusal(&rejected.key, &rejected.judged));
                }
                let answer = decide(resolved, &known, &rejected, prompter).await?;
                accepted = Some((rejected.key, answer));
            }
        }
    }
}

/// Reads everything that is known about a host; nothing of it is kept from one connection to the next.
pub(crate) async fn known_host(resolved: &Resolved, options: &ConnectOptions) -> Result<KnownHost, Error> {
    let mut files: Vec<PathBuf> = resolved.trust.known_hosts.clone();
    files.extend(options.known_hosts.clone());
    let limit = options.deadlines.files;
    let unusable = |message| Error::new(ErrorKind::Config, Stage::Config, &resolved.alias, message);
    let listed = read_files(&files, limit).await.map_err(|(file, error)| {
        let message = format!("could not read the known hosts in {}", file.display());
        unusable(message)
            .with_hint(match options.known_hosts.as_ref() == Some(&file) {
                true => "let it be read again, or move it away: then each host is asked about once more",
                false => "let it be read again, or see UserKnownHostsFile in the OpenSSH configuration",
            })
            .with_source(error)
    })?;
    let revoked = revoked::read_files(&resolved.trust.revoked, limit)
        .await
        .map_err(|error| {
            unusable("the list of revoked host keys is of no use".to_owned())
                .with_hint("correct the file, or RevokedHostKeys in the OpenSSH configuration")
                .with_source(error)
        })?;
    let names = HostNames {
        typed: &resolved.alias,
        name: &resolved.endpoint.host_name,
        port: resolved.endpoint.port,
        alias: resolved.trust.key_alias.as_deref(),
    };
    let found = KnownHost::find(&listed.entries, &files, &names);
    Ok(found.with(&listed, revoked, options.known_hosts.clone()))
}

fn learning(
    resolved: &Resolved,
    options: &ConnectOptions,
    known: &Arc<KnownHost>,
    reports: &Reports,
    vouched: Vouched,
) -> Option<Learning> {
    if resolved.trust.learn_announced == Some(false) {
        return None;
    }
    let has_alias = resolved.trust.key_alias.is_some();
    Learning::new(
        options.known_hosts.clone()?,
        known,
        reports.presented()?,
        vouched,
        has_alias,
    )
}

/// What a key exchange is for.
#[derive(Default)]
pub(crate) struct Look {
    /// The key that the host has to present, which somebody accepted.
    pub(crate) accepted: Option<PublicKey>,
    /// Nothing but the key is wanted: the connection ends before the login.
    pub(crate) only: Option<Wanted>,
}

/// Which key is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The one that a connection would be given.
    Usual,
    /// One of this kind.
    Kind(Kind),
}

/// A kind of host keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Ed25519,
    Ecdsa,
    Rsa,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Ed25519, Self::Ecdsa, Self::Rsa];

    pub(crate) fn has(self, algorithm: &Algorithm) -> bool {
        match self {
            Self::Ed25519 => *algorithm == Algorithm::Ed25519,
            Self::Ecdsa => matches!(algorithm, Algorithm::Ecdsa { .. }),
            Self::Rsa => matches!(algorithm, Algorithm::Rsa { .. }),
        }
    }
}

pub(crate) enum Shaken {
    Hands(Box<Open>),
    Rejected(Box<Presented>),
}

/// A session whose host key is accepted and that nobody is logged in to.
pub(crate) struct Open {
    handle: Handle,
    reports: Arc<Reports>,
    guard: CutOnDrop,
    via: Option<Connection>,
}

/// Cuts the wire unless disarmed: a session whose future was dropped must not go on.
struct CutOnDrop(Meter, bool);

impl CutOnDrop {
    fn disarm(&mut self) {
        self.1 = false;
    }
}

impl Drop for CutOnDrop {
    fn drop(&mut self) {
        if self.1 {
            self.0.cut();
        }
    }
}

pub(crate) async fn handshake(
    resolved: &Resolved,
    options: &ConnectOptions,
    prompter: &Arc<dyn Prompter>,
    known: &Arc<KnownHost>,
    look: Look,
    dialed: Dialed,
) -> Result<Shaken, Error> {
    let Dialed { stream, via, notes } = dialed;
    let meter = Meter::default();
    let guard = CutOnDrop(meter.clone(), true);
    let reports = Reports::new(&resolved.alias);
    let config = Arc::new(config(known, &look));
    let handler = ClientHandler {
        reports: Arc::clone(&reports),
        known: Arc::clone(known),
        only_look: look.only.is_some(),
        accepted: look.accepted,
        prompter: Arc::clone(prompter),
    };
    let shaking = russh::client::connect_stream(config, Wire::new(stream, &meter), handler);
    let cause = match tokio::time::timeout(options.deadlines.handshake, shaking).await {
        Ok(Ok(handle)) => {
            return Ok(Shaken::Hands(Box::new(Open {
                handle,
                reports,
                guard,
                via,
            })));
        }
        Ok(Err(cause)) => Some(cause),
        Err(_) => None,
    };
    if let Some(rejected) = reports.presented().filter(|presented| presented.refused) {
        return Ok(Shaken::Rejected(Box::new(rejected)));
    }
    let words = notes
        .line()
        .await
        .map(|line| format!(" (the proxy command says: {line})"))
        .unwrap_or_default();
    let error = |kind, message: String| Error::new(kind, Stage::Handshake, &resolved.alias, message + &words);
    match cause {
        Some(cause) => Err(describe(&cause, error).with_source(cause)),
        None => {
            let seconds = options.deadlines.handshake.as_secs_f32();
            let message = format!("the host did not finish the key exchange within {seconds} s");
            Err(error(ErrorKind::Unreachable, message).with_hint("is it an SSH server that listens there?"))
        }
    }
}

fn describe(cause: &russh::Error, error: impl Fn(ErrorKind, String) -> Error) -> Error {
    match cause {
        russh::Error::NoCommonAlgo { kind, theirs, .. } => error(
            ErrorKind::Protocol,
            format!(
                "no common algorithm for {kind:?}; the host offers {}",
                stdx::bounded::one_line(&theirs.join(", "), 400)
            ),
        )
        .with_hint("the host's SSH server is too old or too restricted; ssh-rsa with SHA-1 is not accepted"),
        russh::Error::Version => error(ErrorKind::Protocol, "what answers there is no SSH server".into()),
        russh::Error::IO(_) | russh::Error::Disconnect | russh::Error::HUP | russh::Error::RecvError => {
            error(
                ErrorKind::Unreachable,
                format!("the connection ended during the key exchange: {cause}"),
            )
            .with_hint("the host may be starting, overloaded, or blocking this address")
        }
        other => error(ErrorKind::Protocol, format!("the key exchange failed: {other}")),
    }
}

/// Gives the algorithms of plain keys and of certificates to ask for.
fn host_key_algorithms(known: &KnownHost, look: &Look) -> (Vec<Algorithm>, Vec<Algorithm>) {
    let mut plain = known.algorithms();
    match (&look.accepted, look.only) {
        // The host must present the accepted key, so only its algorithms are asked for.
        (Some(key), _) => plain.retain(|offered| is_of(key, offered)),
        (None, Some(Wanted::Kind(kind))) => plain.retain(|offered| kind.has(offered)),
        (None, _) => return (plain, known.certificate_algorithms()),
    }
    (plain, Vec::new())
}

fn config(known: &KnownHost, look: &Look) -> Config {
    let (plain, certificates) = host_key_algorithms(known, look);
    Config {
        window_size: WINDOW,
        maximum_packet_size: PACKET,
        channel_buffer_size: CHANNEL_BUFFER,
        nodelay: true,
        preferred: Preferred {
            key: Cow::Owned(plain),
            host_key_certificates: Cow::Owned(certificates),
            // AES-GCM was 1.5 times as fast as ChaCha20 here.
            cipher: Cow::Borrowed(&[
                cipher::AES_256_GCM,
                cipher::CHACHA20_POLY1305,
                cipher::AES_128_GCM,
                cipher::AES_256_CTR,
                cipher::AES_192_CTR,
                cipher::AES_128_CTR,
            ]),
            compression: Cow::Borrowed(&[compression::NONE]),
            // The default list of key exchanges carries the strict-kex and extension names; it is kept whole.
            ..Preferred::DEFAULT
        },
        ..Config::default()
    }
}

/// Decides about a key that is not listed. Changed and revoked keys never reach a person.
async fn decide(
    resolved: &Resolved,
    known: &KnownHost,
    rejected: &Presented,
    prompter: &Arc<dyn Prompter>,
) -> Result<HostKeyAnswer, Error> {
    let Presented { key, judged, .. } = rejected;
    let known_otherwise = match &judged.verdict {
        Verdict::Unknown => Vec::new(),
        Verdict::KnownOtherwise(lines) => lines.clone(),
        Verdict::Known | Verdict::Certified(_) | Verdict::Revoked(_) | Verdict::Changed(_) => {
            return Err(known.refusal(key, judged));
        }
    };
    match resolved.trust.unknown_keys {
        UnknownKeys::Refuse => return Err(known.refusal(key, judged)),
        UnknownKeys::Accept if known_otherwise.is_empty() => return Ok(HostKeyAnswer::Remember),
        UnknownKeys::Accept => return Err(known.refusal(key, judged)),
        UnknownKeys::Ask => {}
    }
    if let Some(why) = &judged.certificate {
        prompter.notice(&format!("{}: {why}", resolved.alias));
    }
    let question = HostKeyQuestion {
        host: resolved.alias.clone(),
        listed_as: known.listed_as().to_owned(),
        algorithm: key.algorithm().to_string(),
        fingerprint: key.fingerprint(HashAlg::Sha256).to_string(),
        known_otherwise,
    };
    match prompter.host_key(&question).await {
        HostKeyAnswer::Refuse => Err(known.refusal(key, judged)),
        answer => Ok(answer),
    }
}

/// Writes an accepted key to our own file. Failing to is told, not fatal: the person did
/// accept the key.
async fn remember(
    options: &ConnectOptions,
    known: &Arc<KnownHost>,
    key: &PublicKey,
    prompter: &Arc<dyn Prompter>,
) -> Vouched {
    let Some(file) = options.known_hosts.clone() else {
        return Vouched::Before;
    };
    let (known, key, path) = (Arc::clone(known), key.clone(), file.clone());
    let written = disk::within(options.deadlines.files * 2, move || {
        let wanted = Change {
            listed_as: known.listed_as(),
            add: &[key],
            others: Others::Stay,
        };
        change(&path, &wanted)
    });
    match written.await.flatten() {
        Ok(_) => Vouched::JustNow,
        Err(error) => {
            prompter.notice(&format!(
                "could not write the accepted host key to {}: {error}; it will be asked about again (is the disk full, or the \
                 file or its folder of another user?)",
                file.display()
            ));
            Vouched::Before
        }
    }
}

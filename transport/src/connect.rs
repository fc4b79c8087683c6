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
    Took, UnknownKeys, auth,
    connection::{Established, Handle},
    dial::{Dialed, dial},
    handler::{ClientHandler, Reports},
    host_key::{HostNames, KnownHost, Verdict},
    known_hosts::{add_line, read_files},
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
    let known = known_host(resolved, options).await?;
    let mut accepted: Option<(PublicKey, HostKeyAnswer)> = None;
    loop {
        let begun = stdx::clock::monotonic();
        let dialed = dial(resolved, options, prompter, scope).await?;
        let connected = stdx::clock::monotonic();
        let accepted_key = accepted.as_ref().map(|(key, _)| key.clone());
        match handshake(resolved, options, prompter, &known, accepted_key, dialed).await? {
            Shaken::Hands(mut open) => {
                if let Some((key, HostKeyAnswer::Remember)) = &accepted {
                    // Written only now, when the host has proven that it owns the key.
                    remember(options, &known, key, prompter).await;
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
                return Ok(Connection::supervise(established, resolved, options, scope));
            }
            // The person is asked between two connections: the host's patience does not run out meanwhile.
            Shaken::Rejected(rejected) => {
                let (key, verdict) = *rejected;
                if accepted.is_some() {
                    return Err(known.refusal(&key, &verdict));
                }
                let answer = decide(resolved, &known, &key, &verdict, prompter).await?;
                accepted = Some((key, answer));
            }
        }
    }
}

async fn known_host(resolved: &Resolved, options: &ConnectOptions) -> Result<KnownHost, Error> {
    let mut files: Vec<PathBuf> = resolved.trust.known_hosts.clone();
    files.extend(options.known_hosts.clone());
    let read = files.clone();
    let entries = stdx::task::blocking(move || read_files(&read))
        .await
        .map_err(|(file, error)| {
            let message = format!("could not read the known hosts in {}", file.display());
            Error::new(ErrorKind::Config, Stage::Config, &resolved.alias, message).with_source(error)
        })?;
    let names = HostNames {
        typed: &resolved.alias,
        name: &resolved.endpoint.host_name,
        port: resolved.endpoint.port,
        alias: resolved.trust.key_alias.as_deref(),
    };
    Ok(KnownHost::find(&entries, &files, &names))
}

enum Shaken {
    Hands(Box<Open>),
    Rejected(Box<(PublicKey, Verdict)>),
}

/// A session whose host key is accepted and that nobody is logged in to.
struct Open {
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

async fn handshake(
    resolved: &Resolved,
    options: &ConnectOptions,
    prompter: &Arc<dyn Prompter>,
    known: &KnownHost,
    accepted: Option<PublicKey>,
    dialed: Dialed,
) -> Result<Shaken, Error> {
    let Dialed { stream, via, notes } = dialed;
    let meter = Meter::default();
    let guard = CutOnDrop(meter.clone(), true);
    let reports = Reports::new(&resolved.alias);
    let algorithms = match &accepted {
        // The host must present the accepted key, so only its algorithms are asked for.
        Some(key) => known
            .algorithms()
            .into_iter()
            .filter(|offered| same_algorithm(offered, &key.algorithm()))
            .collect(),
        None => known.algorithms(),
    };
    let handler = ClientHandler {
        reports: Arc::clone(&reports),
        known: known.clone(),
        accepted,
        prompter: Arc::clone(prompter),
    };
    let shaking =
        russh::client::connect_stream(Arc::new(config(algorithms)), Wire::new(stream, &meter), handler);
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
    if let Some(rejected) = reports.take_rejected_key() {
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

fn same_algorithm(offered: &Algorithm, key: &Algorithm) -> bool {
    matches!((offered, key), (Algorithm::Rsa { .. }, Algorithm::Rsa { .. })) || offered == key
}

fn config(host_key_algorithms: Vec<Algorithm>) -> Config {
    Config {
        window_size: WINDOW,
        maximum_packet_size: PACKET,
        channel_buffer_size: CHANNEL_BUFFER,
        nodelay: true,
        preferred: Preferred {
            key: Cow::Owned(host_key_algorithms),
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
    key: &PublicKey,
    verdict: &Verdict,
    prompter: &Arc<dyn Prompter>,
) -> Result<HostKeyAnswer, Error> {
    let known_otherwise = match verdict {
        Verdict::Unknown => Vec::new(),
        Verdict::KnownOtherwise(lines) => lines.clone(),
        Verdict::Known | Verdict::Revoked(_) | Verdict::Changed(_) => return Err(known.refusal(key, verdict)),
    };
    match resolved.trust.unknown_keys {
        UnknownKeys::Refuse => return Err(known.refusal(key, verdict)),
        UnknownKeys::Accept if known_otherwise.is_empty() => return Ok(HostKeyAnswer::Remember),
        UnknownKeys::Accept => return Err(known.refusal(key, verdict)),
        UnknownKeys::Ask => {}
    }
    let question = HostKeyQuestion {
        host: resolved.alias.clone(),
        listed_as: known.listed_as().to_owned(),
        algorithm: key.algorithm().to_string(),
        fingerprint: key.fingerprint(HashAlg::Sha256).to_string(),
        known_otherwise,
    };
    match prompter.host_key(&question).await {
        HostKeyAnswer::Refuse => Err(known.refusal(key, verdict)),
        answer => Ok(answer),
    }
}

/// Writes an accepted key to our own file. Failing to is told, not fatal: the person did accept the key.
async fn remember(
    options: &ConnectOptions,
    known: &KnownHost,
    key: &PublicKey,
    prompter: &Arc<dyn Prompter>,
) {
    let Some(file) = options.known_hosts.clone() else {
        return;
    };
    let (listed_as, key, path) = (known.listed_as().to_owned(), key.clone(), file.clone());
    if let Err(error) = stdx::task::blocking(move || add_line(&path, &listed_as, &key)).await {
        prompter.notice(&format!(
            "could not write the accepted host key to {}: {error}",
            file.display()
        ));
    }
}

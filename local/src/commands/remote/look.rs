//! What commands that look at a host share: how it is named, how its agent is reached, what its program says of a model.

use std::{
    io,
    pin::Pin,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use bootstrap::{End, Install, Probe, Request, Verdict, doctor::Class};
use client::{Agent, ByteStream, Connector};
use protocol::{Hello, Identity, hello::VERSIONS};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use transport::{ErrorKind as SshKind, Resolved, Source};

use crate::{dial::Dialed, exit::Exit, report::Failure};

/// How long the bridge may take for its first line.
const PATIENCE: Duration = Duration::from_secs(15);

/// Lets the program of the host look at its configuration; exit codes do not matter.
const CHECK_CONFIG: &str = r#"IFS= read -r program; "$program" config check 2>&1 || :"#;

/// Names account, address and port, and who resolved them.
pub(super) fn address(resolved: &Resolved) -> String {
    let endpoint = &resolved.endpoint;
    let source = match resolved.source {
        Source::OpenSsh => "as ssh -G says",
        Source::OwnParser => "without OpenSSH's help",
    };
    format!(
        "{}@{}:{}, {source}",
        endpoint.user, endpoint.host_name, endpoint.port
    )
}

/// Gives the exit code of a problem.
pub(super) fn exit(class: Class) -> Exit {
    match class {
        Class::Usage => Exit::Usage,
        Class::Unreachable => Exit::Unreachable,
        Class::Login => Exit::Authentication,
        Class::Bootstrap => Exit::Bootstrap,
        Class::Model => Exit::ModelAccess,
    }
}

/// Finds the agent that a connect would use.
pub(super) fn agent(probe: &Probe) -> Option<Hello> {
    let request = Request {
        install: Install::Auto,
        version: remote_agent::identity::VERSION.to_owned(),
        protocol: VERSIONS,
    };
    bootstrap::attachable(probe, &request)
}

/// How an agent's socket is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// The server forwards to it.
    Direct,
    /// `reasonix bridge` carries the bytes.
    Bridge,
}

/// Reaches the agent as a link would: directly, else over the bridge. It has to answer.
pub(super) async fn reach(dialed: &Dialed, hello: &Hello) -> Result<Way, Failure> {
    let (connection, identity) = (&dialed.connection, &hello.identity);
    match connection.open_streamlocal(&identity.socket).await {
        Ok(stream) => {
            greet(dialed, identity, Box::new(stream)).await?;
            Ok(Way::Direct)
        }
        Err(error) if is_refusal(error.kind()) => {
            over_bridge(dialed, identity).await?;
            Ok(Way::Bridge)
        }
        Err(error) => Err(error.into()),
    }
}

/// Says whether a channel was refused, rather than the connection lost.
pub(super) fn is_refusal(kind: SshKind) -> bool {
    matches!(
        kind,
        SshKind::ForwardingRefused | SshKind::ConnectRefused | SshKind::ChannelRefused
    )
}

/// Asks for a hello: the kernel accepts on the socket of an agent that hangs, too.
async fn greet(dialed: &Dialed, identity: &Identity, stream: Box<dyn ByteStream>) -> Result<(), Failure> {
    let host = dialed.connection.host();
    let scope = dialed.scope().child("hello");
    let agent = Agent::new(Once(Mutex::new(Some(stream))), client::Options::default(), &scope);
    let answer = tokio::time::timeout(PATIENCE, agent.hello()).await;
    scope.close(Duration::ZERO).await;
    let why = match answer {
        Ok(Ok(_)) => return Ok(()),
        Ok(Err(error)) => crate::report::chain(&error),
        Err(_elapsed) => format!("it did not answer for {} s", PATIENCE.as_secs()),
    };
    let message = format!(
        "socket on {host}: the agent hangs (process {}): {why}",
        identity.pid
    );
    let mut failure = Failure::new(Exit::Bootstrap, message).hint(end_it(host, identity.pid));
    failure.stage = Some("socket".to_owned());
    Err(failure.on(host))
}

/// Gives the command that ends an agent that hangs: one that is stopped takes no other signal.
pub(super) fn end_it(host: &str, pid: u32) -> String {
    format!(
        "`ssh {host} kill -KILL {pid}` ends it; its sessions stay on disk, and the next connect starts a new one"
    )
}

/// Gives a stream that is open already, once.
struct Once(Mutex<Option<Box<dyn ByteStream>>>);

impl Connector for Once {
    fn connect(&self) -> Pin<Box<dyn Future<Output = io::Result<Box<dyn ByteStream>>> + Send + '_>> {
        let stream = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        Box::pin(async move { stream.ok_or_else(|| io::ErrorKind::NotConnected.into()) })
    }
}

async fn over_bridge(dialed: &Dialed, identity: &Identity) -> Result<(), Failure> {
    let connection = &dialed.connection;
    let mut call = bootstrap::bridge_call(&identity.program, None, End::Socket(&identity.socket));
    let talk = async {
        let (mut stdin, mut stdout, stderr, waiter) = connection.exec(&call.command).await?.into_parts();
        // A bridge that does not read ends its output, which is seen below.
        drop(stdin.write_all(&call.preface).await);
        let mut bytes = vec![0; 4096];
        let (verdict, rest) = loop {
            match stdout.read(&mut bytes).await {
                Ok(0) | Err(_) => break (Verdict::Unknown, Vec::new()),
                Ok(length) => {
                    if let Some((verdict, rest)) = call.reader.push(&bytes[..length]) {
                        break (verdict, rest.to_vec());
                    }
                }
            }
        };
        let stream = tokio::io::join(io::Cursor::new(rest).chain(stdout), stdin);
        Ok::<_, Failure>((verdict, stream, (stderr, waiter)))
    };
    let why = match tokio::time::timeout(PATIENCE, talk).await {
        Ok(talked) => match talked? {
            (Verdict::Connected, stream, _kept) => {
                return greet(dialed, identity, Box::new(stream)).await;
            }
            (refused, ..) => refusal(&refused),
        },
        Err(_elapsed) => "the bridge did not answer",
    };
    let mut failure = Failure::new(Exit::Bootstrap, format!("socket on {}: {why}", connection.host()));
    failure.stage = Some("socket".to_owned());
    Err(failure.on(connection.host()))
}

fn refusal(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::NoDaemon => "nobody listens on the agent's socket",
        Verdict::Denied => "the agent's socket may not be used",
        Verdict::Connected | Verdict::Unknown => "the bridge did not start",
    }
}

/// What a program on a host says of its configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Model {
    /// It will do.
    Usable,
    /// It has an error, in its words.
    Broken(String),
    /// A key is not stored there; its words.
    NoKey(String),
    /// The keys for it are on this machine.
    KeysHere,
    /// They should be, and are not; in words.
    NoKeyHere(String),
}

impl Model {
    /// Asks the program of the host.
    pub(super) async fn ask(dialed: &Dialed, program: &str) -> Result<Self, Failure> {
        Ok(Self::read(&dialed.script(CHECK_CONFIG, &[program]).await?))
    }

    /// Takes into account whose key is used: where the keys are on this machine, one that the host does not have says
    /// nothing.
    pub(super) fn with_keys_here(self, here: Option<Result<(), Failure>>) -> Self {
        match (self, here) {
            (broken @ Self::Broken(_), _) => broken,
            (_, Some(Ok(()))) => Self::KeysHere,
            (_, Some(Err(missing))) => Self::NoKeyHere(missing.message),
            (told, None) => told,
        }
    }

    /// Reads what `reasonix config check` said.
    fn read(said: &str) -> Self {
        if let Some(error) = said.lines().find_map(|line| line.strip_prefix("error: ")) {
            return Self::Broken(error.to_owned());
        }
        let missing = said.lines().find(|line| line.contains("needs the key"));
        match missing.and_then(|line| line.trim_start_matches("warning: ").split(';').next()) {
            Some(missing) => Self::NoKey(missing.to_owned()),
            None => Self::Usable,
        }
    }

    /// Says it in a line.
    pub(super) fn text(&self, host: &str) -> String {
        match self {
            Self::Broken(error) => {
                format!("{error}; it is configured in ~/.reasonix/config.toml on the host")
            }
            Self::NoKey(missing) => {
                format!("{missing} there; `reasonix remote key {host} NAME` stores it")
            }
            Self::Usable => "the configuration there is usable".to_owned(),
            Self::KeysHere => "the configuration there is usable, with keys of this machine".to_owned(),
            Self::NoKeyHere(missing) => format!("{missing}; `reasonix key NAME` stores it"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_host_says_about_its_model_names_the_place() {
        let said = |text: &str| Model::read(text).text("box");
        let unknown =
            "error: /h/config.toml:1:1: default_model: unknown model \"x\" (configured: a/m)\nhint: …\n";
        assert!(
            said(unknown)
                .ends_with("(configured: a/m); it is configured in ~/.reasonix/config.toml on the host")
        );
        let missing = "warning: m needs the key K, which is not stored; store it with `reasonix key K`\nthe configuration is usable (1 warning(s))\n";
        assert_eq!(
            said(missing),
            "m needs the key K, which is not stored there; `reasonix remote key box NAME` stores it"
        );
        let here = |missing| Model::read("warning: m needs the key K; …\n").with_keys_here(Some(missing));
        assert!(here(Ok(())).text("box").contains("keys of this machine"));
        let failure = Failure::new(Exit::ModelAccess, "its .env has no entry K");
        assert_eq!(
            here(Err(failure)).text("box"),
            "its .env has no entry K; `reasonix key NAME` stores it"
        );
        let fine = "the configuration is usable (0 warning(s))\n";
        assert_eq!(said(fine), "the configuration there is usable");
    }
}

//! What commands that look at a host share: how it is named, how its agent is reached, what its program says of a model.

use std::time::Duration;

use bootstrap::{End, Install, Probe, Request, Verdict};
use protocol::{Hello, Identity, hello::VERSIONS};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use transport::{Connection, ErrorKind as SshKind, Resolved, Source};

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

/// Reaches the agent's socket as a link would: directly, else over the bridge.
pub(super) async fn reach(connection: &Connection, hello: &Hello) -> Result<Way, Failure> {
    let identity = &hello.identity;
    match connection.open_streamlocal(&identity.socket).await {
        Ok(stream) => {
            drop(stream);
            Ok(Way::Direct)
        }
        Err(error) if is_refusal(error.kind()) => {
            over_bridge(connection, identity).await?;
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

async fn over_bridge(connection: &Connection, identity: &Identity) -> Result<(), Failure> {
    let mut call = bootstrap::bridge_call(&identity.program, None, End::Socket(&identity.socket));
    let talk = async {
        let (mut stdin, mut stdout, stderr, waiter) = connection.exec(&call.command).await?.into_parts();
        // A bridge that does not read ends its output, which is seen below.
        drop(stdin.write_all(&call.preface).await);
        let mut bytes = vec![0; 4096];
        let verdict = loop {
            match stdout.read(&mut bytes).await {
                Ok(0) | Err(_) => break Verdict::Unknown,
                Ok(length) => {
                    if let Some((verdict, _)) = call.reader.push(&bytes[..length]) {
                        break verdict;
                    }
                }
            }
        };
        drop((stdin, stdout, stderr, waiter));
        Ok::<_, Failure>(verdict)
    };
    let why = match tokio::time::timeout(PATIENCE, talk).await {
        Ok(verdict) => match verdict? {
            Verdict::Connected => return Ok(()),
            Verdict::NoDaemon => "nobody listens on the agent's socket",
            Verdict::Denied => "the agent's socket may not be used",
            Verdict::Unknown => "the bridge did not start",
        },
        Err(_elapsed) => "the bridge did not answer",
    };
    let mut failure = Failure::new(Exit::Bootstrap, format!("socket on {}: {why}", connection.host()));
    failure.stage = Some("socket".to_owned());
    Err(failure.on(connection.host()))
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
}

impl Model {
    /// Asks the program of the host.
    pub(super) async fn ask(dialed: &Dialed, program: &str) -> Result<Self, Failure> {
        Ok(Self::read(&dialed.script(CHECK_CONFIG, &[program]).await?))
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Model;

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
        let fine = "the configuration is usable (0 warning(s))\n";
        assert_eq!(said(fine), "the configuration there is usable");
    }
}

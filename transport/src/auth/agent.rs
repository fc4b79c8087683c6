//! The user's key agent (draft-miller-ssh-agent), which also signs for security keys.

use std::{
    io,
    path::{Path, PathBuf},
};

use russh::{
    Signer,
    keys::{
        Certificate, Error as KeyError, HashAlg, agent::AgentIdentity, agent::client::AgentClient,
        key::parse_public_key,
    },
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
};

use crate::auth::{ask::Asker, offers::Public, public_key::SignError};

/// SSH_AGENTC_REQUEST_IDENTITIES and its answer.
const REQUEST_IDENTITIES: u8 = 11;
const IDENTITIES_ANSWER: u8 = 12;

/// As OpenSSH: a longer answer is no answer.
const MAX_ANSWER: usize = 256 * 1024;

/// An agent that answered.
pub(crate) struct Agent {
    socket: PathBuf,
    /// `None` after an answer that did not come in time: it would be taken for the next one.
    client: Option<AgentClient<UnixStream>>,
    asker: Asker,
}

impl Agent {
    /// Connects and lists keys and user certificates. An agent that cannot be reached is told in words; the login goes
    /// on without it.
    pub(crate) async fn open(socket: &Path, asker: &Asker) -> Result<(Self, Vec<Public>), String> {
        let fail = |error: String| format!("agent {} ({error})", socket.display());
        let open = async {
            let mut stream = UnixStream::connect(socket).await?;
            let held = list(&mut stream).await?;
            Ok::<_, io::Error>((stream, held))
        };
        let opened = asker
            .answered(open)
            .await
            .map_err(|_| fail("it does not answer".into()))?;
        let (stream, held) = opened.map_err(|error| fail(error.to_string()))?;
        let agent = Self {
            socket: socket.to_owned(),
            client: Some(AgentClient::connect(stream)),
            asker: asker.clone(),
        };
        Ok((agent, held))
    }

    /// Gives the signer that uses one of its identities.
    pub(crate) fn signer<'a>(&'a mut self, identity: Public, host: &'a str) -> AgentSigner<'a> {
        AgentSigner {
            agent: self,
            identity,
            host,
        }
    }

    async fn sign(
        &mut self,
        identity: &AgentIdentity,
        hash: Option<HashAlg>,
        data: Vec<u8>,
    ) -> Result<Vec<u8>, String> {
        let limit = self.asker.agent_step();
        let (socket, kept) = (&self.socket, self.client.take());
        let signing = async move {
            let mut client = match kept {
                Some(client) => client,
                None => AgentClient::connect_uds(socket).await?,
            };
            let signed = client.sign_request(identity, hash, data).await;
            Ok::<_, KeyError>((client, signed))
        };
        let (client, signed) = tokio::time::timeout(limit, signing)
            .await
            .map_err(|_| format!("it did not answer within {} s", limit.as_secs_f32()))?
            .map_err(|error| error.to_string())?;
        match signed {
            Err(KeyError::AgentFailure) => {
                self.client = Some(client);
                Err("it declined".into())
            }
            Err(error) => Err(error.to_string()),
            Ok(signed) => {
                self.client = Some(client);
                Ok(signed)
            }
        }
    }
}

/// Reads the list. A key of a kind that is unknown here does not hide the others.
async fn list(stream: &mut UnixStream) -> io::Result<Vec<Public>> {
    let bad = || io::Error::new(io::ErrorKind::InvalidData, "its answer makes no sense");
    stream.write_all(&[0, 0, 0, 1, REQUEST_IDENTITIES]).await?;
    let length = stream.read_u32().await?;
    let length = usize::try_from(length)
        .ok()
        .filter(|length| (1..=MAX_ANSWER).contains(length))
        .ok_or_else(bad)?;
    let mut answer = vec![0; length];
    stream.read_exact(&mut answer).await?;
    let (&kind, mut rest) = answer.split_first().ok_or_else(bad)?;
    if kind != IDENTITIES_ANSWER {
        return Err(io::Error::other("it does not list its keys"));
    }
    let (count, after) = rest.split_first_chunk::<4>().ok_or_else(bad)?;
    rest = after;
    let mut held = Vec::new();
    for _ in 0..u32::from_be_bytes(*count) {
        let blob = take_string(&mut rest).ok_or_else(bad)?;
        // The comment.
        take_string(&mut rest).ok_or_else(bad)?;
        held.extend(parse(blob));
    }
    Ok(held)
}

fn take_string<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let (text, after) = after.split_at_checked(length)?;
    *rest = after;
    Some(text)
}

fn parse(blob: &[u8]) -> Option<Public> {
    let name = take_string(&mut &*blob)?;
    // This refuses what is nested too deep, certificates included.
    let key = parse_public_key(blob).ok()?;
    if !name.ends_with(b"-cert-v01@openssh.com") {
        return Some(Public::Key(key));
    }
    let certificate = Certificate::from_bytes(blob).ok()?;
    certificate
        .cert_type()
        .is_user()
        .then(|| Public::Certificate(Box::new(certificate)))
}

/// Signs with one identity of the agent.
pub(crate) struct AgentSigner<'a> {
    agent: &'a mut Agent,
    identity: Public,
    host: &'a str,
}

impl Signer for AgentSigner<'_> {
    type Error = SignError;

    async fn auth_sign(
        &mut self,
        _key: &AgentIdentity,
        hash: Option<HashAlg>,
        data: Vec<u8>,
    ) -> Result<Vec<u8>, SignError> {
        // The agent may ask its owner to confirm or to touch a token.
        let _asking = self.agent.asker.asking();
        if self.identity.is_security_key() {
            self.agent.asker.notice(&format!(
                "touch your security key to log in to {} (its agent may ask for a PIN first)",
                self.host
            ));
        }
        let identity = self.identity.clone().into_identity();
        self.agent
            .sign(&identity, hash, data)
            .await
            .map_err(|error| SignError::Failed(format!("the agent did not sign: {error}")))
    }
}

//! The user's key agent.

use std::path::Path;

use russh::{
    Signer,
    keys::{HashAlg, PublicKey, agent::AgentIdentity, agent::client::AgentClient},
};
use tokio::net::UnixStream;

use crate::auth::{ask::Asker, public_key::SignError};

/// A connection to an agent.
pub(crate) struct Agent {
    client: AgentClient<UnixStream>,
    asker: Asker,
}

impl Agent {
    /// Connects and lists the keys. An agent that cannot be reached is told in words; the login goes on without it.
    pub(crate) async fn open(socket: &Path, asker: &Asker) -> Result<(Self, Vec<PublicKey>), String> {
        let fail = |error: String| format!("agent {} not usable: {error}", socket.display());
        let open = async {
            let mut client = AgentClient::connect_uds(socket).await?;
            let identities = client.request_identities().await?;
            Ok::<_, russh::keys::Error>((client, identities))
        };
        let opened = asker
            .answered(open)
            .await
            .map_err(|_| fail("it does not answer".into()))?;
        let (client, identities) = opened.map_err(|error| fail(error.to_string()))?;
        // Certificates in the agent come with their plain key; the certificate itself is not offered yet.
        let keys = identities.into_iter().filter_map(|identity| match identity {
            AgentIdentity::PublicKey { key, .. } => Some(key),
            AgentIdentity::Certificate { .. } => None,
        });
        Ok((
            Self {
                client,
                asker: asker.clone(),
            },
            keys.collect(),
        ))
    }
}

impl Signer for Agent {
    type Error = SignError;

    async fn auth_sign(
        &mut self,
        key: &AgentIdentity,
        hash: Option<HashAlg>,
        data: Vec<u8>,
    ) -> Result<Vec<u8>, SignError> {
        // The agent may ask its owner to confirm or to touch a token.
        let _asking = self.asker.asking();
        self.client
            .sign_request(key, hash, data)
            .await
            .map_err(|error| SignError::Failed(error.to_string()))
    }
}

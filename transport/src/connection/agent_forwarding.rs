//! Whether the host lets the SSH agent be used from it (`auth-agent-req@openssh.com`, OpenSSH's PROTOCOL.agent).

use russh::ChannelMsg;

use super::Connection;
use crate::{Error, ErrorKind, Stage};

impl Connection {
    /// Asks whether agent forwarding is allowed (`AllowAgentForwarding`, and options of the key in `authorized_keys`).
    /// Nothing that the host opens afterwards is accepted. sshd says yes once per connection.
    ///
    /// # Errors
    /// No session is free to ask on (`MaxSessions`), the host does not answer, or the connection is gone.
    pub async fn allows_agent_forwarding(&self) -> Result<bool, Error> {
        let mut channel = self.open_session("a session to ask for agent forwarding").await?;
        if channel.agent_forward(true).await.is_err() {
            return Err(self.loss().await);
        }
        let answer = async {
            loop {
                match channel.wait().await {
                    Some(ChannelMsg::Success) => return Some(true),
                    Some(ChannelMsg::Failure) => return Some(false),
                    Some(ChannelMsg::Close) | None => return None,
                    Some(_) => {}
                }
            }
        };
        let answer = tokio::time::timeout(self.0.limits.channel, answer).await;
        // When this fails the session is gone, and the channel with it.
        drop(channel.close().await);
        match answer {
            Ok(Some(allowed)) => Ok(allowed),
            Ok(None) if self.is_closed() => Err(self.loss().await),
            _ => Err(Error::new(
                ErrorKind::ChannelRefused,
                Stage::Channel,
                self.host(),
                "the host does not say whether agent forwarding is allowed",
            )),
        }
    }
}

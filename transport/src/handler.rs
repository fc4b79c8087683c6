//! What the SSH session reports to us: host keys, banners, refusals and its end.

use std::sync::{Arc, Mutex, PoisonError};

use russh::{
    ChannelOpenFailure,
    client::{self, DisconnectReason},
    keys::{PublicKey, PublicKeyOrCertificate},
};
use tokio::sync::watch;

use crate::{
    Error, ErrorKind, Prompter, Stage,
    host_key::{KnownHost, Verdict},
};

/// What handler and connection share.
#[derive(Debug)]
pub(crate) struct Reports {
    host: String,
    closed: watch::Sender<Option<Error>>,
    refusal: Mutex<Option<String>>,
    rejected_key: Mutex<Option<(PublicKey, Verdict)>>,
}

impl Reports {
    pub(crate) fn new(host: &str) -> Arc<Self> {
        Arc::new(Self {
            host: host.to_owned(),
            closed: watch::Sender::new(None),
            refusal: Mutex::new(None),
            rejected_key: Mutex::new(None),
        })
    }

    /// Publishes why the connection ended; the first reason counts.
    pub(crate) fn close(&self, error: Error) {
        self.closed.send_if_modified(|cause| {
            let first = cause.is_none();
            if first {
                *cause = Some(error);
            }
            first
        });
    }

    pub(crate) fn closed(&self) -> watch::Receiver<Option<Error>> {
        self.closed.subscribe()
    }

    /// Takes the host's words about the last refused channel.
    pub(crate) fn take_refusal(&self) -> Option<String> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Takes the host key that was not accepted.
    pub(crate) fn take_rejected_key(&self) -> Option<(PublicKey, Verdict)> {
        self.rejected_key
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    fn lost(&self, message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Closed, Stage::Session, &self.host, message)
    }
}

/// The callbacks of one session.
pub(crate) struct ClientHandler {
    pub(crate) reports: Arc<Reports>,
    pub(crate) known: KnownHost,
    /// A key that a person (or the policy for new hosts) accepted before this session was opened.
    pub(crate) accepted: Option<PublicKey>,
    pub(crate) prompter: Arc<dyn Prompter>,
}

impl Drop for ClientHandler {
    fn drop(&mut self) {
        // Some ends of a session reach no callback.
        self.reports.close(self.reports.lost("the connection ended"));
    }
}

impl client::Handler for ClientHandler {
    type Error = russh::Error;

    async fn check_server_key(&mut self, presented: &PublicKeyOrCertificate) -> Result<bool, russh::Error> {
        // Certificates are not offered, so a host that presents one breaks the protocol.
        let PublicKeyOrCertificate::PublicKey { key, .. } = presented else {
            return Ok(false);
        };
        let verdict = self.known.judge(key);
        let accepted = self
            .accepted
            .as_ref()
            .is_some_and(|accepted| accepted.key_data() == key.key_data());
        let trusted = match verdict {
            Verdict::Known => true,
            Verdict::Unknown | Verdict::KnownOtherwise(_) => accepted,
            Verdict::Revoked(_) | Verdict::Changed(_) => false,
        };
        if !trusted {
            *self
                .reports
                .rejected_key
                .lock()
                .unwrap_or_else(PoisonError::into_inner) = Some((key.clone(), verdict));
        }
        Ok(trusted)
    }

    async fn auth_banner(
        &mut self,
        banner: &str,
        _session: &mut client::Session,
    ) -> Result<(), russh::Error> {
        self.prompter.notice(banner);
        Ok(())
    }

    async fn channel_open_failure(
        &mut self,
        _channel: russh::ChannelId,
        _reason: ChannelOpenFailure,
        description: &str,
        _language: &str,
        _session: &mut client::Session,
    ) -> Result<(), russh::Error> {
        *self
            .reports
            .refusal
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(description.to_owned());
        Ok(())
    }

    async fn disconnected(&mut self, reason: DisconnectReason<russh::Error>) -> Result<(), russh::Error> {
        let error = match reason {
            DisconnectReason::ReceivedDisconnect(info) => self.reports.lost(format!(
                "the host ended the connection: {}",
                stdx::bounded::one_line(&info.message, 300)
            )),
            DisconnectReason::Error(russh::Error::Disconnect | russh::Error::HUP) => {
                self.reports.lost("the connection ended")
            }
            DisconnectReason::Error(cause) => self
                .reports
                .lost(format!("the connection broke: {cause}"))
                .with_source(cause),
        };
        self.reports.close(error);
        Ok(())
    }

    // Nothing was asked to be forwarded back to us, so whatever the host opens is refused (by dropping the reply).

    async fn server_channel_open_forwarded_tcpip(
        &mut self,
        _channel: russh::Channel<client::Msg>,
        _connected_address: &str,
        _connected_port: u32,
        _originator_address: &str,
        _originator_port: u32,
        reply: client::ChannelOpenHandle,
        _session: &mut client::Session,
    ) -> Result<(), russh::Error> {
        drop(reply);
        Ok(())
    }

    async fn server_channel_open_forwarded_streamlocal(
        &mut self,
        _channel: russh::Channel<client::Msg>,
        _socket_path: &str,
        reply: client::ChannelOpenHandle,
        _session: &mut client::Session,
    ) -> Result<(), russh::Error> {
        drop(reply);
        Ok(())
    }

    async fn server_channel_open_agent_forward(
        &mut self,
        _channel: russh::Channel<client::Msg>,
        reply: client::ChannelOpenHandle,
        _session: &mut client::Session,
    ) -> Result<(), russh::Error> {
        drop(reply);
        Ok(())
    }

    async fn server_channel_open_session(
        &mut self,
        _channel: russh::Channel<client::Msg>,
        reply: client::ChannelOpenHandle,
        _session: &mut client::Session,
    ) -> Result<(), russh::Error> {
        drop(reply);
        Ok(())
    }

    async fn server_channel_open_direct_tcpip(
        &mut self,
        _channel: russh::Channel<client::Msg>,
        _host: &str,
        _port: u32,
        _originator_address: &str,
        _originator_port: u32,
        reply: client::ChannelOpenHandle,
        _session: &mut client::Session,
    ) -> Result<(), russh::Error> {
        drop(reply);
        Ok(())
    }

    async fn server_channel_open_direct_streamlocal(
        &mut self,
        _channel: russh::Channel<client::Msg>,
        _socket_path: &str,
        reply: client::ChannelOpenHandle,
        _session: &mut client::Session,
    ) -> Result<(), russh::Error> {
        drop(reply);
        Ok(())
    }

    async fn server_channel_open_x11(
        &mut self,
        _channel: russh::Channel<client::Msg>,
        _originator_address: &str,
        _originator_port: u32,
        reply: client::ChannelOpenHandle,
        _session: &mut client::Session,
    ) -> Result<(), russh::Error> {
        drop(reply);
        Ok(())
    }
}

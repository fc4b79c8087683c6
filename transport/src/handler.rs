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
    connection::{Arrived, RemoteForwards},
    host_key::{Judged, KnownHost, Verdict},
};

/// The key a host presented, and what was found about it.
#[derive(Clone, Debug)]
pub(crate) struct Presented {
    pub(crate) key: PublicKey,
    pub(crate) judged: Judged,
    /// Whether the session was ended because of it.
    pub(crate) refused: bool,
}

/// What handler and connection share.
#[derive(Debug)]
pub(crate) struct Reports {
    host: String,
    closed: watch::Sender<Option<Error>>,
    refusal: Mutex<Option<String>>,
    presented: Mutex<Option<Presented>>,
    announced: watch::Sender<Option<Vec<PublicKey>>>,
    remote_forwards: RemoteForwards,
}

impl Reports {
    pub(crate) fn new(host: &str) -> Arc<Self> {
        Arc::new(Self {
            host: host.to_owned(),
            closed: watch::Sender::new(None),
            refusal: Mutex::new(None),
            presented: Mutex::new(None),
            announced: watch::Sender::new(None),
            remote_forwards: RemoteForwards::default(),
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

    /// Gives the host key, once the key exchange proved that the host owns it.
    pub(crate) fn presented(&self) -> Option<Presented> {
        self.presented
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Gives the host keys that the host announces after the login (hostkeys-00@openssh.com), once it does.
    pub(crate) fn announced(&self) -> watch::Receiver<Option<Vec<PublicKey>>> {
        self.announced.subscribe()
    }

    /// Gives what the host was asked to forward to us.
    pub(crate) fn remote_forwards(&self) -> &RemoteForwards {
        &self.remote_forwards
    }

    fn lost(&self, message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Closed, Stage::Session, &self.host, message)
    }
}

/// The callbacks of one session.
pub(crate) struct ClientHandler {
    pub(crate) reports: Arc<Reports>,
    pub(crate) known: Arc<KnownHost>,
    /// Whether this session is only to see the key.
    pub(crate) only_look: bool,
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
        let (key, judged) = match presented {
            PublicKeyOrCertificate::PublicKey { key, .. } => {
                let verdict = self.known.judge(key);
                let certificate = None;
                (key.clone(), Judged { verdict, certificate })
            }
            PublicKeyOrCertificate::Certificate(certificate) => {
                let now = stdx::clock::unix_millis() / 1000;
                let judged = self.known.judge_certificate(certificate, now);
                (presented.public_key(), judged)
            }
        };
        let is_accepted = || {
            let accepted = self.accepted.as_ref();
            accepted.is_some_and(|accepted| accepted.key_data() == key.key_data())
        };
        let trusted = match judged.verdict {
            Verdict::Known | Verdict::Certified(_) => true,
            Verdict::Unknown | Verdict::KnownOtherwise(_) => is_accepted(),
            Verdict::Revoked(_) | Verdict::Changed(_) => false,
        };
        *self
            .reports
            .presented
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(Presented {
            key,
            judged,
            refused: !trusted || self.only_look,
        });
        Ok(trusted && !self.only_look)
    }

    async fn openssh_ext_host_keys_announced(
        &mut self,
        keys: Vec<PublicKey>,
        _session: &mut client::Session,
    ) -> Result<(), russh::Error> {
        // Only the first announcement counts, and proving waits for an answer, which must not be done here.
        self.reports.announced.send_if_modified(|announced| {
            let first = announced.is_none();
            if first {
                *announced = Some(keys);
            }
            first
        });
        Ok(())
    }

    async fn auth_banner(
        &mut self,
        banner: &str,
        _session: &mut client::Session,
    ) -> Result<(), russh::Error> {
        self.prompter.banner(&self.reports.host, banner);
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

    async fn server_channel_open_forwarded_tcpip(
        &mut self,
        channel: russh::Channel<client::Msg>,
        connected_address: &str,
        connected_port: u32,
        originator_address: &str,
        originator_port: u32,
        reply: client::ChannelOpenHandle,
        _session: &mut client::Session,
    ) -> Result<(), russh::Error> {
        let peer = format!("{originator_address} port {originator_port}");
        let arrived = Arrived { channel, reply, peer };
        let forwards = &self.reports.remote_forwards;
        forwards.tcp(connected_address, connected_port, arrived).await;
        Ok(())
    }

    async fn server_channel_open_forwarded_streamlocal(
        &mut self,
        channel: russh::Channel<client::Msg>,
        socket_path: &str,
        reply: client::ChannelOpenHandle,
        _session: &mut client::Session,
    ) -> Result<(), russh::Error> {
        let peer = String::new();
        let arrived = Arrived { channel, reply, peer };
        self.reports.remote_forwards.socket(socket_path, arrived).await;
        Ok(())
    }

    // Nothing else may be opened by the host, so it is refused (by dropping the reply).

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

//! The way over plain SSH channels, and what sshd allows.

use tokio::sync::OnceCell;
use transport::{Connection, ErrorKind, RemoteListener, Stream};

use crate::{
    Endpoint,
    carrier::{BoxFuture, Bytes, Refusal, RefusalKind},
};

/// Advice where sshd says no.
const ASK: &str = "its sshd_config decides (AllowTcpForwarding, AllowStreamLocalForwarding, PermitOpen, PermitListen, \
                   DisableForwarding), or a restriction of your key in authorized_keys; via = \"agent\" would go through \
                   the agent, if that is allowed to you";

/// One SSH connection, and what its sshd was found to allow.
#[derive(Debug)]
pub(crate) struct SshCarrier {
    pub(crate) connection: Connection,
    /// Whether connections to TCP ports are allowed in general.
    connects: OnceCell<bool>,
    /// Whether listening on loopback is allowed in general.
    listens: OnceCell<bool>,
    /// Whether a connection to a socket was ever made. Before that nobody can tell: sshd says the same when it forbids
    /// them as when nobody listens there.
    sockets: OnceCell<()>,
}

impl SshCarrier {
    pub(crate) fn new(connection: Connection) -> Self {
        Self {
            connection,
            connects: OnceCell::new(),
            listens: OnceCell::new(),
            sockets: OnceCell::new(),
        }
    }

    /// Asks once whether sshd lets us connect to such a target, by a connection that nobody takes.
    pub(crate) async fn allows_connecting(&self, to: &Endpoint) -> bool {
        match to {
            Endpoint::Unix(_) => self.sockets.initialized(),
            Endpoint::Tcp { .. } => {
                let ask = || async {
                    match self.connection.open_tcp("127.0.0.1", 1).await {
                        Ok(_) => Ok(true),
                        Err(error) => match error.kind() {
                            ErrorKind::ConnectRefused => Ok(true),
                            ErrorKind::ForwardingRefused | ErrorKind::ChannelRefused => Ok(false),
                            // No answer is no answer, not even for the next time.
                            _ => Err(()),
                        },
                    }
                };
                self.connects.get_or_try_init(ask).await == Ok(&true)
            }
        }
    }

    /// Asks once whether sshd lets us listen on loopback, by a listener that is ended at once. Whether it lets us listen
    /// elsewhere is for sshd to judge in each case (`GatewayPorts`), and so it is for sockets.
    pub(crate) async fn allows_listening(&self, at: &Endpoint) -> bool {
        if !at.is_loopback() {
            return false;
        }
        let ask = || async {
            match self.connection.listen_tcp("localhost", 0).await {
                Ok(listener) => {
                    listener.close().await;
                    Ok(true)
                }
                Err(error) if error.kind() == ErrorKind::ForwardingRefused => Ok(false),
                Err(_) => Err(()),
            }
        };
        self.listens.get_or_try_init(ask).await == Ok(&true)
    }

    pub(crate) async fn open(&self, to: &Endpoint) -> Result<Far, Refusal> {
        let opened = match to {
            Endpoint::Tcp { host, port } => self.connection.open_tcp(host, *port).await,
            Endpoint::Unix(path) => self.connection.open_streamlocal(path).await,
        };
        let host = self.connection.host();
        match opened {
            Ok(stream) => {
                if matches!(to, Endpoint::Unix(_)) {
                    // It may be set already.
                    drop(self.sockets.set(()));
                }
                Ok(Far::ssh(stream))
            }
            Err(error) => {
                let kind = match error.kind() {
                    ErrorKind::ForwardingRefused => {
                        let message = format!("the administrator of {host} forbids connections to {to}");
                        return Err(Refusal::new(RefusalKind::Forbidden, message).with_hint(ASK));
                    }
                    ErrorKind::ConnectRefused | ErrorKind::Unreachable => RefusalKind::Unreachable,
                    ErrorKind::Closed => RefusalKind::Lost,
                    _ => RefusalKind::Other,
                };
                let refusal = Refusal::new(kind, format!("{host}: {}", error.message()));
                Err(match to {
                    Endpoint::Unix(_) if kind == RefusalKind::Unreachable => refusal.with_hint(
                        "nobody listens on that socket, or sshd forbids it and does not say so (AllowStreamLocalForwarding, DisableForwarding)",
                    ),
                    _ => refusal,
                })
            }
        }
    }

    pub(crate) async fn bind(&self, at: &Endpoint) -> Result<SshListener, Refusal> {
        let listening = match at {
            Endpoint::Tcp { host, port } => {
                // RFC 4254, section 7.1: the empty address is every one.
                let address = if host == "*" { "" } else { host };
                self.connection.listen_tcp(address, *port).await
            }
            Endpoint::Unix(path) => self.connection.listen_streamlocal(path).await,
        };
        match listening {
            Ok(listener) => {
                let bound = match at {
                    Endpoint::Tcp { host, .. } => Endpoint::Tcp {
                        host: host.clone(),
                        port: listener.port(),
                    },
                    Endpoint::Unix(_) => at.clone(),
                };
                Ok(SshListener { listener, bound })
            }
            Err(error) if error.kind() == ErrorKind::ForwardingRefused => Err(self.why_not(at).await),
            Err(error) => {
                let kind = match error.kind() {
                    ErrorKind::Closed => RefusalKind::Lost,
                    _ => RefusalKind::Other,
                };
                let host = self.connection.host();
                Err(Refusal::new(kind, format!("{host}: {}", error.message())))
            }
        }
    }

    /// The protocol has no reason for not listening, so it is found by asking for less.
    async fn why_not(&self, at: &Endpoint) -> Refusal {
        let host = self.connection.host();
        match at {
            Endpoint::Tcp { port, .. } => {
                let loopback = Endpoint::Tcp {
                    host: "localhost".to_owned(),
                    port: 0,
                };
                if self.allows_listening(&loopback).await && *port != 0 {
                    let message = format!(
                        "{host} does not listen on {at}: the port is taken there, or sshd does not permit it"
                    );
                    let hint = "choose another port, or 0 for any free one; PermitListen and GatewayPorts in its sshd_config decide, and ports below 1024 are for the administrator";
                    Refusal::new(RefusalKind::InUse, message).with_hint(hint)
                } else {
                    let message = format!("the administrator of {host} forbids listening on {at}");
                    Refusal::new(RefusalKind::Forbidden, message).with_hint(ASK)
                }
            }
            Endpoint::Unix(path) => {
                let message = format!(
                    "{host} does not listen on {path}: a file of that name is there, its folder cannot be written to, or sshd forbids it"
                );
                let hint = "remove the file there, or let sshd do so (StreamLocalBindUnlink); AllowStreamLocalForwarding and DisableForwarding decide whether it is allowed";
                Refusal::new(RefusalKind::InUse, message).with_hint(hint)
            }
        }
    }
}

/// A stream to the host's side.
pub(crate) struct Far {
    pub(crate) bytes: Box<dyn Bytes>,
    /// Ends when the stream is given up since its reader stood still; `None` where it may.
    stalled: Option<BoxFuture<'static, transport::Error>>,
}

impl Far {
    fn ssh(stream: Stream) -> Self {
        Self {
            stalled: Some(Box::pin(stream.stalled())),
            bytes: Box::new(stream),
        }
    }

    pub(crate) fn agent(bytes: Box<dyn Bytes>) -> Self {
        Self { bytes, stalled: None }
    }

    /// Gives the bytes, and what waits until they are given up.
    pub(crate) fn split(self) -> (Box<dyn Bytes>, BoxFuture<'static, std::io::Error>) {
        let stalled = self.stalled;
        let stalled = Box::pin(async {
            match stalled {
                Some(stalled) => stalled.await.into_io(),
                None => std::future::pending().await,
            }
        });
        (self.bytes, stalled)
    }
}

/// A listener of sshd.
pub(crate) struct SshListener {
    listener: RemoteListener,
    pub(crate) bound: Endpoint,
}

impl SshListener {
    pub(crate) async fn accept(&mut self) -> Result<Far, Refusal> {
        match self.listener.accept().await {
            Ok((stream, _peer)) => Ok(Far::ssh(stream)),
            Err(error) => Err(Refusal::new(RefusalKind::Lost, error.to_string())),
        }
    }
}

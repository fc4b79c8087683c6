//! The embedded SSH server.

use std::{
    collections::HashMap,
    io,
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use russh::{
    Channel, ChannelId, ChannelOpenFailure,
    keys::{HashAlg, PublicKey},
    server::{
        self, Auth, ChannelOpenHandle, Config, Msg, PublicKeyOffer, Response, Session, VerifiedPublicKey,
    },
};
use stdx::task::Scope;
use tokio::net::{TcpListener, TcpStream, UnixStream};

use super::{
    KeyKind, KeyPair,
    server_channel::{Processes, run_command, serve_socket},
    server_login::{LoginState, LoginStep},
};
use crate::wire::{Meter, Wire};

/// What the embedded server is like.
#[derive(Clone, Debug)]
pub struct TestServerOptions {
    /// Its host keys; a fresh Ed25519 key if empty.
    pub host_keys: Vec<KeyPair>,
    /// Keys that may log in, as in `authorized_keys`.
    pub authorized_keys: Vec<String>,
    /// The steps of a login.
    pub login: Vec<LoginStep>,
    /// What may be forwarded.
    pub forwarding: Forwarding,
    /// How many sessions one connection may have at a time.
    pub max_sessions: usize,
    /// The login shell: commands run as `SHELL -c COMMAND`.
    pub shell: PathBuf,
    /// The whole environment of commands.
    pub environment: Vec<(String, String)>,
    /// The folder in which commands start.
    pub folder: PathBuf,
}

/// What the server lets a client forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forwarding {
    /// `AllowTcpForwarding`.
    pub tcp: bool,
    /// `AllowStreamLocalForwarding`.
    pub streamlocal: bool,
}

impl TestServerOptions {
    /// Everything allowed, commands run by `/bin/sh` in `home`, nobody may log in yet.
    #[must_use]
    pub fn new(home: impl Into<PathBuf>) -> Self {
        let home = home.into();
        let environment = [
            ("HOME", home.to_string_lossy().into_owned()),
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("SHELL", "/bin/sh".to_owned()),
        ];
        Self {
            host_keys: Vec::new(),
            authorized_keys: Vec::new(),
            login: vec![LoginStep::PublicKey],
            forwarding: Forwarding {
                tcp: true,
                streamlocal: true,
            },
            max_sessions: 10,
            shell: "/bin/sh".into(),
            environment: environment.map(|(key, value)| (key.to_owned(), value)).to_vec(),
            folder: home,
        }
    }
}

/// A running embedded server. Dropping it ends its connections; [`TestServer::close`] also ends what they started.
#[derive(Debug)]
pub struct TestServer {
    address: SocketAddr,
    host_keys: Vec<String>,
    scope: Scope,
    shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: TestServerOptions,
    authorized: Vec<PublicKey>,
    pub(crate) scope: Scope,
    pub(crate) processes: Processes,
    wires: Mutex<Vec<Meter>>,
    attempts: Mutex<Vec<String>>,
}

impl TestServer {
    /// Starts a server on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// No port can be had, or a key is malformed.
    pub async fn start(mut options: TestServerOptions) -> io::Result<Self> {
        if options.host_keys.is_empty() {
            options.host_keys.push(KeyPair::generate(KeyKind::Ed25519)?);
        }
        let authorized: Result<Vec<_>, _> = options
            .authorized_keys
            .iter()
            .map(|key| PublicKey::from_openssh(key))
            .collect();
        let config = Config {
            keys: options
                .host_keys
                .iter()
                .map(|key| key.private().clone())
                .collect(),
            auth_rejection_time: Duration::ZERO,
            auth_rejection_time_initial: Some(Duration::ZERO),
            inactivity_timeout: None,
            // Small enough that both directions of a busy channel fit into the socket buffers: neither side reads
            // while it writes.
            window_size: 1024 * 1024,
            nodelay: true,
            ..Config::default()
        };
        let host_keys = options.host_keys.iter().map(KeyPair::public).collect();
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let scope = Scope::root("test ssh server");
        let shared = Arc::new(Shared {
            authorized: authorized.map_err(io::Error::other)?,
            options,
            scope: scope.clone(),
            processes: Processes::default(),
            wires: Mutex::default(),
            attempts: Mutex::default(),
        });
        // Owned by the scope.
        drop(scope.spawn(accept(listener, Arc::new(config), Arc::clone(&shared))));
        Ok(Self {
            address,
            host_keys,
            scope,
            shared,
        })
    }

    /// Gives the address to connect to.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Gives the lines for a known-hosts file.
    #[must_use]
    pub fn known_hosts(&self) -> String {
        let name = crate::known_hosts::listed_name(&self.address.ip().to_string(), self.address.port());
        self.host_keys
            .iter()
            .map(|key| format!("{name} {key}\n"))
            .collect()
    }

    /// Cuts every connection now; new ones are served.
    pub fn drop_connections(&self) {
        for wire in self
            .shared
            .wires
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .drain(..)
        {
            wire.cut();
        }
    }

    /// Gives the login attempts so far, such as `password` or `publickey SHA256:…`. Queries are not counted.
    #[must_use]
    pub fn attempts(&self) -> Vec<String> {
        self.shared
            .attempts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Ends the connections and kills the process groups of running commands. Daemons that left their group stay.
    pub async fn close(&self) {
        self.drop_connections();
        self.shared.processes.kill_all();
        self.scope.close(Duration::from_secs(2)).await;
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.drop_connections();
        self.scope.cancel();
        self.shared.processes.kill_all();
    }
}

async fn accept(listener: TcpListener, config: Arc<Config>, shared: Arc<Shared>) {
    loop {
        let stream = tokio::select! {
            biased;
            () = shared.scope.token().cancelled() => return,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(_) => continue,
            },
        };
        // Only slower without it.
        drop(stream.set_nodelay(true));
        let meter = Meter::default();
        shared
            .wires
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(meter.clone());
        let handler = Peer {
            login: LoginState::new(shared.options.login.clone()),
            shared: Arc::clone(&shared),
            channels: HashMap::new(),
            sessions: Arc::default(),
        };
        let (config, token) = (Arc::clone(&config), shared.scope.token().clone());
        // Owned by the scope.
        drop(shared.scope.spawn(async move {
            let serve = async {
                if let Ok(session) =
                    server::run_stream(config, Wire::new(Box::new(stream), &meter), handler).await
                {
                    // How a client leaves is its own business.
                    drop(session.await);
                }
            };
            tokio::select! {
                biased;
                () = token.cancelled() => meter.cut(),
                () = serve => {}
            }
        }));
    }
}

/// The place of one session under the limit; dropped before the client hears that the session is closed.
pub(crate) struct SessionSlot(Arc<AtomicUsize>);

impl Drop for SessionSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// One connection.
struct Peer {
    shared: Arc<Shared>,
    login: LoginState,
    /// Sessions that run nothing yet.
    channels: HashMap<ChannelId, Channel<Msg>>,
    sessions: Arc<AtomicUsize>,
}

impl Peer {
    fn note(&self, attempt: String) {
        self.shared
            .attempts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(attempt);
    }

    fn is_authorized(&self, key: &PublicKey) -> bool {
        self.shared
            .authorized
            .iter()
            .any(|known| known.key_data() == key.key_data())
    }
}

impl server::Handler for Peer {
    type Error = russh::Error;

    async fn auth_none(&mut self, _user: &str) -> Result<Auth, russh::Error> {
        Ok(self.login.reject())
    }

    async fn auth_password(&mut self, _user: &str, password: &str) -> Result<Auth, russh::Error> {
        self.note("password".into());
        Ok(self.login.password(password))
    }

    async fn auth_publickey_offered(
        &mut self,
        _user: &str,
        offer: PublicKeyOffer<'_>,
    ) -> Result<Auth, russh::Error> {
        let authorized = self.is_authorized(offer.public_key);
        if !authorized {
            self.note(format!(
                "publickey {}",
                offer.public_key.fingerprint(HashAlg::Sha256)
            ));
        }
        Ok(self.login.offered(authorized, offer.public_key))
    }

    async fn auth_publickey(
        &mut self,
        _user: &str,
        key: VerifiedPublicKey<'_>,
    ) -> Result<Auth, russh::Error> {
        self.note(format!(
            "publickey {}",
            key.public_key.fingerprint(HashAlg::Sha256)
        ));
        let authorized = self.is_authorized(key.public_key);
        Ok(self.login.public_key(authorized, key.public_key))
    }

    async fn auth_keyboard_interactive<'a>(
        &mut self,
        _user: &str,
        _submethods: &str,
        response: Option<Response<'a>>,
    ) -> Result<Auth, russh::Error> {
        if response.is_none() {
            self.note("keyboard-interactive".into());
        }
        Ok(self.login.questions(response))
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), russh::Error> {
        if self.sessions.load(Ordering::SeqCst) >= self.shared.options.max_sessions {
            // What sshd answers beyond MaxSessions.
            reply.reject(ChannelOpenFailure::ConnectFailed).await;
            return Ok(());
        }
        self.sessions.fetch_add(1, Ordering::SeqCst);
        self.channels.insert(channel.id(), channel);
        reply.accept().await;
        Ok(())
    }

    async fn channel_close(
        &mut self,
        channel: ChannelId,
        _session: &mut Session,
    ) -> Result<(), russh::Error> {
        if self.channels.remove(&channel).is_some() {
            self.sessions.fetch_sub(1, Ordering::SeqCst);
        }
        Ok(())
    }

    async fn exec_request(
        &mut self,
        id: ChannelId,
        command: &[u8],
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        let Some(channel) = self.channels.remove(&id) else {
            return session.channel_failure(id);
        };
        session.channel_success(id)?;
        let (shared, sessions, handle) = (
            Arc::clone(&self.shared),
            Arc::clone(&self.sessions),
            session.handle(),
        );
        let command = String::from_utf8_lossy(command).into_owned();
        // Owned by the scope.
        drop(self.shared.scope.spawn(async move {
            run_command(&shared, channel, &handle, &command, SessionSlot(sessions)).await;
        }));
        Ok(())
    }

    async fn subsystem_request(
        &mut self,
        id: ChannelId,
        _name: &str,
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        session.channel_failure(id)
    }

    async fn channel_open_direct_tcpip(
        &mut self,
        channel: Channel<Msg>,
        host: &str,
        port: u32,
        _originator_address: &str,
        _originator_port: u32,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), russh::Error> {
        if !self.shared.options.forwarding.tcp {
            reply.reject(ChannelOpenFailure::AdministrativelyProhibited).await;
            return Ok(());
        }
        let target = (host.to_owned(), u16::try_from(port).unwrap_or_default());
        // Owned by the scope.
        drop(self.shared.scope.spawn(async move {
            match TcpStream::connect(target).await {
                Ok(stream) => {
                    reply.accept().await;
                    let (read, write) = stream.into_split();
                    serve_socket(channel, read, write).await;
                }
                Err(_) => reply.reject(ChannelOpenFailure::ConnectFailed).await,
            }
        }));
        Ok(())
    }

    async fn channel_open_direct_streamlocal(
        &mut self,
        channel: Channel<Msg>,
        path: &str,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), russh::Error> {
        if !self.shared.options.forwarding.streamlocal {
            reply.reject(ChannelOpenFailure::AdministrativelyProhibited).await;
            return Ok(());
        }
        let path = PathBuf::from(path);
        // Owned by the scope.
        drop(self.shared.scope.spawn(async move {
            match UnixStream::connect(path).await {
                Ok(stream) => {
                    reply.accept().await;
                    let (read, write) = stream.into_split();
                    serve_socket(channel, read, write).await;
                }
                Err(_) => reply.reject(ChannelOpenFailure::ConnectFailed).await,
            }
        }));
        Ok(())
    }
}

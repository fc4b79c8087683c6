//! Reaching a host: name look-up, TCP, jump hosts and proxy commands.

mod outgoing;

use std::{
    net::{IpAddr, SocketAddr},
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use hickory_resolver::{
    TokioResolver,
    net::{DnsError, NetError},
};
use stdx::task::Scope;
use tokio::{io::AsyncReadExt, net::TcpStream};
use tokio_util::sync::CancellationToken;

use crate::{
    AddressFamily, ConnectOptions, Connection, Error, ErrorKind, Prompter, Proxy, Resolved, Stage,
    wire::{ByteStream, PromptTcp},
};

/// A byte stream to the host and what has to live as long as it.
pub(crate) struct Dialed {
    pub(crate) stream: Box<dyn ByteStream>,
    /// The connection to the jump host.
    pub(crate) via: Option<Connection>,
    /// What a proxy command wrote to its standard error.
    pub(crate) notes: Notes,
}

/// The first lines of a proxy command's standard error.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes {
    text: Arc<Mutex<String>>,
    /// Cancelled when the command has closed its standard error; `None` without a command.
    ended: Option<CancellationToken>,
}

impl Notes {
    /// Gives them as one line, or nothing. A command that is just ending may finish its sentence.
    pub(crate) async fn line(&self) -> Option<String> {
        if let Some(ended) = &self.ended {
            // One that lives on has said enough.
            drop(tokio::time::timeout(Duration::from_millis(500), ended.cancelled()).await);
        }
        let text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        let line = stdx::bounded::one_line(&text, 400);
        (!line.is_empty()).then_some(line)
    }
}

/// Reaches the host, through `open` where that is a connection to its jump host which still lives.
pub(crate) async fn dial(
    resolved: &Resolved,
    options: &ConnectOptions,
    prompter: &Arc<dyn Prompter>,
    scope: &Scope,
    open: Option<Connection>,
) -> Result<Dialed, Error> {
    let deadline = resolved
        .network
        .connect_timeout
        .unwrap_or(options.deadlines.connect);
    match &resolved.proxy {
        None => {
            let stream = Box::new(PromptTcp::new(tcp(resolved, options, deadline).await?));
            Ok(Dialed {
                stream,
                via: None,
                notes: Notes::default(),
            })
        }
        Some(Proxy::Jump(hop)) => {
            let via = match open.filter(|open| !open.is_closed()) {
                Some(open) => open,
                None => connect_hop(resolved, hop, options, prompter, scope).await?,
            };
            let stream = via
                .open_tcp(&resolved.endpoint.host_name, resolved.endpoint.port)
                .await
                .map_err(|cause| beyond(resolved, hop, cause))?;
            Ok(Dialed {
                stream: Box::new(stream),
                via: Some(via),
                notes: Notes::default(),
            })
        }
        Some(Proxy::Command { line, environment }) => command(resolved, line, environment, scope),
    }
}

async fn connect_hop(
    resolved: &Resolved,
    hop: &Resolved,
    options: &ConnectOptions,
    prompter: &Arc<dyn Prompter>,
    scope: &Scope,
) -> Result<Connection, Error> {
    let of_hop = ConnectOptions {
        first_key: None,
        ..options.clone()
    };
    Box::pin(Connection::connect(hop, &of_hop, prompter, scope))
        .await
        .map_err(|error| error.on_the_way_to(&resolved.alias))
}

/// Says that a jump host did not connect us on, and whether it may not or cannot.
fn beyond(resolved: &Resolved, hop: &Resolved, cause: Error) -> Error {
    let (hop, address) = (&hop.alias, address(resolved));
    let message = match cause.kind() {
        ErrorKind::ForwardingRefused => {
            format!("the jump host {hop} forbids connections to {address} (administratively prohibited)")
        }
        _ => format!("the jump host {hop} could not reach {address}"),
    };
    let error = Error::new(cause.kind(), Stage::Connect, &resolved.alias, message);
    match cause.hint() {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
    .with_source(cause)
}

fn address(resolved: &Resolved) -> String {
    format!("{} port {}", resolved.endpoint.host_name, resolved.endpoint.port)
}

async fn tcp(resolved: &Resolved, options: &ConnectOptions, deadline: Duration) -> Result<TcpStream, Error> {
    let network = &resolved.network;
    let mut addresses = find(resolved, options.deadlines.lookup).await?;
    addresses.retain(|address| outgoing::is_of(network.family, address));
    let mut last: Option<std::io::Error> = None;
    let mut left = u32::try_from(addresses.len()).unwrap_or(u32::MAX).max(1);
    let started = stdx::clock::monotonic();
    for address in addresses {
        // Every address gets its share, so that one that swallows packets does not hide the next.
        let share = deadline.saturating_sub(started.elapsed()) / left;
        left = left.saturating_sub(1).max(1);
        match tokio::time::timeout(share, outgoing::connect(network, address)).await {
            Ok(Ok(stream)) => {
                // Only slower without it.
                drop(stream.set_nodelay(true));
                return Ok(stream);
            }
            Ok(Err(error)) => last = Some(error),
            Err(_) => {
                last = Some(std::io::Error::new(
                    std::io::ErrorKind::TimedOut,
                    format!("no answer within {:.1} s", share.as_secs_f32()),
                ));
            }
        }
    }
    let cause = last.unwrap_or_else(|| {
        std::io::Error::other(match network.family {
            AddressFamily::Any => "the name has no address",
            AddressFamily::Inet => "the name has no IPv4 address (AddressFamily inet)",
            AddressFamily::Inet6 => "the name has no IPv6 address (AddressFamily inet6)",
        })
    });
    let hint = match cause.kind() {
        std::io::ErrorKind::ConnectionRefused => "is an SSH server running there, and is the port right?",
        std::io::ErrorKind::TimedOut => "is the host on, and does a firewall or a missing VPN stand between?",
        _ => "check host name, port and network",
    };
    let message = format!("could not connect to {}: {cause}", address(resolved));
    Err(
        Error::new(ErrorKind::Unreachable, Stage::Connect, &resolved.alias, message)
            .with_hint(hint)
            .with_source(cause),
    )
}

/// Looks a host up, and says which and why not.
async fn find(resolved: &Resolved, deadline: Duration) -> Result<Vec<SocketAddr>, Error> {
    let Resolved { alias, endpoint, .. } = resolved;
    look_up(&endpoint.host_name, endpoint.port, deadline)
        .await
        .map_err(|cause| {
            // Stage and alias stand before it.
            let message = if *alias == endpoint.host_name {
                cause
            } else {
                format!("{}: {cause}", endpoint.host_name)
            };
            Error::new(ErrorKind::Unreachable, Stage::Lookup, alias, message)
                .with_hint("check the spelling and the network")
        })
}

/// Looks a name up with the system's configuration and its hosts file. Addresses need no look-up.
///
/// # Errors
/// Why there is no answer, in words.
pub async fn look_up(name: &str, port: u16, deadline: Duration) -> Result<Vec<SocketAddr>, String> {
    // `fe80::1%eth0`: the standard library knows zones only in socket addresses.
    if let Ok(address) = format!("[{name}]:{port}").parse() {
        return Ok(vec![address]);
    }
    if let Ok(address) = name.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    // RFC 6761: this name never leaves the machine.
    if name.eq_ignore_ascii_case("localhost") {
        return Ok(["127.0.0.1", "::1"]
            .iter()
            .filter_map(|ip| Some(SocketAddr::new(ip.parse().ok()?, port)))
            .collect());
    }
    let resolver = TokioResolver::builder_tokio()
        .and_then(hickory_resolver::ResolverBuilder::build)
        .map_err(|error| in_words(&error))?;
    match tokio::time::timeout(deadline, resolver.lookup_ip(name)).await {
        Ok(Ok(found)) => Ok(found.iter().map(|ip| SocketAddr::new(ip, port)).collect()),
        Ok(Err(error)) => Err(in_words(&error)),
        Err(_) => Err(format!("no answer within {:.1} s", deadline.as_secs_f32())),
    }
}

/// Says why a look-up failed; the resolver's own text shows the query as a data structure.
fn in_words(error: &NetError) -> String {
    match error {
        error if error.is_no_records_found() => "no such name is known".to_owned(),
        NetError::Timeout | NetError::NoConnections => "no name server answers".to_owned(),
        NetError::Dns(DnsError::ResponseCode(code)) => format!("the name server answers: {code}"),
        NetError::Io(error) => format!("no name server is reached: {error}"),
        _ => "the name server's answer cannot be used".to_owned(),
    }
}

fn command(
    resolved: &Resolved,
    line: &str,
    environment: &[(String, String)],
    scope: &Scope,
) -> Result<Dialed, Error> {
    let mut command = stdx::process::command("/bin/sh");
    command
        .arg("-c")
        .arg(format!("exec {line}"))
        .envs(environment.iter().cloned());
    // Its own group: Ctrl-C on the terminal is for us.
    command
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let fail = |message: &str| Error::new(ErrorKind::Unreachable, Stage::Connect, &resolved.alias, message);
    let mut child = command
        .spawn()
        .map_err(|error| fail("could not start the proxy command").with_source(error))?;
    let (Some(stdin), Some(stdout), Some(mut stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(fail("the proxy command has no standard streams"));
    };
    let ended = CancellationToken::new();
    let notes = Notes {
        ended: Some(ended.clone()),
        ..Notes::default()
    };
    let (kept, token) = (notes.clone(), scope.token().clone());
    let drain = async move {
        let mut buffer = [0; 1024];
        while let Ok(count) = stderr.read(&mut buffer).await
            && count > 0
        {
            let mut text = kept.text.lock().unwrap_or_else(PoisonError::into_inner);
            if text.len() < 4096 {
                text.push_str(&String::from_utf8_lossy(&buffer[..count]));
            }
        }
    };
    // Owned by the scope; ends with the child's standard error.
    drop(scope.spawn(async move {
        tokio::select! {
            biased;
            () = token.cancelled() => {}
            () = drain => {}
        }
        ended.cancel();
    }));
    let stream = WithChild {
        stream: tokio::io::join(stdout, stdin),
        _child: child,
    };
    Ok(Dialed {
        stream: Box::new(stream),
        via: None,
        notes,
    })
}

/// The standard streams of a process that is killed with them.
struct WithChild<S> {
    stream: S,
    _child: tokio::process::Child,
}

impl<S: tokio::io::AsyncRead + Unpin> tokio::io::AsyncRead for WithChild<S> {
    fn poll_read(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
        buf: &mut tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::pin::Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: tokio::io::AsyncWrite + Unpin> tokio::io::AsyncWrite for WithChild<S> {
    fn poll_write(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
        buf: &[u8],
    ) -> std::task::Poll<std::io::Result<usize>> {
        std::pin::Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::pin::Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::pin::Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

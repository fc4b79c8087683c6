//! Going over to a newer agent: it is started beside the older ones, which finish their turns and end.

use std::{io, sync::Mutex, time::Duration};

use bootstrap::{Install, Progress, SshRemote, Wanted};
use client::{Agent, ByteStream, Connector};
use futures_util::future::BoxFuture;
use protocol::{DrainRequest, Hello, SessionId};
use stdx::task::Scope;
use transport::Connection;

use crate::wire::{NoWire, Way};

/// How long each step of asking an older agent may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// What an upgrade found and did.
#[derive(Debug)]
pub struct Upgrade {
    /// The agent of this build, which runs.
    pub ready: bootstrap::Ready,
    /// What became of the others.
    pub others: Vec<Other>,
}

/// Another agent of the same home on the host.
#[derive(Debug, Clone)]
pub struct Other {
    /// Who it is.
    pub hello: Hello,
    /// What it said.
    pub drain: Drain,
}

/// What an agent said when it was asked to drain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Drain {
    /// No turn runs in it: it ends.
    Ends,
    /// It finishes the turns of these sessions, and then ends. Clients of both agents see them.
    Running(Vec<SessionId>),
    /// It could not be asked, or does not know how to drain: it goes on as before, with the reason.
    Refused(String),
}

/// Puts the program of `wanted.source` on the host unless it is there, starts its agent beside others that run, and tells
/// those to finish their turns and end. No turn is stopped. Doing it again changes nothing.
///
/// # Errors
/// As for [`bootstrap::ensure`]. What goes wrong with another agent is in its [`Other::drain`].
pub async fn upgrade(
    connection: &Connection,
    wanted: &Wanted,
    progress: &dyn Progress,
    scope: &Scope,
) -> Result<Upgrade, bootstrap::Error> {
    let wanted = Wanted {
        install: Install::Upload,
        ..wanted.clone()
    };
    let remote = SshRemote::new(connection.clone());
    let ready = bootstrap::ensure(&remote, &wanted, progress).await?;
    let others = drain_others(connection, &ready, PATIENCE, scope).await;
    Ok(Upgrade { ready, others })
}

/// Asks the other agents of a home to drain, one after another: a host may allow one session at a time.
pub(crate) async fn drain_others(
    connection: &Connection,
    ready: &bootstrap::Ready,
    patience: Duration,
    scope: &Scope,
) -> Vec<Other> {
    let Some(successor) = &ready.hello else {
        // An agent that ends with the connection takes nobody's place.
        return Vec::new();
    };
    let request = DrainRequest {
        successor: Some(successor.identity.socket.clone()),
    };
    let mut others = Vec::new();
    for hello in &ready.others {
        let asked = tokio::time::timeout(
            patience,
            drain(connection, ready, hello, &request, patience, scope),
        );
        let drain = match asked.await {
            Ok(Ok(running)) if running.is_empty() => Drain::Ends,
            Ok(Ok(running)) => Drain::Running(running),
            Ok(Err(why)) => Drain::Refused(why),
            Err(_) => Drain::Refused(format!("no answer within {} s", patience.as_secs())),
        };
        tracing::info!(instance = %hello.identity.instance, ?drain, "an older agent was asked to drain");
        others.push(Other {
            hello: hello.clone(),
            drain,
        });
    }
    others
}

async fn drain(
    connection: &Connection,
    ready: &bootstrap::Ready,
    other: &Hello,
    request: &DrainRequest,
    patience: Duration,
    scope: &Scope,
) -> Result<Vec<SessionId>, String> {
    let socket = other.identity.socket.clone();
    let direct = Way::Streamlocal {
        socket: socket.clone(),
    };
    let stream = match direct.open(connection, patience).await {
        Ok(stream) => stream,
        Err(_forbidden_or_nobody) => {
            let bridge = Way::Bridge {
                program: ready.program.clone(),
                home: ready.home.clone(),
                socket,
            };
            let opened = bridge.open(connection, patience).await;
            opened.map_err(|why: NoWire| why.into_error(connection.host()).to_string())?
        }
    };
    let scope = scope.child("drain");
    let agent = Agent::new(Once(Mutex::new(Some(stream))), client::Options::default(), &scope);
    let reply = agent.drain(request).await;
    scope.close(Duration::ZERO).await;
    reply
        .map(|reply| reply.running)
        .map_err(|error| error.to_string())
}

/// Gives a stream that is open already, once.
struct Once(Mutex<Option<Box<dyn ByteStream>>>);

impl Connector for Once {
    fn connect(&self) -> BoxFuture<'_, io::Result<Box<dyn ByteStream>>> {
        let stream = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .take();
        Box::pin(async move { stream.ok_or_else(|| io::ErrorKind::NotConnected.into()) })
    }
}

//! One attempt: dial, attach to the socket of the last visit, else bootstrap, and prove it with a hello.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bootstrap::{Install, LastVisit, Next, Reply, SshRemote, Stay, Via, Wanted, Wish, Workspace};
use client::Agent;
use protocol::{Hello, Identity, hello};
use stdx::task::Scope;
use transport::{Connection, ErrorKind as SshKind, KeepaliveOptions, Prompter};

use crate::{
    error::{BridgeRefusal, Error, ErrorKind, no_common_version},
    handle::Ready,
    host::{Host, LinkOptions},
    machine::{HostIdentity, OtherMachine, Verdict},
    progress::{Doings, Stage},
    prompt::Shown,
    upgrade,
    visits::{Visit, Visits},
    wire::{NoWire, Route, Switch, Way},
    workspace,
};

/// Everything an attempt needs.
pub(crate) struct Dialer {
    pub(crate) options: LinkOptions,
    pub(crate) scope: Scope,
    pub(crate) agent: Agent,
    pub(crate) switch: Switch,
    visits: Visits,
    /// Who answered first in the life of this link.
    known: Mutex<Option<Identity>>,
}

/// How an attempt ended, and the SSH connection if it is still usable.
pub(crate) struct Outcome {
    pub(crate) connection: Option<Connection>,
    pub(crate) result: Result<Attached, Error>,
}

/// An agent that said hello over the route that is open now.
pub(crate) struct Attached {
    pub(crate) ready: Ready,
    pub(crate) rtt: Duration,
}

/// What came of trying one way to one socket.
enum Reached {
    Hello {
        hello: Box<Hello>,
        rtt: Duration,
    },
    /// Forbidden, or nobody listens: the way does not tell.
    Unknown(Error),
    /// Nobody usable is there.
    Nobody(Error),
}

impl Dialer {
    pub(crate) fn new(options: LinkOptions, agent: Agent, switch: Switch, scope: Scope) -> Self {
        let visits = Visits::new(options.state_dir.clone(), options.install.home.clone());
        Self {
            options,
            scope,
            agent,
            switch,
            visits,
            known: Mutex::default(),
        }
    }

    /// Goes the whole way, on `reuse` if that SSH connection is still there. `lost` is why the last one is not live any
    /// more, for whoever is asked something.
    pub(crate) async fn attempt(
        self: Arc<Self>,
        reuse: Option<Connection>,
        lost: Option<Error>,
        doings: Doings,
    ) -> Outcome {
        let connection = match reuse.filter(|connection| !connection.is_closed()) {
            Some(connection) => connection,
            None => match self.dial(lost, &doings).await {
                Ok(connection) => connection,
                Err(error) => {
                    return Outcome {
                        connection: None,
                        result: Err(error),
                    };
                }
            },
        };
        let result = self.attach(&connection, &doings).await;
        if result.is_err() {
            self.switch.to(Route::Wait);
        }
        Outcome {
            connection: (!connection.is_closed()).then_some(connection),
            result,
        }
    }

    async fn dial(&self, lost: Option<Error>, doings: &Doings) -> Result<Connection, Error> {
        let resolved = match &self.options.host {
            Host::Resolved(resolved) => resolved.clone(),
            Host::Named { target, resolve } => transport::resolve(target, resolve)
                .await
                .map_err(|error| Error::ssh(Stage::Resolving, error))?,
        };
        self.visits.begin(&resolved.endpoint).await;
        doings.stage(Stage::Dialing);
        let prompter: Arc<dyn Prompter> = Arc::new(self.shown(doings).because(lost));
        let mut ssh = self.options.ssh.clone();
        ssh.keepalive = KeepaliveOptions {
            interval: self.options.timings.ping_interval,
            dead_after: self.options.timings.dead_after,
        };
        ssh.first_key = self.visits.key();
        Connection::connect(&resolved, &ssh, &prompter, &self.scope)
            .await
            .map_err(|error| Error::ssh(doings.now(), error))
    }

    async fn attach(&self, connection: &Connection, doings: &Doings) -> Result<Attached, Error> {
        if let Some(last) = self.visits.last() {
            doings.stage(Stage::Attaching);
            if let Some(attached) = self.remembered(connection, &last, doings).await? {
                return Ok(attached);
            }
        }
        match self.bootstrapped(connection, Wish::Any, doings).await? {
            Ok(attached) => Ok(attached),
            // The daemon died between the probe and the attach. Once is bad luck.
            Err(error) => {
                tracing::info!(%error, "the daemon is gone again: bootstrap once more");
                match self.bootstrapped(connection, Wish::Any, doings).await? {
                    Err(error) if is_gone(&error) => self.on_the_connection(connection, error, doings).await,
                    result => result,
                }
            }
        }
    }

    /// Lets the agent live on the connection, since the host ends whatever else is started there. Where that does not
    /// work either, what went wrong first is worth knowing.
    async fn on_the_connection(
        &self,
        connection: &Connection,
        gone: Error,
        doings: &Doings,
    ) -> Result<Attached, Error> {
        match self.bootstrapped(connection, Wish::Connection, doings).await? {
            Ok(attached) => Ok(attached),
            Err(error) => {
                tracing::info!(%error, "no agent on the connection either");
                Err(gone)
            }
        }
    }

    /// Tries the socket of the last visit. `None` leads to a bootstrap.
    async fn remembered(
        &self,
        connection: &Connection,
        last: &LastVisit,
        doings: &Doings,
    ) -> Result<Option<Attached>, Error> {
        let mut via = last.via;
        loop {
            let way = way(via, &last.socket, &last.program, last.home.as_deref());
            let reached = self.reach(connection, way).await?;
            let reply = match &reached {
                Reached::Hello { hello, .. } => Reply::Hello(hello),
                Reached::Unknown(_) => Reply::Unknown(via),
                Reached::Nobody(_) => Reply::NoDaemon,
            };
            match (bootstrap::next(last, reply, hello::VERSIONS), reached) {
                (Next::Proceed | Next::Remember, Reached::Hello { hello, rtt }) => {
                    let ready = Ready {
                        hello: *hello,
                        program: last.program.clone(),
                        home: last.home.clone(),
                        workspace: None,
                        via,
                        arrival: None,
                        stay: (via == Via::Stdio).then_some(Stay::Connection),
                    };
                    let there = (last.socket.clone(), rtt);
                    return self.arrived(connection, ready, there, doings).await.map(Some);
                }
                (Next::TryBridge, _) => via = Via::Bridge,
                _ => {
                    self.switch.to(Route::Wait);
                    return Ok(None);
                }
            }
        }
    }

    /// Makes sure that a daemon runs and attaches to it. The inner error means that it is gone again.
    async fn bootstrapped(
        &self,
        connection: &Connection,
        stay: Wish,
        doings: &Doings,
    ) -> Result<Result<Attached, Error>, Error> {
        let host = connection.host();
        let mut found = self.ensured(connection, stay, doings).await?;
        if let Some(hello) = &found.hello {
            self.check(host, &hello.identity, doings).await?;
        }
        doings.stage(Stage::Attaching);
        if self.options.install.install == Install::Upload {
            // Before the wire is opened: a host may allow one session at a time.
            upgrade::drain_others(connection, &found, self.options.timings.attach, &self.scope).await;
        }
        let mut ways = match found.hello {
            Some(_) => vec![Via::Streamlocal, Via::Bridge],
            None => vec![Via::Stdio],
        };
        if self.visits.last().is_some_and(|last| last.via == Via::Bridge) {
            ways.reverse();
        }
        let socket = found.hello.as_ref().map(|hello| hello.identity.socket.clone());
        let socket = socket.unwrap_or_default();
        let mut why = None;
        for via in ways {
            let way = way(via, &socket, &found.program, found.home.as_deref());
            match self.reach(connection, way).await? {
                Reached::Hello { hello, rtt } => {
                    let ready = Ready {
                        hello: *hello,
                        program: found.program,
                        home: found.home,
                        workspace: found.workspace,
                        via,
                        arrival: Some(found.arrival),
                        stay: found.stay,
                    };
                    let there = (socket, rtt);
                    return self.arrived(connection, ready, there, doings).await.map(Ok);
                }
                Reached::Nobody(error) => return Ok(Err(error)),
                Reached::Unknown(error) => why = Some(error),
            }
        }
        if let Some(fallen) = found.fallen.take().and_then(Arc::into_inner) {
            // The agent on the connection was only the last way out.
            return Err(Error::new(Stage::Launching, host, ErrorKind::Bootstrap(fallen)));
        }
        let nobody = || NoWire::Bridge(BridgeRefusal::NoAnswer(None)).into_error(host);
        let why = why.unwrap_or_else(nobody);
        match stay {
            Wish::Any => Err(why),
            Wish::Connection => Ok(Err(why)),
        }
    }

    /// Bootstraps, and once more when a person changed what stood in the way: a workspace that was missing was made, or
    /// another machine is accepted. Nothing was put on it then.
    async fn ensured(
        &self,
        connection: &Connection,
        stay: Wish,
        doings: &Doings,
    ) -> Result<bootstrap::Ready, Error> {
        let remote = SshRemote::new(connection.clone());
        let mut may_ask = true;
        loop {
            let error = match bootstrap::ensure(&remote, &self.wanted(stay), doings).await {
                Ok(ready) => return Ok(ready),
                Err(error) => error,
            };
            match error.kind() {
                bootstrap::ErrorKind::OtherMachine(found) => {
                    let now = HostIdentity::new(&found.machine, found.uid, "");
                    self.judge(connection.host(), now, doings).await?;
                }
                bootstrap::ErrorKind::Workspace(Workspace::Missing(folder))
                    if may_ask && workspace::offer(connection, &self.shown(doings), folder).await =>
                {
                    may_ask = false;
                }
                _ => {
                    let kind = ErrorKind::Bootstrap(error);
                    return Err(Error::new(doings.now(), connection.host(), kind));
                }
            }
        }
    }

    fn shown(&self, doings: &Doings) -> Shown {
        Shown::new(Arc::clone(&self.options.prompter), doings.clone())
    }

    fn wanted(&self, stay: Wish) -> Wanted {
        let install = &self.options.install;
        // Checked once: a workspace that vanishes later is the agent's to tell, and no reason to stay away.
        let is_first = self.known().is_none();
        Wanted {
            workspace: install.workspace.clone().filter(|_| is_first),
            home: install.home.clone(),
            install: install.install,
            protocol: hello::VERSIONS,
            source: install.source.clone(),
            stay,
            known: self.before().map(|(before, _)| before.into()),
        }
    }

    /// Opens a wire one way and asks who answers.
    async fn reach(&self, connection: &Connection, way: Way) -> Result<Reached, Error> {
        // Whatever the client still talks to is of before; under `MaxSessions 1` it would also be in the way.
        self.switch.to(Route::Wait);
        let (host, patience) = (connection.host(), self.options.timings.attach);
        let stream = match way.open(connection, patience).await {
            Ok(stream) => stream,
            Err(why) => return unreached(connection, &way, why),
        };
        let over = self.switch.to_stream(connection.clone(), way, stream, patience);
        let start = stdx::clock::monotonic();
        let attaching = |kind| Error::new(Stage::Attaching, host, kind);
        let hello = async {
            tokio::select! {
                biased;
                answer = self.agent.hello() => answer,
                // An agent that was killed after it had accepted: further streams to it are not waited for.
                () = over.cancelled() => Err(client::Error::Connection {
                    doing: "hear who answers".to_owned(),
                    source: Arc::new(std::io::Error::from(std::io::ErrorKind::UnexpectedEof)),
                }),
            }
        };
        match tokio::time::timeout(patience, hello).await {
            Ok(Ok(hello)) => Ok(Reached::Hello {
                hello: Box::new(hello),
                rtt: start.elapsed(),
            }),
            Ok(Err(_)) | Err(_) if connection.is_closed() => {
                Err(Error::ssh(Stage::Attaching, connection.closed().await))
            }
            Ok(Err(error @ client::Error::Connection { .. })) => {
                Ok(Reached::Unknown(attaching(ErrorKind::Agent(error))))
            }
            Ok(Err(error)) => Ok(Reached::Nobody(attaching(ErrorKind::Agent(error)))),
            Err(_) => Err(attaching(ErrorKind::Silent(patience))),
        }
    }

    /// Checks who answered, and remembers the visit.
    async fn arrived(
        &self,
        connection: &Connection,
        ready: Ready,
        (socket, rtt): (String, Duration),
        doings: &Doings,
    ) -> Result<Attached, Error> {
        let host = self.options.host.name();
        let hello = &ready.hello;
        if hello.protocol.common(hello::VERSIONS).is_none() {
            let error = ErrorKind::Agent(no_common_version(hello.protocol));
            return Err(Error::new(Stage::Attaching, host, error));
        }
        self.check(&host, &hello.identity, doings).await?;
        self.switch.admit();
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(hello.identity.clone());
        let agent = LastVisit {
            socket,
            instance: hello.identity.instance,
            program: ready.program.clone(),
            home: ready.home.clone(),
            via: ready.via,
        };
        let now = HostIdentity::of(&hello.identity);
        let machine = match self.visits.machine() {
            Some(before) => before.then(now),
            None => now,
        };
        let visit = Visit {
            agent,
            key: connection.login().key.clone(),
            machine: Some(machine),
        };
        self.visits.remember(visit).await;
        Ok(Attached { ready, rtt })
    }

    fn known(&self) -> Option<Identity> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Compares who answers with who answered before, in this link's life or in an earlier one.
    async fn check(&self, host: &str, now: &Identity, doings: &Doings) -> Result<(), Error> {
        self.judge(host, HostIdentity::of(now), doings).await
    }

    /// Gives who answered before, and whether that was in this link's life.
    fn before(&self) -> Option<(HostIdentity, bool)> {
        match self.known() {
            Some(known) => Some((HostIdentity::of(&known), true)),
            None => self.visits.machine().map(|before| (before, false)),
        }
    }

    async fn judge(&self, host: &str, now: HostIdentity, doings: &Doings) -> Result<(), Error> {
        let Some((before, is_open)) = self.before() else {
            return Ok(());
        };
        match before.compare(&now) {
            Verdict::Same => return Ok(()),
            Verdict::Clone => {
                tracing::warn!(host, machine = %now, "two machines with the same id answer under this name");
                return Ok(());
            }
            Verdict::Other => {}
        }
        let other = OtherMachine { before, now, is_open };
        // What is open here is on the one of before: going on elsewhere is not for this link to do.
        if !is_open && self.shown(doings).confirm(&other.question(host)).await {
            tracing::info!(host, %other, "accepted");
            self.visits.forget_machine();
            return Ok(());
        }
        Err(Error::new(
            Stage::Attaching,
            host,
            ErrorKind::OtherMachine(Box::new(other)),
        ))
    }
}

fn way(via: Via, socket: &str, program: &str, home: Option<&str>) -> Way {
    match via {
        Via::Streamlocal => Way::Streamlocal {
            socket: socket.to_owned(),
        },
        Via::Bridge => Way::Bridge {
            program: program.to_owned(),
            home: home.map(str::to_owned),
            socket: socket.to_owned(),
        },
        Via::Stdio => Way::Stdio {
            program: program.to_owned(),
            home: home.map(str::to_owned),
        },
    }
}

/// Says whether an error means that the agent that was started is not there any more.
fn is_gone(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Bridge(BridgeRefusal::NoDaemon))
}

/// Tells a way that is closed from a connection that is lost.
fn unreached(connection: &Connection, way: &Way, why: NoWire) -> Result<Reached, Error> {
    let host = connection.host();
    match why {
        NoWire::Bridge(refusal @ BridgeRefusal::NoAnswer(_)) if !connection.is_closed() => {
            Ok(Reached::Unknown(NoWire::Bridge(refusal).into_error(host)))
        }
        NoWire::Bridge(refusal) => Ok(Reached::Nobody(NoWire::Bridge(refusal).into_error(host))),
        NoWire::Ssh(error) => {
            let is_refusal = matches!(
                error.kind(),
                SshKind::ForwardingRefused | SshKind::ConnectRefused | SshKind::ChannelRefused
            );
            let is_forward = matches!(way, Way::Streamlocal { .. });
            let error = Error::ssh(Stage::Attaching, error);
            if is_forward && is_refusal && !connection.is_closed() {
                Ok(Reached::Unknown(error))
            } else {
                Err(error)
            }
        }
    }
}

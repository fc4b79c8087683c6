//! The side that answers: a task of the front end that has the link.

use std::{fs, io, os::unix::fs::PermissionsExt as _, path::PathBuf, sync::Arc, time::Duration};

use forward::{RuleId, RuleSnapshot, RuleState};
use link::{BrokerState, LinkState};
use stdx::task::Scope;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{UnixListener, UnixStream},
    sync::Semaphore,
};

use super::{
    message::{
        Add, Answer, Ask, ForwardView, LONGEST_LINE, PortView, Refused, Reply, Status, VERSION, line,
        read_request,
    },
    place::Place,
};
use crate::forwards::{self, Opener};

/// How many processes may ask at a time; another one is hung up on.
const ASKERS: usize = 8;
/// How long a process may take for its next line, and to read an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the host may take to say what listens there.
const LOOK: Duration = Duration::from_secs(5);

/// What answers.
pub(crate) struct Desk {
    opener: Opener,
    front_end: &'static str,
}

/// A socket file that goes with its listener.
struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Somebody may have swept it already.
        drop(fs::remove_file(&self.0));
    }
}

/// Lets other processes of this user ask, until the scope ends.
pub(crate) fn open(place: &Place, opener: Opener, front_end: &'static str, scope: &Scope) -> io::Result<()> {
    place.prepare()?;
    let path = place.socket(opener.link().host());
    // Whoever had this process id before is gone.
    drop(fs::remove_file(&path));
    let listener = UnixListener::bind(&path)?;
    let file = SocketFile(path);
    fs::set_permissions(&file.0, fs::Permissions::from_mode(0o600))?;
    let desk = Arc::new(Desk { opener, front_end });
    // Owned by the scope.
    drop(scope.spawn(accept(listener, file, desk, scope.clone())));
    Ok(())
}

async fn accept(listener: UnixListener, file: SocketFile, desk: Arc<Desk>, scope: Scope) {
    let _goes_with_this_task = file;
    let places = Arc::new(Semaphore::new(ASKERS));
    loop {
        let accepted = tokio::select! {
            biased;
            () = scope.token().cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            // Out of file descriptors, most likely: let some be closed first.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let own = rustix::process::getuid().as_raw();
        let is_own = stream.peer_cred().is_ok_and(|peer| peer.uid() == own);
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            continue;
        };
        if is_own {
            let (desk, token) = (Arc::clone(&desk), scope.token().clone());
            // Owned by the scope.
            drop(scope.spawn(async move {
                let _place = place;
                tokio::select! {
                    biased;
                    () = token.cancelled() => {}
                    ended = desk.talk(stream) => if let Err(error) = ended {
                        tracing::debug!(%error, "the control socket's other side is gone");
                    },
                }
            }));
        }
    }
}

impl Desk {
    async fn talk(&self, stream: UnixStream) -> io::Result<()> {
        let (reader, mut writer) = stream.into_split();
        let mut reader = BufReader::new(reader);
        loop {
            let mut request = Vec::new();
            let mut limited = (&mut reader).take(LONGEST_LINE as u64);
            let read = limited.read_until(b'\n', &mut request);
            match tokio::time::timeout(PATIENCE, read).await {
                Ok(Err(error)) => return Err(error),
                Ok(Ok(1..)) => {}
                Ok(Ok(0)) | Err(_) => return Ok(()),
            }
            let is_whole = request.ends_with(b"\n");
            let reply = if is_whole {
                self.answer(&request).await
            } else {
                Reply::Error(Refused::new("the request has no end, or is too long"))
            };
            let answer = line(&Answer { v: VERSION, reply });
            tokio::time::timeout(PATIENCE, writer.write_all(&answer)).await??;
            if !is_whole {
                return Ok(());
            }
        }
    }

    async fn answer(&self, request: &[u8]) -> Reply {
        let ask = match read_request(request) {
            Ok(ask) => ask,
            Err(refused) => return Reply::Error(refused),
        };
        match ask {
            Ask::Status => Reply::Status(self.status()),
            Ask::Forwards => Reply::Forwards(self.rules().iter().map(shown).collect()),
            Ask::Ports => self.ports().await.map_or_else(Reply::Error, Reply::Ports),
            Ask::Add(add) => self.add(&add).await.map_or_else(Reply::Error, Reply::Added),
            Ask::Remove { rule } => self.remove(&rule).await.map_or_else(Reply::Error, Reply::Removed),
        }
    }

    fn status(&self) -> Status {
        let link = self.opener.link();
        let state = link.states().borrow().clone();
        let rtt = match &state {
            LinkState::Live { rtt, .. } => Some(*rtt),
            _ => None,
        };
        Status {
            pid: std::process::id(),
            front_end: self.front_end.to_owned(),
            host: link.host().to_owned(),
            link: state.to_string(),
            live: state.is_live(),
            rtt_ms: rtt.and_then(|rtt| u64::try_from(rtt.as_millis()).ok()),
            broker: link.broker().map(|broker| broker_words(&broker.borrow())),
        }
    }

    fn rules(&self) -> Vec<RuleSnapshot> {
        self.opener.link().forwards().list()
    }

    async fn ports(&self) -> Result<Option<Vec<PortView>>, Refused> {
        let link = self.opener.link();
        if !link.states().borrow().is_live() {
            return Err(Refused::new(format!("{} is not connected now", link.host())));
        }
        let looked = tokio::time::timeout(LOOK, link.unforwarded_ports()).await;
        let failed = |why: String| {
            let message = format!("what listens on {} could not be seen: {why}", link.host());
            Refused::new(message)
        };
        let looked = looked.map_err(|_| failed(format!("no answer came within {} s", LOOK.as_secs())))?;
        let ports = looked.map_err(|error| failed(error.to_string()))?;
        let shown = |port: &protocol::ListeningPort| PortView {
            port: port.port,
            rule: link::rule_for(port),
            process: port.process.as_ref().map(|process| process.name.clone()),
            pid: port.process.as_ref().map(|process| process.pid),
        };
        Ok(ports.map(|ports| ports.iter().map(shown).collect()))
    }

    async fn add(&self, add: &Add) -> Result<ForwardView, Refused> {
        let bad = |error: forward::Error| {
            let failure = forwards::malformed(&error);
            Refused::new(failure.message).hint(failure.hint)
        };
        let via = add.via.parse().map_err(Refused::new)?;
        let spec = forwards::read(&add.rule, via).map_err(bad)?;
        let opened = self.opener.open(spec, add.public).await?;
        let rule = self.rules().into_iter().find(|rule| rule.id == opened.id);
        let rule = rule.ok_or_else(|| Refused::new(format!("forward {} was removed again", add.rule)))?;
        let mut shown = shown(&rule);
        shown.warning = opened.warning;
        Ok(shown)
    }

    async fn remove(&self, rule: &str) -> Result<ForwardView, Refused> {
        let found = find(&self.rules(), rule);
        let missing = || {
            let host = self.opener.link().host();
            Refused::new(format!("no forward {rule} is open to {host}"))
                .hint(Some(format!("`reasonix remote forward ls {host}` lists them")))
        };
        let found = found.ok_or_else(missing)?;
        if self.opener.link().forwards().remove(found.id).await {
            Ok(shown(&found))
        } else {
            Err(missing())
        }
    }
}

/// Finds a rule by its number, by what it says, or, for a bare port, by where it listens.
fn find(rules: &[RuleSnapshot], text: &str) -> Option<RuleSnapshot> {
    if text.starts_with('#') {
        let id: RuleId = text.parse().ok()?;
        return rules.iter().find(|rule| rule.id == id).cloned();
    }
    let wanted = link::read_rule(text).ok()?;
    let same = |rule: &&RuleSnapshot| {
        let spec = &rule.spec;
        let is_said = (spec.kind, &spec.bind, &spec.target) == (wanted.kind, &wanted.bind, &wanted.target);
        let is_bound = spec.kind == wanted.kind && rule.bound == wanted.bind && spec.target == wanted.target;
        is_said || is_bound
    };
    let by_port = |rule: &&RuleSnapshot| {
        let port = text.parse::<u16>().ok();
        matches!(&rule.bound, forward::Endpoint::Tcp { port: bound, .. } if Some(*bound) == port)
    };
    rules
        .iter()
        .find(same)
        .or_else(|| rules.iter().find(by_port))
        .cloned()
}

/// Says what goes on with requests to the model that are made here.
fn broker_words(state: &BrokerState) -> String {
    format!(
        "{} answering, {} waiting, {} answered, {} refused, {} left",
        state.answering, state.waiting, state.answered, state.refused, state.budget_left
    )
}

/// Gives a rule as it is shown.
fn shown(rule: &RuleSnapshot) -> ForwardView {
    let (state, via) = match &rule.state {
        RuleState::Ready { via } => ("ready", via.map(|via| via.to_string())),
        RuleState::Offline => ("offline", None),
        RuleState::Refused { .. } => ("refused", None),
    };
    ForwardView {
        id: number(rule.id),
        rule: rule.spec.to_string(),
        bound: rule.bound.to_string(),
        via: via.unwrap_or_else(|| rule.spec.via.to_string()),
        state: state.to_owned(),
        open: u64::try_from(rule.open).unwrap_or(u64::MAX),
        total: rule.total,
        sent: rule.up,
        received: rule.down,
        public: rule.spec.is_public(),
        last_error: link::rule_trouble(rule),
        warning: None,
    }
}

fn number(id: RuleId) -> u64 {
    // It prints as `#3`.
    id.to_string().trim_start_matches('#').parse().unwrap_or_default()
}

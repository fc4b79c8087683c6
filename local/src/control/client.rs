//! The side that asks: commands of other processes.

use std::{io, time::Duration};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::UnixStream,
};

use super::{
    message::{Answer, Ask, LONGEST_LINE, Reply, Request, Status, VERSION, line},
    place::{Found, Place},
};
use crate::{exit::Exit, report::Failure};

/// How long a front end may take to answer. Opening or ending a forward may take a while.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long it may take to say who it is.
const HELLO: Duration = Duration::from_secs(3);

/// A front end that is connected to a host.
pub(crate) struct Peer {
    /// Who it is.
    pub(crate) status: Status,
    stream: BufReader<UnixStream>,
}

/// Finds the front ends of a host, or all, the oldest first. What dead ones left is removed.
pub(crate) async fn peers(place: &Place, host: Option<&str>) -> Vec<Peer> {
    let mut peers = Vec::new();
    for found in place.list(host) {
        match tokio::time::timeout(HELLO, meet(&found)).await {
            Ok(Ok(peer)) if host.is_none_or(|host| peer.status.host == host) => peers.push(peer),
            Ok(Ok(_)) => {}
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                // Nobody listens any more. Another process may have swept it meanwhile.
                drop(std::fs::remove_file(&found.path));
            }
            Ok(Err(error)) => tracing::debug!(%error, pid = found.pid, "a front end does not answer"),
            Err(_) => tracing::debug!(pid = found.pid, "a front end does not answer in time"),
        }
    }
    peers
}

/// Finds another front end that has a rule open, by what the rule says; one that is not `ready` may be left out.
pub(crate) async fn holder(place: &Place, host: &str, rule: &str, only_ready: bool) -> Option<u32> {
    for mut peer in peers(place, Some(host)).await {
        if peer.status.pid == std::process::id() {
            continue;
        }
        if let Ok(Reply::Forwards(forwards)) = peer.ask(Ask::Forwards).await
            && forwards
                .iter()
                .any(|forward| forward.rule == rule && (!only_ready || forward.state == "ready"))
        {
            return Some(peer.status.pid);
        }
    }
    None
}

async fn meet(found: &Found) -> io::Result<Peer> {
    let stream = UnixStream::connect(&found.path).await?;
    if stream.peer_cred()?.uid() != rustix::process::getuid().as_raw() {
        return Err(io::Error::from(io::ErrorKind::PermissionDenied));
    }
    let mut stream = BufReader::new(stream);
    match exchange(&mut stream, Ask::Status).await? {
        Reply::Status(status) => Ok(Peer { status, stream }),
        _ => Err(io::Error::from(io::ErrorKind::InvalidData)),
    }
}

async fn exchange(stream: &mut BufReader<UnixStream>, ask: Ask) -> io::Result<Reply> {
    stream.write_all(&line(&Request { v: VERSION, ask })).await?;
    let mut answer = Vec::new();
    let mut limited = stream.take(4 * LONGEST_LINE as u64);
    limited.read_until(b'\n', &mut answer).await?;
    if answer.is_empty() {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
    }
    let answer: Answer = serde_json::from_slice(&answer)?;
    Ok(answer.reply)
}

impl Peer {
    /// Asks. A refusal is an answer.
    pub(crate) async fn ask(&mut self, ask: Ask) -> Result<Reply, Failure> {
        let Status { pid, front_end, .. } = &self.status;
        let failed = |why: String| {
            let message = format!("process {pid} ({front_end}), which is connected, does not answer: {why}");
            Failure::new(Exit::Failed, message).hint("it may have ended just now; try again")
        };
        match tokio::time::timeout(PATIENCE, exchange(&mut self.stream, ask)).await {
            Ok(answered) => answered.map_err(|error| failed(error.to_string())),
            Err(_) => Err(failed(format!("nothing came within {} s", PATIENCE.as_secs()))),
        }
    }
}

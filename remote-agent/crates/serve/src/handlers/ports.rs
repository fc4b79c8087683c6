//! What listens on this machine.

use std::sync::{Arc, Mutex, PoisonError};

use axum::{extract::State, response::Response};
use protocol::{ErrorCode, ListeningPort, PortList, PortProcess, limits};
use stdx::listening::{Listening, Port};

use crate::{body, error::Failure, router::Shared};

/// What was seen the last time, so that looking again is cheap. Blocking threads alone hold it locked.
pub(crate) type Seen = Arc<Mutex<Listening>>;

/// `GET /v1/ports`: the ports on which processes of this user listen. Nothing is looked at unless somebody asks.
pub(crate) async fn list(State(shared): State<Shared>) -> Result<Response, Failure> {
    let seen = Arc::clone(&shared.ports);
    let looked =
        stdx::task::blocking(move || seen.lock().unwrap_or_else(PoisonError::into_inner).look()).await;
    let ports = looked.map_err(|error| {
        Failure::new(
            ErrorCode::Internal,
            format!("the listening ports could not be read: {error}"),
        )
    })?;
    Ok(body::json(&PortList {
        ports: ports
            .into_iter()
            .filter(is_offered)
            .take(limits::PORTS)
            .map(told)
            .collect(),
    }))
}

/// Says whether a port is worth a word: not what this program or the SSH server holds open for somebody's forwards.
fn is_offered(port: &Port) -> bool {
    port.process.as_ref().is_none_or(|process| {
        process.pid != std::process::id()
            && !["reasonix", "sshd"]
                .iter()
                .any(|ours| process.name.starts_with(ours))
    })
}

fn told(port: Port) -> ListeningPort {
    ListeningPort {
        port: port.port,
        host: port.address.to_string(),
        public: port.is_public,
        process: port.process.map(|process| PortProcess {
            pid: process.pid,
            name: process.name,
        }),
    }
}

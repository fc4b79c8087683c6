//! Listening here and connecting there: `-L` and `-D`.

use std::{io, sync::Arc, time::Duration};

use stdx::task::Scope;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{
    Endpoint, ForwardOptions, Via, Way,
    copy::{copy_both, unless},
    near::{Listener, Near},
    reporter::Reporter,
    socks::{self, Handshake, Step, Verdict},
    ssh::Far,
    table::Outcome,
    ways::{Failure, Ways},
};

/// What clients of a listener get.
#[derive(Debug)]
pub(crate) enum Service {
    /// One target.
    Target(Endpoint),
    /// What they ask for.
    Socks,
}

/// What serving the clients of one rule takes.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) service: Service,
    pub(crate) via: Via,
    pub(crate) ways: Ways,
    pub(crate) reporter: Reporter,
    pub(crate) options: ForwardOptions,
}

/// Accepts until the scope ends; each client is a task in it.
pub(crate) async fn accept(listener: Listener, job: Job, scope: Scope) {
    let job = Arc::new(job);
    loop {
        let client = tokio::select! {
            biased;
            () = scope.token().cancelled() => return,
            client = listener.accept() => client,
        };
        let Ok(client) = client else {
            // Out of file descriptors, most likely: let some be closed first.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let (job, token) = (Arc::clone(&job), scope.token().clone());
        // Owned by the scope.
        drop(scope.spawn(async move {
            job.reporter.opened();
            let outcome = tokio::select! {
                biased;
                () = token.cancelled() => Outcome::Done,
                outcome = job.serve(client) => outcome,
            };
            job.reporter.closed(outcome);
        }));
    }
}

impl Job {
    /// Connects one client.
    async fn serve(&self, client: Near) -> Outcome {
        match &self.service {
            Service::Target(target) => match self.ways.connect(target, self.via).await {
                Ok((far, way)) => self.carry(client, far, way).await,
                Err(failure) => self.failed(&failure),
            },
            Service::Socks => self.socks(client).await,
        }
    }

    async fn carry(&self, client: Near, far: Far, way: Way) -> Outcome {
        self.reporter.carried(way);
        let moved = &self.reporter.moved;
        let (far, stalled) = far.split();
        let copied = copy_both(client, far, moved, self.options.half_closed_idle);
        match unless(stalled, copied).await {
            Ok((client, _)) => {
                client.finish();
                Outcome::Done
            }
            Err(error) => Outcome::Failed(broken(&error)),
        }
    }

    fn failed(&self, failure: &Failure) -> Outcome {
        match failure {
            Failure::GaveUp(_) => Outcome::GaveUp(failure.text()),
            Failure::Refused(refusal) if refusal.kind == crate::RefusalKind::Forbidden => {
                Outcome::Forbidden(failure.text())
            }
            Failure::Refused(_) => Outcome::Failed(failure.text()),
        }
    }

    /// Finds out what a client wants, connects it, and hands on what it sent already.
    async fn socks(&self, mut client: Near) -> Outcome {
        let mut handshake = Handshake::default();
        let asked = tokio::time::timeout(self.options.handshake, ask(&mut client, &mut handshake));
        let (to, early) = match asked.await {
            Ok(Ok(asked)) => asked,
            Ok(Err(error)) => {
                client.finish();
                return Outcome::Failed(error.to_string());
            }
            Err(_) => {
                let limit = self.options.handshake.as_secs_f32();
                return Outcome::Failed(format!("the client did not say within {limit} s what it wants"));
            }
        };
        let (mut far, way) = match self.ways.connect(&to, self.via).await {
            Ok(connected) => connected,
            Err(failure) => {
                let verdict = match &failure {
                    Failure::GaveUp(_) => Verdict::Failed,
                    Failure::Refused(refusal) => Verdict::of(refusal.kind, &refusal.message),
                };
                // A client that does not wait for the answer does without.
                drop(client.write_all(&handshake.reply(verdict)).await);
                client.finish();
                return self.failed(&failure);
            }
        };
        let begun = async {
            client.write_all(&handshake.reply(Verdict::Connected)).await?;
            far.bytes.write_all(&early).await
        };
        if let Err(error) = begun.await {
            return Outcome::Failed(broken(&error));
        }
        self.reporter.moved_up(early.len());
        self.carry(client, far, way).await
    }
}

/// Reads what a SOCKS client wants; also gives what it sent beyond that.
async fn ask(client: &mut Near, handshake: &mut Handshake) -> io::Result<(Endpoint, Vec<u8>)> {
    let mut bytes = Vec::new();
    loop {
        match handshake.step(&bytes) {
            Step::More => {
                let room = socks::LIMIT - bytes.len();
                if room == 0 {
                    return Err(io::Error::other("the client's request is too long"));
                }
                let mut piece = [0; 512];
                let piece = &mut piece[..room.min(512)];
                let count = client.read(piece).await?;
                if count == 0 {
                    return Err(io::Error::other("the client left before it said what it wants"));
                }
                bytes.extend(&piece[..count]);
            }
            Step::Answer { used, reply } => {
                bytes.drain(..used);
                client.write_all(&reply).await?;
            }
            Step::Connect { used, to } => {
                bytes.drain(..used);
                return Ok((to, bytes));
            }
            Step::Refuse { reply, why } => {
                client.write_all(&reply).await?;
                return Err(io::Error::other(why));
            }
        }
    }
}

/// Says why a connection broke.
pub(crate) fn broken(error: &io::Error) -> String {
    match transport::Error::from_io(error) {
        Some(cause) => cause.to_string(),
        None => error.to_string(),
    }
}

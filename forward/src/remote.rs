//! Listening there and connecting here: `-R`.

use std::{sync::Arc, time::Duration};

use stdx::task::Scope;
use tokio::time::Instant;

use crate::{
    Endpoint, ForwardOptions, Via, Way,
    carrier::{Refusal, RefusalKind},
    copy::{copy_both, unless},
    local::broken,
    near::Near,
    reporter::Reporter,
    ssh::{Far, SshCarrier},
    table::Outcome,
    ways::{Failure, FarListener, Ways},
};

/// Between two questions to a host that did not listen, doubled each time.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// A listener on the host, and the connection it belongs to.
pub(crate) struct Listening {
    incoming: FarListener,
    ssh: Arc<SshCarrier>,
}

/// A rule that listens on the host.
#[derive(Debug)]
pub(crate) struct Remote {
    pub(crate) bind: Endpoint,
    pub(crate) target: Endpoint,
    pub(crate) via: Via,
    pub(crate) ways: Ways,
    pub(crate) options: ForwardOptions,
}

impl Listening {
    pub(crate) fn bound(&self) -> Endpoint {
        self.incoming.bound()
    }

    pub(crate) fn way(&self) -> Way {
        self.incoming.way()
    }
}

impl Remote {
    /// Listens at once if the host is connected.
    pub(crate) async fn try_now(&self) -> Result<Option<Listening>, Refusal> {
        let Some(ssh) = self.ways.now() else {
            return Ok(None);
        };
        match self.listen(&ssh, None).await {
            Ok(listening) => Ok(Some(listening)),
            Err(refusal) if refusal.kind == RefusalKind::Lost => Ok(None),
            Err(refusal) => Err(refusal),
        }
    }

    async fn listen(&self, ssh: &Arc<SshCarrier>, before: Option<&Endpoint>) -> Result<Listening, Refusal> {
        let is_free_choice = matches!(self.bind, Endpoint::Tcp { port: 0, .. });
        let ask = |at: Endpoint| async move { self.ways.listen(ssh, &at, self.via).await };
        // Whoever was told the port that was chosen finds it again, if that can be.
        let again = match before.filter(|_| is_free_choice) {
            Some(before) => ask(before.clone()).await.ok(),
            None => None,
        };
        let incoming = match again {
            Some(listening) => listening,
            None => ask(self.bind.clone()).await?,
        };
        Ok(Listening {
            incoming,
            ssh: Arc::clone(ssh),
        })
    }

    /// Accepts until the scope ends, and listens again on each new connection to the host.
    pub(crate) async fn run(self, mut first: Option<Listening>, reporter: Reporter, scope: Scope) {
        let token = scope.token().clone();
        let this = Arc::new(self);
        let work = async {
            let mut before = None;
            loop {
                let listening = match first.take() {
                    Some(listening) => listening,
                    None => match this.listen_again(before.as_ref(), &reporter).await {
                        Some(listening) => listening,
                        None => return,
                    },
                };
                let (bound, began) = (listening.bound(), Instant::now());
                reporter.listening(bound.clone(), listening.way());
                before = Some(bound);
                this.accept(listening, &reporter, &scope).await;
                reporter.lost();
                // A way that breaks at once is not asked in a loop.
                tokio::time::sleep_until(began + FIRST_WAIT).await;
            }
        };
        tokio::select! {
            biased;
            () = token.cancelled() => {}
            () = work => {}
        }
    }

    /// Asks until the host listens; `None`: the forwards are gone.
    async fn listen_again(&self, before: Option<&Endpoint>, reporter: &Reporter) -> Option<Listening> {
        let mut wait = FIRST_WAIT;
        loop {
            let ssh = self.ways.line().await?;
            let refusal = match self.listen(&ssh, before).await {
                Ok(listening) => return Some(listening),
                Err(refusal) => refusal,
            };
            if ssh.connection.is_closed() {
                continue;
            }
            let is_final = refusal.kind == RefusalKind::Forbidden;
            reporter.refused(&Failure::Refused(refusal).text());
            tokio::select! {
                biased;
                () = self.ways.replaced(&ssh) => wait = FIRST_WAIT,
                // An old session of ours may hold the port for a while. What is forbidden stays so.
                () = tokio::time::sleep(wait), if !is_final => wait = (wait * 2).min(LONGEST_WAIT),
            }
        }
    }

    /// Accepts until the listener ends.
    async fn accept(self: &Arc<Self>, listening: Listening, reporter: &Reporter, scope: &Scope) {
        let Listening { mut incoming, ssh } = listening;
        let way = incoming.way();
        loop {
            let accepted = tokio::select! {
                biased;
                () = self.ways.replaced(&ssh) => return,
                accepted = incoming.accept() => accepted,
            };
            let Ok(client) = accepted else {
                return;
            };
            let (this, reporter, token) = (Arc::clone(self), reporter.clone(), scope.token().clone());
            // Owned by the scope.
            drop(scope.spawn(async move {
                reporter.opened();
                let outcome = tokio::select! {
                    biased;
                    () = token.cancelled() => Outcome::Done,
                    outcome = this.serve(client, way, &reporter) => outcome,
                };
                reporter.closed(outcome);
            }));
        }
    }

    async fn serve(&self, client: Far, way: Way, reporter: &Reporter) -> Outcome {
        let near = match Near::connect(&self.target).await {
            Ok(near) => near,
            Err(error) => {
                return Outcome::Failed(format!("could not reach {} from here: {error}", self.target));
            }
        };
        reporter.carried(way);
        let (client, stalled) = client.split();
        let copied = copy_both(client, near, &reporter.moved, self.options.half_closed_idle);
        match unless(stalled, copied).await {
            Ok((_, near)) => {
                near.finish();
                Outcome::Done
            }
            Err(error) => Outcome::Failed(broken(&error)),
        }
    }
}

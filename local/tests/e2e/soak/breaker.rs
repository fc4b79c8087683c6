//! Lets things go wrong, one after the other, and measures how long it takes until all is well again.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::sync::watch;
use transport::testing::{Choices, Fault, FaultKind, Side};

use super::{
    blow::{Blow, Kind},
    client::{Orders, Shown},
    counts,
    report::Report,
    road::Road,
};
use crate::rig::{Rig, kill, send_signal};

/// All has to be well again so soon after a fault has ended; what takes longer is wedged.
pub(super) const BOUND: Duration = Duration::from_secs(30);
/// How long a fault that waits for bytes waits for them.
const BYTES: Duration = Duration::from_millis(300);
/// How soon something is tried again that failed.
const AGAIN: Duration = Duration::from_millis(10);

pub(super) struct Breaker<'a> {
    pub(super) rig: &'a Rig,
    pub(super) road: &'a Road,
    pub(super) orders: &'a watch::Sender<Orders>,
    pub(super) shown: watch::Receiver<Shown>,
    pub(super) choices: Choices,
}

impl Breaker<'_> {
    /// Lets everything of a list happen; ends early when something is wedged.
    pub(super) async fn run(mut self, blows: &[Blow], report: &mut Report) {
        for (index, blow) in blows.iter().enumerate() {
            tokio::time::sleep(blow.pause).await;
            self.strike(blow).await;
            let before = self.shown.borrow().at;
            let ended = stdx::clock::monotonic();
            report.faults += 1;
            let Ok(()) = tokio::time::timeout(BOUND, self.answered()).await else {
                return self.wedged(index, blow, "the link did not come back", report);
            };
            report.recovered(blow.kind, since(ended));
            let moved = self.shown.wait_for(|shown| shown.at > before);
            if tokio::time::timeout(BOUND, moved).await.is_err() {
                return self.wedged(index, blow, "no event came any more", report);
            }
        }
    }

    fn wedged(&self, index: usize, blow: &Blow, what: &str, report: &mut Report) {
        report.wedged += 1;
        let state = self
            .shown
            .borrow()
            .link
            .as_ref()
            .map(|link| link.states().borrow().to_string());
        report.problems.push(format!(
            "wedged: {what} within {BOUND:?} after fault {index}, {blow:?}; the link is {state:?}\nsshd said:\n{}",
            tail(&self.rig.sshd.log())
        ));
    }

    /// Waits until the agent answers the present client on a live link.
    async fn answered(&mut self) {
        loop {
            let shown = self.shown.borrow_and_update().clone();
            let Some(link) = shown.link else {
                self.shown.changed().await.unwrap();
                continue;
            };
            let probe = async {
                loop {
                    // Not in one condition with the wait: a borrow held meanwhile would stop the link itself.
                    let is_live = link.states().borrow().is_live();
                    if is_live && link.agent().hello().await.is_ok() {
                        return;
                    }
                    tokio::time::sleep(AGAIN).await;
                }
            };
            let another = self.shown.wait_for(|now| now.restarts != shown.restarts);
            tokio::select! {
                biased;
                _ = another => {}
                () = probe => return,
            }
        }
    }

    /// Waits until the link is not live any more, but not for long.
    async fn lost(&self) -> bool {
        let Some(link) = self.shown.borrow().link.clone() else {
            return true;
        };
        let mut states = link.states();
        let lost = states.wait_for(|state| !state.is_live());
        tokio::time::timeout(BYTES, lost).await.is_ok()
    }

    async fn strike(&mut self, blow: &Blow) {
        let proxy = &self.rig.proxy;
        match blow.kind {
            Kind::Network(FaultKind::CutAfter) => {
                proxy.inject(blow.fault);
                if !self.lost().await {
                    proxy.cut();
                }
                proxy.restore();
            }
            Kind::Network(kind) => {
                proxy.inject(blow.fault);
                if matches!(kind, FaultKind::Refuse | FaultKind::SlowAccept) {
                    proxy.cut();
                }
                tokio::time::sleep(blow.lasts).await;
                proxy.restore();
            }
            Kind::Handshake => self.cut_twice(blow.fault).await,
            Kind::SessionKill => counts::logins(self.rig).into_iter().for_each(kill),
            Kind::SessionStop => stopped(&counts::logins(self.rig), blow.lasts).await,
            Kind::AgentStop => {
                let agent: Vec<u32> = self.rig.daemon_pid().into_iter().collect();
                stopped(&agent, blow.lasts).await;
            }
            Kind::AgentKill => self.rig.daemon_pid().into_iter().for_each(kill),
            Kind::ClientRestart => self.restart().await,
            Kind::Loss | Kind::PacketSize => self.road.shaped(blow.shape, blow.lasts).await,
            Kind::LinkDown => self.road.down(blow.lasts).await,
        }
    }

    /// Breaks the link, and the attempt that follows in the middle of its handshake.
    async fn cut_twice(&mut self, fault: Fault) {
        let proxy = &self.rig.proxy;
        let before = proxy.connections();
        proxy.cut();
        let began = stdx::clock::monotonic();
        while proxy.connections() == before && since(began) < BYTES {
            tokio::time::sleep(AGAIN).await;
        }
        let from = Side::Server;
        let bytes = u32::try_from(self.choices.below(4000)).unwrap();
        proxy.inject(match fault {
            Fault::CutAfter {
                from: Side::Client, ..
            } => fault,
            _ => Fault::CutAfter { bytes, from },
        });
        tokio::time::sleep(BYTES / 2).await;
        proxy.restore();
    }

    async fn restart(&mut self) {
        let wanted = self.orders.borrow().restarts + 1;
        self.orders.send_modify(|orders| orders.restarts = wanted);
        let again = self.shown.wait_for(|shown| shown.restarts == wanted);
        drop(again.await.unwrap());
    }
}

/// Lets processes stand still for a while.
async fn stopped(pids: &[u32], time: Duration) {
    pids.iter().for_each(|pid| send_signal(*pid, Signal::STOP));
    tokio::time::sleep(time).await;
    pids.iter().for_each(|pid| send_signal(*pid, Signal::CONT));
}

fn since(start: Instant) -> Duration {
    stdx::clock::monotonic().saturating_duration_since(start)
}

/// Gives the last lines of a log.
pub(super) fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

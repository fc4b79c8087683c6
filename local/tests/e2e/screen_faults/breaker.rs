//! What breaks: connections at random bytes and times, in work and in the handshake, and the agent itself.

use std::time::Duration;

use link::{AgentLink, LinkState};
use protocol::Phase;
use transport::testing::Choices;
use tui::stage::Stage;

use super::play::Faults;
use crate::rig::{DEADLINE, Rig, eventually, kill};

/// How long a cut that waits for bytes waits for them.
const BYTES: Duration = Duration::from_millis(300);

pub(super) struct Breaker<'a> {
    pub(super) rig: &'a Rig,
    pub(super) link: &'a AgentLink,
    pub(super) stage: &'a Stage,
    pub(super) choices: Choices,
}

impl Breaker<'_> {
    /// Breaks the link as often as asked, and kills the agent in between.
    pub(super) async fn run(mut self, faults: Faults) {
        let every = faults.cuts.checked_div(faults.kills + 1).unwrap_or(0);
        let mut cut = 0;
        let mut killed = 0;
        while cut < faults.cuts {
            if killed < faults.kills && cut >= every * (killed + 1) {
                self.kill().await;
                killed += 1;
            }
            self.live().await;
            cut += 1;
            if self.choices.below(6) == 0 && cut < faults.cuts {
                self.cut_twice().await;
                cut += 1;
            } else {
                self.cut().await;
            }
        }
        self.live().await;
    }

    async fn state(&self, what: &str, wanted: impl FnMut(&LinkState) -> bool) {
        let mut states = self.link.states();
        let waiting = tokio::time::timeout(DEADLINE, states.wait_for(wanted)).await;
        let Ok(state) = waiting else {
            panic!("never {what}\n{}", self.stage.seen().text);
        };
        drop(state.unwrap());
    }

    async fn live(&self) {
        self.state("live", |state| {
            assert!(!matches!(state, LinkState::Failed(_)), "{state:?}");
            state.is_live()
        })
        .await;
    }

    /// Breaks a live link somewhere.
    async fn cut(&mut self) {
        let (kind, bytes) = (self.choices.below(10), self.choices.below(6000));
        let bytes = u32::try_from(bytes).unwrap();
        let pause = Duration::from_millis(self.choices.below(120));
        let proxy = &self.rig.proxy;
        let lost = self.state("lost", |state| !state.is_live());
        tokio::pin!(lost);
        let patience = match kind {
            0..=3 => {
                proxy.cut_after_received(bytes);
                BYTES
            }
            4 | 5 => {
                proxy.cut_after(bytes / 8);
                BYTES
            }
            6 => {
                tokio::time::sleep(pause).await;
                proxy.half_close();
                DEADLINE
            }
            _ => pause,
        };
        // Where no such many bytes came, time has come.
        if tokio::time::timeout(patience, &mut lost).await.is_err() {
            proxy.cut();
            lost.await;
        }
        proxy.restore();
    }

    /// Breaks a live link, and the attempt that follows in the middle of its handshake.
    async fn cut_twice(&mut self) {
        let proxy = &self.rig.proxy;
        let before = proxy.connections();
        proxy.cut();
        self.state("lost", |state| !state.is_live()).await;
        let bytes = self.choices.below(4000);
        proxy.cut_after_received(u32::try_from(bytes).unwrap());
        eventually("another attempt", || proxy.connections() > before).await;
        // As long as an attempt takes that does not get so far, or a little more.
        let others = eventually("yet another attempt", || proxy.connections() > before + 1);
        if tokio::time::timeout(BYTES, others).await.is_err() {
            proxy.cut();
            eventually("yet another attempt", || proxy.connections() > before + 1).await;
        }
        proxy.restore();
    }

    /// Kills the agent in the middle of a turn.
    async fn kill(&self) {
        self.live().await;
        let works = |phase| matches!(phase, Phase::Running { .. } | Phase::Waiting { .. });
        let working = self.stage.until(|seen| works(seen.snapshot.phase));
        tokio::time::timeout(DEADLINE, working)
            .await
            .unwrap_or_else(|_| panic!("no turn\n{}", self.stage.seen().text));
        let old = self.rig.daemon_pid().unwrap();
        kill(old);
        self.state("lost", |state| !state.is_live()).await;
        self.live().await;
        assert_ne!(self.rig.daemon_pid(), Some(old));
    }
}

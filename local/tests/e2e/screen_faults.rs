//! The screen over links that break and with agents that die: what it shows in the end is what a fresh one shows,
//! nothing is lost, and nothing happens twice.

mod breaker;
pub(crate) mod laptop;
pub(crate) mod person;
pub(crate) mod play;
mod stopped;

use stdx::task::Scope;

use self::play::{Faults, Figures, Play};
use crate::faults::choices;

/// How many hosts are played with at a time, each with its own session.
const SESSIONS: usize = 5;
/// How often the links of all of them break.
const CUTS: usize = 200;

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_cuts_under_the_screen_lose_nothing_and_double_nothing() {
    let mut choices = choices();
    let faults = Faults {
        cuts: CUTS / SESSIONS,
        kills: 0,
    };
    let scope = Scope::root("plays");
    let plays: Vec<_> = (0..SESSIONS)
        .map(|_| scope.spawn(Play::new(choices.fork(), faults).run()))
        .collect();
    let mut all = Figures::default();
    for play in plays {
        all.add(&play.await.unwrap());
    }
    all.print("200 cuts");
    assert_eq!(all.cuts, CUTS);
    assert!(all.connections >= (CUTS + SESSIONS) as u64, "{all:?}");
    assert!(all.typed_in_outages > 0, "{all:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_killed_three_times_goes_on_with_the_session_on_the_screen() {
    let mut choices = choices();
    let faults = Faults { cuts: 12, kills: 3 };
    let figures = Play::new(choices.fork(), faults).run().await;
    figures.print("3 kills");
    assert_eq!(figures.kills, 3);
    assert!(figures.interrupted_turns > 0, "{figures:?}");
}

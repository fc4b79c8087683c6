//! A session over a network on which everything goes wrong: of what the client sees nothing is lost, nothing comes twice,
//! every request is done, and nothing stays behind.
//!
//! One seed is one test process: a real session of the real program behind a real sshd, a client in this process that
//! gives work, and a list of faults that follows from the seed. `cargo xtask soak` runs many seeds, each by the
//! test here with `REASONIX_SOAK_SEED` and `REASONIX_SOAK_FAULTS` in its environment.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | see what goes wrong, and how often | `soak/blow.rs` (pure) |
//! | see how it is made to go wrong, and how recovery is measured | `soak/breaker.rs` |
//! | see what the client does and counts | `soak/client.rs`, `soak/heard.rs` (pure) |
//! | change what has to hold at the end | `soak/checks.rs`, `soak/counts.rs` |
//! | change what is reported | `soak/report.rs` |

mod blow;
mod breaker;
mod checks;
mod client;
mod counts;
mod heard;
mod play;
mod report;
mod road;

use std::{ffi::OsString, process::Stdio};

use crate::rig::DEADLINE;

/// How many faults a seed has unless it is told otherwise.
const FAULTS: usize = 50;
/// The seeds that are played unless it is told otherwise: among them one with agents that are killed, and one with packets
/// that are lost.
const SEEDS: [u64; 5] = [1, 2, 3, 4, 5];
/// The name of the test, for the processes that play one seed each.
const TEST: &str = "soak::seeds_of_fifty_faults_lose_nothing_and_double_nothing";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn seeds_of_fifty_faults_lose_nothing_and_double_nothing() {
    if let Some(seed) = number("REASONIX_SOAK_SEED") {
        let faults = number("REASONIX_SOAK_FAULTS").and_then(|faults| usize::try_from(faults).ok());
        return play::play(seed, faults.unwrap_or(FAULTS)).await;
    }
    // Each in a process of its own, so that what it leaves open can be counted. Mostly they wait: all at once.
    let children = SEEDS.map(|seed| (seed, child(seed)));
    for (seed, child) in children {
        let output = tokio::time::timeout(3 * DEADLINE, child.wait_with_output()).await;
        let output = output
            .unwrap_or_else(|_| panic!("seed {seed} does not end"))
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "seed {seed}\n{said}\n{errors}");
        let report = said.lines().find(|line| line.starts_with("soak-report "));
        assert!(report.is_some(), "seed {seed} was not played: {said}");
    }
}

/// Plays a seed in a process of its own.
fn child(seed: u64) -> tokio::process::Child {
    let mut command = stdx::process::command(std::env::current_exe().unwrap());
    command.args([TEST, "--exact", "--nocapture"]);
    command
        .envs(environment())
        .env("REASONIX_SOAK_SEED", seed.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command.spawn().unwrap()
}

fn environment() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os()
}

/// Reads a number from the environment.
#[expect(
    clippy::disallowed_methods,
    reason = "a test binary is its own composition root"
)]
fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|error| panic!("{name}={text}: {error}")),
    )
}

//! A session over a network on which everything goes wrong: of what the client sees nothing is lost, nothing comes twice,
//! every request is done, and nothing stays behind.
//!
//! One seed is one test process: a real session of the real program behind a real sshd, a client in this process that
//! gives work, and a list of faults that follows from the seed. `cargo xtask soak` runs many seeds, each by the first
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

/// How many faults a seed has unless it is told otherwise.
const FAULTS: usize = 50;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_faults_lose_nothing_and_double_nothing() {
    let seed = number("REASONIX_SOAK_SEED").unwrap_or(1);
    let faults = number("REASONIX_SOAK_FAULTS").and_then(|faults| usize::try_from(faults).ok());
    play::play(seed, faults.unwrap_or(FAULTS)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_faults_of_a_second_seed_lose_and_double_nothing_on_a_network_that_loses_packets() {
    play::play(2, FAULTS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_faults_of_a_third_seed_lose_nothing_and_double_nothing() {
    play::play(3, FAULTS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_faults_of_a_fourth_seed_lose_and_double_nothing_though_agents_are_killed() {
    play::play(4, FAULTS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_faults_of_a_fifth_seed_lose_nothing_and_double_nothing() {
    play::play(5, FAULTS).await;
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

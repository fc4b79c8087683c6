//! How long an approval takes while 64 event streams of a flooding session are held still:
//! `cargo xtask bench approval`.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench fails by panicking, and prints its figure"
)]
#![expect(dead_code, reason = "the rig of the tests has more than one bench needs")]

#[path = "../tests/it/flood.rs"]
mod flood;
#[path = "../tests/it/rig.rs"]
mod rig;

/// Runs of which the median counts.
const RUNS: usize = 9;
/// The goal, in milliseconds: with default windows it was seconds (settled details 16).
const GOAL_MS: f64 = 50.0;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            runtime
                .block_on(flood::approve_while_streams_are_held())
                .as_secs_f64()
                * 1000.0
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let median = times[RUNS / 2];
    let verdict = if median <= GOAL_MS { "ok" } else { "short" };
    println!("figure approval_with_64_held_streams {median:.2} ms goal <= {GOAL_MS} {verdict}");
    println!(
        "  range {:.2}..{:.2} ms over {RUNS} runs",
        times[0],
        times[RUNS - 1]
    );
}

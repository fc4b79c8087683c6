//! What goes through the link beside OpenSSH's own tools: the same sshd, the same key, the same network, in turns.
//!
//! Forwards are measured with both programs connected, from before a connection to the forward until its last byte is
//! known to be there. Files are measured as a person types it, from the start of the program to its end.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | change what runs behind a forward | `plumbing.rs` |
//! | change how forwards are opened and measured | `forwards.rs` |
//! | change how files are measured | `files.rs` |
//! | change how rates are judged, or what a shortfall is put down to | `share.rs` |

mod files;
mod forwards;
mod plumbing;
mod share;

use std::time::Duration;

use clap::ValueEnum;

use super::{Report, Task, figure::Figure, host::Ground, link};
use crate::job::Interrupt;
use faultnet::SERVER_ADDRESS;
use plumbing::Direction;

/// Round trips at which pairs are measured, in milliseconds.
const ROUND_TRIPS: [u32; 2] = [0, 50];
/// Median of the ratios of the rates.
const GOAL: f64 = 0.97;
/// What the network of the measurement itself has to carry, so that it is not what is measured.
const NETWORK: f64 = 50.0;

/// Connections of TCP alone in each direction.
const RUNS: u32 = 2;
/// Longest packet: that of "jumbo" Ethernet frames. With 1500 the thread that carries packets fills a core before ssh does.
const PACKET: u16 = 9000;

/// A part of the bench; lines are called like it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// What TCP alone carries.
    Network,
    /// Through a forward from the laptop to the host, from the host.
    LPull,
    /// Through a forward from the laptop to the host, to the host.
    LPush,
    /// Through a forward from the host to the laptop, from the laptop.
    RPull,
    /// Through a forward from the host to the laptop, to the laptop.
    RPush,
    /// One big file to the host.
    Put,
    /// One big file from the host.
    Get,
    /// Many small files to the host beside `sftp -b`.
    Small,
    /// Very many small files to the host.
    Many,
    /// The client's memory while a forward is busy.
    Memory,
}

/// What is to be measured.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) only: Option<Part>,
    pub(super) pairs: u32,
    pub(super) round_trip: Option<u32>,
    /// What ours adds to `remote connect`.
    pub(super) with: Vec<String>,
}

impl Wanted {
    fn has(&self, part: Part) -> bool {
        self.only.is_none_or(|only| only == part)
    }

    fn round_trips(&self) -> Vec<u32> {
        self.round_trip.map_or(ROUND_TRIPS.to_vec(), |only| vec![only])
    }
}

/// Where everything is measured, and what ends it.
struct Bench<'a> {
    ground: &'a Ground,
    wanted: &'a Wanted,
    interrupt: &'a Interrupt,
}

/// Measures all parts, or one.
pub(super) fn run(task: &mut Task, wanted: &Wanted) -> anyhow::Result<()> {
    let ground = Ground::build(task.program.clone())?;
    ground.lab.set_mtu(PACKET)?;
    let bench = Bench {
        ground: &ground,
        wanted,
        interrupt: &task.interrupt,
    };
    let report = &mut task.report;
    link::first_visit(&ground, bench.interrupt)?;
    for round_trip in wanted.round_trips() {
        bench.set_round_trip(round_trip);
        if wanted.has(Part::Network) {
            bench.network(round_trip, report)?;
        }
        forwards::run(&bench, round_trip, report)?;
        files::run(&bench, round_trip, report)?;
    }
    if wanted.has(Part::Small) {
        files::small(&bench, report)?;
    }
    if wanted.has(Part::Many) {
        files::many(&bench, report)?;
    }
    if wanted.has(Part::Memory) {
        forwards::memory(&bench, report)?;
    }
    Ok(())
}

impl Bench<'_> {
    fn set_round_trip(&self, milliseconds: u32) {
        let time = Duration::from_millis(milliseconds.into());
        self.ground.lab.set_round_trip(time);
    }

    /// Measures TCP without anything above it, on one connection each: a forward cannot be faster.
    fn network(&self, round_trip: u32, report: &mut Report) -> anyhow::Result<()> {
        let lab = &self.ground.lab;
        let to = plumbing::service(&lab.server, SERVER_ADDRESS)?;
        // Each connection has to find its speed first, which takes a second of the longer round trip.
        let count = forwards::bytes(round_trip) * if round_trip == 0 { 1 } else { 6 };
        for (name, direction) in [("pull", Direction::Pull), ("push", Direction::Push)] {
            let mut rates = Vec::new();
            for _ in 0..RUNS {
                let took = plumbing::transfer(&lab.client, to, direction, count)?;
                rates.push(count as f64 / share::MB / took.as_secs_f64());
            }
            let rates = super::figure::Runs::new(rates);
            let name = format!("network_{name}_{round_trip}ms");
            let note = format!("{rates} MB/s over {RUNS} connections of TCP alone");
            report.add(Figure::at_least(&name, rates.median(), "MB/s", NETWORK, note));
        }
        Ok(())
    }
}

//! The link beside OpenSSH: the same sshd, the same key, the same network, in turns.
//!
//! Ours is the real program as a person starts it, with its defaults (so `ssh -G` is asked too), and pays its own
//! process start as `ssh` does. A warm connect ends when the state of an existing session is there, which
//! `reasonix attach` says in one line; `ssh HOST true` ends with its process. A reconnect begins when the host's end
//! of the connection is killed and ends when the agent answers again; an OpenSSH handshake is `ssh -v -N` from its
//! start to the line that says it is logged in, which is less than `ssh HOST true`.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use clap::ValueEnum;

use super::{
    Report, Task,
    figure::{Figure, Pairs, Runs},
    host::Ground,
    memory,
    model::SLOW,
    process::{check, descendants, kill_all, millis, pause},
};
use crate::{job::Interrupt, system};

/// Round trips at which everything is measured, in milliseconds.
const ROUND_TRIPS: [u32; 2] = [0, 50];
/// What `reasonix attach` says when it has the state of a session in which nothing runs.
const SNAPSHOT: &str = "nothing is running in this session";
/// What `ssh -v` says when it is logged in.
const HANDSHAKE: &str = "Authenticated to";
/// What `ssh -v -N` says when it does nothing more.
pub(super) const FOLLOWS: &str = "Entering interactive session";
/// Drops after each other in one process.
const DROPS: usize = 10;
const MIB: f64 = 1024.0 * 1024.0;

/// A part of the bench.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// To a session on a host that was visited before.
    Warm,
    /// To a host that has nothing.
    Cold,
    /// After a drop.
    Reconnect,
    /// What stays resident.
    Memory,
    /// Of files.
    Size,
}

/// Measures all parts, or one.
pub(super) fn run(task: &mut Task, only: Option<Part>) -> anyhow::Result<()> {
    let wants = |part| only.is_none_or(|only| only == part);
    let (runs, interrupt, report) = (task.runs, &task.interrupt, &mut task.report);
    let ground = Ground::build(task.program.clone())?;
    let uploaded = first_visit(&ground, interrupt)?;
    let session = open_session(&ground, interrupt)?;
    if wants(Part::Size) {
        sizes(&ground, uploaded, report)?;
    }
    if wants(Part::Warm) {
        warm(&ground, &session, runs, report, interrupt)?;
    }
    if wants(Part::Reconnect) {
        reconnect(&ground, report, interrupt)?;
    }
    if wants(Part::Memory) {
        // A daemon that has only this session.
        kill_all(&ground.daemons());
        memory::daemon(&ground, &session, report, interrupt)?;
        let client = follower(&ground, interrupt)?;
        memory::client(&ground, &client, report, interrupt)?;
        drop(client);
        memory::screen(&ground, report, interrupt)?;
    }
    if wants(Part::Cold) {
        cold(&ground, runs.div_ceil(2), report, interrupt)?;
    }
    Ok(())
}

/// Installs and starts the agent on a host that has none, and stays until it is dropped.
const VISIT: [&str; 4] = ["remote", "connect", "box", "--no-screen"];
/// What it says then.
pub(super) const CONNECTED: &str = "Ctrl-C hangs up";

/// Connects for the first time and gives how many bytes that took to the host.
pub(super) fn first_visit(ground: &Ground, interrupt: &Interrupt) -> anyhow::Result<u64> {
    let before = ground.lab.sent_by_client();
    ground.ours(&VISIT)?.until_line(CONNECTED, interrupt)?;
    Ok(ground.lab.sent_by_client() - before)
}

/// Makes a session with one turn in it and gives its id.
fn open_session(ground: &Ground, interrupt: &Interrupt) -> anyhow::Result<String> {
    let arguments = ["run", "--remote", "box", "--output-format", "json", "hello"];
    let (_, said) = ground.ours(&arguments)?.until_end(interrupt)?;
    let id = said.lines().find_map(|line| {
        let value: serde_json::Value = serde_json::from_str(line).ok()?;
        value.get("session_id")?.as_str().map(str::to_owned)
    });
    id.with_context(|| format!("the run named no session: {said}"))
}

fn sizes(ground: &Ground, uploaded: u64, report: &mut Report) -> anyhow::Result<()> {
    let size = fs::metadata(&ground.program)?.len() as f64 / MIB;
    report.add(Figure::at_most("binary_size", size, "MiB", 20.0, String::new()));
    let note = "all that the client sent while a host that had nothing became ready (TCP payload)";
    report.add(Figure::at_most(
        "upload_size",
        uploaded as f64 / MIB,
        "MiB",
        8.0,
        note.to_owned(),
    ));
    Ok(())
}

fn warm(
    ground: &Ground,
    session: &str,
    runs: u32,
    report: &mut Report,
    interrupt: &Interrupt,
) -> anyhow::Result<()> {
    let mut all = Vec::new();
    for round_trip in ROUND_TRIPS {
        ground
            .lab
            .set_round_trip(Duration::from_millis(round_trip.into()));
        let mut pairs = Pairs::default();
        for run in 0..=runs {
            check(interrupt)?;
            let mut ours = ground.ours(&["attach", "--remote", "box", session])?;
            let connected = ours.until_line(SNAPSHOT, interrupt)?;
            ours.until_end(interrupt)?;
            let (theirs, _) = ground.ssh(&[], &["true"])?.until_end(interrupt)?;
            // The first pair warms caches.
            if run > 0 {
                pairs.push(connected, theirs);
            }
        }
        let name = format!("warm_connect_to_ssh_true_{round_trip}ms");
        report.add(pairs.ratio(&name, 1.2, 0.0, "`ssh HOST true`"));
        all.push(pairs);
    }
    if let [near, far] = all.as_slice() {
        let trips = |near: &Runs, far: &Runs| (far.median() - near.median()) / f64::from(ROUND_TRIPS[1]);
        let ours = trips(&near.ours(), &far.ours());
        let theirs = trips(&near.theirs(), &far.theirs());
        let note =
            format!("ours takes {ours:.1}, `ssh HOST true` {theirs:.1}, from the medians at both distances");
        report.add(Figure::at_most(
            "warm_round_trips_beyond_ssh_true",
            ours - theirs,
            "rtt",
            3.0,
            note,
        ));
    }
    Ok(())
}

/// What a cold connect may take longer than the ratio says, in milliseconds.
const COLD_GRACE: f64 = 300.0;

fn cold(ground: &Ground, runs: u32, report: &mut Report, interrupt: &Interrupt) -> anyhow::Result<()> {
    for round_trip in ROUND_TRIPS {
        ground
            .lab
            .set_round_trip(Duration::from_millis(round_trip.into()));
        let mut pairs = Pairs::default();
        let copied = ground.file("copied");
        for _ in 0..runs {
            check(interrupt)?;
            ground.forget()?;
            let before = ground.lab.sent_by_client();
            let mut visit = ground.ours(&VISIT)?;
            let ours = visit.until_line(CONNECTED, interrupt)?;
            drop(visit);
            // scp compresses nothing, so what is in the file does not matter, only how much.
            incompressible(&copied, ground.lab.sent_by_client() - before)?;
            let (copy, _) = ground.scp(&copied)?.until_end(interrupt)?;
            let (login, _) = ground.ssh(&[], &["true"])?.until_end(interrupt)?;
            pairs.push(ours, copy + login);
        }
        let name = format!("cold_connect_to_scp_and_ssh_true_{round_trip}ms");
        report.add(pairs.ratio(&name, 1.3, COLD_GRACE, "`scp FILE` and `ssh HOST true`"));
    }
    Ok(())
}

pub(super) fn incompressible(file: &Path, size: u64) -> anyhow::Result<()> {
    use std::io::Read as _;
    let mut random = fs::File::open("/dev/urandom")?.take(size);
    let mut file = fs::File::create(file).context("could not write the file to copy")?;
    std::io::copy(&mut random, &mut file)?;
    Ok(file.flush()?)
}

/// Starts a client that follows a turn without end, connected.
fn follower(ground: &Ground, interrupt: &Interrupt) -> anyhow::Result<super::process::Watched> {
    let mut client = ground.ours(&["run", "--remote", "box", SLOW])?;
    client.line("come back with", interrupt)?;
    pause(Duration::from_millis(300), interrupt)?;
    Ok(client)
}

fn reconnect(ground: &Ground, report: &mut Report, interrupt: &Interrupt) -> anyhow::Result<()> {
    for round_trip in ROUND_TRIPS {
        ground
            .lab
            .set_round_trip(Duration::from_millis(round_trip.into()));
        let mut client = follower(ground, interrupt)?;
        let mut pairs = Pairs::default();
        for _ in 0..DROPS {
            check(interrupt)?;
            let mut handshake = ground.ssh(&["-v", "-N"], &[])?;
            let theirs = handshake.until_line(HANDSHAKE, interrupt)?;
            // Its session on the host ends before ours is looked for.
            drop(handshake);
            pause(Duration::from_millis(300), interrupt)?;
            let sessions = descendants(ground.sshd_pid());
            let dropped = system::now();
            sessions.iter().copied().for_each(super::process::kill);
            let back = client.line("connected again", interrupt)?;
            pairs.push(millis(back - dropped), theirs);
            // A link that has just come back is not dropped within the first second of its life.
            pause(Duration::from_millis(1500), interrupt)?;
        }
        let name = format!("reconnect_to_ssh_handshake_{round_trip}ms");
        report.add(pairs.ratio(&name, 1.5, 0.0, "`ssh` until it is logged in"));
        let (first, tenth) = (pairs.ours.first(), pairs.ours.last());
        if let (Some(first), Some(tenth)) = (first, tenth) {
            let name = format!("tenth_reconnect_to_first_{round_trip}ms");
            let note = format!("the first took {first:.2} ms, the tenth {tenth:.2} ms");
            report.add(Figure::at_most(&name, tenth / first, "x", 1.5, note));
        }
    }
    Ok(())
}

//! Forwards of both programs, opened once and measured in turns.

use std::net::SocketAddr;

use super::{
    Bench, GOAL, Part,
    plumbing::{Direction, free_port, ready, service, transfer},
    share::{Clock, Of, Processes, Race, Side},
};
use crate::bench::{
    Report,
    figure::Figure,
    link::CONNECTED,
    memory::mib,
    process::{Watched, check, descendants, status},
};
use faultnet::Namespace;

/// Memory of the client while a gigabyte goes through a forward, in MiB.
const MEMORY: f64 = 60.0;
const GIGABYTE: u64 = 1_000_000_000;

/// Gives how many bytes one transfer has: about a second.
pub(super) const fn bytes(round_trip: u32) -> u64 {
    if round_trip == 0 { 128_000_000 } else { 32_000_000 }
}

/// Where the connections come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// From the laptop.
    Local,
    /// From the host.
    Remote,
}

/// A program that forwards.
struct Forward {
    /// Ends it when dropped.
    program: Watched,
    processes: Processes,
    at: SocketAddr,
}

/// Measures what is wanted of both kinds.
pub(super) fn run(bench: &Bench<'_>, round_trip: u32, report: &mut Report) -> anyhow::Result<()> {
    let lines = [
        (Kind::Local, Part::LPull, Part::LPush),
        (Kind::Remote, Part::RPull, Part::RPush),
    ];
    for (kind, pull, push) in lines {
        if !bench.wanted.has(pull) && !bench.wanted.has(push) {
            continue;
        }
        let pair = [bench.ours(kind)?, bench.theirs(kind)?];
        let letter = if kind == Kind::Local { "l" } else { "r" };
        for (part, name, direction) in [(pull, "pull", Direction::Pull), (push, "push", Direction::Push)] {
            if bench.wanted.has(part) {
                let race = bench.race(kind, &pair, direction, bytes(round_trip))?;
                let name = format!("{letter}_{name}_{round_trip}ms");
                report.add(race.figure(&name, GOAL, "ssh"));
            }
        }
    }
    Ok(())
}

/// Measures the client's memory while a gigabyte comes through a forward.
pub(super) fn memory(bench: &Bench<'_>, report: &mut Report) -> anyhow::Result<()> {
    bench.set_round_trip(0);
    let forward = bench.ours(Kind::Local)?;
    let pid = forward.program.pid();
    let before = mib(pid, "VmRSS")?;
    let from = &bench.ground.lab.client;
    let took = transfer(from, forward.at, Direction::Pull, GIGABYTE)?;
    transfer(from, forward.at, Direction::Push, GIGABYTE)?;
    let note = format!(
        "VmHWM after 1 GB each way through -L, the first in {:.1} s; resident before {before:.1}, afterwards {:.1}, of it {:.1} its own (RssAnon)",
        took.as_secs_f64(),
        mib(pid, "VmRSS")?,
        mib(pid, "RssAnon")?
    );
    report.add(Figure::at_most(
        "forward_client_peak",
        mib(pid, "VmHWM")?,
        "MiB",
        MEMORY,
        note,
    ));
    Ok(())
}

impl Bench<'_> {
    /// Gives where connections come from, and where they go.
    fn ends(&self, kind: Kind) -> (&Namespace, &Namespace) {
        let lab = &self.ground.lab;
        match kind {
            Kind::Local => (&lab.client, &lab.server),
            Kind::Remote => (&lab.server, &lab.client),
        }
    }

    /// Starts ours with one forward.
    fn ours(&self, kind: Kind) -> anyhow::Result<Forward> {
        let mut arguments = vec!["remote", "connect", "box", "--no-screen"];
        arguments.extend(self.wanted.with.iter().map(String::as_str));
        let start = |rule: [&str; 2]| {
            let mut program = self.ground.ours(&[&arguments[..], &rule].concat())?;
            program.line(CONNECTED, self.interrupt)?;
            Ok(program)
        };
        let mut forward = self.forward(kind, start)?;
        forward
            .processes
            .host
            .extend(self.ground.daemons().into_iter().map(Of::Process));
        Ok(forward)
    }

    /// Starts OpenSSH's client with one forward.
    fn theirs(&self, kind: Kind) -> anyhow::Result<Forward> {
        let start = |[flag, rule]: [&str; 2]| {
            let before = ["-N", "-o", "ExitOnForwardFailure=yes", flag, rule];
            self.ground.ssh(&before, &[])
        };
        self.forward(kind, start)
    }

    fn forward(
        &self,
        kind: Kind,
        start: impl FnOnce([&str; 2]) -> anyhow::Result<Watched>,
    ) -> anyhow::Result<Forward> {
        let (from, to) = self.ends(kind);
        let (at, to) = (free_port(from)?, service(to, "127.0.0.1")?);
        let flag = if kind == Kind::Local { "-L" } else { "-R" };
        let before = self.sessions();
        let program = start([flag, &format!("{at}:{to}")])?;
        ready(from, at, self.interrupt)?;
        let host = self.sessions().into_iter().filter(|pid| !before.contains(pid));
        let processes = Processes {
            client: vec![Of::Process(program.pid())],
            host: host.map(Of::Process).collect(),
        };
        Ok(Forward {
            program,
            processes,
            at,
        })
    }

    /// Lists sshd's processes for connections.
    pub(super) fn sessions(&self) -> Vec<u32> {
        let is_sshd = |pid: &u32| status(*pid, "Name").is_some_and(|name| name.starts_with("sshd"));
        let all = descendants(self.ground.sshd_pid());
        all.into_iter().filter(is_sshd).collect()
    }

    /// Measures ours and theirs in turns, each first in every other pair.
    fn race(
        &self,
        kind: Kind,
        [ours, theirs]: &[Forward; 2],
        direction: Direction,
        count: u64,
    ) -> anyhow::Result<Race> {
        let (from, _) = self.ends(kind);
        // Both are past their first window then.
        for forward in [ours, theirs] {
            transfer(from, forward.at, direction, count / 4)?;
        }
        let mut race = Race::default();
        for pair in 0..self.wanted.pairs {
            check(self.interrupt)?;
            for (forward, side) in race.turns(pair, ours, theirs) {
                measure(from, forward, direction, count, side)?;
            }
        }
        Ok(race)
    }
}

fn measure(
    from: &Namespace,
    forward: &Forward,
    direction: Direction,
    count: u64,
    side: &mut Side,
) -> anyhow::Result<()> {
    let processes = &forward.processes;
    let before = Clock::read(processes);
    let took = transfer(from, forward.at, direction, count)?;
    let after = Clock::read(processes);
    side.add(count, took, processes, [&before, &after]);
    Ok(())
}

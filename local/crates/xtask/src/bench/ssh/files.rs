//! Files by `reasonix remote fs` and by OpenSSH's `sftp`, each from the start of its process to its end.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, ensure};

use super::{
    Bench, GOAL, Part,
    forwards::bytes,
    share::{Clock, Of, Processes, Race},
};
use crate::bench::{
    Report,
    figure::{Figure, Runs},
    link::incompressible,
    process::{Watched, check},
};
use crate::system;

/// How much faster small files go than by `sftp -b`.
const SMALL_GOAL: f64 = 2.0;
const SMALL: (usize, u64) = (200, 4096);
/// How long very many small files may take, in seconds.
const MANY_GOAL: f64 = 30.0;
const MANY: (usize, u64) = (10_000, 1024);
/// sftp needs half a minute for each of these.
const SLOW_PAIRS: u32 = 3;
/// How long sshd may need to end the process of a connection that is gone.
const GONE: Duration = Duration::from_secs(5);

/// A transfer as each side is told to make it.
struct Job {
    ours: Vec<String>,
    theirs: PathBuf,
    /// What it makes, removed before each run.
    makes: PathBuf,
    bytes: u64,
}

/// Measures one big file both ways.
pub(super) fn run(bench: &Bench<'_>, round_trip: u32, report: &mut Report) -> anyhow::Result<()> {
    let count = bytes(round_trip);
    let (here, there) = (bench.ground.file("big"), bench.ground.host().join("big"));
    for (part, name) in [(Part::Put, "put"), (Part::Get, "get")] {
        if !bench.wanted.has(part) {
            continue;
        }
        let (from, makes) = match part {
            Part::Put => (&here, &there),
            _ => (&there, &here),
        };
        incompressible(from, count)?;
        let job = Job {
            ours: ours(name, false, &here, &there),
            theirs: batch(bench, &format!("{name} {} {}\n", from.display(), makes.display()))?,
            makes: makes.clone(),
            bytes: count,
        };
        let race = bench.race_files(&job, bench.wanted.pairs)?;
        report.add(race.figure(&format!("{name}_{round_trip}ms"), GOAL, "sftp"));
        remove(&here)?;
        remove(&there)?;
    }
    Ok(())
}

/// Measures many small files beside `sftp -b`.
pub(super) fn small(bench: &Bench<'_>, report: &mut Report) -> anyhow::Result<()> {
    bench.set_round_trip(50);
    let (here, there) = (bench.ground.file("small"), bench.ground.host().join("small"));
    let bytes = fill(&here, SMALL)?;
    let job = Job {
        ours: ours("put", true, &here, &there),
        theirs: batch(bench, &format!("put -r {} {}\n", here.display(), there.display()))?,
        makes: there.clone(),
        bytes,
    };
    let race = bench.race_files(&job, SLOW_PAIRS.min(bench.wanted.pairs))?;
    report.add(race.figure("small_files_50ms", SMALL_GOAL, "sftp"));
    remove(&here)?;
    remove(&there)
}

/// Measures very many small files.
pub(super) fn many(bench: &Bench<'_>, report: &mut Report) -> anyhow::Result<()> {
    bench.set_round_trip(100);
    let (here, there) = (bench.ground.file("many"), bench.ground.host().join("many"));
    fill(&here, MANY)?;
    let mut times = Vec::new();
    for _ in 0..SLOW_PAIRS.min(bench.wanted.pairs) {
        remove(&there)?;
        let (took, _) = bench
            .put(&ours("put", true, &here, &there))?
            .until_end(bench.interrupt)?;
        ensure_count(&there, MANY.0)?;
        times.push(took / 1000.0);
    }
    let times = Runs::new(times);
    let note = format!("{times} s over {} runs", times.count());
    let name = "ten_thousand_files_100ms";
    report.add(Figure::at_most(name, times.median(), "s", MANY_GOAL, note));
    remove(&here)?;
    remove(&there)
}

impl Bench<'_> {
    fn put(&self, arguments: &[String]) -> anyhow::Result<Watched> {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        self.ground.ours(&arguments)
    }

    /// Measures ours and theirs in turns.
    fn race_files(&self, job: &Job, pairs: u32) -> anyhow::Result<Race> {
        let mut race = Race::default();
        for pair in 0..pairs {
            for (is_ours, side) in race.turns(pair, true, false) {
                check(self.interrupt)?;
                remove(&job.makes)?;
                self.wait_until_alone();
                let processes = self.all_processes();
                let before = Clock::read(&processes);
                let program = if is_ours {
                    self.put(&job.ours)?
                } else {
                    self.ground.sftp(&job.theirs)?
                };
                let (took, _) = program.until_end(self.interrupt)?;
                self.wait_until_alone();
                let after = Clock::read(&processes);
                ensure!(
                    job.makes.exists(),
                    "{} is missing afterwards",
                    job.makes.display()
                );
                let took = Duration::from_secs_f64(took / 1000.0);
                side.add(job.bytes, took, &processes, [&before, &after]);
            }
        }
        Ok(race)
    }

    /// Gives where the processor time of programs shows that have ended.
    fn all_processes(&self) -> Processes {
        let mut host = vec![Of::Children(self.ground.sshd_pid())];
        host.extend(self.ground.daemons().into_iter().map(Of::Process));
        Processes {
            client: vec![Of::Children(std::process::id())],
            host,
        }
    }

    /// Waits until sshd serves nobody: the next one is not to share the machine with the end of the last one.
    fn wait_until_alone(&self) {
        let end = system::now() + GONE;
        while !self.sessions().is_empty() && system::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Gives our command line.
fn ours(what: &str, is_folder: bool, here: &Path, there: &Path) -> Vec<String> {
    let (here, there) = (here.display().to_string(), format!("box:{}", there.display()));
    let mut words = vec!["remote".to_owned(), "fs".to_owned(), what.to_owned()];
    if is_folder {
        words.push("-r".to_owned());
    }
    words.extend(if what == "put" {
        [here, there]
    } else {
        [there, here]
    });
    words
}

fn batch(bench: &Bench<'_>, text: &str) -> anyhow::Result<PathBuf> {
    let file = bench.ground.file("batch");
    fs::write(&file, text).context("could not write the batch for sftp")?;
    Ok(file)
}

/// Makes a folder of so many files of so many bytes; gives the bytes of all.
fn fill(folder: &Path, (count, size): (usize, u64)) -> anyhow::Result<u64> {
    fs::create_dir_all(folder)?;
    for number in 0..count {
        incompressible(&folder.join(format!("file {number}")), size)?;
    }
    Ok(count as u64 * size)
}

fn ensure_count(folder: &Path, wanted: usize) -> anyhow::Result<()> {
    let found = fs::read_dir(folder)?.count();
    ensure!(found == wanted, "{found} files instead of {wanted} are there");
    Ok(())
}

fn remove(path: &Path) -> anyhow::Result<()> {
    let removed = if path.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    };
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("could not remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_in_the_order_of_their_way() {
        let (here, there) = (Path::new("/a"), Path::new("/b"));
        assert_eq!(
            ours("put", true, here, there).join(" "),
            "remote fs put -r /a box:/b"
        );
        assert_eq!(
            ours("get", false, here, there).join(" "),
            "remote fs get box:/b /a"
        );
    }
}

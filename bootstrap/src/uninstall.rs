//! Takes everything of ours off a host again: programs in every folder that takes them, run directories that agents left,
//! logs, and, if that is wanted, sessions and configuration.
//!
//! The script removes only plain files and folders of this user, by the names that we give them. What it leaves, it names.

use std::time::Duration;

use crate::{
    answer::unhex,
    asking::{self, Asking},
    error::{Error, Stage},
    fence::Fence,
    probe::{Probe, Proof},
    remote::{Deadline, Remote},
    script::Script,
};

const SCRIPT: &str = include_str!("scripts/uninstall.sh");
const DEADLINE: Deadline = Deadline::total(Duration::from_secs(120));
const KEEP: usize = 4 * 1024 * 1024;

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// Only list, sessions and configuration included.
    List,
    /// Remove programs, run directories and logs.
    Programs,
    /// Remove sessions and configuration too.
    Everything,
}

/// What is ours on a host, or was until it was removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uninstall {
    /// What was found, and removed unless it is among the kept.
    pub items: Vec<Item>,
    /// What stays, and why.
    pub kept: Vec<Kept>,
}

/// One thing of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What it is.
    pub kind: ItemKind,
    /// Absolute path.
    pub path: String,
    /// Bytes that it takes.
    pub size: u64,
}

/// What a thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemKind {
    /// A program, or an unfinished upload of one.
    Programs,
    /// The run directory of an agent that has ended.
    Run,
    /// Logs.
    Logs,
    /// Sessions.
    Sessions,
    /// Configuration, stored keys, history, instructions.
    Configuration,
}

/// Something that stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Absolute path.
    pub path: String,
    /// Why.
    pub why: String,
}

impl Uninstall {
    /// Gives the bytes that things of some kinds take, and how many there are.
    #[must_use]
    pub fn size(&self, kinds: &[ItemKind]) -> (u64, usize) {
        let of_these = self.items.iter().filter(|item| kinds.contains(&item.kind));
        of_these.fold((0, 0), |(size, count), item| (size + item.size, count + 1))
    }
}

/// Lists or removes what is ours. What was probed says where to look; agents must have ended before: a program that runs
/// stays.
///
/// # Errors
/// [`Stage::Uninstall`]: the script did not run, or not to its end. What could not be removed is no error but [`Uninstall::kept`].
pub async fn uninstall(remote: &dyn Remote, probe: &Probe, removal: Removal) -> Result<Uninstall, Error> {
    let fence = Fence::random();
    let script = Script::new(&fence)
        // With links resolved, where the home exists.
        .text("rx_base", probe.home.last().map_or("", String::as_str))
        .text("rx_runs", &left_behind(probe).join("\n"))
        .number("rx_remove", u64::from(removal != Removal::List))
        .number("rx_purge", u64::from(removal != Removal::Programs));
    let asking = Asking {
        stage: Stage::Uninstall,
        fence: &fence,
        call: script.finish_by(probe.carriage, SCRIPT),
        deadline: DEADLINE,
        keep: KEEP,
    };
    let (answer, _) = asking::ask(remote, asking).await?;
    Ok(Uninstall {
        items: answer.all("item").filter_map(item).collect(),
        kept: answer.all("kept").filter_map(kept).collect(),
    })
}

/// Finds the run directories of agents of this home that have ended. The script looks at the names once more.
fn left_behind(probe: &Probe) -> Vec<String> {
    let ended = probe.daemons.iter().filter(|daemon| daemon.proof == Proof::Gone);
    let ours = ended.filter(|daemon| daemon.home.as_ref().is_some_and(|home| probe.home.contains(home)));
    let sockets = ours
        .filter_map(|daemon| daemon.hello.as_ref())
        .map(|hello| &hello.identity.socket);
    let folders = sockets
        .filter_map(|socket| socket.rsplit_once('/'))
        .map(|(folder, _)| folder.to_owned());
    folders.filter(|folder| !folder.contains('\n')).collect()
}

fn item(line: &str) -> Option<Item> {
    let mut words = line.split(' ');
    let kind = match words.next()? {
        "programs" => ItemKind::Programs,
        "run" => ItemKind::Run,
        "logs" => ItemKind::Logs,
        "sessions" => ItemKind::Sessions,
        "configuration" => ItemKind::Configuration,
        _ => return None,
    };
    let path = unhex(words.next()?)?;
    let kib: u64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
    Some(Item {
        kind,
        path,
        size: kib.saturating_mul(1024),
    })
}

fn kept(line: &str) -> Option<Kept> {
    let (path, why) = line.split_once(' ')?;
    Some(Kept {
        path: unhex(path)?,
        why: stdx::bounded::one_line(&unhex(why)?, 200),
    })
}

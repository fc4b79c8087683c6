//! Asks what only a diagnosis needs: would programs run in the folders that take them, what is used, is there git.

use std::time::Duration;

use crate::{
    answer::{Answer, unhex},
    asking::{self, Asking},
    error::{Error, Stage},
    fence::Fence,
    probe::{Probe, Workspace},
    remote::{Deadline, Remote},
    script::Script,
};

const SCRIPT: &str = include_str!("../scripts/examine.sh");
const DEADLINE: Deadline = Deadline::total(Duration::from_secs(60));
const KEEP: usize = 1024 * 1024;

/// What a diagnosis asks beside the probe.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Examined {
    /// The folders that may take programs, best first.
    pub places: Vec<Place>,
    /// What `sessions`, `logs` and `bin` of `REASONIX_HOME` hold, in bytes.
    pub used: Vec<(String, u64)>,
    /// What git says about the workspace; `None` where there is none to look at.
    pub git: Option<Git>,
    /// Address and port of the SSH server, as seen there.
    pub server: Option<(String, u16)>,
}

/// A folder that may take programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Absolute path.
    pub path: String,
    /// What came of trying.
    pub trial: Trial,
    /// Free bytes there for this user, `None` where unknown.
    pub free: Option<u64>,
}

/// What came of making and running a file in a folder, or in the folder it would be made in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trial {
    /// It ran.
    Runs,
    /// Nothing was made: that was not wanted.
    Untried,
    /// The file was made, and did not run; in the host's words.
    NoExec(String),
    /// No room for it; in the host's words.
    Full(String),
    /// It could not be made; in the host's words.
    Refused(String),
}

/// What git says about a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Git {
    /// It is a work tree.
    Tree,
    /// It is none.
    NoTree,
    /// There is no git.
    Missing,
    /// Git does not look at it, for this reason.
    Refused(String),
}

/// Whether a file may be made for a moment, to see whether it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Try {
    /// It is removed again at once.
    AndRemove,
    /// Nothing is written.
    Nothing,
}

/// Asks. What was probed says where to look.
///
/// # Errors
/// As [`crate::probe()`].
pub async fn examine(remote: &dyn Remote, probe: &Probe, may: Try) -> Result<Examined, Error> {
    let fence = Fence::random();
    let workspace = match &probe.workspace {
        Some(Workspace::Ready(path)) => path,
        _ => "",
    };
    let call = Script::new(&fence)
        .text("rx_base", probe.home.first().map_or("", String::as_str))
        .text("rx_work", workspace)
        .text("rx_random", &uuid::Uuid::new_v4().simple().to_string())
        .number("rx_try", u64::from(may == Try::AndRemove))
        .finish_by(probe.carriage, SCRIPT);
    let asking = Asking {
        stage: Stage::Probe,
        fence: &fence,
        call,
        deadline: DEADLINE,
        keep: KEEP,
    };
    let (answer, _) = asking::ask(remote, asking).await?;
    Ok(read(&answer))
}

/// Reads an answer; what is malformed is left out.
pub(crate) fn read(answer: &Answer) -> Examined {
    Examined {
        places: answer.all("place").filter_map(place).collect(),
        used: answer.all("used").filter_map(used).collect(),
        git: answer.get("git").and_then(git),
        server: answer.get("server").and_then(server),
    }
}

fn place(line: &str) -> Option<Place> {
    let mut words = line.split(' ');
    let word = words.next()?;
    let path = unhex(words.next()?)?;
    let free = words
        .next()
        .and_then(|word| word.strip_prefix(':')?.parse::<u64>().ok());
    let why = words.next().and_then(|word| unhex(word.strip_prefix(':')?));
    let why = reason(&why.unwrap_or_default());
    let trial = match word {
        "runs" => Trial::Runs,
        "untried" => Trial::Untried,
        "noexec" => Trial::NoExec(why),
        "full" => Trial::Full(why),
        _ => Trial::Refused(why),
    };
    Some(Place {
        path,
        trial,
        free: free.map(|kib| kib.saturating_mul(1024)),
    })
}

/// Gives the last words of the first line: before them stand the program and the file, which are ours.
fn reason(said: &str) -> String {
    let first = said.lines().next().unwrap_or_default();
    let last = first.rsplit(": ").next().unwrap_or(first);
    stdx::bounded::one_line(last, 200)
}

fn used(line: &str) -> Option<(String, u64)> {
    let (name, kib) = line.split_once(' ')?;
    Some((name.to_owned(), kib.parse::<u64>().ok()?.saturating_mul(1024)))
}

fn git(line: &str) -> Option<Git> {
    let (word, why) = line.split_once(' ').unwrap_or((line, ""));
    Some(match word {
        "tree" => Git::Tree,
        "none" => Git::NoTree,
        "missing" => Git::Missing,
        "refused" => Git::Refused(stdx::bounded::one_line(&unhex(why)?, 200)),
        _ => return None,
    })
}

fn server(line: &str) -> Option<(String, u16)> {
    let (address, port) = line.split_once(' ')?;
    Some((address.to_owned(), port.parse().ok()?))
}

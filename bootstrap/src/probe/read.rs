//! Reads the lines of an answer into facts.

use protocol::Hello;
use serde::Deserialize;

use super::{
    Daemon, Directory, Exchange, Installed, Isolation, Part, Probe, Proof, Quota, RefusedDirectory, Storage,
    System, Tools, Workspace,
};
use crate::{
    answer::{Answer, unhex},
    ladder::LoginManager,
    layout, machine,
    script::Carriage,
};

/// Longest quotation of a reason, in bytes.
const QUOTE: usize = 200;

/// Reads an answer. What is missing or malformed is left out: the plan sees what is lacking.
pub(crate) fn parse(answer: &Answer) -> Probe {
    let text = |key| answer.get(key).unwrap_or_default().to_owned();
    let system = System {
        os: text("os"),
        arch: text("arch"),
        libc: text("libc"),
        uid: answer.get("uid").and_then(|uid| uid.parse().ok()),
        home: answer.text("home").unwrap_or_default(),
        shell: answer.text("shell").unwrap_or_default(),
        machine: machine::hashed(answer.get("machine").unwrap_or_default()),
        boot_id: text("boot"),
        clock: answer.get("clock").and_then(|clock| clock.parse().ok()),
        lingering: answer.get("linger").is_some(),
        kernel: text("kernel"),
        proxies: answer.all("proxy").map(str::to_owned).collect(),
    };
    let daemons = answer
        .all("daemon")
        .filter_map(|line| daemon(line, &system.boot_id))
        .collect();
    Probe {
        workspace: answer.get("workspace").map(workspace),
        home: ["base", "base_real"]
            .iter()
            .filter_map(|key| answer.text(key))
            .filter(|home| !home.is_empty())
            .collect(),
        storage: answer.get("storage").and_then(|line| storage(line, answer)),
        directory: answer.get("dir").and_then(directory),
        refused: answer.all("refused").filter_map(refused).collect(),
        installed: answer.all("installed").filter_map(installed).collect(),
        parts: answer.all("part").filter_map(part).collect(),
        daemons,
        tools: Tools {
            found: answer.all("tool").map(str::to_owned).collect(),
            hash: answer.get("hash").map(str::to_owned),
        },
        isolation: isolation(answer),
        login: LoginManager::read(answer),
        system,
        exchange: Exchange::default(),
        stderr: Vec::new(),
        carriage: Carriage::default(),
    }
}

fn workspace(line: &str) -> Workspace {
    let (verdict, digits) = line.split_once(' ').unwrap_or((line, ""));
    let Some(path) = unhex(digits) else {
        return Workspace::Unusable("(a path that is not UTF-8)".to_owned());
    };
    match verdict {
        "ok" => Workspace::Ready(path),
        "missing" => Workspace::Missing(path),
        "file" => Workspace::NotADirectory(path),
        "denied" => Workspace::Denied(path),
        "dangling" => Workspace::Dangling(path),
        _ => Workspace::Unusable(path),
    }
}

/// Gives a word without its colon, which stands there so that an empty word is one too.
fn marked(word: &str) -> &str {
    word.strip_prefix(':').unwrap_or(word)
}

/// Reads KiB as bytes.
fn kib(word: &str) -> Option<u64> {
    marked(word)
        .parse::<u64>()
        .ok()
        .map(|kib| kib.saturating_mul(1024))
}

/// Reads words in hexadecimal digits, unless there are none.
fn words(word: &str) -> Option<String> {
    let text = stdx::bounded::one_line(&unhex(marked(word))?, QUOTE);
    (!text.is_empty()).then_some(text)
}

fn directory(line: &str) -> Option<Directory> {
    let mut fields = line.split(' ');
    let path = unhex(fields.next()?)?;
    let mut next = || fields.next().unwrap_or_default();
    Some(Directory {
        path,
        free: kib(next()),
        inodes: marked(next()).parse().ok(),
        full: words(next()),
    })
}

fn storage(line: &str, answer: &Answer) -> Option<Storage> {
    let mut fields = line.split(' ');
    let Some(path) = unhex(fields.next()?) else {
        return Some(Storage {
            path: "(not UTF-8)".to_owned(),
            unwritable: Some("its path is not UTF-8".to_owned()),
            ..Storage::default()
        });
    };
    let mut next = || fields.next().unwrap_or_default();
    let (free, inodes) = (kib(next()), marked(next()).parse().ok());
    let (kind, unwritable) = (words(next()).unwrap_or_default(), words(next()));
    let left = |quota: &Quota| quota.limit.saturating_sub(quota.used);
    Some(Storage {
        path,
        unwritable,
        free,
        inodes,
        quota: answer.all("quota").filter_map(quota).min_by_key(left),
        kind,
        locks: answer.get("locks").map(|word| word == "yes"),
    })
}

/// Reads a line of `quota -w` (quota(1)): file system, blocks of a KiB, quota, limit; a star marks what is exceeded.
fn quota(line: &str) -> Option<Quota> {
    let mut fields = line.split_whitespace();
    fields
        .next()
        .filter(|name| name.starts_with('/') || name.contains(':'))?;
    let mut number = || {
        let kib = fields.next()?.trim_end_matches('*').parse::<u64>().ok()?;
        Some(kib.saturating_mul(1024))
    };
    let (used, soft, hard) = (number()?, number()?, number()?);
    let limit = if hard > 0 { hard } else { soft };
    (limit > 0).then_some(Quota { used, limit })
}

fn isolation(answer: &Answer) -> Isolation {
    let verdict = |key| {
        let (word, why) = answer.get(key)?.split_once(' ').unwrap_or(("runs", ""));
        Some(match word {
            "runs" => Ok(()),
            _ => Err(stdx::bounded::one_line(&unhex(why).unwrap_or_default(), QUOTE)),
        })
    };
    let modules = answer.get("lsm");
    Isolation {
        bubblewrap: verdict("bwrap"),
        user_namespaces: verdict("userns"),
        landlock_active: modules.map(|list| list.split(',').any(|module| module == "landlock")),
    }
}

fn refused(line: &str) -> Option<RefusedDirectory> {
    let (path, reason) = line.split_once(' ').unwrap_or((line, ""));
    Some(RefusedDirectory {
        path: unhex(path)?,
        reason: stdx::bounded::one_line(&unhex(reason)?, QUOTE),
    })
}

fn installed(line: &str) -> Option<Installed> {
    let mut words = line.split(' ');
    let size = words.next()?.parse().ok()?;
    let path = unhex(words.next()?)?;
    let version_output = words.next().and_then(unhex).filter(|text| !text.is_empty());
    Some(Installed {
        path,
        size,
        version_output,
    })
}

fn part(line: &str) -> Option<Part> {
    let (size, name) = line.split_once(' ')?;
    Some(Part {
        size: size.parse().ok()?,
        name: unhex(name)?,
    })
}

/// What a daemon writes beside its socket.
#[derive(Deserialize)]
struct Recorded {
    #[serde(flatten)]
    hello: Hello,
    #[serde(default)]
    home: Option<String>,
}

fn daemon(line: &str, boot_id: &str) -> Option<Daemon> {
    let mut words = line.split(' ');
    let record = unhex(words.next()?)?;
    let stat = words
        .next()
        .and_then(|word| word.strip_prefix(':'))
        .and_then(unhex)
        .unwrap_or_default();
    match serde_json::from_str::<Recorded>(&record) {
        Ok(recorded) => {
            let proof = prove(&recorded.hello.identity, &stat, boot_id);
            Some(Daemon {
                hello: Some(recorded.hello),
                home: recorded.home,
                proof,
            })
        }
        Err(error) => {
            tracing::debug!(%error, file = layout::IDENTITY_FILE, "a daemon's word is not readable");
            Some(Daemon {
                hello: None,
                home: None,
                proof: Proof::Unsure,
            })
        }
    }
}

/// Compares what a daemon says with the line of `/proc/PID/stat`, or with `alive` where there is no `/proc`.
pub(super) fn prove(identity: &protocol::Identity, stat: &str, boot_id: &str) -> Proof {
    if stat == "alive" {
        return Proof::Unsure;
    }
    // The second field, the name in parentheses, may itself contain spaces and parentheses (proc(5)).
    let (_, rest) = stat.rsplit_once(')').unwrap_or_default();
    let mut fields = rest.split_whitespace();
    // A process that has ended stays listed until its parent asks for its status.
    let has_ended = matches!(fields.next(), Some("Z" | "X"));
    let start = fields.nth(18).and_then(|field| field.parse().ok());
    if !has_ended && start == Some(identity.start_time) && identity.boot_id == boot_id {
        Proof::Runs
    } else {
        Proof::Gone
    }
}

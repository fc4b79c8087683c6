//! Commands inside commands: `sudo rm`, `sh -c 'rm'`, `xargs rm`, `/bin/rm`.
//!
//! What is found here only makes decisions stricter: it is matched against deny and ask rules, never against allow
//! rules. So a wrapper whose options are not known in detail may yield too many readings, never too few.

use std::collections::BTreeSet;

use super::{Expansion, Segment, Unparsable, Word, join, parse};

/// Programs that run the command given as their remaining arguments.
const WRAPPERS: &[&str] = &[
    "sudo",
    "doas",
    "env",
    "nice",
    "ionice",
    "nohup",
    "time",
    "timeout",
    "stdbuf",
    "setsid",
    "command",
    "builtin",
    "exec",
    "xargs",
    "parallel",
    "chroot",
    "unshare",
    "nsenter",
    "strace",
    "ltrace",
    "watch",
    "flock",
    "chrt",
    "taskset",
    "systemd-run",
    "busybox",
    "toybox",
    "pkexec",
    "runuser",
    "setpriv",
    "firejail",
    "bwrap",
    "proxychains",
    "unbuffer",
    "catchsegv",
    "caffeinate",
    "arch",
    "su",
    "script",
    "entr",
    "noglob",
    "nocorrect",
];

/// Programs that run the text behind `-c`.
const SHELLS: &[&str] = &[
    "sh", "bash", "rbash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "su", "script", "flock",
];

/// Shell builtins that run their arguments as text.
const EVALUATORS: &[&str] = &["eval", "trap"];

/// Options of `find` that are followed by a command.
const FIND_ACTIONS: &[&str] = &["-exec", "-execdir", "-ok", "-okdir"];

/// How deep scripts inside scripts are looked for.
const MAX_LEVELS: usize = 8;

/// How many bytes the readings of one wrapped command may have together before it counts as unreadable.
const MAX_READINGS_BYTES: usize = 4 * 1024 * 1024;

/// One reading of a command, as deny and ask rules see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// The words without quotes.
    pub words: Vec<String>,
    /// The words as written.
    pub text: String,
    /// Whether its name is known only when it runs, as in `$x` or `r{m,}`.
    pub name_is_made: bool,
}

impl Candidate {
    /// Gives the words without quotes as one text.
    pub(crate) fn plain_text(&self) -> String {
        join(self.words.iter().map(String::as_str))
    }
}

/// Gives every reading of `segment` that a deny or ask rule should see, the plain one first.
///
/// # Errors
/// [`Unparsable`] if a script inside the command cannot be read or the nesting is too deep.
pub(crate) fn candidates(segment: &Segment) -> Result<Vec<Candidate>, Unparsable> {
    let mut found = Vec::new();
    collect(&segment.words, 0, &mut found)?;
    Ok(found)
}

fn collect(words: &[Word], level: usize, found: &mut Vec<Candidate>) -> Result<(), Unparsable> {
    let Some(head) = words.first() else { return Ok(()) };
    if level > MAX_LEVELS {
        return Err(Unparsable::new("it wraps commands too deeply"));
    }
    push(words, found);
    if let Some(own) = found.last_mut() {
        own.name_is_made = is_made(head);
    }
    let name = base_name(&head.plain);
    // Which of the arguments are options is the wrapper's business, so every tail of them is read as a command.
    let first_tail = if WRAPPERS.contains(&name) {
        1
    } else if name == "find" {
        words
            .iter()
            .position(|word| FIND_ACTIONS.contains(&word.plain.as_str()))
            .map_or(words.len(), |at| at + 1)
    } else {
        words.len()
    };
    let tails = words.len() - first_tail.min(words.len());
    let bytes: usize = words
        .iter()
        .map(|word| word.source.len() + word.plain.len())
        .sum();
    if tails > 1 && tails.saturating_mul(bytes) > MAX_READINGS_BYTES {
        return Err(Unparsable::new("it wraps too long a command"));
    }
    for at in first_tail..words.len() {
        push(&words[at..], found);
    }
    let heads = std::iter::once(0).chain(first_tail..words.len());
    for text in scripts(words, heads) {
        for segment in parse(&text)?.segments {
            collect(&segment.words, level + 1, found)?;
        }
    }
    Ok(())
}

/// Says whether the last part of a command's name is made at run time. `$HOME/bin/tool` and `[` are known.
fn is_made(head: &Word) -> bool {
    let name = base_name(&head.plain);
    head.expansion != Expansion::None
        && !matches!(name, "[" | "[[")
        && name.contains(['$', '`', '*', '?', '[', '{'])
}

/// Adds `words` as a command, under its own name and, for a path, under the last part of it.
fn push(words: &[Word], found: &mut Vec<Candidate>) {
    let plain: Vec<String> = words.iter().map(|word| word.plain.clone()).collect();
    let text = join(words.iter().map(|word| word.source.as_str()));
    let name = words.first().map_or("", |word| base_name(&word.plain));
    if let Some(head) = plain.first()
        && name != head
    {
        let renamed: Vec<String> = std::iter::once(name.to_owned())
            .chain(plain.iter().skip(1).cloned())
            .collect();
        let text = join(renamed.iter().map(String::as_str));
        found.push(Candidate {
            words: renamed,
            text,
            name_is_made: false,
        });
    }
    found.push(Candidate {
        words: plain,
        text,
        name_is_made: false,
    });
}

/// Gives the texts that the shells and evaluators among `heads` would run, each once.
fn scripts(words: &[Word], heads: impl Iterator<Item = usize>) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let mut evaluated = None;
    let mut split_texts = BTreeSet::new();
    for at in heads {
        let name = base_name(&words[at].plain);
        if SHELLS.contains(&name) {
            taken.extend(script_of_shell(words, at));
        }
        if name == "env" {
            split_texts.extend(split_by_env(&words[at + 1..]));
        }
        // Several evaluators in a row are found again when the text of the first is read.
        if EVALUATORS.contains(&name) && evaluated.is_none() {
            evaluated = Some(at);
        }
    }
    let mut texts: Vec<String> = taken.into_iter().map(|at| words[at].plain.clone()).collect();
    texts.extend(split_texts);
    if let Some(at) = evaluated {
        let mut rest = words[at + 1..]
            .iter()
            .map(|word| word.plain.as_str())
            .filter(|text| *text != "--");
        // `trap` names signals behind its text.
        let trap = base_name(&words[at].plain) == "trap";
        texts.push(if trap {
            rest.next().unwrap_or_default().to_owned()
        } else {
            join(rest)
        });
    }
    texts
}

/// Gives the texts behind `-S` of `env`, as the next word or in the same one, each with what follows it.
fn split_by_env(words: &[Word]) -> Vec<String> {
    let text = |(at, word): (usize, &Word)| {
        let plain = word.plain.as_str();
        let long = plain.strip_prefix("--split-string=");
        let options = plain
            .strip_prefix('-')
            .filter(|options| !options.starts_with('-'));
        let short = options.and_then(|options| options.split_once('S'));
        let first = match (plain, long.or(short.map(|(_, text)| text))) {
            ("-S" | "--split-string", _) => "",
            (_, first) => first?,
        };
        let rest = words.iter().skip(at + 1).map(|word| word.plain.as_str());
        Some(join(std::iter::once(first).chain(rest)))
    };
    words.iter().enumerate().filter_map(text).collect()
}

/// Gives the place of the text behind `-c`, `-lc` and the like, for the shell at `head`.
fn script_of_shell(words: &[Word], head: usize) -> Option<usize> {
    let is_command_option = |word: &Word| {
        let option = word.plain.strip_prefix('-').unwrap_or_default();
        option == "-command" || (!option.starts_with('-') && option.contains('c'))
    };
    let option = (head + 1..words.len()).find(|at| is_command_option(&words[*at]))?;
    (option + 1..words.len()).find(|at| !words[*at].plain.starts_with(['-', '+']))
}

/// Says whether a program of this name runs the text it is given as input.
pub(crate) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name) || matches!(name, "." | "source")
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

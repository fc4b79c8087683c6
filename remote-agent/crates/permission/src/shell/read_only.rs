//! Which command lines only read: they run under the read-only preset and side by side with others.
//!
//! The list is short on purpose. A command is on it only if none of its accepted options writes, runs another
//! program or never ends by design.

use super::{Expansion, Redirect, RedirectKind, Segment, parse};

/// Commands that only read, whatever their arguments.
const ALWAYS: &[&str] = &[
    "ls", "cat", "head", "tail", "wc", "pwd", "echo", "which", "true", "stat", "diff", "du", "uname",
    "whoami", "ps", "grep",
];

/// Says whether `command` does nothing but read.
///
/// Plain commands joined by `&&`, `||`, `;`, `|` and newlines qualify when each of them does. File redirections,
/// substitutions, assignments, variables (except in `echo`), groups and background jobs do not.
#[must_use]
pub fn is_read_only(command: &str) -> bool {
    let Ok(script) = parse(command) else { return false };
    let plain = !script.constructs.compound && !script.constructs.substitution;
    plain && !script.segments.is_empty() && script.segments.iter().all(reads)
}

fn reads(segment: &Segment) -> bool {
    let Some((head, arguments)) = segment.words.split_first() else {
        return false;
    };
    let variables = if head.plain == "echo" {
        Expansion::Value
    } else {
        Expansion::Pathname
    };
    let known =
        head.expansion == Expansion::None && segment.words.iter().all(|word| word.expansion <= variables);
    let quiet = segment.assignments.is_empty() && segment.redirects.iter().all(is_harmless);
    let arguments: Vec<&str> = arguments.iter().map(|word| word.plain.as_str()).collect();
    known && quiet && accepts(&head.plain, &arguments)
}

fn is_harmless(redirect: &Redirect) -> bool {
    match redirect.kind {
        RedirectKind::Duplicate => true,
        RedirectKind::Write => !redirect.writes_file(),
        RedirectKind::Read | RedirectKind::HereText => false,
    }
}

fn accepts(name: &str, arguments: &[&str]) -> bool {
    match name {
        _ if ALWAYS.contains(&name) => true,
        "sort" => !arguments
            .iter()
            .any(|a| has_option(a, 'o', &["--output", "--compress-program"])),
        "file" => !arguments.iter().any(|a| has_option(a, 'C', &["--compile"])),
        "rg" => !arguments
            .iter()
            .any(|a| a.starts_with("--pre") || a.starts_with("--hostname-bin")),
        "date" => date(arguments),
        "find" => !arguments.iter().any(|a| is_find_action(a)),
        "node" => matches!(arguments, ["-v" | "--version"]),
        "git" => git(arguments),
        _ => false,
    }
}

/// Says whether `argument` is the short option `short`, alone or in a cluster, or may abbreviate a long one.
fn has_option(argument: &str, short: char, long: &[&str]) -> bool {
    if argument.starts_with("--") {
        let name = argument.split('=').next().unwrap_or_default();
        return name.len() > 2 && long.iter().any(|option| option.starts_with(name));
    }
    argument
        .strip_prefix('-')
        .is_some_and(|cluster| cluster.contains(short))
}

fn date(arguments: &[&str]) -> bool {
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match *argument {
            "-d" | "--date" | "-r" | "--reference" => {
                rest.next();
            }
            "-u" | "-R" | "--utc" | "--universal" | "--rfc-email" => {}
            a if a.starts_with('+') || a.starts_with("-I") => {}
            a if ["--iso-8601", "--rfc-3339=", "--date=", "--reference="]
                .iter()
                .any(|p| a.starts_with(p)) => {}
            // A bare number sets the clock.
            _ => return false,
        }
    }
    true
}

fn is_find_action(argument: &str) -> bool {
    let actions = ["-exec", "-ok", "-delete", "-fprint", "-fls"];
    actions.iter().any(|action| argument.starts_with(action))
}

fn git(arguments: &[&str]) -> bool {
    let Some((verb, options)) = arguments.split_first() else {
        return false;
    };
    match *verb {
        "status" | "log" | "diff" | "show" => !options
            .iter()
            .any(|o| has_long(o, &["--output", "--ext-diff", "--textconv"])),
        // Anything but an option of this list names a branch to create, move or delete.
        "branch" => options.iter().all(|option| {
            [
                "-a",
                "-r",
                "-v",
                "-vv",
                "--all",
                "--remotes",
                "--list",
                "--verbose",
                "--show-current",
            ]
            .contains(option)
        }),
        _ => false,
    }
}

fn has_long(argument: &str, long: &[&str]) -> bool {
    argument.starts_with("--") && has_option(argument, '\0', long)
}

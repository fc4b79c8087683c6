//! The OpenSSH client configuration (pure): from files or from the output of `ssh -G` to keyword-value pairs.
//!
//! The own parser is the fallback for machines without OpenSSH. It knows `Host`, `Match` (all, host, originalhost, user,
//! localuser), `Include`, quoting and `=`; the first value of a keyword wins, identity files add up. `Match exec`,
//! `final` and `canonical` never match here: running commands and second passes are left to `ssh -G`.

mod aliases;
mod lexer;
pub(crate) mod tokens;

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
};

pub use aliases::{Alias, aliases};

use crate::{AddressFamily, Error, ErrorKind, Stage, Target, known_hosts::pattern_list_matches};

/// How deep `Include` may be nested (as in OpenSSH).
pub(crate) const MAX_DEPTH: usize = 16;
/// How many files one configuration may include; files that include each other twice would never end.
pub(crate) const MAX_FILES: usize = 1024;

/// Whose configuration a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The user's, or one named on purpose (`ssh -F`): `Include` is relative to `~/.ssh`.
    User,
    /// The system's: `Include` is relative to `/etc/ssh`, and `~` has no meaning.
    System,
}

/// What reading a configuration asks of the machine: the only way from the parser to the outside.
///
/// Without an answer of its own, nothing is included, no command runs and no name is known.
pub trait Machine {
    /// Gives the files that an argument of `Include` names, in order, with their text.
    ///
    /// # Errors
    /// A file that must not be read, in words.
    fn included(&self, pattern: &str, level: Level) -> Result<Vec<(PathBuf, String)>, String> {
        let _ = (pattern, level);
        Ok(Vec::new())
    }

    /// Runs a command of `Match exec` and says whether it succeeded.
    ///
    /// # Errors
    /// It could not be run or did not end in time, in words.
    fn succeeds(&self, command: &str) -> Result<bool, String> {
        let _ = command;
        Err("no command is run here".to_owned())
    }

    /// Gives the addresses of this machine, for `Match localnetwork`; `None` where they are not known.
    fn own_addresses(&self) -> Option<Vec<IpAddr>> {
        None
    }

    /// Looks a name up, for `CanonicalizeHostname`. Gives its canonical name (the end of its CNAMEs) if it has addresses.
    fn canonical_name(&self, name: &str, family: AddressFamily) -> Option<String> {
        let _ = (name, family);
        None
    }
}

/// Keyword (lower case) and arguments, in the order in which they apply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pairs(Vec<(String, Vec<String>)>);

impl Pairs {
    /// Gives the first value of a keyword, its arguments joined by spaces.
    #[must_use]
    pub fn first(&self, keyword: &str) -> Option<String> {
        self.args(keyword).map(|args| args.join(" "))
    }

    /// Gives the arguments of the first occurrence of a keyword.
    #[must_use]
    pub fn args(&self, keyword: &str) -> Option<&[String]> {
        self.0
            .iter()
            .find(|(key, _)| key == keyword)
            .map(|(_, args)| args.as_slice())
    }

    /// Gives every value of a keyword.
    pub fn every<'a>(&'a self, keyword: &'a str) -> impl Iterator<Item = String> + 'a {
        self.0
            .iter()
            .filter(move |(key, _)| key == keyword)
            .map(|(_, args)| args.join(" "))
    }

    /// Adds a pair with the lowest precedence.
    pub fn push(&mut self, keyword: &str, args: Vec<String>) {
        self.0.push((keyword.to_ascii_lowercase(), args));
    }
}

/// Reads the output of `ssh -G`: one `keyword value` a line, without quotes.
#[must_use]
pub fn parse_dump(text: &str) -> Pairs {
    let mut pairs = Pairs::default();
    for line in text.lines() {
        if let Some((keyword, value)) = line.split_once(' ') {
            pairs.push(keyword, value.split(' ').map(str::to_owned).collect());
        }
    }
    pairs
}

/// Gives the files that an `Include` argument names, with their text.
pub type Includes<'a> = &'a dyn Fn(&str) -> Vec<(PathBuf, String)>;

/// What the conditions of a configuration file are compared with.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The host as typed.
    pub target: &'a Target,
    /// The user who runs this program.
    pub local_user: &'a str,
}

/// Reads one file and what it includes into `pairs`.
///
/// # Errors
/// A line that OpenSSH would reject; the message names file and line.
pub fn parse_file(
    text: &str,
    file: &Path,
    query: Query<'_>,
    includes: Includes<'_>,
    pairs: &mut Pairs,
) -> Result<(), Error> {
    Parser {
        query,
        includes,
        pairs,
    }
    .file(text, file, true, 0)
}

struct Parser<'a> {
    query: Query<'a>,
    includes: Includes<'a>,
    pairs: &'a mut Pairs,
}

impl Parser<'_> {
    fn file(&mut self, text: &str, file: &Path, scope: bool, depth: u32) -> Result<(), Error> {
        // An included file starts in the scope of its Include line and cannot leave it.
        let mut active = scope;
        for (index, line) in text.lines().enumerate() {
            let fail = |message: String| {
                let message = format!("{} line {}: {message}", file.display(), index + 1);
                Error::new(ErrorKind::Config, Stage::Config, &self.query.target.host, message)
            };
            let Some((keyword, args)) = split_line(line).map_err(fail)? else {
                continue;
            };
            if args.is_empty() {
                return Err(fail(format!("no value after {keyword}")));
            }
            match keyword.as_str() {
                "host" => active = scope && self.host_matches(&args),
                "match" => active = scope && self.match_holds(&args).map_err(fail)?,
                "include" if depth >= 16 => return Err(fail("too many nested Include lines".into())),
                "include" => {
                    for (path, text) in args.iter().flat_map(|arg| (self.includes)(arg)) {
                        self.file(&text, &path, active, depth + 1)?;
                    }
                }
                _ if active => self.pairs.push(&keyword, args),
                _ => {}
            }
        }
        Ok(())
    }

    fn host_matches(&self, patterns: &[String]) -> bool {
        pattern_list_matches(&patterns.join(","), &self.query.target.host)
    }

    fn match_holds(&self, args: &[String]) -> Result<bool, String> {
        let target = self.query.target;
        let user = target
            .user
            .clone()
            .or_else(|| self.pairs.first("user"))
            .unwrap_or_else(|| self.query.local_user.to_owned());
        let host_name = self
            .pairs
            .first("hostname")
            .map_or_else(|| target.host.clone(), |name| name.replace("%h", &target.host));
        let mut holds = true;
        let mut args = args.iter();
        while let Some(word) = args.next() {
            let (criterion, attached) = word
                .split_once('=')
                .map_or((word.as_str(), None), |(key, value)| (key, Some(value)));
            let (criterion, negated) = criterion
                .strip_prefix('!')
                .map_or((criterion, false), |rest| (rest, true));
            let criterion = criterion.to_ascii_lowercase();
            let hit = match criterion.as_str() {
                "all" => true,
                "final" | "canonical" => false,
                "host" | "originalhost" | "user" | "localuser" | "exec" | "tagged" | "localnetwork" => {
                    let Some(value) = attached.or_else(|| args.next().map(String::as_str)) else {
                        return Err(format!("no value after Match {criterion}"));
                    };
                    match criterion.as_str() {
                        "host" => {
                            pattern_list_matches(&value.to_ascii_lowercase(), &host_name.to_ascii_lowercase())
                        }
                        "originalhost" => pattern_list_matches(
                            &value.to_ascii_lowercase(),
                            &target.host.to_ascii_lowercase(),
                        ),
                        "user" => pattern_list_matches(value, &user),
                        "localuser" => pattern_list_matches(value, self.query.local_user),
                        // Unknowable here. False in both spellings, so that no setting applies by accident.
                        _ => negated,
                    }
                }
                other => return Err(format!("Match does not know {other}")),
            };
            holds &= hit != negated;
        }
        Ok(holds)
    }
}

/// Splits `Keyword args`, `Keyword=args` or `Keyword = args`; double quotes keep spaces, `#` starts a comment.
fn split_line(line: &str) -> Result<Option<(String, Vec<String>)>, String> {
    let line = line.trim_matches(|c: char| c.is_ascii_whitespace());
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let end = line
        .find(|c: char| c.is_ascii_whitespace() || c == '=')
        .unwrap_or(line.len());
    let (keyword, rest) = line.split_at(end);
    let rest = rest.trim_start();
    let rest = rest.strip_prefix('=').unwrap_or(rest).trim_start();
    let keyword = keyword.to_ascii_lowercase();
    // A command runs to the end of its line, quotes included.
    if matches!(
        keyword.as_str(),
        "proxycommand" | "localcommand" | "remotecommand"
    ) {
        return Ok(Some((keyword, vec![rest.to_owned()])));
    }
    Ok(Some((keyword, split_args(rest)?)))
}

fn split_args(text: &str) -> Result<Vec<String>, String> {
    let mut args = Vec::new();
    let mut chars = text.chars().peekable();
    loop {
        while chars.next_if(char::is_ascii_whitespace).is_some() {}
        match chars.peek() {
            None | Some('#') => return Ok(args),
            Some(_) => {}
        }
        let mut arg = String::new();
        let mut quote: Option<char> = None;
        while let Some(c) = chars.next_if(|c| quote.is_some() || !c.is_ascii_whitespace()) {
            match (c, quote) {
                ('"' | '\'', None) => quote = Some(c),
                (c, Some(open)) if c == open => quote = None,
                ('\\', _) if matches!(chars.peek(), Some('"' | '\'' | '\\')) => arg.extend(chars.next()),
                (c, _) => arg.push(c),
            }
        }
        if quote.is_some() {
            return Err("a quote is not closed".into());
        }
        args.push(arg);
    }
}

#[cfg(test)]
mod tests;

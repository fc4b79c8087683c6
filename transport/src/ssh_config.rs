//! The OpenSSH client configuration (pure): from files or from the output of `ssh -G` to keyword-value pairs.
//!
//! The own parser is the fallback for machines without OpenSSH and gives the same answers as `ssh -G`: quoting and `=`,
//! `Host`, `Match`, `Include`, the first value first, tokens, canonical names and the second pass. What it asks of the
//! machine (included files, `Match exec`, name look-ups) goes through [`Machine`].
//!
//! | I want to… | Open |
//! | --- | --- |
//! | know how a line falls into words | `lexer` |
//! | add a keyword | `keywords` |
//! | know in which order files and blocks apply | `reader` |
//! | add a condition of `Match` | `matcher` |
//! | know what a host is called in the end | `canonical` |
//! | add a `%` token | `tokens` |
//! | list the hosts that a person named | `aliases` |

mod aliases;
pub(crate) mod canonical;
pub(crate) mod keywords;
mod lexer;
mod matcher;
mod reader;
pub(crate) mod tokens;

use std::{net::IpAddr, path::PathBuf};

pub use aliases::{Alias, aliases};
pub(crate) use reader::jumps;
pub use reader::{SourceFile, parse_file, read};

use crate::{AddressFamily, Target, known_hosts::glob};

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

    /// Adds a pair unless the keyword has a value.
    fn push_first(&mut self, keyword: &str, args: Vec<String>) {
        if self.args(keyword).is_none() {
            self.push(keyword, args);
        }
    }

    /// Gives a keyword this value and no other.
    fn replace(&mut self, keyword: &str, value: &str) {
        self.0.retain(|(key, _)| key != keyword);
        self.push(keyword, vec![value.to_owned()]);
    }

    /// Takes away the values of a keyword that a pattern fits.
    fn remove(&mut self, keyword: &str, pattern: &str) {
        let fits = |args: &[String]| glob(pattern.as_bytes(), args.join(" ").as_bytes());
        self.0.retain(|(key, args)| key != keyword || !fits(args));
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

/// What the conditions of a configuration file are compared with, and what its tokens stand for.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The host as typed.
    pub target: &'a Target,
    /// The user who runs this program.
    pub local_user: &'a str,
    /// That user's home.
    pub home: &'a str,
    /// Variables for `${NAME}`.
    pub environment: &'a [(String, String)],
}

#[cfg(test)]
mod tests;

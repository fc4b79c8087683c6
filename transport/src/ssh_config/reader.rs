//! Files, overrides and passes: what applies to a host, in order.

use std::path::{Path, PathBuf};

use super::{
    Level, MAX_DEPTH, MAX_FILES, Machine, Pairs, Query, canonical,
    keywords::{self, Shape},
    lexer, matcher,
};
use crate::{
    Error, ErrorKind, Stage, Target,
    known_hosts::{glob, pattern_list_matches},
};

/// How many key files or certificates may be named (as in OpenSSH).
const MAX_KEYS: usize = 100;

/// A configuration file with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Its path, for messages.
    pub path: PathBuf,
    /// What it says.
    pub text: String,
    /// Whose it is.
    pub level: Level,
}

/// Gives what configuration files say about a host, as `ssh -G` would: `overrides` (keyword and value) before the files,
/// the first value first, a second pass where `Match final` or canonicalization ask for it. `hostname` is the name that
/// counts in the end.
///
/// # Errors
/// What OpenSSH would reject; the message names file, line and word.
pub fn read(
    files: &[SourceFile],
    overrides: &[(String, String)],
    query: Query<'_>,
    machine: &dyn Machine,
) -> Result<Pairs, Error> {
    let mut pairs = Pairs::default();
    if let Some(user) = &query.target.user {
        pairs.push("user", vec![user.clone()]);
    }
    if let Some(port) = query.target.port {
        pairs.push("port", vec![port.to_string()]);
    }
    let mut reader = Reader::new(query, machine, &mut pairs);
    for (keyword, value) in overrides {
        reader.setting(keyword, value)?;
    }
    reader.files(files)?;
    let wants_final = reader.wants_final;
    let fail = |message: String| config_error(query.target, message);
    let host = canonical::host_name(&query.target.host, &pairs, machine).map_err(fail)?;
    pairs.replace("hostname", &host);
    if wants_final || canonical::is_wanted(&pairs) {
        let mut reader = Reader::new(query, machine, &mut pairs);
        reader.is_final = true;
        reader.host.clone_from(&host);
        reader.files(files)?;
    }
    if let Some(alias) = pairs.first("hostkeyalias") {
        pairs.replace("hostkeyalias", &alias.to_ascii_lowercase());
    }
    Ok(pairs)
}

/// Reads one file and what it includes into `pairs`, in one pass.
///
/// # Errors
/// A line that OpenSSH would reject; the message names file and line.
pub fn parse_file(
    text: &str,
    file: &Path,
    query: Query<'_>,
    machine: &dyn Machine,
    pairs: &mut Pairs,
) -> Result<(), Error> {
    Reader::new(query, machine, pairs).file(text, file, Level::User, true, 0)
}

fn config_error(target: &Target, message: String) -> Error {
    Error::new(ErrorKind::Config, Stage::Config, &target.host, message)
}

/// What one pass over the files knows.
pub(super) struct Reader<'a> {
    pub(super) query: Query<'a>,
    pub(super) machine: &'a dyn Machine,
    pub(super) pairs: &'a mut Pairs,
    /// What `Host` patterns are compared with: the host as typed, in the second pass its name.
    pub(super) host: String,
    /// Whether this is the second pass.
    pub(super) is_final: bool,
    /// Whether a line asked for a second pass.
    pub(super) wants_final: bool,
    /// How many files may still be included.
    left: usize,
}

/// One line and where it stands.
struct Line<'a> {
    keyword: &'a str,
    rest: &'a str,
    level: Level,
    depth: usize,
    /// Whether the block around the whole file holds.
    scope: bool,
}

impl<'a> Reader<'a> {
    fn new(query: Query<'a>, machine: &'a dyn Machine, pairs: &'a mut Pairs) -> Self {
        Self {
            query,
            machine,
            pairs,
            host: query.target.host.clone(),
            is_final: false,
            wants_final: false,
            left: MAX_FILES,
        }
    }

    fn files(&mut self, files: &[SourceFile]) -> Result<(), Error> {
        files
            .iter()
            .try_for_each(|file| self.file(&file.text, &file.path, file.level, true, 0))
    }

    /// Applies a setting that no file contains.
    fn setting(&mut self, keyword: &str, value: &str) -> Result<(), Error> {
        let keyword = keyword.to_ascii_lowercase();
        let line = Line {
            keyword: &keyword,
            rest: value,
            level: Level::User,
            depth: 0,
            scope: true,
        };
        let done = match keywords::find(&keyword) {
            Some((_, Shape::Structure)) => Err(format!("{keyword} needs a file")),
            // Not divided: a path with blanks is one value.
            Some((name, Shape::Text | Shape::Adds | Shape::Agent)) => {
                self.take(name, &line, vec![value.to_owned()])
            }
            _ => self.line(&line, &mut true).map_err(|fault| fault.message),
        };
        done.map_err(|message| config_error(self.query.target, message))
    }

    /// Reads a file. An included file starts in the scope of its Include line and cannot leave it.
    fn file(
        &mut self,
        text: &str,
        file: &Path,
        level: Level,
        scope: bool,
        depth: usize,
    ) -> Result<(), Error> {
        let mut active = scope;
        for (index, line) in text.split('\n').enumerate() {
            let done = lexer::keyword(line)
                .map_err(Fault::from)
                .and_then(|found| match found {
                    Some((keyword, rest)) => {
                        let line = Line {
                            keyword: &keyword,
                            rest,
                            level,
                            depth,
                            scope,
                        };
                        self.line(&line, &mut active)
                    }
                    None => Ok(()),
                });
            if let Err(fault) = done {
                return Err(fault.inner.unwrap_or_else(|| {
                    let place = format!("{} line {}: {}", file.display(), index + 1, fault.message);
                    let error = config_error(self.query.target, place);
                    match line.strip_prefix('\u{feff}') {
                        Some(_) => {
                            error.with_hint("the file begins with a byte order mark; OpenSSH knows none")
                        }
                        None => error,
                    }
                }));
            }
        }
        Ok(())
    }

    fn line(&mut self, line: &Line<'_>, active: &mut bool) -> Result<(), Fault> {
        let Some((keyword, shape)) = keywords::find(line.keyword) else {
            let ignored = self.pairs.first("ignoreunknown").unwrap_or_default();
            if pattern_list_matches(&ignored.to_ascii_lowercase(), line.keyword) {
                return Ok(());
            }
            let word = stdx::bounded::one_line(line.keyword, 80);
            return Err(format!("bad configuration option {word}").into());
        };
        let args = lexer::arguments(line.rest)?;
        match keyword {
            "host" => *active = line.scope && self.host_fits(&args)?,
            "match" => *active = matcher::holds(self, line.rest, !line.scope)? && line.scope,
            "include" => self.include(&args, line, *active)?,
            _ => {
                keywords::check(keyword, shape, &args)?;
                self.check_more(keyword, shape, line, &args)?;
                if *active {
                    self.take(keyword, line, args)?;
                }
            }
        }
        Ok(())
    }

    /// Checks what needs more than the words: environment variables and jump hosts.
    fn check_more(
        &self,
        keyword: &str,
        shape: Shape,
        line: &Line<'_>,
        args: &[String],
    ) -> Result<(), String> {
        match (shape, args) {
            (Shape::Agent, [value]) => self.check_agent(value),
            (Shape::Jump, _) => jumps(line.rest)
                .map(drop)
                .map_err(|why| format!("{keyword}: {why}")),
            _ => Ok(()),
        }
    }

    fn check_agent(&self, value: &str) -> Result<(), String> {
        super::tokens::variables(value, self.query.environment)?;
        let name = value.strip_prefix('$').filter(|rest| !rest.starts_with('{'));
        let is_name =
            |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        match name {
            Some(name) if !is_name(name) => Err(format!("identityagent: {value} is no variable")),
            _ => Ok(()),
        }
    }

    fn host_fits(&self, patterns: &[String]) -> Result<bool, String> {
        if patterns.iter().any(String::is_empty) {
            return Err("a pattern of Host is empty".to_owned());
        }
        let mut hit = false;
        for pattern in patterns {
            let (pattern, negated) = pattern
                .strip_prefix('!')
                .map_or((pattern.as_str(), false), |rest| (rest, true));
            if glob(pattern.as_bytes(), self.host.as_bytes()) {
                if negated {
                    return Ok(false);
                }
                hit = true;
            }
        }
        Ok(hit)
    }

    fn include(&mut self, patterns: &[String], line: &Line<'_>, active: bool) -> Result<(), Fault> {
        for pattern in patterns {
            if pattern.is_empty() {
                return Err("a file of Include has no name".to_owned().into());
            }
            for (path, text) in self.machine.included(pattern, line.level)? {
                if line.depth >= MAX_DEPTH {
                    return Err(format!("too many nested Include lines, at {}", path.display()).into());
                }
                let Some(left) = self.left.checked_sub(1) else {
                    return Err(format!("more than {MAX_FILES} files are included").into());
                };
                self.left = left;
                self.file(&text, &path, line.level, active, line.depth + 1)?;
            }
        }
        Ok(())
    }

    /// Says whether a jump host has been named.
    fn jumps(&self) -> bool {
        self.pairs
            .first("proxyjump")
            .is_some_and(|text| !text.eq_ignore_ascii_case("none"))
    }

    /// Takes a value that applies, if it is the first of its keyword or adds to it.
    fn take(&mut self, keyword: &str, line: &Line<'_>, args: Vec<String>) -> Result<(), String> {
        match keyword {
            "identityfile" | "certificatefile" => {
                if !self.pairs.every(keyword).any(|known| args == [known]) {
                    if self.pairs.every(keyword).count() >= MAX_KEYS {
                        return Err(format!("more than {MAX_KEYS} times {keyword}"));
                    }
                    self.pairs.push(keyword, args);
                }
            }
            "sendenv" => {
                for name in args {
                    match name.strip_prefix('-') {
                        Some(pattern) => self.pairs.remove(keyword, pattern),
                        None if self.pairs.every(keyword).any(|known| known == name) => {}
                        None => self.pairs.push(keyword, vec![name]),
                    }
                }
            }
            // One line counts; each of its variables is a pair.
            "setenv" if self.pairs.args(keyword).is_none() => {
                for variable in args {
                    self.pairs.push(keyword, vec![variable]);
                }
            }
            // OpenSSH has no way to remember it: a later line counts.
            "connecttimeout" if args == ["none"] => {}
            "proxyjump" => {
                let text = jump_text(line.rest);
                let is_none = text.eq_ignore_ascii_case("none");
                if is_none || self.pairs.args("proxycommand").is_none() {
                    self.pairs.push_first(keyword, vec![text.to_owned()]);
                }
            }
            // A jump host that came before goes before it.
            "proxycommand" if self.jumps() => {}
            "proxycommand" | "localcommand" | "remotecommand" | "knownhostscommand" => {
                let text = line.rest.trim_start_matches([' ', '\t', '\r', '\n', '=']);
                self.pairs.push_first(keyword, vec![text.to_owned()]);
            }
            _ => self.pairs.push_first(keyword, args),
        }
        Ok(())
    }
}

/// Gives the value of a `ProxyJump` line, without a comment.
fn jump_text(rest: &str) -> &str {
    let text = rest.trim_start_matches([' ', '\t', '\r', '\n', '=']);
    text.split('#').next().unwrap_or_default().trim()
}

/// Reads the hosts of `ProxyJump`, the first one first. None: `none`.
///
/// # Errors
/// A hop that is no host, in words.
pub(crate) fn jumps(text: &str) -> Result<Vec<Target>, String> {
    let text = jump_text(text);
    if text.is_empty() || text.eq_ignore_ascii_case("none") {
        return Ok(Vec::new());
    }
    let hop = |hop: &str| {
        hop.trim()
            .parse::<Target>()
            .map_err(|error| format!("{hop}: {}", error.message()))
    };
    text.split(',').map(hop).collect()
}

/// Why a line was not taken: its own fault, or an error in a file that it includes.
struct Fault {
    message: String,
    inner: Option<Error>,
}

impl From<String> for Fault {
    fn from(message: String) -> Self {
        Self { message, inner: None }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self {
            message: error.message().to_owned(),
            inner: Some(error),
        }
    }
}

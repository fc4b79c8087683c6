//! Reads a command line the way a POSIX shell (with bash's additions) would, far enough to know every command in it.
//!
//! Nothing is expanded or executed. Reading is deliberately one-sided: where shells disagree, the reading that finds
//! more commands is taken, and text that this module does not understand is [`Unparsable`], which no rule may allow.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | change how commands, groups and loops are found | `parser.rs`, `compound.rs` |
//! | change quotes and expansions | `word.rs` |
//! | change redirections and here-documents | `redirect.rs` |
//! | see through `sudo`, `sh -c`, `xargs` | `unwrap.rs` |
//! | change what counts as a reading command | `read_only.rs` |

mod compound;
mod parser;
mod read_only;
mod redirect;
mod unwrap;
mod word;

#[cfg(test)]
mod tests;

pub use read_only::is_read_only;
pub(crate) use unwrap::{candidates, is_shell};

/// The longest command that is read, in bytes. Anything longer is [`Unparsable`].
pub const MAX_COMMAND_BYTES: usize = 1024 * 1024;

/// Text of which nobody can say what it would run. No rule allows it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the command cannot be read: {reason}")]
pub struct Unparsable {
    /// What is wrong with the text, such as `a double quote is not closed`.
    pub reason: &'static str,
}

impl Unparsable {
    pub(crate) fn new(reason: &'static str) -> Self {
        Self { reason }
    }
}

/// How much of a word is decided only when the command runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Expansion {
    /// The word is literal text.
    #[default]
    None,
    /// File-name patterns, braces or a tilde: `*.rs`, `{a,b}`, `~`.
    Pathname,
    /// A variable or an arithmetic result.
    Value,
    /// The output of another command, whose commands are separate segments.
    Command,
}

/// One word of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Word {
    /// The word as written, quotes included.
    pub source: String,
    /// The word without its quotes; expansions stand as written.
    pub plain: String,
    /// What is still to be expanded.
    pub expansion: Expansion,
    /// Whether any part is quoted, so that the word cannot be a keyword.
    pub quoted: bool,
}

/// What a redirection does with its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectKind {
    /// Opens a file for reading.
    Read,
    /// Creates, truncates, appends to or opens a file for writing.
    Write,
    /// Copies or closes a descriptor.
    Duplicate,
    /// Supplies text: a here-document or here-string. The target is the text.
    HereText,
}

/// One redirection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// What is done with the target.
    pub kind: RedirectKind,
    /// The file name, descriptor or text.
    pub target: Word,
}

impl Redirect {
    /// Says whether this writes to something other than the null device and the standard streams.
    #[must_use]
    pub fn writes_file(&self) -> bool {
        let harmless = ["/dev/null", "/dev/stdout", "/dev/stderr"].contains(&self.target.plain.as_str());
        self.kind == RedirectKind::Write && !harmless
    }
}

/// One simple command of a command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Segment {
    /// Leading `NAME=value` words.
    pub assignments: Vec<Word>,
    /// The command name and its arguments.
    pub words: Vec<Word>,
    /// The redirections, wherever they stood.
    pub redirects: Vec<Redirect>,
}

impl Segment {
    /// Gives the command without assignments and redirections, blanks collapsed, as written.
    #[must_use]
    pub fn text(&self) -> String {
        join(self.words.iter().map(|word| word.source.as_str()))
    }

    /// Gives the command like [`Segment::text`] with its quotes removed.
    #[must_use]
    pub fn plain_text(&self) -> String {
        join(self.words.iter().map(|word| word.plain.as_str()))
    }
}

fn join<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(" ")
}

/// Which constructs a command line uses, beside plain commands joined by `&&`, `||`, `;`, `|` and newlines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Constructs {
    /// Groups, subshells, loops, conditions, functions, background jobs.
    pub compound: bool,
    /// Command and process substitutions.
    pub substitution: bool,
}

/// A command line taken apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Script {
    /// Every simple command, including those inside groups, substitutions and here-documents.
    pub segments: Vec<Segment>,
    /// The texts given to commands by here-documents and here-strings, in no particular order.
    pub here_texts: Vec<String>,
    /// What else the text uses.
    pub constructs: Constructs,
}

/// Takes a command line apart.
///
/// # Errors
/// [`Unparsable`] for text with unclosed quotes or groups, misplaced keywords, nesting beyond 64 levels, or more
/// than [`MAX_COMMAND_BYTES`].
pub fn parse(command: &str) -> Result<Script, Unparsable> {
    if command.len() > MAX_COMMAND_BYTES {
        return Err(Unparsable::new("it is longer than one MiB"));
    }
    if command.contains('\0') {
        return Err(Unparsable::new("it contains a NUL character"));
    }
    parser::Parser::new(command).script()
}

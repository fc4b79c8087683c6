//! The command level: lists, joiners, simple commands.

use super::{
    Redirect, RedirectKind, Script, Segment, Unparsable, Word, compound::End, redirect::HereDocument,
};

/// The deepest nesting of groups and substitutions.
const MAX_DEPTH: usize = 64;

/// Reads one text; substitutions inside it are read by the same parser or by a [`Parser::nested`] one.
#[derive(Debug)]
pub(super) struct Parser {
    pub(super) chars: Vec<char>,
    pub(super) pos: usize,
    pub(super) script: Script,
    /// Here-documents whose bodies start after the next newline.
    pub(super) pending: Vec<HereDocument>,
    depth: usize,
    /// Characters that may still be read; bounds the work of retried readings of `((`.
    fuel: usize,
}

/// A place to go back to when a reading does not work out.
pub(super) struct Checkpoint {
    pos: usize,
    segments: usize,
    pending: usize,
    depth: usize,
}

impl Checkpoint {
    pub(super) fn position(&self) -> usize {
        self.pos
    }
}

impl Parser {
    pub(super) fn new(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let fuel = chars.len().saturating_mul(64).saturating_add(4096);
        Self {
            chars,
            pos: 0,
            script: Script::default(),
            pending: Vec::new(),
            depth: 0,
            fuel,
        }
    }

    /// Reads the whole text.
    pub(super) fn script(mut self) -> Result<Script, Unparsable> {
        self.list(End::Text)?;
        self.read_here_documents()?;
        Ok(self.script)
    }

    /// Reads `text`, which stands inside the current one, with `read`, and keeps the commands found.
    pub(super) fn nested(
        &mut self,
        text: &str,
        read: impl FnOnce(&mut Self) -> Result<(), Unparsable>,
    ) -> Result<(), Unparsable> {
        self.enter()?;
        let mut inner = Self::new(text);
        inner.depth = self.depth;
        inner.fuel = self.fuel;
        let outcome = read(&mut inner).and_then(|()| inner.read_here_documents());
        self.fuel = inner.fuel;
        outcome?;
        self.script.segments.append(&mut inner.script.segments);
        self.script.here_texts.append(&mut inner.script.here_texts);
        self.script.constructs.compound |= inner.script.constructs.compound;
        self.script.constructs.substitution |= inner.script.constructs.substitution;
        self.leave();
        Ok(())
    }

    pub(super) fn enter(&mut self) -> Result<(), Unparsable> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Unparsable::new("it is nested too deeply"));
        }
        self.check_fuel()
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    pub(super) fn check_fuel(&self) -> Result<(), Unparsable> {
        if self.fuel == 0 {
            Err(Unparsable::new("it is too ambiguous"))
        } else {
            Ok(())
        }
    }

    pub(super) fn checkpoint(&self) -> Checkpoint {
        let segments = self.script.segments.len();
        Checkpoint {
            pos: self.pos,
            segments,
            pending: self.pending.len(),
            depth: self.depth,
        }
    }

    /// Goes back to `to`.
    ///
    /// # Errors
    /// When a here-document announced before `to` has been read since: its body would be read as commands.
    pub(super) fn go_back(&mut self, to: &Checkpoint) -> Result<(), Unparsable> {
        if self.pending.len() < to.pending {
            return Err(Unparsable::new(
                "a here-document starts inside an ambiguous group",
            ));
        }
        self.pos = to.pos;
        self.depth = to.depth;
        self.script.segments.truncate(to.segments);
        self.pending.truncate(to.pending);
        Ok(())
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, offset: usize) -> Option<char> {
        self.chars.get(self.pos + offset).copied()
    }

    pub(super) fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.pos += 1;
        self.fuel = self.fuel.saturating_sub(1);
        Some(c)
    }

    pub(super) fn looking_at(&self, text: &str) -> bool {
        text.chars()
            .enumerate()
            .all(|(offset, c)| self.peek_at(offset) == Some(c))
    }

    /// Consumes `text` if it comes next.
    pub(super) fn accept(&mut self, text: &str) -> bool {
        let found = self.looking_at(text);
        if found {
            for _ in text.chars() {
                self.bump();
            }
        }
        found
    }

    pub(super) fn slice(&self, from: usize) -> String {
        self.chars
            .get(from..self.pos)
            .unwrap_or_default()
            .iter()
            .collect()
    }

    /// Skips blanks, line continuations and, at the start of a word, a comment.
    pub(super) fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(' ' | '\t') => {
                    self.bump();
                }
                Some('\\') if self.peek_at(1) == Some('\n') => {
                    self.bump();
                    self.bump();
                }
                Some('#') => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.bump();
                    }
                }
                _ => return,
            }
        }
    }

    /// Skips blanks and newlines, reading the here-documents that start there.
    pub(super) fn skip_lines(&mut self) -> Result<(), Unparsable> {
        loop {
            self.skip_blanks();
            if self.peek() != Some('\n') {
                return Ok(());
            }
            self.bump();
            self.read_here_documents()?;
        }
    }

    /// Reads commands until `end`, which is left for the caller to consume.
    pub(super) fn list(&mut self, end: End) -> Result<(), Unparsable> {
        self.enter()?;
        loop {
            self.skip_joiners()?;
            if self.at_end(end)? {
                self.leave();
                return Ok(());
            }
            self.command()?;
        }
    }

    /// Skips what may stand between two commands: newlines, `;`, `&`, `|`, `&&`, `||`, `|&`.
    fn skip_joiners(&mut self) -> Result<(), Unparsable> {
        loop {
            self.skip_lines()?;
            match (self.peek(), self.peek_at(1)) {
                (Some(';'), Some(';' | '&')) => return Ok(()),
                (Some('&'), Some('>')) => return Ok(()),
                (Some('&'), Some('&')) => {
                    self.bump();
                }
                (Some('&'), _) => self.script.constructs.compound = true,
                (Some(';' | '|'), _) => {}
                _ => return Ok(()),
            }
            self.bump();
        }
    }

    /// Reads one simple command, with its assignments and redirections.
    pub(super) fn simple(&mut self) -> Result<(), Unparsable> {
        let mut segment = Segment::default();
        loop {
            self.skip_blanks();
            if let Some(redirect) = self.redirect()? {
                segment.redirects.push(redirect);
                continue;
            }
            match self.peek() {
                None | Some('\n' | ';' | '&' | '|' | ')') => break,
                Some('(') if is_function_header(&segment) => return self.function_parentheses(),
                Some('(') => return Err(Unparsable::new("a parenthesis stands where none is expected")),
                Some(_) => {}
            }
            let word = self.word()?;
            if self.is_descriptor(&word) {
                continue;
            }
            if segment.words.is_empty() && is_assignment(&word.source) {
                segment.assignments.push(word);
            } else {
                segment.words.push(word);
            }
        }
        self.push(segment);
        Ok(())
    }

    /// Keeps a command, unless it is empty.
    pub(super) fn push(&mut self, segment: Segment) {
        if segment != Segment::default() {
            self.script.segments.push(segment);
        }
    }

    /// Reads the redirections behind a group or loop, which belong to no simple command.
    pub(super) fn trailing_redirects(&mut self) -> Result<(), Unparsable> {
        let mut redirects: Vec<Redirect> = Vec::new();
        loop {
            self.skip_blanks();
            let before = self.checkpoint();
            if self.peek().is_some_and(|c| c.is_ascii_digit() || c == '{') {
                let word = self.word()?;
                if !self.is_descriptor(&word) {
                    self.go_back(&before)?;
                }
            }
            match self.redirect()? {
                Some(redirect) => redirects.push(redirect),
                None => break,
            }
        }
        // What neither reads nor writes a file concerns no rule, and nobody has to allow it.
        redirects.retain(|redirect| redirect.kind == RedirectKind::Read || redirect.writes_file());
        self.push(Segment {
            redirects,
            ..Segment::default()
        });
        Ok(())
    }

    /// Says whether `word` is the descriptor of the redirection that follows it directly: `2>`, `{fd}<`.
    fn is_descriptor(&self, word: &Word) -> bool {
        let named = word
            .source
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'))
            .is_some_and(is_name);
        let numbered = !word.source.is_empty() && word.source.chars().all(|c| c.is_ascii_digit());
        (named || numbered) && matches!(self.peek(), Some('<' | '>')) && self.peek_at(1) != Some('(')
    }

    fn function_parentheses(&mut self) -> Result<(), Unparsable> {
        self.bump();
        self.skip_blanks();
        if self.bump() != Some(')') {
            return Err(Unparsable::new("a parenthesis stands where none is expected"));
        }
        self.script.constructs.compound = true;
        // The body is the next command, and is judged as if it ran: defining it is the way to run it later.
        Ok(())
    }
}

fn is_function_header(segment: &Segment) -> bool {
    segment.assignments.is_empty() && segment.redirects.is_empty() && segment.words.len() == 1
}

/// Says whether `text` is a variable name.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Says whether `source` starts with `NAME=`, `NAME+=` or `NAME[…]=`.
pub(super) fn is_assignment(source: &str) -> bool {
    let Some((left, _)) = source.split_once('=') else {
        return false;
    };
    let left = left.strip_suffix('+').unwrap_or(left);
    match left.split_once('[') {
        Some((name, subscript)) => is_name(name) && subscript.ends_with(']'),
        None => is_name(left),
    }
}

//! The word level: quotes, expansions, substitutions.

use super::{
    Expansion, Unparsable, Word,
    compound::End,
    parser::{Parser, is_assignment, is_name},
};

/// Where an expansion stands, which decides what quotes mean inside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotes {
    /// Not inside double quotes.
    Outside,
    /// Inside double quotes or a here-document.
    Double,
}

impl Parser {
    /// Reads one word, which ends at an unquoted blank or operator.
    pub(super) fn word(&mut self) -> Result<Word, Unparsable> {
        let start = self.pos;
        let mut word = Word::default();
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | ')' => break,
                '<' | '>' if self.peek_at(1) == Some('(') => self.substitution(&mut word)?,
                '<' | '>' => break,
                '(' if is_array_start(&self.slice(start).replace("\\\n", "")) => self.array(&mut word)?,
                '(' => break,
                '\\' => self.backslash(&mut word),
                '\'' => self.single_quoted(&mut word)?,
                '"' => self.double_quoted(&mut word)?,
                '`' => self.backticks(&mut word, Quotes::Outside)?,
                '$' => self.dollar(&mut word, Quotes::Outside)?,
                _ => {
                    let braces = c == '{' && self.peek_at(1) != Some('}');
                    if braces || "*?[~".contains(c) {
                        word.expansion = word.expansion.max(Expansion::Pathname);
                    }
                    word.plain.extend(self.bump());
                }
            }
        }
        word.source = self.slice(start).replace("\\\n", "");
        if self.pos == start {
            return Err(Unparsable::new("a word is missing"));
        }
        Ok(word)
    }

    fn backslash(&mut self, word: &mut Word) {
        self.bump();
        match self.bump() {
            Some('\n') => {}
            Some(c) => {
                word.quoted = true;
                word.plain.push(c);
            }
            None => word.plain.push('\\'),
        }
    }

    fn single_quoted(&mut self, word: &mut Word) -> Result<(), Unparsable> {
        word.quoted = true;
        self.bump();
        loop {
            match self.bump() {
                Some('\'') => return Ok(()),
                Some(c) => word.plain.push(c),
                None => return Err(Unparsable::new("a single quote is not closed")),
            }
        }
    }

    pub(super) fn double_quoted(&mut self, word: &mut Word) -> Result<(), Unparsable> {
        word.quoted = true;
        self.bump();
        loop {
            match self.peek() {
                Some('"') => {
                    self.bump();
                    return Ok(());
                }
                Some('\\') => {
                    self.bump();
                    match self.peek() {
                        Some(c @ ('$' | '`' | '"' | '\\')) => {
                            self.bump();
                            word.plain.push(c);
                        }
                        Some('\n') => {
                            self.bump();
                        }
                        _ => word.plain.push('\\'),
                    }
                }
                Some('$') => self.dollar(word, Quotes::Double)?,
                Some('`') => self.backticks(word, Quotes::Double)?,
                Some(c) => {
                    self.bump();
                    word.plain.push(c);
                }
                None => return Err(Unparsable::new("a double quote is not closed")),
            }
        }
    }

    /// Reads what a `$` starts; the expansion itself stays in the word as written.
    pub(super) fn dollar(&mut self, word: &mut Word, quotes: Quotes) -> Result<(), Unparsable> {
        self.check_fuel()?;
        if self.looking_at("$\\\n") {
            // Shells join the lines before they look at what follows the `$`.
            return Err(Unparsable::new("a line continuation splits an expansion"));
        }
        match self.peek_at(1) {
            Some('(') => return self.dollar_parenthesis(word),
            Some('\'') if quotes == Quotes::Outside => return self.ansi_quoted(word),
            Some('"') if quotes == Quotes::Outside => {
                self.bump();
                return self.double_quoted(word);
            }
            _ => {}
        }
        let start = self.pos;
        self.bump();
        let expansion = match self.peek() {
            Some('{') => self.braced(quotes)?,
            Some('[') => {
                self.bump();
                self.skip_balanced(']')?
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                while self.peek().is_some_and(|c| c.is_ascii_alphanumeric() || c == '_') {
                    self.bump();
                }
                Expansion::Value
            }
            Some(c) if c.is_ascii_digit() || "?$!#@*-".contains(c) => {
                self.bump();
                Expansion::Value
            }
            _ => Expansion::None,
        };
        word.expansion = word.expansion.max(expansion);
        word.plain.push_str(&self.slice(start));
        Ok(())
    }

    fn dollar_parenthesis(&mut self, word: &mut Word) -> Result<(), Unparsable> {
        let start = self.checkpoint();
        if self.accept("$((") {
            if let Ok(expansion) = self.arithmetic_body() {
                word.expansion = word.expansion.max(expansion);
                word.plain.push_str(&self.slice(start.position()));
                return Ok(());
            }
            self.go_back(&start)?;
        }
        self.substitution(word)
    }

    /// Reads `$(…)`, `<(…)` or `>(…)`; the commands inside become segments.
    fn substitution(&mut self, word: &mut Word) -> Result<(), Unparsable> {
        let start = self.pos;
        let waiting = self.pending.len();
        self.bump();
        self.bump();
        self.script.constructs.substitution = true;
        self.list(End::Parenthesis)?;
        self.bump();
        if self.pending.len() > waiting {
            return Err(Unparsable::new(
                "a here-document starts in a substitution and ends outside",
            ));
        }
        word.expansion = Expansion::Command;
        word.plain.push_str(&self.slice(start));
        Ok(())
    }

    /// Reads a backtick substitution, in which backslashes quote one level more.
    pub(super) fn backticks(&mut self, word: &mut Word, quotes: Quotes) -> Result<(), Unparsable> {
        let start = self.pos;
        self.bump();
        let mut inner = String::new();
        loop {
            match self.bump() {
                Some('`') => break,
                Some('\\') => match self.peek() {
                    Some(c @ ('\\' | '`' | '$')) => {
                        self.bump();
                        inner.push(c);
                    }
                    Some('"') if quotes == Quotes::Double => {
                        self.bump();
                        inner.push('"');
                    }
                    _ => inner.push('\\'),
                },
                Some(c) => inner.push(c),
                None => return Err(Unparsable::new("a backtick is not closed")),
            }
        }
        self.script.constructs.substitution = true;
        self.nested(&inner, |parser| parser.list(End::Text))?;
        word.expansion = Expansion::Command;
        word.plain.push_str(&self.slice(start));
        Ok(())
    }

    /// Reads `{name…}` behind a `$`, with whatever substitutions its default or pattern contains.
    fn braced(&mut self, quotes: Quotes) -> Result<Expansion, Unparsable> {
        self.enter()?;
        self.bump();
        if matches!(self.peek(), Some(' ' | '\t' | '\n' | '|')) {
            // bash 5.3 runs `${ command; }` in the shell itself.
            return Err(Unparsable::new("`${` is not followed by a name"));
        }
        let mut inner = Word {
            expansion: Expansion::Value,
            ..Word::default()
        };
        loop {
            match self.peek() {
                Some('}') => {
                    self.bump();
                    self.leave();
                    return Ok(inner.expansion);
                }
                Some('\\') => {
                    self.bump();
                    self.bump();
                }
                Some('\'') if quotes == Quotes::Outside => self.single_quoted(&mut inner)?,
                Some('"') => self.double_quoted(&mut inner)?,
                Some('$') => self.dollar(&mut inner, quotes)?,
                Some('`') => self.backticks(&mut inner, quotes)?,
                Some('<' | '>') if quotes == Quotes::Outside && self.peek_at(1) == Some('(') => {
                    self.substitution(&mut inner)?;
                }
                Some(_) => {
                    self.bump();
                }
                None => return Err(Unparsable::new("`${` is not closed")),
            }
        }
    }

    /// Reads arithmetic up to and including its `))`.
    pub(super) fn arithmetic_body(&mut self) -> Result<Expansion, Unparsable> {
        let expansion = self.skip_balanced(')')?;
        if self.bump() == Some(')') {
            Ok(expansion)
        } else {
            Err(Unparsable::new("`((` is not closed by `))`"))
        }
    }

    /// Skips to the `close` that belongs to an opening bracket already read, noting substitutions on the way.
    fn skip_balanced(&mut self, close: char) -> Result<Expansion, Unparsable> {
        self.enter()?;
        let open = if close == ')' { '(' } else { '[' };
        let mut inner = Word {
            expansion: Expansion::Value,
            ..Word::default()
        };
        let mut level = 0_usize;
        loop {
            match self.peek() {
                Some('$') => self.dollar(&mut inner, Quotes::Double)?,
                Some('`') => self.backticks(&mut inner, Quotes::Double)?,
                Some('"') => self.double_quoted(&mut inner)?,
                Some('\\') => {
                    self.bump();
                    self.bump();
                }
                Some(c) => {
                    self.bump();
                    if c == close && level == 0 {
                        self.leave();
                        return Ok(inner.expansion);
                    }
                    if c == close {
                        level -= 1;
                    } else if c == open {
                        level += 1;
                    }
                }
                None => return Err(Unparsable::new("arithmetic is not closed")),
            }
        }
    }

    /// Reads `(word…)` behind `NAME=`.
    fn array(&mut self, word: &mut Word) -> Result<(), Unparsable> {
        let start = self.pos;
        self.enter()?;
        self.bump();
        loop {
            self.skip_lines()?;
            match self.peek() {
                Some(')') => {
                    self.bump();
                    self.leave();
                    word.plain.push_str(&self.slice(start));
                    return Ok(());
                }
                Some('<' | '>') if self.peek_at(1) != Some('(') => {
                    return Err(Unparsable::new("an array contains an operator"));
                }
                Some(';' | '&' | '|' | '(') => return Err(Unparsable::new("an array contains an operator")),
                Some(_) => {
                    let element = self.word()?;
                    word.expansion = word.expansion.max(element.expansion);
                }
                None => return Err(Unparsable::new("an array is not closed")),
            }
        }
    }

    /// Reads `$'…'`, whose escapes name characters.
    fn ansi_quoted(&mut self, word: &mut Word) -> Result<(), Unparsable> {
        word.quoted = true;
        self.bump();
        self.bump();
        loop {
            match self.bump() {
                Some('\'') => return Ok(()),
                Some('\\') => {
                    let Some(c) = self.bump() else { break };
                    let decoded = self.escape(c);
                    word.plain.extend(decoded);
                }
                Some(c) => word.plain.push(c),
                None => break,
            }
        }
        Err(Unparsable::new("a single quote is not closed"))
    }

    fn escape(&mut self, c: char) -> Option<char> {
        match c {
            'n' => Some('\n'),
            't' => Some('\t'),
            'r' => Some('\r'),
            'a' => Some('\u{7}'),
            'b' => Some('\u{8}'),
            'e' | 'E' => Some('\u{1b}'),
            'f' => Some('\u{c}'),
            'v' => Some('\u{b}'),
            'x' => self.code(16, 2, 0),
            'u' => self.code(16, 4, 0),
            'U' => self.code(16, 8, 0),
            'c' => self.bump().and_then(|c| char::from_u32(u32::from(c) & 0x1f)),
            digit @ '0'..='7' => self.code(8, 2, digit.to_digit(8).unwrap_or(0)),
            other => Some(other),
        }
    }

    fn code(&mut self, radix: u32, most: usize, first: u32) -> Option<char> {
        let mut value = first;
        for _ in 0..most {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(radix)) else {
                break;
            };
            self.bump();
            value = value.wrapping_mul(radix).wrapping_add(digit);
        }
        char::from_u32(value)
    }
}

/// Says whether a parenthesis behind `source` starts an array: `NAME=(` or `NAME+=(`.
fn is_array_start(source: &str) -> bool {
    source.ends_with('=')
        && is_assignment(source)
        && source.split(['=', '+', '[']).next().is_some_and(is_name)
}

//! Redirections and here-documents.

use super::{Redirect, RedirectKind, Unparsable, Word, parser::Parser, word::Quotes};

/// A here-document whose body has not been reached yet.
#[derive(Debug)]
pub(super) struct HereDocument {
    delimiter: String,
    /// Whether leading tabs are removed (`<<-`).
    strip_tabs: bool,
    /// Whether the delimiter is quoted, so that nothing in the body expands.
    literal: bool,
}

impl Parser {
    /// Reads a redirection if one starts here; a descriptor number before it is already consumed.
    pub(super) fn redirect(&mut self) -> Result<Option<Redirect>, Unparsable> {
        if matches!((self.peek(), self.peek_at(1)), (Some('<' | '>'), Some('('))) {
            return Ok(None);
        }
        for heredoc in ["<<-", "<<"] {
            if self.looking_at(heredoc) && !self.looking_at("<<<") {
                self.accept(heredoc);
                return self.here_document(heredoc == "<<-").map(Some);
            }
        }
        let operators = [
            ("&>>", RedirectKind::Write),
            ("&>", RedirectKind::Write),
            ("<<<", RedirectKind::HereText),
            ("<&", RedirectKind::Duplicate),
            (">&", RedirectKind::Duplicate),
            ("<>", RedirectKind::Write),
            (">>", RedirectKind::Write),
            (">|", RedirectKind::Write),
            (">", RedirectKind::Write),
            ("<", RedirectKind::Read),
        ];
        let Some((operator, kind)) = operators
            .into_iter()
            .find(|(operator, _)| self.looking_at(operator))
        else {
            return Ok(None);
        };
        self.accept(operator);
        let target = self.redirect_target()?;
        let descriptor = target
            .plain
            .trim_end_matches('-')
            .chars()
            .all(|c| c.is_ascii_digit());
        let kind = match kind {
            // `>&file` writes the file; only a number or `-` is a descriptor.
            RedirectKind::Duplicate if !descriptor && operator == ">&" => RedirectKind::Write,
            other => other,
        };
        if kind == RedirectKind::HereText {
            self.script.here_texts.push(target.plain.clone());
        }
        Ok(Some(Redirect { kind, target }))
    }

    fn redirect_target(&mut self) -> Result<Word, Unparsable> {
        self.skip_blanks();
        match self.peek() {
            None | Some('\n' | ';' | '&' | '|' | '(' | ')') => {
                Err(Unparsable::new("a redirection has no target"))
            }
            Some('<' | '>') if self.peek_at(1) != Some('(') => {
                Err(Unparsable::new("a redirection has no target"))
            }
            Some(_) => self.word(),
        }
    }

    fn here_document(&mut self, strip_tabs: bool) -> Result<Redirect, Unparsable> {
        let target = self.redirect_target()?;
        let literal = target.quoted;
        self.pending.push(HereDocument {
            delimiter: target.plain.clone(),
            strip_tabs,
            literal,
        });
        Ok(Redirect {
            kind: RedirectKind::HereText,
            target,
        })
    }

    /// Reads the bodies of the here-documents announced on the line that just ended.
    pub(super) fn read_here_documents(&mut self) -> Result<(), Unparsable> {
        for document in std::mem::take(&mut self.pending) {
            let body = self.here_body(&document);
            if !document.literal {
                self.nested(&body, Self::expansions_of_text)?;
            }
            self.script.here_texts.push(body);
        }
        Ok(())
    }

    fn here_body(&mut self, document: &HereDocument) -> String {
        let mut body = String::new();
        loop {
            let mut line = self.line();
            // A line continuation joins lines before the delimiter is looked for.
            while !document.literal && ends_with_continuation(&line) && self.peek().is_some() {
                line.pop();
                line.push_str(&self.line());
            }
            let compared = if document.strip_tabs {
                line.trim_start_matches('\t')
            } else {
                line.as_str()
            };
            if compared == document.delimiter {
                return body;
            }
            body.push_str(&line);
            body.push('\n');
            if self.peek().is_none() {
                return body;
            }
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        while let Some(c) = self.bump() {
            if c == '\n' {
                break;
            }
            line.push(c);
        }
        line
    }

    /// Notes the substitutions in a text in which only expansions and backslashes are special.
    fn expansions_of_text(&mut self) -> Result<(), Unparsable> {
        let mut scratch = Word::default();
        while let Some(c) = self.peek() {
            match c {
                '\\' => {
                    self.bump();
                    self.bump();
                }
                '$' => self.dollar(&mut scratch, Quotes::Double)?,
                '`' => self.backticks(&mut scratch, Quotes::Double)?,
                _ => {
                    self.bump();
                }
            }
        }
        Ok(())
    }
}

fn ends_with_continuation(line: &str) -> bool {
    (line.len() - line.trim_end_matches('\\').len()) % 2 == 1
}

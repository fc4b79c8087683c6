//! Groups, subshells, conditions, loops and functions: everything that contains commands.

use super::{Segment, Unparsable, Word, parser::Parser};

/// What ends a list of commands.
#[derive(Debug, Clone, Copy)]
pub(super) enum End {
    /// The end of the text.
    Text,
    /// A closing parenthesis.
    Parenthesis,
    /// `;;`, `;&`, `;;&` or `esac`.
    CaseItem,
    /// One of these keywords in command position.
    Keyword(&'static [&'static str]),
}

/// Keywords that may only stand where the construct they belong to expects them.
const CLOSERS: &[&str] = &["then", "elif", "else", "fi", "do", "done", "esac", "}"];

impl Parser {
    /// Says whether the list ends here, and refuses a terminator that belongs to something else.
    pub(super) fn at_end(&self, end: End) -> Result<bool, Unparsable> {
        let Some(c) = self.peek() else {
            return match end {
                End::Text => Ok(true),
                _ => Err(Unparsable::new("a group, substitution or loop is not closed")),
            };
        };
        if c == ')' {
            return match end {
                End::Parenthesis => Ok(true),
                _ => Err(Unparsable::new("a closing parenthesis has no opening one")),
            };
        }
        if c == ';' {
            // Only `;;` and `;&` are left standing by the joiners.
            return match end {
                End::CaseItem => Ok(true),
                _ => Err(Unparsable::new("`;;` stands outside a case")),
            };
        }
        let token = self.bare_token();
        let expected = match end {
            End::Keyword(words) => words.contains(&token.as_str()),
            End::CaseItem => token == "esac",
            End::Text | End::Parenthesis => false,
        };
        if !expected && CLOSERS.contains(&token.as_str()) {
            return Err(Unparsable::new("a keyword stands where none is expected"));
        }
        Ok(expected)
    }

    /// Gives the characters up to the next blank or operator: a keyword if it equals one, since quotes differ.
    fn bare_token(&self) -> String {
        let rest = self.chars.get(self.pos..).unwrap_or_default();
        rest.iter()
            .take_while(|c| !" \t\n;&|<>()".contains(**c))
            .take(16)
            .collect()
    }

    fn accept_keyword(&mut self, keyword: &str) -> bool {
        self.bare_token() == keyword && self.accept(keyword)
    }

    fn expect_keyword(&mut self, keyword: &str) -> Result<(), Unparsable> {
        if self.accept_keyword(keyword) {
            Ok(())
        } else {
            Err(Unparsable::new("a loop or condition is not complete"))
        }
    }

    /// Reads one command of any kind.
    pub(super) fn command(&mut self) -> Result<(), Unparsable> {
        self.check_fuel()?;
        if self.peek() == Some('(') {
            return self.parenthesis();
        }
        let token = self.bare_token();
        let simple = !matches!(
            token.as_str(),
            "{" | "if"
                | "while"
                | "until"
                | "for"
                | "select"
                | "case"
                | "function"
                | "[["
                | "!"
                | "time"
                | "coproc"
        );
        if simple {
            return self.simple();
        }
        self.script.constructs.compound = true;
        self.accept(&token);
        match token.as_str() {
            "{" => self.list_until(&["}"])?,
            "if" => self.condition()?,
            "while" | "until" => {
                self.list_until(&["do"])?;
                self.list_until(&["done"])?;
            }
            "for" | "select" => self.loop_over_words()?,
            "case" => self.case()?,
            "function" => return self.function(),
            "[[" => return self.test(),
            // The command that follows is read as the next one of the list.
            _ => return self.prefix(),
        }
        self.trailing_redirects()
    }

    fn prefix(&mut self) -> Result<(), Unparsable> {
        self.skip_blanks();
        if self.bare_token() == "-p" {
            self.accept("-p");
        }
        Ok(())
    }

    /// Reads commands up to the keyword, and the keyword.
    fn list_until(&mut self, keyword: &'static [&'static str; 1]) -> Result<(), Unparsable> {
        self.list(End::Keyword(keyword))?;
        self.expect_keyword(keyword[0])
    }

    fn condition(&mut self) -> Result<(), Unparsable> {
        self.list_until(&["then"])?;
        loop {
            self.list(End::Keyword(&["elif", "else", "fi"]))?;
            if self.accept_keyword("elif") {
                self.list_until(&["then"])?;
            } else if self.accept_keyword("else") {
                return self.list_until(&["fi"]);
            } else {
                return self.expect_keyword("fi");
            }
        }
    }

    fn loop_over_words(&mut self) -> Result<(), Unparsable> {
        self.skip_blanks();
        if self.looking_at("((") {
            self.accept("((");
            self.arithmetic_body()?;
        } else {
            self.word()?;
            self.skip_lines()?;
            if self.accept_keyword("in") {
                self.words_of_line()?;
            }
        }
        self.skip_lines()?;
        if self.peek() == Some(';') && self.peek_at(1) != Some(';') {
            self.bump();
            self.skip_lines()?;
        }
        if self.accept_keyword("{") {
            return self.list_until(&["}"]);
        }
        self.expect_keyword("do")?;
        self.list_until(&["done"])
    }

    fn words_of_line(&mut self) -> Result<(), Unparsable> {
        loop {
            self.skip_blanks();
            match self.peek() {
                None | Some('\n' | ';') => return Ok(()),
                Some('&' | '|' | ')' | '(') => {
                    return Err(Unparsable::new("the words of a loop are not words"));
                }
                Some('<' | '>') if self.peek_at(1) != Some('(') => {
                    return Err(Unparsable::new("the words of a loop are not words"));
                }
                Some(_) => self.word()?,
            };
        }
    }

    fn case(&mut self) -> Result<(), Unparsable> {
        self.skip_blanks();
        self.word()?;
        self.skip_lines()?;
        self.expect_keyword("in")?;
        loop {
            self.skip_lines()?;
            if self.accept_keyword("esac") {
                return Ok(());
            }
            self.accept("(");
            self.case_patterns()?;
            self.list(End::CaseItem)?;
            while matches!(self.peek(), Some(';' | '&')) {
                self.bump();
            }
        }
    }

    fn case_patterns(&mut self) -> Result<(), Unparsable> {
        loop {
            self.skip_blanks();
            match self.peek() {
                Some(')') => {
                    self.bump();
                    return Ok(());
                }
                Some('|') => {
                    self.bump();
                }
                None | Some('\n' | ';' | '&' | '(') => {
                    return Err(Unparsable::new("a case pattern is not closed"));
                }
                Some('<' | '>') if self.peek_at(1) != Some('(') => {
                    return Err(Unparsable::new("a case pattern is not closed"));
                }
                Some(_) => {
                    self.word()?;
                }
            }
        }
    }

    fn function(&mut self) -> Result<(), Unparsable> {
        self.skip_blanks();
        self.word()?;
        self.skip_blanks();
        if self.accept("(") {
            self.skip_blanks();
            if !self.accept(")") {
                return Err(Unparsable::new("a function header is not closed"));
            }
        }
        Ok(())
    }

    /// Reads `[[ … ]]`, in which `<`, `&&` and parentheses are not shell operators, as one command.
    fn test(&mut self) -> Result<(), Unparsable> {
        let bracket = |text: &str| Word {
            source: text.into(),
            plain: text.into(),
            ..Word::default()
        };
        let mut words = vec![bracket("[[")];
        loop {
            self.skip_lines()?;
            let Some(c) = self.peek() else {
                return Err(Unparsable::new("`[[` is not closed"));
            };
            if self.bare_token() == "]]" {
                self.accept("]]");
                words.push(bracket("]]"));
                self.push(Segment {
                    words,
                    ..Segment::default()
                });
                return self.trailing_redirects();
            }
            if ";&|()".contains(c) || ("<>".contains(c) && self.peek_at(1) != Some('(')) {
                self.bump();
                words.push(bracket(&c.to_string()));
            } else {
                words.push(self.word()?);
            }
        }
    }

    /// Reads a subshell, or `((…))`.
    ///
    /// bash calculates `((…))` and other shells run it as two subshells, so the reading with commands comes first.
    fn parenthesis(&mut self) -> Result<(), Unparsable> {
        self.script.constructs.compound = true;
        let start = self.checkpoint();
        let calculated = self.looking_at("((");
        self.bump();
        let as_commands = self.list(End::Parenthesis);
        if as_commands.is_ok() || !calculated {
            as_commands?;
            self.bump();
            return self.trailing_redirects();
        }
        self.go_back(&start)?;
        let from = start.position();
        self.accept("((");
        self.arithmetic_body()?;
        let text = self.slice(from);
        let word = Word {
            source: text.clone(),
            plain: text,
            ..Word::default()
        };
        self.push(Segment {
            words: vec![word],
            ..Segment::default()
        });
        self.trailing_redirects()
    }
}

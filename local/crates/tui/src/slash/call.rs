//! When a typed text is a command.

use super::{
    effect::Effect,
    nearest::nearest,
    registry::{COMMANDS, Command, RETIRED},
};

/// One command as typed, with what it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    /// The command's first name, without the slash.
    pub(crate) name: &'static str,
    /// What to do.
    pub(crate) effect: Effect,
}

/// What a typed text is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Parsed {
    /// A text for the model.
    Text,
    /// A command.
    Call(Call),
    /// Meant as a command and none; the words say what is wrong and what may be meant.
    Wrong(String),
}

/// How to send what looks like a command.
const AS_TEXT: &str = "to send it as text, put a space in front";

/// Tells what a typed text is.
///
/// A command is one line that begins with a slash and a word of letters, digits, `-` and `_` that begins with a letter
/// (or `?`). So a path (`/usr/bin`), a comment (`// x`), a lone slash, a text of several lines and everything behind a
/// space are texts. `exit` alone is a command too.
pub(crate) fn parse(text: &str) -> Parsed {
    let line = text.trim_end();
    if line == "exit" {
        return call(line, "");
    }
    let Some((word, arguments)) = command_word(line) else {
        return Parsed::Text;
    };
    call(word, arguments.trim())
}

/// Gives the word behind the slash and the rest, if the line has the shape of a command.
fn command_word(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix('/')?;
    if rest.contains('\n') {
        return None;
    }
    let (word, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let is_word = word.starts_with(|char: char| char.is_ascii_alphabetic())
        && word
            .chars()
            .all(|char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_'));
    (is_word || word == "?").then_some((word, arguments))
}

fn call(word: &str, arguments: &str) -> Parsed {
    let word = word.to_ascii_lowercase();
    let Some(command) = Command::find(&word) else {
        return Parsed::Wrong(unknown(&word));
    };
    if command.arguments == super::Arguments::None && !arguments.is_empty() {
        return Parsed::Wrong(format!("/{} takes nothing behind it; {AS_TEXT}", command.name));
    }
    match (command.effect)(arguments) {
        Ok(effect) => Parsed::Call(Call {
            name: command.name,
            effect,
        }),
        Err(wrong) => Parsed::Wrong(format!("{wrong}; usage: {}", command.usage())),
    }
}

fn unknown(word: &str) -> String {
    if let Some((_, instead)) = RETIRED.iter().find(|(name, _)| *name == word) {
        return format!("/{word} is retired; use /{instead}");
    }
    let names = COMMANDS
        .iter()
        .flat_map(|command| std::iter::once(command.name).chain(command.aliases.iter().copied()));
    match nearest(word, names) {
        Some(name) => format!("unknown command /{word}, did you mean /{name}? ({AS_TEXT})"),
        None => format!("unknown command /{word}, /help lists them ({AS_TEXT})"),
    }
}

#[cfg(test)]
mod tests;

//! Words where a command was expected: `help`, a task without quotes, a mistyped command.

use std::ffi::{OsStr, OsString};

use clap::{CommandFactory as _, error::ErrorKind};

use super::Cli;

/// Turns `reasonix help COMMAND...` into `reasonix COMMAND... --help`; anything else stays as it is.
///
/// # Errors
/// A word that is no command.
pub(super) fn without_help_command(arguments: &[OsString]) -> Result<Vec<OsString>, clap::Error> {
    let (Some(program), Some(first)) = (arguments.first(), arguments.get(1)) else {
        return Ok(arguments.to_vec());
    };
    if first != "help" {
        return Ok(arguments.to_vec());
    }
    let path: Vec<&OsString> = arguments.iter().skip(2).filter(|word| !is_option(word)).collect();
    let root = Cli::command();
    let mut command = &root;
    for word in &path {
        command = command
            .find_subcommand(word)
            .ok_or_else(|| no_command(&word.to_string_lossy()))?;
    }
    let help = OsString::from("--help");
    Ok([program]
        .into_iter()
        .chain(path)
        .chain([&help])
        .cloned()
        .collect())
}

/// Says that several words, of which the first is no command, are a task that lacks its quotes.
pub(super) fn unquoted(arguments: &[OsString]) -> Option<clap::Error> {
    let words = arguments.get(1..)?;
    let first = words.first()?;
    let is_command = Cli::command().find_subcommand(first).is_some();
    if is_command || words.len() < 2 || words.iter().any(|word| is_option(word) || has_space(word)) {
        return None;
    }
    let task: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let task = stdx::bounded::one_line(&crate::ask::visible(&task.join(" ")), 80);
    let message = format!(
        "'{}' is no command; a task stands in quotes: reasonix \"{task}\"",
        crate::ask::visible(&first.to_string_lossy())
    );
    Some(Cli::command().error(ErrorKind::InvalidSubcommand, message))
}

/// Says that a single word is no command.
pub(super) fn no_command(word: &str) -> clap::Error {
    let message = format!("'{word}' is no command, and a task has at least two words");
    Cli::command().error(ErrorKind::InvalidSubcommand, message)
}

fn is_option(word: &OsStr) -> bool {
    word.as_encoded_bytes().starts_with(b"-")
}

fn has_space(word: &OsStr) -> bool {
    word.to_string_lossy().contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn help_is_a_word_for_the_option() {
        for (typed, meant) in [
            ("reasonix help", "reasonix --help"),
            ("reasonix help remote add", "reasonix remote add --help"),
            ("reasonix run help", "reasonix run help"),
            ("reasonix", "reasonix"),
        ] {
            assert_eq!(
                without_help_command(&line(typed)).unwrap(),
                line(meant),
                "{typed}"
            );
        }
        assert!(without_help_command(&line("reasonix help nonsense")).is_err());
        for shown in ["reasonix help", "reasonix help remote stop"] {
            assert_eq!(
                Cli::read(&line(shown)).unwrap_err().kind(),
                ErrorKind::DisplayHelp
            );
        }
    }

    #[test]
    fn a_task_without_quotes_is_told_so() {
        for typed in [
            "reasonix do something",
            "reasonix do it in run",
            "reasonix please run x",
        ] {
            let said = Cli::read(&line(typed)).unwrap_err().to_string();
            assert!(said.contains("stands in quotes"), "{typed}: {said}");
        }
        let said = Cli::read(&line("reasonix sesions")).unwrap_err().to_string();
        assert!(said.contains("'sesions' is no command"), "{said}");
        let said = Cli::read(&line("reasonix --model x run y"))
            .unwrap_err()
            .to_string();
        assert!(said.contains("after the command"), "{said}");
    }
}

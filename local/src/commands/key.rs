//! `reasonix key NAME`: stores a provider key in Reasonix's `.env`, read from standard input so that no argument
//! list holds it.

use std::io::{IsTerminal as _, Read as _};

use stdx::Secret;

use crate::{args::KeyArgs, exit::Exit, invocation::Invocation, report::Failure, terminal};

/// The longest key that is taken, in bytes.
const LIMIT: u64 = 8 * 1024;

/// Reads a key and stores it.
pub(crate) fn run(invocation: &Invocation, args: &KeyArgs) -> Result<Exit, Failure> {
    check_name(&args.name)?;
    let key = read(&args.name)?;
    let file = invocation.home.resolve(".env");
    invocation.make_home()?;
    settings::env_file::set(&file, &args.name, &key)?;
    terminal::error(&format!("{} is stored in {file}", args.name));
    Ok(Exit::Success)
}

/// Refuses a name that no `.env` can hold.
pub(crate) fn check_name(name: &str) -> Result<(), Failure> {
    let valid = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(valid) || name.starts_with(|c: char| c.is_ascii_digit()) {
        let failure = Failure::new(Exit::Usage, format!("{name:?} is no name for a key"));
        return Err(failure.hint("write it like DEEPSEEK_API_KEY"));
    }
    Ok(())
}

/// Reads a key: hidden from a person at a terminal, else the first line of standard input.
pub(crate) fn read(name: &str) -> Result<Secret, Failure> {
    let unreadable = |error| {
        Failure::new(
            Exit::Usage,
            format!("could not read the value of {name}: {error}"),
        )
    };
    let text = if std::io::stdin().is_terminal() {
        rpassword::prompt_password(format!("{name}: ")).map_err(unreadable)?
    } else {
        let mut text = String::new();
        std::io::stdin()
            .lock()
            .take(LIMIT + 1)
            .read_to_string(&mut text)
            .map_err(unreadable)?;
        text
    };
    let key = Secret::new(text.trim_end_matches(['\r', '\n']));
    if text.len() as u64 > LIMIT {
        return Err(Failure::new(
            Exit::Usage,
            format!("the value of {name} is longer than {LIMIT} bytes"),
        )
        .hint("pipe in the key alone"));
    }
    if key.is_empty() {
        return Err(
            Failure::new(Exit::Usage, format!("the value of {name} is empty")).hint("type it, or pipe it in")
        );
    }
    Ok(key)
}

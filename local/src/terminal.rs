//! Standard output and standard error. A reader that went away is no error of ours.

use std::{
    io::{self, BufRead as _, IsTerminal as _, Write as _},
    sync::OnceLock,
};

/// Why standard output could not be written, once it could not.
static LOST: OnceLock<String> = OnceLock::new();

/// Writes a line to standard output.
pub(crate) fn line(text: &str) {
    write(format!("{text}\n").as_bytes());
}

/// Writes text to standard output as it is, at once.
pub(crate) fn text(text: &str) {
    write(text.as_bytes());
}

/// Writes bytes to standard output as they are: names of files need not be text.
pub(crate) fn bytes(bytes: &[u8]) {
    write(bytes);
}

/// Gives the reason why output was lost, for instance on a full disk.
pub(crate) fn lost() -> Option<&'static str> {
    LOST.get().map(String::as_str)
}

fn write(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        // `reasonix sessions | head` closes the pipe; there is nobody left to tell.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            LOST.get_or_init(|| error.to_string());
        }
        _ => {}
    }
}

/// Writes a line to standard error.
pub(crate) fn error(text: &str) {
    // A closed standard error has nobody to tell.
    drop(writeln!(io::stderr().lock(), "{text}"));
}

/// Says whether a person can be asked: standard input and standard error are a terminal.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks a question on standard error and reads a line of standard input. `None` at its end.
pub(crate) fn ask(question: &str) -> Option<String> {
    let mut err = io::stderr().lock();
    // If the question cannot be shown, the read below ends at once or a person answers it blind.
    drop(write!(err, "{question} "));
    drop(err.flush());
    drop(err);
    let mut answer = String::new();
    match io::stdin().lock().read_line(&mut answer) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(answer.trim().to_owned()),
    }
}

/// How the terminal treats what is typed.
pub(crate) struct Modes(Option<rustix::termios::Termios>);

impl Modes {
    /// Notes how it is now; nothing where standard input is no terminal.
    pub(crate) fn now() -> Self {
        Self(rustix::termios::tcgetattr(io::stdin()).ok())
    }

    /// Makes it so again.
    pub(crate) fn restore(&self) {
        if let Some(modes) = &self.0 {
            // A terminal that is gone needs nothing.
            let _gone = rustix::termios::tcsetattr(io::stdin(), rustix::termios::OptionalActions::Now, modes);
        }
    }

    /// Makes every key a byte: none is a signal, none is shown, none edits a line (`cfmakeraw`, termios(3)).
    pub(crate) fn make_raw(&self) -> io::Result<()> {
        let Some(modes) = &self.0 else { return Ok(()) };
        let mut raw = modes.clone();
        raw.make_raw();
        let when = rustix::termios::OptionalActions::Now;
        Ok(rustix::termios::tcsetattr(io::stdin(), when, &raw)?)
    }
}

/// Gives columns and rows of the terminal on standard output; what a terminal has at least where it does not say.
pub(crate) fn size() -> (u16, u16) {
    match rustix::termios::tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col, size.ws_row),
        _ => (80, 24),
    }
}

/// Says whether somebody types and reads here: standard input and standard output are a terminal.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

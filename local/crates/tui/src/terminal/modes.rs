//! The modes of the terminal, and how they are put back: on leaving, on drop and on a panic.

use std::{
    io::{self, Write as _},
    panic,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use crossterm::terminal::{disable_raw_mode, enable_raw_mode};

/// Synchronized output: the terminal shows a picture when it is complete (mode 2026; others ignore it).
pub(super) const BEGIN_PICTURE: &str = "\x1b[?2026h";
/// Ends what [`BEGIN_PICTURE`] began.
pub(super) const END_PICTURE: &str = "\x1b[?2026l";
/// Clears the screen.
pub(super) const CLEAR: &str = "\x1b[2J";

/// Alternate screen, bracketed paste, and keys told apart where the terminal can (flag 1 of the keyboard protocol:
/// Shift+Enter; terminals that do not know it ignore it).
const ENTER: &str = "\x1b[?1049h\x1b[?2004h\x1b[>1u\x1b[2J\x1b[H";
/// The reverse of [`ENTER`] and of [`mouse`], with a visible cursor and plain colours. It is safe to write twice.
const LEAVE: &str =
    "\x1b[?2026l\x1b[<1u\x1b[?1006l\x1b[?1002l\x1b[?1000l\x1b[?2004l\x1b[0m\x1b[?25h\x1b[?1049l";

/// Gives what captures the mouse (buttons, drags and the wheel, in cells), or leaves it to the terminal.
pub(super) fn mouse(captured: bool) -> &'static str {
    if captured {
        "\x1b[?1000h\x1b[?1002h\x1b[?1006h"
    } else {
        "\x1b[?1006l\x1b[?1002l\x1b[?1000l"
    }
}

/// Gives what puts a text into the clipboard (OSC 52).
pub(super) fn clipboard(text: &str) -> String {
    format!("\x1b]52;c;{}\x07", base64(text.as_bytes()))
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let padded = [0, 1, 2].map(|index| chunk.get(index).copied().unwrap_or(0));
        let group = u32::from_be_bytes([0, padded[0], padded[1], padded[2]]);
        for index in 0..4 {
            let letter = LETTERS[(group >> (18 - 6 * index)) as usize & 63];
            text.push(if index <= chunk.len() {
                char::from(letter)
            } else {
                '='
            });
        }
    }
    text
}

/// Whether the terminal is switched over, shared with the panic hook.
type On = Arc<AtomicBool>;

/// The switched terminal. Dropping it puts everything back.
pub(super) struct Switched {
    on: On,
    hook: Option<Hook>,
}

impl Switched {
    /// Switches over, and sees to panics from now on.
    pub(super) fn enter(mouse: bool) -> io::Result<Self> {
        let on = On::default();
        let mut switched = Self {
            hook: Some(Hook::install(&on)),
            on,
        };
        switched.enter_again(mouse)?;
        Ok(switched)
    }

    /// Switches over again.
    pub(super) fn enter_again(&mut self, captured: bool) -> io::Result<()> {
        self.on.store(true, Ordering::SeqCst);
        enable_raw_mode()?;
        let mut out = io::stdout().lock();
        out.write_all(ENTER.as_bytes())?;
        if captured {
            out.write_all(mouse(true).as_bytes())?;
        }
        out.flush()
    }

    /// Puts everything back.
    pub(super) fn leave(&mut self) {
        put_back(&self.on);
    }
}

impl Drop for Switched {
    fn drop(&mut self) {
        self.leave();
        drop(self.hook.take());
    }
}

/// Puts the terminal back unless it is. What fails here is a terminal that is gone.
fn put_back(on: &AtomicBool) {
    if !on.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout().lock();
    let written = out.write_all(LEAVE.as_bytes()).and_then(|()| out.flush());
    if let Err(error) = written.and_then(|()| disable_raw_mode()) {
        tracing::debug!(%error, "the terminal could not be put back");
    }
}

type Panic = dyn Fn(&panic::PanicHookInfo<'_>) + Send + Sync + 'static;

/// A panic hook that puts the terminal back before the message is printed, until it is dropped.
struct Hook(Arc<Panic>);

impl Hook {
    fn install(on: &On) -> Self {
        let before: Arc<Panic> = Arc::from(panic::take_hook());
        let (on, next) = (Arc::clone(on), Arc::clone(&before));
        panic::set_hook(Box::new(move |info| {
            put_back(&on);
            next(info);
        }));
        Self(before)
    }
}

impl Drop for Hook {
    fn drop(&mut self) {
        // A thread that panics may not change hooks; the process is about to end.
        if !std::thread::panicking() {
            let before = Arc::clone(&self.0);
            panic::set_hook(Box::new(move |info| before(info)));
        }
    }
}

/// Stops this process and its group, as the terminal does on Ctrl-Z outside raw mode, and returns when it goes on.
///
/// Where nobody could continue it (no job control), the system ignores the signal, and the screen simply comes back.
pub(super) fn stop_process() {
    let stopped = rustix::process::kill_current_process_group(rustix::process::Signal::TSTP);
    if let Err(error) = stopped {
        tracing::debug!(%error, "could not stop");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_padded() {
        let texts = ["", "f", "fo", "foo", "foob"].map(|text| base64(text.as_bytes()));
        assert_eq!(texts, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]);
    }

    #[test]
    fn everything_that_is_switched_on_is_switched_off() {
        for mode in ["?1049", "?2004"] {
            assert!(ENTER.contains(&format!("\x1b[{mode}h")) && LEAVE.contains(&format!("\x1b[{mode}l")));
        }
        assert!(ENTER.contains("\x1b[>1u") && LEAVE.contains("\x1b[<1u"));
        assert!(LEAVE.contains(mouse(false)));
    }
}

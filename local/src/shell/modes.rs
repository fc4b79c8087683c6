//! The own terminal while another one shows through it.

use std::io;

use crate::terminal::{self, Modes};

/// What programs of a shell that is gone may have left on: a hidden cursor, colours, reports of the mouse, bracketed
/// paste (xterm, "Control Sequences").
const UNDO: &str = "\x1b[?25h\x1b[m\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\r\n";

/// The terminal passes every key on until this is dropped; a panic drops it, too.
pub(crate) struct Raw(Modes);

impl Raw {
    /// Makes it so.
    pub(crate) fn enter() -> io::Result<Self> {
        let raw = Self(Modes::now());
        raw.0.make_raw()?;
        Ok(raw)
    }

    /// Takes back what programs did to the screen that could not do so themselves.
    pub(crate) fn undo() {
        terminal::text(UNDO);
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.0.restore();
    }
}

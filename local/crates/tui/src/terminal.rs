//! The terminal: switched for the screen, and put back on every way out.
//!
//! What is drawn becomes bytes in memory first and is written by a thread of its own, one picture at a time. A terminal
//! that does not read makes pictures rarer; keys, signals and the link are still seen to.

mod modes;
mod writer;

use std::io;

use ratatui::{
    Terminal as Drawing, TerminalOptions, Viewport,
    backend::CrosstermBackend,
    buffer::Buffer,
    layout::{Position, Rect},
};

use self::writer::{Bytes, Writer};

/// The terminal while the screen is shown. Dropping it puts the terminal back.
pub(crate) struct Terminal {
    drawing: Drawing<CrosstermBackend<Bytes>>,
    bytes: Bytes,
    writer: Writer,
    mouse: bool,
    modes: modes::Switched,
}

impl Terminal {
    /// Switches the terminal over.
    pub(crate) fn enter(mouse: bool) -> io::Result<Self> {
        let modes = modes::Switched::enter(mouse)?;
        let bytes = Bytes::default();
        Ok(Self {
            drawing: drawing(&bytes)?,
            bytes,
            writer: Writer::default(),
            mouse,
            modes,
        })
    }

    /// Gives columns and rows.
    pub(crate) fn size(&self) -> (u16, u16) {
        self.drawing
            .size()
            .map_or((80, 24), |size| (size.width, size.height))
    }

    /// Says whether the last picture is still being written.
    pub(crate) fn is_writing(&self) -> bool {
        self.writer.is_writing()
    }

    /// Waits until the last picture is written; for ever when none is on its way.
    pub(crate) async fn written(&mut self) -> io::Result<()> {
        self.writer.written().await
    }

    /// Draws a picture and begins to write what changed.
    pub(crate) fn draw(
        &mut self,
        view: impl FnOnce(Rect, &mut Buffer) -> Option<Position>,
    ) -> io::Result<()> {
        self.bytes.push(modes::BEGIN_PICTURE);
        self.drawing.draw(|frame| {
            let area = frame.area();
            if let Some(position) = view(area, frame.buffer_mut()) {
                frame.set_cursor_position(position);
            }
        })?;
        self.bytes.push(modes::END_PICTURE);
        self.writer.write(self.bytes.take());
        Ok(())
    }

    /// Forgets what is on the terminal, so that the next picture is drawn whole.
    pub(crate) fn redraw(&mut self) -> io::Result<()> {
        self.drawing = drawing(&self.bytes)?;
        self.bytes.push(modes::CLEAR);
        Ok(())
    }

    /// Captures the mouse or leaves it to the terminal.
    pub(crate) fn set_mouse(&mut self, captured: bool) {
        self.mouse = captured;
        self.bytes.push(modes::mouse(captured));
    }

    /// Puts a text into the person's clipboard, through the terminal (OSC 52).
    pub(crate) fn copy(&mut self, text: &str) {
        self.bytes.push(&modes::clipboard(text));
    }

    /// Gives the terminal back, for as long as the process is stopped.
    pub(crate) fn suspend(&mut self) -> io::Result<()> {
        self.modes.leave();
        modes::stop_process();
        self.resume()
    }

    /// Switches the terminal over again: the process was stopped and goes on.
    pub(crate) fn resume(&mut self) -> io::Result<()> {
        self.modes.enter_again(self.mouse)?;
        self.redraw()
    }

    /// Puts the terminal back, once what is being written is through or does not get through.
    pub(crate) async fn leave(mut self) {
        self.writer.settled().await;
        self.modes.leave();
    }
}

fn drawing(bytes: &Bytes) -> io::Result<Drawing<CrosstermBackend<Bytes>>> {
    let options = TerminalOptions {
        viewport: Viewport::Fullscreen,
    };
    Drawing::with_options(CrosstermBackend::new(bytes.clone()), options)
}

//! The terminal: switched for the screen, and put back on every way out.
//!
//! What is drawn becomes bytes in memory first and is written by a thread of its own, one picture at a time. A terminal
//! that does not read makes pictures rarer; keys, signals and the link are still seen to.

mod modes;
mod writer;

use std::io;

use ratatui::{Terminal as Drawing, TerminalOptions, Viewport, backend::CrosstermBackend};

use self::writer::{Bytes, Writer};
use crate::{app::Display, model::Model, view};

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
}

impl Display for Terminal {
    fn size(&self) -> (u16, u16) {
        self.drawing
            .size()
            .map_or((80, 24), |size| (size.width, size.height))
    }

    fn is_writing(&self) -> bool {
        self.writer.is_writing()
    }

    async fn written(&mut self) -> io::Result<()> {
        self.writer.written().await
    }

    fn draw(&mut self, model: &Model) -> io::Result<()> {
        self.bytes.push(modes::BEGIN_PICTURE);
        self.drawing.draw(|frame| {
            let area = frame.area();
            if let Some(position) = view::view(model, area, frame.buffer_mut()) {
                frame.set_cursor_position(position);
            }
        })?;
        self.bytes.push(modes::END_PICTURE);
        self.writer.write(self.bytes.take());
        Ok(())
    }

    fn redraw(&mut self) -> io::Result<()> {
        self.drawing = drawing(&self.bytes)?;
        self.bytes.push(modes::CLEAR);
        Ok(())
    }

    fn set_mouse(&mut self, captured: bool) {
        self.mouse = captured;
        self.bytes.push(modes::mouse(captured));
    }

    /// Through the terminal (OSC 52).
    fn copy(&mut self, text: &str) {
        self.bytes.push(&modes::clipboard(text));
    }

    fn suspend(&mut self) -> io::Result<()> {
        self.modes.leave();
        modes::stop_process();
        self.resume()
    }

    fn resume(&mut self) -> io::Result<()> {
        self.modes.enter_again(self.mouse)?;
        self.redraw()
    }

    /// Once what is being written is through or does not get through.
    async fn leave(mut self) -> bool {
        let reads = self.writer.settled().await;
        self.modes.leave();
        reads
    }
}

fn drawing(bytes: &Bytes) -> io::Result<Drawing<CrosstermBackend<Bytes>>> {
    let options = TerminalOptions {
        viewport: Viewport::Fullscreen,
    };
    Drawing::with_options(CrosstermBackend::new(bytes.clone()), options)
}

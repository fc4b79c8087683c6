//! Terminals on the host through the agent, for hosts that give no channel for one.

use std::{io, sync::Arc};

use client::AgentStream;
use protocol::{TerminalDecoder, TerminalInput, TerminalOutput, TerminalSize};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, ReadHalf, WriteHalf},
    sync::Mutex,
};

/// A terminal on the host. Dropping both parts hangs it up.
#[derive(Debug)]
pub struct AgentTerminal {
    /// What is typed, its size, and signals.
    pub input: AgentTerminalInput,
    /// What is printed, and how it ended.
    pub output: AgentTerminalOutput,
}

/// The near end's side of a terminal. Clones share it.
#[derive(Debug, Clone)]
pub struct AgentTerminalInput(Arc<Mutex<WriteHalf<AgentStream>>>);

/// What comes from a terminal.
#[derive(Debug)]
pub struct AgentTerminalOutput {
    stream: ReadHalf<AgentStream>,
    decoder: TerminalDecoder,
}

impl AgentTerminal {
    pub(crate) fn new(stream: AgentStream) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        Self {
            input: AgentTerminalInput(Arc::new(Mutex::new(writer))),
            output: AgentTerminalOutput {
                stream: reader,
                decoder: TerminalDecoder::default(),
            },
        }
    }
}

impl AgentTerminalInput {
    /// Types. Waits while the host takes no input.
    ///
    /// # Errors
    /// The terminal or the way to it is gone.
    pub async fn write(&self, bytes: &[u8]) -> io::Result<()> {
        self.send(&TerminalInput::Data(bytes.to_vec())).await
    }

    /// Tells a new size.
    ///
    /// # Errors
    /// As [`AgentTerminalInput::write`].
    pub async fn resize(&self, columns: u16, rows: u16) -> io::Result<()> {
        self.send(&TerminalInput::Resize(TerminalSize { columns, rows }))
            .await
    }

    /// Sends a signal to what runs in the foreground, by its name without `SIG`.
    ///
    /// # Errors
    /// As [`AgentTerminalInput::write`].
    pub async fn signal(&self, name: &str) -> io::Result<()> {
        self.send(&TerminalInput::Signal(name.to_owned())).await
    }

    /// Says that nothing more is typed.
    ///
    /// # Errors
    /// As [`AgentTerminalInput::write`].
    pub async fn end(&self) -> io::Result<()> {
        self.send(&TerminalInput::End).await
    }

    async fn send(&self, input: &TerminalInput) -> io::Result<()> {
        self.0.lock().await.write_all(&input.encode()).await
    }
}

impl AgentTerminalOutput {
    /// Gives what is printed next, and at last how it ended.
    ///
    /// # Errors
    /// The way to the terminal broke before its end, or the agent sends what makes no sense.
    pub async fn next(&mut self) -> io::Result<TerminalOutput> {
        let mut buffer = vec![0; 16 * 1024];
        loop {
            if let Some(output) = self.decoder.output().map_err(io::Error::other)? {
                return Ok(output);
            }
            let count = self.stream.read(&mut buffer).await?;
            if count == 0 {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the agent ended the terminal without saying how",
                ));
            }
            self.decoder.push(buffer.get(..count).unwrap_or_default());
        }
    }
}

//! A terminal on the host (RFC 4254, section 6.2): a shell or a command on a pseudo-terminal of a session channel.

use std::fmt;

use russh::Sig;
use tokio::sync::mpsc;

use crate::{Connection, Error, Exec};

/// Requests to a terminal that may wait; whoever finds it full waits.
const WAITING: usize = 8;

/// What a terminal begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalRequest {
    /// The kind of terminal, as in `TERM`.
    pub term: String,
    /// Its size.
    pub size: Size,
    /// Variables for the shell. The host takes those that its `AcceptEnv` names.
    pub environment: Vec<(String, String)>,
    /// A command for the login shell; the shell itself when absent.
    pub command: Option<String>,
}

/// The size of a terminal in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Its width.
    pub columns: u16,
    /// Its height.
    pub rows: u16,
}

/// A terminal. Its standard output carries everything; nothing comes on standard error.
#[derive(Debug)]
pub struct Terminal {
    /// What runs on it, with its streams.
    pub exec: Exec,
    /// Changes its size and sends signals.
    pub control: TerminalControl,
}

/// A request about a channel beside its data.
#[derive(Debug)]
pub(crate) enum Control {
    Resize(Size),
    Signal(Sig),
}

/// Changes the size of a terminal and sends signals to what runs on it.
#[derive(Clone)]
pub struct TerminalControl(mpsc::Sender<Control>);

impl fmt::Debug for TerminalControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TerminalControl")
    }
}

impl TerminalControl {
    /// Tells a new size. A terminal that is gone needs none.
    pub async fn resize(&self, size: Size) {
        drop(self.0.send(Control::Resize(size)).await);
    }

    /// Sends a signal, by its name without `SIG`, such as `TERM`.
    pub async fn signal(&self, name: &str) {
        let signal = match name {
            "ABRT" => Sig::ABRT,
            "ALRM" => Sig::ALRM,
            "FPE" => Sig::FPE,
            "HUP" => Sig::HUP,
            "ILL" => Sig::ILL,
            "INT" => Sig::INT,
            "KILL" => Sig::KILL,
            "PIPE" => Sig::PIPE,
            "QUIT" => Sig::QUIT,
            "SEGV" => Sig::SEGV,
            "TERM" => Sig::TERM,
            "USR1" => Sig::USR1,
            other => Sig::Custom(other.to_owned()),
        };
        drop(self.0.send(Control::Signal(signal)).await);
    }
}

impl Connection {
    /// Opens a terminal with a shell or a command. That the host refuses it shows in its streams and in [`Exec::wait`].
    ///
    /// # Errors
    /// The session channel was refused (`MaxSessions`) or the connection is gone.
    pub async fn terminal(&self, request: &TerminalRequest) -> Result<Terminal, Error> {
        let channel = self.open_session("a terminal").await?;
        let (columns, rows) = (u32::from(request.size.columns), u32::from(request.size.rows));
        let asked = async {
            channel
                .request_pty(true, &request.term, columns, rows, 0, 0, &[])
                .await?;
            for (name, value) in &request.environment {
                channel.set_env(false, name.as_str(), value.as_str()).await?;
            }
            match &request.command {
                Some(command) => channel.exec(true, command.as_str()).await,
                None => channel.request_shell(true).await,
            }
        };
        if asked.await.is_err() {
            return Err(self.loss().await);
        }
        let (control, controls) = mpsc::channel(WAITING);
        let ends = crate::channel::serve_steered(self, channel, "the terminal", controls);
        Ok(Terminal {
            exec: Exec::new(ends, self.host()),
            control: TerminalControl(control),
        })
    }
}

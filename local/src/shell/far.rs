//! A shell on a host: over a session of SSH, or through the agent that runs there.

use std::{io, pin::pin};

use link::{AgentTerminal, AgentTerminalInput, AgentTerminalOutput};
use protocol::{TerminalEnd, TerminalOutput};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use transport::{ChannelWriter, Exec, ExecOutput, ExitStatus, ExitWaiter, Size, Terminal, TerminalControl};

use super::relay::Ended;

/// Bytes read at once.
const READ: usize = 16 * 1024;

/// Its three parts.
pub(crate) struct Far {
    /// What is typed.
    pub(crate) input: Input,
    /// Tells it the size of the terminal.
    pub(crate) steering: Steering,
    /// What it prints, and how it ended.
    pub(crate) output: Output,
}

/// Takes what is typed.
pub(crate) enum Input {
    Ssh(ChannelWriter),
    Agent(AgentTerminalInput),
}

/// Takes new sizes.
pub(crate) enum Steering {
    /// It has no terminal.
    None,
    Ssh(TerminalControl),
    Agent(AgentTerminalInput),
}

/// Gives what is printed.
pub(crate) enum Output {
    Ssh(ExecOutput, ExecOutput, ExitWaiter),
    Agent(AgentTerminalOutput),
}

impl From<Exec> for Far {
    fn from(exec: Exec) -> Self {
        let (input, output, errors, waiter) = exec.into_parts();
        Self {
            input: Input::Ssh(input),
            steering: Steering::None,
            output: Output::Ssh(output, errors, waiter),
        }
    }
}

impl From<Terminal> for Far {
    fn from(terminal: Terminal) -> Self {
        Self {
            steering: Steering::Ssh(terminal.control),
            ..Self::from(terminal.exec)
        }
    }
}

impl From<AgentTerminal> for Far {
    fn from(terminal: AgentTerminal) -> Self {
        Self {
            input: Input::Agent(terminal.input.clone()),
            steering: Steering::Agent(terminal.input),
            output: Output::Agent(terminal.output),
        }
    }
}

impl Input {
    /// Types. Waits while the host takes nothing.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Ssh(writer) => writer.write_all(bytes).await,
            Self::Agent(input) => input.write(bytes).await,
        }
    }

    /// Says that nothing more is typed.
    pub(crate) async fn end(&mut self) -> io::Result<()> {
        match self {
            Self::Ssh(writer) => writer.shutdown().await,
            Self::Agent(input) => input.end().await,
        }
    }
}

impl Steering {
    /// Tells a new size. A terminal that is gone needs none.
    pub(crate) async fn resize(&self, (columns, rows): (u16, u16)) {
        match self {
            Self::None => {}
            Self::Ssh(control) => control.resize(Size { columns, rows }).await,
            Self::Agent(input) => drop(input.resize(columns, rows).await),
        }
    }
}

impl Output {
    /// Prints what comes until the end.
    pub(crate) async fn copy(self) -> Ended {
        match self {
            Self::Ssh(output, errors, waiter) => {
                let mut output = pin!(pass(output, tokio::io::stdout()));
                let mut errors = pin!(pass(errors, tokio::io::stderr()));
                // Both end together; one that cannot be written ends everything.
                let printed = tokio::try_join!(&mut output, &mut errors);
                if let Err(Fault::Ours(error)) = printed {
                    return Ended::Unwritable(error);
                }
                match waiter.wait().await {
                    Ok(status) => Ended::Code(code_of(&status)),
                    Err(error) => Ended::Failed(Box::new(error)),
                }
            }
            Self::Agent(output) => copy_agent(output).await,
        }
    }
}

async fn copy_agent(mut output: AgentTerminalOutput) -> Ended {
    let mut out = tokio::io::stdout();
    loop {
        let printed = match output.next().await {
            Ok(TerminalOutput::Data(bytes)) => print(&mut out, &bytes).await,
            Ok(TerminalOutput::End(TerminalEnd::Code(code))) => return Ended::Code(low(code.unsigned_abs())),
            Ok(TerminalOutput::End(TerminalEnd::Signal(number))) => {
                return Ended::Code(low(number.unsigned_abs().saturating_add(128)));
            }
            Ok(TerminalOutput::End(TerminalEnd::Unknown)) => return Ended::Code(u8::MAX),
            Err(error) => return Ended::Lost(error),
        };
        if let Err(error) = printed {
            return Ended::Unwritable(error);
        }
    }
}

/// Which side of a copy failed.
enum Fault {
    Theirs,
    Ours(io::Error),
}

async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl tokio::io::AsyncWrite + Unpin,
) -> Result<(), Fault> {
    let mut buffer = vec![0; READ];
    loop {
        // Why it broke, the status says.
        let count = from
            .read(&mut buffer)
            .await
            .map_err(|_said_later| Fault::Theirs)?;
        if count == 0 {
            return Ok(());
        }
        let bytes = buffer.get(..count).unwrap_or_default();
        print(&mut to, bytes).await.map_err(Fault::Ours)?;
    }
}

async fn print(to: &mut (impl tokio::io::AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
    to.write_all(bytes).await?;
    to.flush().await
}

/// Gives the exit code as a shell has it: 128 and the number of a signal (POSIX, `kill -l`; Linux' numbers).
fn code_of(status: &ExitStatus) -> u8 {
    let name = match status {
        ExitStatus::Code(code) => return low(*code),
        ExitStatus::Signal { name, .. } => name.as_str(),
    };
    let number = match name {
        "HUP" => 1,
        "INT" => 2,
        "QUIT" => 3,
        "ILL" => 4,
        "ABRT" => 6,
        "FPE" => 8,
        "KILL" => 9,
        "USR1" => 10,
        "SEGV" => 11,
        "USR2" => 12,
        "PIPE" => 13,
        "ALRM" => 14,
        "TERM" => 15,
        // No number is told; what ssh ends with then.
        _ => 127,
    };
    128 + number
}

/// An exit code has eight bits.
fn low(code: u32) -> u8 {
    u8::try_from(code & 0xff).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_a_shell() {
        let signal = |name: &str| ExitStatus::Signal {
            name: name.to_owned(),
            message: String::new(),
        };
        for (status, code) in [
            (ExitStatus::Code(7), 7),
            (ExitStatus::Code(256), 0),
            (signal("KILL"), 137),
            (signal("TERM"), 143),
            (signal("ODD@example.org"), 255),
        ] {
            assert_eq!(code_of(&status), code, "{status}");
        }
    }
}

//! One line of the report.

use std::{fmt, time::Duration};

/// What a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Topic {
    /// The throwaway host.
    Host,
    /// Dialling, host key, login.
    Connect,
    /// Putting the program there.
    Upload,
    /// Starting the agent.
    Launch,
    /// Opening a session.
    Session,
    /// What the person asks.
    You,
    /// What a tool does on the host.
    Tool,
    /// What the model says.
    Model,
    /// The connection is lost.
    Cut,
    /// The connection is there again.
    Back,
    /// What the demo checks itself.
    Check,
    /// Cleaning up.
    Stop,
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Host => "host",
            Self::Connect => "connect",
            Self::Upload => "upload",
            Self::Launch => "launch",
            Self::Session => "session",
            Self::You => "you",
            Self::Tool => "tool",
            Self::Model => "model",
            Self::Cut => "cut",
            Self::Back => "back",
            Self::Check => "check",
            Self::Stop => "stop",
        })
    }
}

/// One line of the report; its `Display` is how it is meant to be printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The time since the start.
    pub elapsed: Duration,
    /// What it is about.
    pub topic: Topic,
    /// The text, without control characters.
    pub text: String,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:5.2} s  {:<8} {}",
            self.elapsed.as_secs_f32(),
            self.topic,
            self.text
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let line = |topic| Line {
            elapsed: Duration::from_millis(1234),
            topic,
            text: "x".to_owned(),
        };
        assert_eq!(line(Topic::Connect).to_string(), " 1.23 s  connect  x");
        assert_eq!(line(Topic::You).to_string(), " 1.23 s  you      x");
    }
}

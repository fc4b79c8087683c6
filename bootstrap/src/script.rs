//! Scripts as bytes for standard input or as part of the command line, and the command line that runs them.

use std::fmt::Write as _;

use crate::fence::Fence;

const LIB: &str = include_str!("scripts/lib.sh");

/// What a shell says before it reads the script.
pub(crate) const RAN: &str = "reasonix-sh";

/// How scripts reach the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Carriage {
    /// Through standard input: the command line stays short and the same.
    #[default]
    Input,
    /// In the command line, where nothing that is written to a command's standard input reaches it, or `dd` is lacking.
    CommandLine,
}

/// A script being put together.
pub(crate) struct Script {
    text: String,
}

/// What to send: a command line for the login shell, and the script, which it takes from standard input.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) command: String,
    pub(crate) stdin: Vec<u8>,
}

impl Script {
    /// Begins a script that answers behind `fence`.
    pub(crate) fn new(fence: &Fence) -> Self {
        let (a, b) = fence.halves();
        // One function around everything: a script that arrives cut is a syntax error and runs no line.
        Self {
            text: format!("main() {{\nrx_fence={a}\nrx_fence=${{rx_fence}}{b}\n"),
        }
    }

    /// Sets a variable to any text without NUL. The text is carried as octal escapes, never as shell text.
    pub(crate) fn text(mut self, name: &str, value: &str) -> Self {
        // The `x` keeps line breaks at the end, which command substitution would drop.
        let _infallible = writeln!(
            self.text,
            "{name}=$(printf '%bx' '{}'); {name}=${{{name}%x}}",
            for_printf(value)
        );
        self
    }

    /// Sets a variable to a number.
    pub(crate) fn number(mut self, name: &str, value: u64) -> Self {
        let _infallible = writeln!(self.text, "{name}={value}");
        self
    }

    /// Adds the shared functions and the body, for standard input.
    pub(crate) fn finish(self, body: &str) -> Call {
        self.finish_by(Carriage::Input, body)
    }

    /// Adds the shared functions and the body.
    pub(crate) fn finish_by(mut self, carriage: Carriage, body: &str) -> Call {
        for line in LIB.lines().chain(body.lines()).map(str::trim_start) {
            if !line.is_empty() && !line.starts_with('#') {
                self.text.push_str(line);
                self.text.push('\n');
            }
        }
        self.text.push_str("}\nmain\n");
        if carriage == Carriage::CommandLine {
            // Twice as long as the script, a few KiB: far below what one argument may have (128 KiB on Linux).
            return Call {
                command: format!(
                    "exec /bin/sh -c 'eval \"$(printf %b \"{}\")\"'",
                    for_printf(&self.text)
                ),
                stdin: Vec::new(),
            };
        }
        // No login shell sees more than this one line: `exec`, single quotes, and nothing inside them that fish or
        // csh treat in their own way. Byte by byte, because a larger read would take what follows the script. The word
        // in front tells a shell that got no input from one that never ran. A start-up file that read a line has taken
        // the beginning, and then nothing runs.
        let command = format!(
            "exec /bin/sh -c 'echo {RAN}; rx_all=$(PATH=$PATH:/usr/bin:/bin dd bs=1 count={} 2>/dev/null); case $rx_all in main*main) eval \"$rx_all\" ;; esac'",
            self.text.len()
        );
        Call {
            command,
            stdin: self.text.into_bytes(),
        }
    }
}

/// Writes every byte but plain ones as `\0ooo` for `printf %b` (POSIX): no shell sees anything else in it.
#[must_use]
pub fn for_printf(value: &str) -> String {
    value.bytes().fold(String::new(), |mut out, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' => out.push(char::from(byte)),
            other => {
                let _infallible = write!(out, "\\0{other:03o}");
            }
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_never_become_shell_text() {
        let script = Script::new(&Fence::from_word("abcd"))
            .text("rx_x", "a'b\n$(id)")
            .number("rx_n", 7);
        let call = script.finish("# comment\n  say end 0\n");
        let text = String::from_utf8(call.stdin).unwrap();
        assert!(text.contains(r"'a\0047b\0012\0044\0050id\0051'"), "{text}");
        assert!(!text.contains("abcd") && !text.contains("comment"));
        assert!(call.command.contains(&format!("count={} ", text.len())));
    }

    #[test]
    fn a_command_line_holds_nothing_that_a_login_shell_reads_in_its_own_way() {
        let script = Script::new(&Fence::from_word("abcd")).text("rx_x", "a'b!$(id)");
        let call = script.finish_by(Carriage::CommandLine, "say end 0\n");
        assert!(call.stdin.is_empty());
        let inside = call.command.split('"').nth(2).unwrap_or_default();
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._-\\".contains(c);
        assert!(inside.len() > 1000 && inside.chars().all(plain), "{inside}");
    }
}

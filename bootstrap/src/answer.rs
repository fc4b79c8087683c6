//! Reading fenced answers out of whatever else a login shell printed.

use stdx::bounded::one_line;

use crate::{
    fence::Fence,
    remote::{Output, Status},
    script::RAN,
};

/// Longest quotation of a host's words in a message, in bytes.
const QUOTE: usize = 600;
/// Lines of standard error an error carries.
const STDERR_LINES: usize = 5;

/// The fenced lines of one answer, as key and value.
#[derive(Debug)]
pub(crate) struct Answer {
    lines: Vec<(String, String)>,
}

impl Answer {
    /// Collects the lines behind `fence`. Everything else is noise.
    pub(crate) fn parse(fence: &Fence, stdout: &[u8]) -> Self {
        let lines = stdout
            .split(|byte| *byte == b'\n')
            .filter_map(|line| fence.strip(line))
            .map(|rest| {
                let rest = String::from_utf8_lossy(rest);
                let (key, value) = rest.split_once(' ').unwrap_or((&rest, ""));
                (key.to_owned(), value.trim().to_owned())
            })
            .collect();
        Self { lines }
    }

    /// Says whether the script ran at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Gives the status the script ended with; `None` means it was cut short.
    pub(crate) fn end(&self) -> Option<&str> {
        self.get("end")
    }

    /// Gives the first value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.lines
            .iter()
            .find(|(k, _)| k == key)
            .map(|(_, value)| value.as_str())
    }

    /// Gives all values of a key, in order.
    pub(crate) fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.lines
            .iter()
            .filter(move |(k, _)| k == key)
            .map(|(_, value)| value.as_str())
    }

    /// Gives the first value of a key that holds hexadecimal text.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        self.get(key).and_then(unhex)
    }
}

/// Decodes hexadecimal digits to text; `None` when it is neither.
pub(crate) fn unhex(digits: &str) -> Option<String> {
    let bytes = digits
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect::<Option<Vec<u8>>>()?;
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    String::from_utf8(bytes).ok()
}

/// Quotes the first line with something to read in it: standard output, else standard error.
pub(crate) fn first_line(output: &Output) -> Option<String> {
    stderr_lines(&output.stdout)
        .into_iter()
        .chain(stderr_lines(&output.stderr))
        .next()
}

/// Gives the first lines of an output, cleaned of control sequences and shortened.
pub(crate) fn stderr_lines(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    text.lines()
        .map(|line| one_line(&plain(line), QUOTE))
        .filter(|line| !line.is_empty())
        .take(STDERR_LINES)
        .collect()
}

/// Gives standard error from the fenced mark on, where the command itself began to speak.
pub(crate) fn stderr_after_mark<'a>(fence: &Fence, stderr: &'a [u8]) -> &'a [u8] {
    around_mark(fence, stderr).1
}

/// Gives standard error before and after the fenced mark; without one nothing counts as start-up noise.
pub(crate) fn around_mark<'a>(fence: &Fence, stderr: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    let mark = format!("{fence} stderr\n");
    let found = position(stderr, mark.as_bytes());
    found.map_or((&[], stderr), |at| {
        let (before, rest) = stderr.split_at(at);
        (before, rest.get(mark.len()..).unwrap_or_default())
    })
}

/// Gives what standard output had before the first answer.
pub(crate) fn before_answer<'a>(fence: &Fence, stdout: &'a [u8]) -> &'a [u8] {
    let ends = [fence.as_str(), RAN].map(|word| position(stdout, word.as_bytes()));
    let at = ends.into_iter().flatten().min().unwrap_or(stdout.len());
    stdout.get(..at).unwrap_or_default()
}

fn position(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|window| window == word)
}

/// Says how a script's command ended: the code it reported, else what the channel said.
pub(crate) fn status(answer: &Answer, output: &Output) -> Status {
    answer
        .end()
        .and_then(|code| code.parse().ok())
        .map_or_else(|| output.status.clone(), Status::Exited)
}

/// Removes terminal control sequences (ECMA-48 CSI and escapes) and other control characters.
fn plain(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            // Parameters and intermediates, then one final character.
            let inside = if chars.next_if_eq(&'[').is_some() {
                ' '..='?'
            } else {
                ' '..='/'
            };
            while chars.next_if(|c| inside.contains(c)).is_some() {}
            chars.next();
        } else if c == '\t' || !c.is_control() {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_answers_in_noise() {
        let fence = Fence::from_word("FFFF");
        let noisy = b"\x1b[1mWelcome\x1b[0m\n{\"os\":\"x\"}\0\0unfinishedFFFF os Linux\r\nFFFF bad\n\xff\xfe\nFFFF end 0\nbye";
        let answer = Answer::parse(&fence, noisy);
        assert_eq!(answer.get("os"), Some("Linux"));
        assert_eq!(
            (answer.get("bad"), answer.end(), answer.get("none")),
            (Some(""), Some("0"), None)
        );
        assert!(Answer::parse(&fence, b"This account is currently not available.\n").is_empty());
    }

    #[test]
    fn quotes_are_readable() {
        assert_eq!(
            stderr_lines(b"\x1b[31;1mred\x1b[0m\x07\n\n \n\x1b(Bnext\n"),
            ["red", "next"].map(String::from)
        );
        assert_eq!(stderr_lines(&b"x\n".repeat(40)).len(), STDERR_LINES);
    }

    #[test]
    fn hexadecimal_text() {
        assert_eq!(unhex("c3a4 ".trim()).as_deref(), Some("ä"));
        assert_eq!(unhex("").as_deref(), Some(""));
        for bad in ["c", "zz", "ff", "é"] {
            assert_eq!(unhex(bad), None, "{bad}");
        }
    }
}

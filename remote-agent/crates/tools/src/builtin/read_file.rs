//! `read_file`: a window of a text file, with line numbers.

use std::{
    fmt::Write as _,
    io::{BufRead, BufReader, Cursor, Read as _},
};

use conversation::{Effect, ToolSpec};
use serde::Deserialize;
use serde_json::Value;
use stdx::bounded::prefix;

use super::{arguments, text_of};
use crate::{
    BoxFuture, Subject, Tool, ToolContext, ToolError, ToolResult,
    budget::{Budget, Budgeted, Stop},
    observed::{MAX_HASHED, Seen, Version},
    output::MAX_CONTENT,
    paths::{self, Place},
    publish::open_regular,
    spec::{choice, optional, spec, text, whole},
};

/// How many lines are shown unless the call says otherwise.
const DEFAULT_LIMIT: u64 = 2000;
/// The longest part of one line that is shown, in bytes.
const MAX_LINE: usize = 4000;
/// What is left for lines when the remark about a partial view follows, in bytes.
const MAX_LINES: usize = MAX_CONTENT - 1024;
/// How long reading may take.
const TIME_LIMIT: std::time::Duration = std::time::Duration::from_secs(60);
/// The mark that some editors put first in UTF-8 files.
const BOM: &[u8] = "\u{feff}".as_bytes();

/// Shows a window of a file.
pub(super) struct ReadFile {
    spec: ToolSpec,
}

#[derive(Deserialize)]
struct Args {
    path: String,
    #[serde(default)]
    offset: u64,
    limit: Option<u64>,
}

impl ReadFile {
    pub(super) fn new() -> Self {
        let description = "Reads a text file and returns its lines as `number→text`. Long files come in windows: \
            continue with `offset`. Read a file before you change it with edit_file or write_file. The number and the \
            arrow are not part of the file.";
        let parameters = [
            text("path", "File to read, absolute or relative to the workspace."),
            whole(
                "offset",
                "How many lines to skip before the first one shown. Default 0.",
                0,
                None,
            ),
            whole("limit", "The most lines to show. Default 2000.", 1, None),
            choice(
                "intent",
                "A hint of what the file is read for.",
                &["inspect", "range", "full"],
            ),
            optional(text("cursor", "A hint of where an earlier read ended.")),
        ];
        Self {
            spec: spec("read_file", description, parameters),
        }
    }
}

impl Tool for ReadFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self) -> Effect {
        Effect::Read
    }

    fn subjects(&self, args: &Value, cx: &ToolContext) -> Vec<Subject> {
        vec![paths::subject(text_of(args, "path"), cx)]
    }

    fn run<'a>(&'a self, args: Value, cx: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let args = match arguments::<Args>(args) {
                Ok(args) => args,
                Err(error) => return ToolResult::failed(&error),
            };
            let cx = cx.clone();
            stdx::task::blocking(move || read(&args, &cx)).await.into()
        })
    }
}

fn read(args: &Args, cx: &ToolContext) -> Result<String, ToolError> {
    let place = paths::for_reading(&args.path, cx)?;
    let Some(file) = open_regular(&place)? else {
        cx.observed.record(&place.resolved, Seen::Absent);
        return Err(ToolError::NotFound(place.shown));
    };
    let error = |source| ToolError::Io {
        doing: "read",
        path: place.shown.clone(),
        source,
    };
    let meta = file.metadata().map_err(error)?;
    let budget = Budget::new(TIME_LIMIT, cx.token.clone());
    let mut file = Budgeted {
        reader: file,
        budget: &budget,
    };
    let limit = args.limit.unwrap_or(DEFAULT_LIMIT);
    let window = if meta.len() > MAX_HASHED {
        let window = Window::read(BufReader::new(file), args.offset, limit, &place, &budget)?;
        cx.observed
            .record(&place.resolved, Seen::Present(Version::of_large(&meta)));
        window
    } else {
        let mut content = Vec::new();
        file.read_to_end(&mut content).map_err(error)?;
        if content.contains(&0) {
            return Err(binary(&place));
        }
        let version = Version::of_content(&content);
        let window = Window::read(Cursor::new(content), args.offset, limit, &place, &budget)?;
        cx.observed.record(&place.resolved, Seen::Present(version));
        window
    };
    Ok(window.show(args.offset))
}

fn binary(place: &Place) -> ToolError {
    ToolError::Argument(format!(
        "binary file (NUL byte detected): {}",
        place.shown.display()
    ))
}

/// Some lines of a file.
struct Window {
    lines: Vec<String>,
    /// How many lines the file is known to have.
    known: u64,
    /// Whether lines follow the window.
    more: bool,
}

impl Window {
    fn read(
        mut reader: impl BufRead,
        offset: u64,
        limit: u64,
        place: &Place,
        budget: &Budget,
    ) -> Result<Self, ToolError> {
        let mut window = Self {
            lines: Vec::new(),
            known: 0,
            more: false,
        };
        let (mut line, mut size) = (Vec::new(), 0);
        loop {
            if budget.stop() == Some(Stop::Cancelled) {
                return Err(ToolError::Cancelled);
            }
            line.clear();
            let read = next_line(&mut reader, &mut line).map_err(ToolError::io("read", &place.shown))?;
            if read == 0 {
                return Ok(window);
            }
            window.known += 1;
            if window.known <= offset {
                continue;
            }
            if line.contains(&0) {
                return Err(binary(place));
            }
            let first = window.known == 1;
            let text = shown(line.strip_prefix(BOM).filter(|_| first).unwrap_or(&line), read);
            size += text.len();
            // Every line also has a number as wide as the last one, an arrow and its end.
            let around = (window.lines.len() + 1) * (window.known.to_string().len() + "→\n".len());
            if window.lines.len() as u64 == limit || (size + around > MAX_LINES && !window.lines.is_empty()) {
                window.more = true;
                return Ok(window);
            }
            window.lines.push(text);
        }
    }

    fn show(&self, offset: u64) -> String {
        let end = offset + self.lines.len() as u64;
        if self.lines.is_empty() {
            return match self.known {
                0 => "(empty file)".to_owned(),
                lines => format!("(offset {offset} is past EOF — file has {lines} lines)"),
            };
        }
        let width = end.to_string().len();
        let mut out = String::new();
        for (line, number) in self.lines.iter().zip(offset + 1..) {
            // Writing to a string cannot fail.
            let _infallible = writeln!(out, "{number:>width$}→{line}");
        }
        let advice = if self.more {
            format!("; pass offset={end} to see more")
        } else {
            String::new()
        };
        if offset > 0 || self.more {
            out.push_str(&format!(
                "[PARTIAL view: showing lines {}-{end} of at least {}{advice}]",
                offset + 1,
                self.known
            ));
        }
        out
    }
}

/// Reads one line, keeping no more of it than can be shown. Gives its whole length with its end.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<usize> {
    let mut length = 0;
    loop {
        let available = reader.fill_buf()?;
        let end = available.iter().position(|byte| *byte == b'\n');
        let part = &available[..end.unwrap_or(available.len())];
        let room = (MAX_LINE + 4).saturating_sub(line.len());
        line.extend_from_slice(&part[..room.min(part.len())]);
        let used = part.len() + usize::from(end.is_some());
        let ended = end.is_some() || used == 0;
        length += used;
        reader.consume(used);
        if ended {
            return Ok(length);
        }
    }
}

/// Gives a line without CR, cut where it is too long.
fn shown(line: &[u8], length: usize) -> String {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let text = String::from_utf8_lossy(line);
    if line.len() <= MAX_LINE {
        return text.into_owned();
    }
    format!("{}… [line of {length} bytes]", prefix(&text, MAX_LINE))
}

//! `edit_file`: one piece of a file replaced by another.

use std::{fmt::Write as _, ops::Range};

use conversation::{Effect, ToolSpec};
use serde::Deserialize;
use serde_json::Value;
use stdx::bounded::prefix;

use super::{arguments, text_of};
use crate::{
    BoxFuture, Subject, Tool, ToolContext, ToolError, ToolResult,
    observed::Seen,
    paths, publish,
    replace::{Replaced, line_of, replace_once},
    spec::{spec, text},
};

/// How many lines of each side a receipt shows.
const MAX_RECEIPT_LINES: usize = 40;
/// The longest part of one line that a receipt shows, in bytes.
const MAX_RECEIPT_LINE: usize = 300;
/// How many places of an ambiguous text are named.
const MAX_PLACES: usize = 20;

/// Replaces a text that occurs once.
pub(super) struct EditFile {
    spec: ToolSpec,
}

#[derive(Deserialize)]
struct Args {
    path: String,
    old_string: String,
    new_string: String,
}

impl EditFile {
    pub(super) fn new() -> Self {
        let description = "Replaces old_string by new_string in a file that has been read. old_string must be the exact \
            text, with its indentation and without line numbers, and occur exactly once: include surrounding lines to \
            make it unique. Line ends and everything else in the file stay as they are.";
        let parameters = [
            text("path", "File to change, absolute or relative to the workspace."),
            text("old_string", "The text to replace."),
            text("new_string", "The text to put in its place; may be empty."),
        ];
        Self {
            spec: spec("edit_file", description, parameters),
        }
    }
}

impl Tool for EditFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self) -> Effect {
        Effect::Write
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
            if cx.token.is_cancelled() {
                return ToolResult::failed(&ToolError::Cancelled);
            }
            let cx = cx.clone();
            stdx::task::blocking(move || edit(&args, &cx)).await.into()
        })
    }
}

fn edit(args: &Args, cx: &ToolContext) -> Result<String, ToolError> {
    if args.old_string.is_empty() {
        return Err(ToolError::Argument("old_string is required".into()));
    }
    let place = paths::for_writing(&args.path, cx)?;
    let current = publish::read_current(&place)?;
    let Some(current) = current else {
        cx.observed.record(&place.resolved, Seen::Absent);
        return Err(ToolError::NotFound(place.shown));
    };
    publish::check_seen(&place, Some(&current), cx)?;
    let (content, old, new) = match replace_once(&current.content, &args.old_string, &args.new_string) {
        Replaced::Once { content, old, new } => (content, old, new),
        Replaced::NotFound => {
            let advice = similar_lines(&current.content, &args.old_string);
            return Err(ToolError::TextNotFound {
                path: place.shown,
                advice,
            });
        }
        Replaced::Several(places) => {
            let lines: Vec<_> = places
                .iter()
                .take(MAX_PLACES)
                .map(|at| line_of(&current.content, *at).to_string())
                .collect();
            let more = if places.len() > MAX_PLACES { ", …" } else { "" };
            let lines = lines.join(", ") + more;
            return Err(ToolError::Ambiguous {
                path: place.shown,
                count: places.len(),
                lines,
            });
        }
    };
    let remark = publish::publish(&place, &content, cx)?;
    let mut receipt = format!(
        "edited {}\n@@ replacement 1 of 1 (1 occurrence) @@\n",
        place.shown.display()
    );
    show_side(&mut receipt, '-', &current.content, &old);
    let whole_lines_went = new.is_empty() && args.old_string.ends_with('\n');
    if !whole_lines_went {
        show_side(&mut receipt, '+', &content, &new);
    }
    if let Some(remark) = remark {
        receipt.push_str(&format!("({remark})\n"));
    }
    Ok(receipt)
}

/// Shows the whole lines that a range touches.
fn show_side(receipt: &mut String, sign: char, content: &[u8], range: &Range<usize>) {
    let start = content[..range.start]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let ends_a_line = range.end > start && content[range.end - 1] == b'\n';
    let end = match content[range.end..].iter().position(|byte| *byte == b'\n') {
        _ if ends_a_line => range.end,
        Some(at) => range.end + at,
        None => content.len(),
    };
    let text = String::from_utf8_lossy(&content[start..end]);
    let total = text.lines().count();
    for line in text.lines().take(MAX_RECEIPT_LINES) {
        // Writing to a string cannot fail.
        let _infallible = writeln!(receipt, "{sign}{}", prefix(line, MAX_RECEIPT_LINE));
    }
    if total > MAX_RECEIPT_LINES {
        receipt.push_str(&format!("{sign}… ({} more lines)\n", total - MAX_RECEIPT_LINES));
    }
}

/// Names lines that differ from the first line sought only in their blanks.
fn similar_lines(content: &[u8], old: &str) -> String {
    let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some(sought) = old.lines().map(squeezed).find(|line| !line.is_empty()) else {
        return String::new();
    };
    let text = String::from_utf8_lossy(content);
    let lines: Vec<_> = text
        .lines()
        .enumerate()
        .filter(|(_, line)| squeezed(line) == sought)
        .map(|(index, _)| (index + 1).to_string())
        .take(MAX_PLACES)
        .collect();
    if lines.is_empty() {
        return "; read the file again and copy the text exactly".to_owned();
    }
    format!(
        "; its first line appears at line {} when blanks are ignored: read the file again and copy the text exactly",
        lines.join(", ")
    )
}

//! `grep`: lines of files that match a regular expression.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use conversation::{Effect, ToolSpec};
use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, sinks::Lossy};
use serde::Deserialize;
use serde_json::Value;
use stdx::bounded::prefix;

use super::{
    arguments,
    search::{Gaps, budget, has_odd_rules, is_broken_link, timeout_parameter, walk},
    text_of,
};
use crate::{
    BoxFuture, Subject, Tool, ToolContext, ToolError, ToolResult,
    anchor::{Anchor, Missing},
    budget::{Budget, Budgeted},
    output::on_one_line,
    paths::{self, Place},
    publish::{Opened, open_here},
    spec::{optional, spec, text},
};

/// How many matches are shown.
const MAX_MATCHES: usize = 200;
/// The longest part of a matching line that is shown, in bytes.
const MAX_LINE: usize = 500;

/// Searches file contents.
pub(super) struct Grep {
    spec: ToolSpec,
}

#[derive(Deserialize)]
struct Args {
    pattern: String,
    #[serde(default = "here")]
    path: String,
    timeout_seconds: Option<u64>,
}

fn here() -> String {
    ".".to_owned()
}

impl Grep {
    pub(super) fn new() -> Self {
        let description = "Searches file contents for a regular expression (Rust syntax, no look-around; `(?i)` ignores \
            case) and returns `file:line:text`, at most 200 matches. Hidden, ignored and binary files are left out. \
            Prefer it over grep in bash.";
        let parameters = [
            text("pattern", "The regular expression; matched within single lines."),
            optional(text(
                "path",
                "Folder or file to search, absolute or relative to the workspace. Default `.`.",
            )),
            timeout_parameter(),
        ];
        Self {
            spec: spec("grep", description, parameters),
        }
    }
}

impl Tool for Grep {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self) -> Effect {
        Effect::Read
    }

    fn subjects(&self, args: &Value, cx: &ToolContext) -> Vec<Subject> {
        let path = Some(text_of(args, "path"))
            .filter(|path| !path.is_empty())
            .unwrap_or(".");
        vec![
            Subject::Text(text_of(args, "pattern").to_owned()),
            paths::subject(path, cx),
        ]
    }

    fn run<'a>(&'a self, args: Value, cx: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let args = match arguments::<Args>(args) {
                Ok(args) => args,
                Err(error) => return ToolResult::failed(&error),
            };
            let cx = cx.clone();
            stdx::task::blocking(move || grep(&args, &cx)).await.into()
        })
    }
}

fn grep(args: &Args, cx: &ToolContext) -> Result<String, ToolError> {
    let matcher = RegexMatcherBuilder::new()
        .crlf(true)
        .multi_line(true)
        .build(&args.pattern)
        .map_err(|error| ToolError::Argument(format!("invalid pattern: {error}")))?;
    let place = paths::for_reading(&args.path, cx)?;
    let meta = place.resolved.metadata().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => ToolError::NotFound(place.shown.clone()),
        _ => ToolError::io("search", &place.shown)(error),
    })?;
    if !meta.is_dir() && !meta.is_file() {
        return Err(ToolError::WrongKind {
            path: place.shown,
            what: "not a regular file",
        });
    }
    let searcher = SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .line_terminator(LineTerminator::crlf())
        .line_number(true)
        .build();
    let budget = budget(args.timeout_seconds, cx);
    let mut search = Search {
        searcher,
        matcher,
        budget,
        place,
        found: Vec::new(),
        gaps: Gaps::default(),
    };
    search.run(cx)?;
    Ok(search.show())
}

struct Search {
    searcher: Searcher,
    matcher: RegexMatcher,
    budget: Budget,
    place: Place,
    found: Vec<String>,
    gaps: Gaps,
}

impl Search {
    fn run(&mut self, cx: &ToolContext) -> Result<(), ToolError> {
        let root = self.place.resolved.clone();
        let odd = Arc::new(AtomicUsize::new(0));
        let rules = !root.ancestors().any(has_odd_rules);
        let mut files = walk(&root, cx, Vec::new(), rules.then(|| Arc::clone(&odd)));
        files
            .hidden(true)
            .parents(rules)
            .ignore(rules)
            .git_ignore(rules)
            .git_exclude(rules)
            .require_git(false);
        for entry in files.build() {
            if let Some(stop) = self.budget.stop() {
                return self.gaps.stopped(stop);
            }
            match entry {
                Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
                    self.search(entry.path());
                }
                Ok(entry) if is_broken_link(&entry) => self.gaps.skipped += 1,
                Ok(_) => {}
                Err(_) => self.gaps.skipped += 1,
            }
            if self.found.len() > MAX_MATCHES {
                return Ok(());
            }
        }
        self.gaps.skipped += odd.load(Ordering::Relaxed);
        match self.budget.stop() {
            Some(stop) => self.gaps.stopped(stop),
            None => Ok(()),
        }
    }

    fn search(&mut self, path: &Path) {
        let opened = Anchor::of(path, Missing::Fails).and_then(|anchor| open_here(&anchor));
        let Ok(Opened::File(file)) = opened else {
            self.gaps.skipped += 1;
            return;
        };
        let Self {
            searcher,
            matcher,
            budget,
            place,
            found,
            gaps,
        } = self;
        let name = on_one_line(&place.show(path).to_string_lossy());
        let sink = Lossy(|number, line: &str| {
            found.push(format!("{name}:{number}:{}", shown(line)));
            Ok(found.len() <= MAX_MATCHES)
        });
        let searched = searcher.search_reader(&*matcher, Budgeted { reader: file, budget }, sink);
        if searched.is_err() && budget.stop().is_none() {
            gaps.skipped += 1;
        }
    }

    fn show(mut self) -> String {
        if self.found.is_empty() {
            self.found.push("(no matches)".into());
        } else if self.found.len() > MAX_MATCHES {
            self.found.truncate(MAX_MATCHES);
            self.found
                .push(format!("... (truncated at {MAX_MATCHES} matches)"));
        }
        self.gaps.remark(self.found)
    }
}

/// Gives a matching line without its end, cut where it is too long.
fn shown(line: &str) -> String {
    let line = line.trim_end_matches(['\n', '\r']);
    let kept = prefix(line, MAX_LINE);
    if kept.len() == line.len() {
        line.to_owned()
    } else {
        format!("{kept}… [line of {} bytes]", line.len())
    }
}

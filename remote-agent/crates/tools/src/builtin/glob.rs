//! `glob`: paths that match a pattern.

use std::path::Path;

use conversation::{Effect, ToolSpec};
use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;
use serde_json::Value;

use super::{
    arguments,
    search::{Gaps, budget, is_broken_link, timeout_parameter, walk},
    text_of,
};
use crate::{
    BoxFuture, Subject, Tool, ToolContext, ToolError, ToolResult,
    output::on_one_line,
    paths,
    spec::{spec, text},
};

/// Folders that are only entered when the pattern names them.
const LEFT_OUT: &[&str] = &[".git", "node_modules"];

/// Finds files by name.
pub(super) struct Glob {
    spec: ToolSpec,
}

#[derive(Deserialize)]
struct Args {
    pattern: String,
    timeout_seconds: Option<u64>,
}

impl Glob {
    pub(super) fn new() -> Self {
        let description = "Finds files and folders whose path matches a pattern such as `src/**/*.rs` and returns \
            absolute paths, one per line; folders end in `/`. `*` and `?` stay within one name, `**` spans folders. \
            `.git` and `node_modules` are left out unless the pattern names them.";
        let parameters = [
            text(
                "pattern",
                "The pattern (`* ? [] ** {}`), relative to the workspace or absolute.",
            ),
            timeout_parameter(),
        ];
        Self {
            spec: spec("glob", description, parameters),
        }
    }
}

impl Tool for Glob {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self) -> Effect {
        Effect::Read
    }

    fn subjects(&self, args: &Value, cx: &ToolContext) -> Vec<Subject> {
        let pattern = text_of(args, "pattern");
        vec![
            Subject::Text(pattern.to_owned()),
            paths::subject(split(pattern).0, cx),
        ]
    }

    fn run<'a>(&'a self, args: Value, cx: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let args = match arguments::<Args>(args) {
                Ok(args) => args,
                Err(error) => return ToolResult::failed(&error),
            };
            let cx = cx.clone();
            stdx::task::blocking(move || glob(&args, &cx)).await.into()
        })
    }
}

fn glob(args: &Args, cx: &ToolContext) -> Result<String, ToolError> {
    if args.pattern.is_empty() {
        return Err(ToolError::Argument("pattern is required".into()));
    }
    let (folder, below) = split(&args.pattern);
    let place = paths::for_reading(folder, cx)?;
    if below.is_empty() {
        let there = place.resolved.symlink_metadata().is_ok();
        return Ok(if there {
            show(&place.shown, place.resolved.is_dir())
        } else {
            "(no matches)".into()
        });
    }
    let pattern = compile(below)?;
    let names_it = |folder: &&str| below.split('/').any(|part| part == *folder);
    let left_out = LEFT_OUT
        .iter()
        .copied()
        .filter(|folder| !names_it(folder))
        .collect();
    let budget = budget(args.timeout_seconds, cx);
    let (mut found, mut gaps) = (Vec::new(), Gaps::default());
    let mut entries = walk(&place.resolved, cx, left_out, None);
    entries.max_depth((!below.contains("**")).then(|| below.split('/').count()));
    if !place.resolved.is_dir() {
        return Ok("(no matches)".into());
    }
    for entry in entries.build() {
        if let Some(stop) = budget.stop() {
            gaps.stopped(stop)?;
            break;
        }
        let Ok(entry) = entry else {
            gaps.skipped += 1;
            continue;
        };
        gaps.skipped += usize::from(is_broken_link(&entry));
        let relative = entry
            .path()
            .strip_prefix(&place.resolved)
            .unwrap_or(Path::new(""));
        if entry.depth() > 0 && pattern.is_match(relative) {
            let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
            found.push(show(&place.shown.join(relative), is_dir));
        }
    }
    if found.is_empty() {
        found.push("(no matches)".into());
    }
    Ok(gaps.remark(found))
}

/// Splits a pattern into the folder before its first special character and the rest.
fn split(pattern: &str) -> (&str, &str) {
    let special = pattern.find(['*', '?', '[', '{', '\\']).unwrap_or(pattern.len());
    if special == pattern.len() {
        return (pattern.trim_end_matches('/'), "");
    }
    match pattern[..special].rfind('/') {
        Some(0) => ("/", &pattern[1..]),
        Some(at) => (&pattern[..at], &pattern[at + 1..]),
        None => (".", pattern),
    }
}

fn compile(pattern: &str) -> Result<GlobMatcher, ToolError> {
    let pattern = pattern.trim_end_matches('/');
    let built = GlobBuilder::new(pattern).literal_separator(true).build();
    built
        .map(|glob| glob.compile_matcher())
        .map_err(|error| ToolError::Argument(format!("invalid pattern: {error}")))
}

fn show(path: &Path, is_dir: bool) -> String {
    let end = if is_dir { "/" } else { "" };
    on_one_line(&path.to_string_lossy()) + end
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn splits_before_the_first_special_character() {
        assert_eq!(split("src/**/*.rs"), ("src", "**/*.rs"));
        assert_eq!(split("*.rs"), (".", "*.rs"));
        assert_eq!(split("/*"), ("/", "*"));
        assert_eq!(split("/a/b?/c"), ("/a", "b?/c"));
        assert_eq!(split("a/b/"), ("a/b", ""));
        assert_eq!(split("-x"), ("-x", ""));
    }
}

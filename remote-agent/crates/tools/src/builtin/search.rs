//! What searching tools share: limits, walking without stumbling, and the remarks at the end.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use ignore::WalkBuilder;

use crate::{
    ToolContext, ToolError,
    budget::{Budget, Stop},
    paths,
    spec::{Parameter, whole},
};

const DEFAULT_SECONDS: u64 = 30;
const MAX_SECONDS: u64 = 300;
/// Where the ignore rules of a folder are.
const RULES: &[&str] = &[".gitignore", ".ignore", ".git/info/exclude"];

/// Makes the parameter for a search's time limit.
pub(super) fn timeout_parameter() -> Parameter {
    let description = "How long to search before returning what was found. Default 30.";
    whole("timeout_seconds", description, 1, Some(MAX_SECONDS))
}

/// Gives the budget of a search.
pub(super) fn budget(seconds: Option<u64>, cx: &ToolContext) -> Budget {
    let seconds = seconds.unwrap_or(DEFAULT_SECONDS).min(MAX_SECONDS);
    Budget::new(Duration::from_secs(seconds), cx.token.clone())
}

/// What kept a search from being complete.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    /// How many entries could not be looked at.
    pub(super) skipped: usize,
    /// Whether the time was up.
    pub(super) time_was_up: bool,
}

impl Gaps {
    /// Notes why a search stops.
    ///
    /// # Errors
    /// When the call was cancelled: what was found is not wanted any more.
    pub(super) fn stopped(&mut self, stop: Stop) -> Result<(), ToolError> {
        match stop {
            Stop::Cancelled => Err(ToolError::Cancelled),
            Stop::TimeIsUp => {
                self.time_was_up = true;
                Ok(())
            }
        }
    }

    /// Puts remarks after the lines found.
    pub(super) fn remark(&self, mut lines: Vec<String>) -> String {
        if self.time_was_up {
            lines.push("(stopped at the time limit; the list is incomplete)".into());
        }
        if self.skipped > 0 {
            let entries = if self.skipped == 1 { "entry" } else { "entries" };
            lines.push(format!("(skipped {} unreadable {entries})", self.skipped));
        }
        lines.join("\n")
    }
}

/// Walks `root` in the order of names without following links, and leaves out what may not be read and the folders
/// below `root` that have one of the names `left_out`.
///
/// With `odd`, ignore rules are obeyed: folders below `root` with [odd rules](has_odd_rules) are left out, and counted.
pub(super) fn walk(
    root: &Path,
    cx: &ToolContext,
    left_out: Vec<&'static str>,
    odd: Option<Arc<AtomicUsize>>,
) -> WalkBuilder {
    let forbidden = paths::forbidden(cx);
    let mut walk = WalkBuilder::new(root);
    walk.standard_filters(false)
        .follow_links(false)
        .sort_by_file_path(Path::cmp)
        .filter_entry(move |entry| {
            let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
            let is_left_out =
                entry.depth() > 0 && is_dir && left_out.iter().any(|name| entry.file_name() == *name);
            if is_left_out || forbidden.iter().any(|path| entry.path().starts_with(path)) {
                return false;
            }
            match &odd {
                Some(count) if entry.depth() > 0 && is_dir && has_odd_rules(entry.path()) => {
                    count.fetch_add(1, Ordering::Relaxed);
                    false
                }
                _ => true,
            }
        });
    walk
}

/// Says whether reading the ignore rules of a folder could take for ever: where a file should be is a pipe or a device.
pub(super) fn has_odd_rules(folder: &Path) -> bool {
    RULES.iter().any(|name| {
        folder
            .join(name)
            .metadata()
            .is_ok_and(|meta| !meta.is_file() && !meta.is_dir())
    })
}

/// Says whether an entry is a link that leads nowhere or round in a circle.
pub(super) fn is_broken_link(entry: &ignore::DirEntry) -> bool {
    entry.path_is_symlink() && entry.path().metadata().is_err()
}

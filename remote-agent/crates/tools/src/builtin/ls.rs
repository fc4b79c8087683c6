//! `ls`: what is in a folder.

use std::{
    fs,
    path::{Path, PathBuf},
};

use conversation::{Effect, ToolSpec};
use serde::Deserialize;
use serde_json::Value;

use super::{arguments, search, text_of};
use crate::{
    BoxFuture, Subject, Tool, ToolContext, ToolError, ToolResult,
    budget::Budget,
    output::on_one_line,
    paths::{self, Place},
    spec::{flag, optional, spec, text},
};

/// Folders whose content a recursive listing leaves out.
const LEFT_OUT: &[&str] = &[".git", "node_modules"];

/// How many entries a listing has at most.
const MAX_ENTRIES: usize = 2000;

/// Lists a folder.
pub(super) struct Ls {
    spec: ToolSpec,
}

#[derive(Deserialize)]
struct Args {
    path: Option<String>,
    #[serde(default)]
    recursive: bool,
}

impl Ls {
    pub(super) fn new() -> Self {
        let description = "Lists a folder: subfolders end in `/`, files are followed by a tab and their size in bytes. \
            A recursive listing leaves out .git and node_modules.";
        let parameters = [
            optional(text(
                "path",
                "Folder to list, absolute or relative to the workspace. Default `.`.",
            )),
            flag(
                "recursive",
                "Whether to list everything below as well. Default false.",
            ),
        ];
        Self {
            spec: spec("ls", description, parameters),
        }
    }
}

impl Tool for Ls {
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
        vec![paths::subject(path, cx)]
    }

    fn run<'a>(&'a self, args: Value, cx: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let args = match arguments::<Args>(args) {
                Ok(args) => args,
                Err(error) => return ToolResult::failed(&error),
            };
            let cx = cx.clone();
            stdx::task::blocking(move || list(&args, &cx)).await.into()
        })
    }
}

fn list(args: &Args, cx: &ToolContext) -> Result<String, ToolError> {
    let raw = args
        .path
        .as_deref()
        .filter(|path| !path.is_empty())
        .unwrap_or(".");
    let place = paths::for_reading(raw, cx)?;
    let meta = place.resolved.metadata().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => ToolError::NotFound(place.shown.clone()),
        _ => ToolError::io("list", &place.shown)(error),
    })?;
    if !meta.is_dir() {
        return Err(ToolError::WrongKind {
            path: place.shown,
            what: "not a directory",
        });
    }
    let budget = search::budget(None, cx);
    let mut listing = Listing {
        recursive: args.recursive,
        forbidden: paths::forbidden(cx),
        budget,
        lines: Vec::new(),
        gaps: search::Gaps::default(),
    };
    listing.top(&place)?;
    if listing.lines.is_empty() {
        listing.lines.push("(empty directory)".into());
    } else if listing.lines.len() > MAX_ENTRIES {
        listing.lines.truncate(MAX_ENTRIES);
        listing
            .lines
            .push(format!("... (truncated at {MAX_ENTRIES} entries)"));
    }
    Ok(listing.gaps.remark(listing.lines))
}

struct Listing {
    recursive: bool,
    forbidden: Vec<PathBuf>,
    budget: Budget,
    lines: Vec<String>,
    gaps: search::Gaps,
}

impl Listing {
    fn top(&mut self, place: &Place) -> Result<(), ToolError> {
        let entries = fs::read_dir(&place.resolved).map_err(ToolError::io("list", &place.shown))?;
        self.folder(entries, Path::new(""))
    }

    /// Lists one folder, and each subfolder right after its own line.
    fn folder(&mut self, entries: fs::ReadDir, below: &Path) -> Result<(), ToolError> {
        let mut sorted = Vec::new();
        for entry in entries {
            match entry {
                Ok(entry) => sorted.push(entry),
                Err(_) => self.gaps.skipped += 1,
            }
        }
        sorted.sort_by_key(fs::DirEntry::file_name);
        for entry in sorted {
            if let Some(stop) = self.budget.stop() {
                return self.gaps.stopped(stop);
            }
            if self.lines.len() > MAX_ENTRIES {
                return Ok(());
            }
            self.entry(&entry, below)?;
        }
        Ok(())
    }

    fn entry(&mut self, entry: &fs::DirEntry, below: &Path) -> Result<(), ToolError> {
        let path = entry.path();
        if self.forbidden.iter().any(|forbidden| path.starts_with(forbidden)) {
            return Ok(());
        }
        let name = below.join(entry.file_name());
        let shown = on_one_line(&name.to_string_lossy());
        let Ok(meta) = entry.metadata() else {
            self.gaps.skipped += 1;
            return Ok(());
        };
        if meta.is_symlink() {
            let target = fs::read_link(&path).unwrap_or_default();
            self.lines
                .push(format!("{shown} -> {}", on_one_line(&target.to_string_lossy())));
            return Ok(());
        }
        if !meta.is_dir() {
            self.lines.push(format!("{shown}\t{}", meta.len()));
            return Ok(());
        }
        self.lines.push(format!("{shown}/"));
        let left_out = LEFT_OUT.iter().any(|left_out| entry.file_name() == *left_out);
        if self.recursive && !left_out {
            match fs::read_dir(&path) {
                Ok(entries) => self.folder(entries, &name)?,
                Err(_) => self.gaps.skipped += 1,
            }
        }
        Ok(())
    }
}

//! Which instruction files are read, in which order, under which headings.

use std::{
    collections::HashSet,
    io,
    path::{Component, Path, PathBuf},
};

use crate::{
    import::{Expanded, RefusedImport, expand},
    limits::{CUT_MARK, Cut, MAX_FILE_BYTES, MAX_TOTAL_BYTES, cut},
};

/// The files of one directory, in the order they are read. Later ones win.
const NAMES: [&str; 6] = [
    "REASONIX.md",
    "AGENTS.md",
    "CLAUDE.md",
    "REASONIX.local.md",
    "AGENTS.local.md",
    "CLAUDE.local.md",
];

/// Where instructions are looked for. Everything is given: nothing is looked up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Directories {
    /// Reasonix's home directory, whose instructions hold for every workspace.
    pub home: Option<PathBuf>,
    /// The workspace root.
    pub workspace: PathBuf,
    /// The directory that is worked in, if it lies below the root: the directories on the way are read too.
    pub target: Option<PathBuf>,
}

/// Whom a file speaks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The user, everywhere.
    User,
    /// The project.
    Project,
    /// The user, in this project.
    Local,
}

/// One file's instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// What stands above it, such as `workspace/REASONIX.md (project, applies to workspace)`. Never an absolute path.
    pub heading: String,
    /// Whom it speaks for.
    pub scope: Scope,
    /// The text, imports in place.
    pub text: String,
}

/// Something worth telling the user, not the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Diagnostic {
    /// A file exists and cannot be read.
    #[error("could not read {file}: {reason}")]
    Unreadable {
        /// The file, as in its heading.
        file: String,
        /// Why.
        reason: String,
    },
    /// An import is not followed.
    #[error("{file}:{}: import of {} rejected: {}", import.line, import.path, import.why.word())]
    Import {
        /// The file at the top, as in its heading.
        file: String,
        /// The import.
        import: RefusedImport,
    },
    /// A file is too long; its end is left out.
    #[error("{file} is cut: one file may have {MAX_FILE_BYTES} bytes, all together {MAX_TOTAL_BYTES}")]
    Cut {
        /// The file.
        file: String,
    },
    /// The directory worked in is not below the workspace root, so only the root is read.
    #[error("the target directory is outside the workspace")]
    TargetOutside,
}

/// All instructions, least specific first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Instructions {
    /// The files, in the order the model sees them. Later ones win.
    pub list: Vec<Instruction>,
    /// What went wrong on the way.
    pub diagnostics: Vec<Diagnostic>,
}

impl Instructions {
    /// Gives everything as one text for the model, empty if there is nothing.
    #[must_use]
    pub fn render(&self) -> String {
        let part = |instruction: &Instruction| {
            format!("## {}\n\n{}\n", instruction.heading, instruction.text.trim_end())
        };
        self.list.iter().map(part).collect::<Vec<_>>().join("\n")
    }
}

/// Reads all instructions. Missing files are fine, and nothing that is wrong with a file stops the others.
///
/// The files are read at once, with blocking calls.
#[must_use]
pub fn load(directories: &Directories) -> Instructions {
    let mut found = Instructions::default();
    if let Some(home) = &directories.home {
        read_directory(home, "user", &mut found);
    }
    for (directory, label) in on_the_way(directories, &mut found.diagnostics) {
        read_directory(&directory, &label, &mut found);
    }
    drop_repeated(&mut found.list);
    keep_within_total(&mut found);
    found
}

/// Lists the workspace root and the directories from there to the target, with what headings call them.
fn on_the_way(directories: &Directories, diagnostics: &mut Vec<Diagnostic>) -> Vec<(PathBuf, String)> {
    let mut list = vec![(directories.workspace.clone(), "workspace".to_owned())];
    let Some(target) = &directories.target else {
        return list;
    };
    let canonical = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (root, target) = (canonical(&directories.workspace), canonical(target));
    let Ok(relative) = target.strip_prefix(&root) else {
        diagnostics.push(Diagnostic::TargetOutside);
        return list;
    };
    let (mut directory, mut label) = (directories.workspace.clone(), "workspace".to_owned());
    for component in relative.components() {
        let Component::Normal(name) = component else {
            continue;
        };
        directory.push(name);
        label = format!("{label}/{}", name.to_string_lossy());
        list.push((directory.clone(), label.clone()));
    }
    list
}

fn read_directory(directory: &Path, label: &str, found: &mut Instructions) {
    let Ok(owner) = directory.canonicalize() else {
        return;
    };
    let mut seen = HashSet::new();
    for name in NAMES {
        let file = owner.join(name);
        let shown = format!("{label}/{name}");
        match read_file(&owner, &file) {
            // On a file system that ignores case, two names can be one file; links to a neighbour repeat it.
            Ok(Some((path, _))) if !seen.insert(path.clone()) => {}
            Ok(Some((_, expanded))) => keep(expanded, name, label, found),
            Ok(None) => {}
            Err(error) => {
                // The system's message names no path.
                let reason = error.to_string();
                found
                    .diagnostics
                    .push(Diagnostic::Unreadable { file: shown, reason });
            }
        }
    }
}

/// Reads one file; a missing one is `None`. A file that is a link must lead to a file of the same directory tree.
fn read_file(owner: &Path, file: &Path) -> io::Result<Option<(PathBuf, Expanded)>> {
    let path = match file.canonicalize() {
        Ok(path) => path,
        Err(error) if error.kind() == io::ErrorKind::NotFound && file.symlink_metadata().is_err() => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    if !path.starts_with(owner) {
        return Err(io::Error::other("it is a link that leads out of its directory"));
    }
    Ok(Some((path, expand(owner, file)?)))
}

fn keep(expanded: Expanded, name: &str, label: &str, found: &mut Instructions) {
    let file = format!("{label}/{name}");
    for import in expanded.refused {
        found.diagnostics.push(Diagnostic::Import {
            file: file.clone(),
            import,
        });
    }
    let (text, was_cut) = cut(expanded.text, MAX_FILE_BYTES);
    if was_cut == Cut::Yes {
        found.diagnostics.push(Diagnostic::Cut { file: file.clone() });
    }
    if text.trim().is_empty() {
        return;
    }
    let scope = match (label, name.contains(".local.")) {
        ("user", _) => Scope::User,
        (_, true) => Scope::Local,
        (_, false) => Scope::Project,
    };
    let word = match scope {
        Scope::User => "user",
        Scope::Project => "project",
        Scope::Local => "local",
    };
    let reach = if scope == Scope::User {
        "every workspace"
    } else {
        label
    };
    found.list.push(Instruction {
        heading: format!("{file} ({word}, applies to {reach})"),
        scope,
        text,
    });
}

/// Keeps only the most specific of several files with the same text, such as an `AGENTS.md` that is a copy.
fn drop_repeated(list: &mut Vec<Instruction>) {
    let mut seen = HashSet::new();
    let mut kept: Vec<Instruction> = list
        .drain(..)
        .rev()
        .filter(|instruction| seen.insert(instruction.text.trim().to_owned()))
        .collect();
    kept.reverse();
    *list = kept;
}

/// Cuts the least specific instructions until all of them fit.
fn keep_within_total(found: &mut Instructions) {
    let total: usize = found.list.iter().map(|instruction| instruction.text.len()).sum();
    let mut excess = total.saturating_sub(MAX_TOTAL_BYTES);
    for instruction in &mut found.list {
        if excess == 0 {
            return;
        }
        let before = instruction.text.len();
        let most = before.saturating_sub(excess).max(CUT_MARK.len());
        instruction.text = cut(std::mem::take(&mut instruction.text), most).0;
        excess = excess.saturating_sub(before.saturating_sub(instruction.text.len()));
        let file = instruction
            .heading
            .split(" (")
            .next()
            .unwrap_or_default()
            .to_owned();
        found.diagnostics.push(Diagnostic::Cut { file });
    }
}

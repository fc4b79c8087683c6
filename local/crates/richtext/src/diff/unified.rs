//! Reads the unified format of `diff -u` and `git diff`.

use super::{FileDiff, Kind, Row};
use crate::{safe_line, sanitize};

/// What may stand around the hunks of `git diff`.
const ABOUT_FILE: [&str; 10] = [
    "index ",
    "old mode ",
    "new mode ",
    "new file mode ",
    "deleted file mode ",
    "similarity index ",
    "dissimilarity index ",
    "rename from ",
    "rename to ",
    "Binary files ",
];

/// Reads a text that is a unified diff from its first line on.
pub(super) fn parse(text: &str) -> Option<Vec<FileDiff>> {
    let safe = sanitize(text);
    let first = safe.lines().find(|line| !line.trim().is_empty())?;
    if !(first.starts_with("diff --git ") || first.starts_with("--- ") || first.starts_with("@@ -")) {
        return None;
    }
    let mut reader = Reader::default();
    for line in safe.lines() {
        reader.line(line)?;
    }
    let files = reader.files;
    let has_hunk = files.iter().any(|file| !file.rows.is_empty());
    has_hunk.then_some(files)
}

#[derive(Default)]
struct Reader {
    files: Vec<FileDiff>,
    hunk: Hunk,
    /// The name of the old file, until the name of the new one is read.
    old_name: Option<String>,
}

/// Where the lines of the open hunk stand, and how many are still to come.
#[derive(Default)]
struct Hunk {
    old: usize,
    new: usize,
    old_left: usize,
    new_left: usize,
}

impl Reader {
    /// Takes in a line; `None` when this is no diff after all.
    fn line(&mut self, line: &str) -> Option<()> {
        if self.hunk.old_left + self.hunk.new_left > 0 {
            return self.within_hunk(line);
        }
        if let Some(hunk) = hunk_header(line) {
            self.hunk = hunk;
            let file = self.file();
            if file.rows.iter().any(|row| row.kind != Kind::Remark) {
                file.push(Row::new(Kind::Gap, None, "⋯"));
            }
            return Some(());
        }
        if let Some(names) = line.strip_prefix("diff --git ") {
            self.begin_file(names.rsplit_once(" b/").map_or(names, |(_, name)| name));
        } else if let Some(name) = line.strip_prefix("--- ") {
            self.old_name = Some(file_name(name));
        } else if let Some(name) = line.strip_prefix("+++ ") {
            self.new_name(name);
        } else if ABOUT_FILE.iter().any(|start| line.starts_with(start)) {
            if !line.starts_with("index ") {
                self.file().push(Row::new(Kind::Remark, None, line));
            }
        } else if !line.trim().is_empty() && !line.starts_with('\\') {
            // Something else follows, such as the next command's output; before any hunk it is no diff.
            let has_hunk = self.files.iter().any(|file| !file.rows.is_empty());
            if !has_hunk {
                return None;
            }
            self.file().push(Row::new(Kind::Remark, None, line));
        }
        Some(())
    }

    fn within_hunk(&mut self, line: &str) -> Option<()> {
        let (sign, text) = match line.chars().next() {
            Some(sign @ (' ' | '+' | '-' | '\\')) => (sign, &line[1..]),
            // Some programs cut the blank off an empty line.
            None => (' ', ""),
            Some(_) => return None,
        };
        let hunk = &mut self.hunk;
        let row = match sign {
            '+' => {
                hunk.new_left = hunk.new_left.checked_sub(1)?;
                hunk.new = hunk.new.saturating_add(1);
                Row::new(Kind::Added, Some(hunk.new - 1), text)
            }
            '-' => {
                hunk.old_left = hunk.old_left.checked_sub(1)?;
                hunk.old = hunk.old.saturating_add(1);
                Row::new(Kind::Removed, Some(hunk.old - 1), text)
            }
            '\\' => return Some(()),
            _ => {
                hunk.new_left = hunk.new_left.checked_sub(1)?;
                hunk.old_left = hunk.old_left.checked_sub(1)?;
                hunk.new = hunk.new.saturating_add(1);
                hunk.old = hunk.old.saturating_add(1);
                Row::new(Kind::Same, Some(hunk.new - 1), text)
            }
        };
        self.file().push(row);
        Some(())
    }

    fn new_name(&mut self, name: &str) {
        let (old, new) = (self.old_name.take(), file_name(name));
        let name = if new.is_empty() {
            old.unwrap_or_default()
        } else {
            new
        };
        // `diff --git` began the file already.
        match self.files.last_mut() {
            Some(file) if file.rows.iter().all(|row| row.kind == Kind::Remark) => file.name = name,
            _ => self.begin_file(&name),
        }
    }

    fn begin_file(&mut self, name: &str) {
        self.files.push(FileDiff {
            name: safe_line(name),
            ..FileDiff::default()
        });
    }

    fn file(&mut self) -> &mut FileDiff {
        if self.files.is_empty() {
            self.files.push(FileDiff::default());
        }
        let last = self.files.len() - 1;
        &mut self.files[last]
    }
}

/// Gives the name in `--- a/name<tab>time`; empty for a file that does not exist.
fn file_name(text: &str) -> String {
    let name = text.split('\t').next().unwrap_or_default();
    if name == "/dev/null" {
        return String::new();
    }
    let name = name
        .strip_prefix("a/")
        .or_else(|| name.strip_prefix("b/"))
        .unwrap_or(name);
    safe_line(name)
}

/// Reads `@@ -1,2 +3,4 @@`.
fn hunk_header(line: &str) -> Option<Hunk> {
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| -> Option<(usize, usize)> {
        let (start, length) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, length.parse().ok()?))
    };
    let ((old, old_left), (new, new_left)) = (range(old)?, range(new)?);
    Some(Hunk {
        old,
        new,
        old_left: old_left.min(usize::MAX / 4),
        new_left: new_left.min(usize::MAX / 4),
    })
}

//! Imports: a line that is only `@relative/path` stands for that file.
//!
//! An import is confined to the directory of the file that was found by itself: neither an absolute path nor `..` nor
//! a symbolic link leads out of it. What is refused stays in the text, marked, and is reported.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

use crate::limits::{MAX_FILE_BYTES, MAX_IMPORT_DEPTH};

/// Why an import is not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It leads out of the directory that owns the instructions.
    OutsideSource,
    /// The file is missing, unreadable, no ordinary file, or not UTF-8.
    Unreadable,
    /// The file is being imported already.
    Cycle,
    /// It is nested too deeply.
    TooDeep,
    /// There is no room left for it.
    TooLarge,
}

impl Refusal {
    /// Gives the word that stands in the text.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::OutsideSource => "import_outside_source",
            Self::Unreadable => "import_unreadable",
            Self::Cycle => "import_cycle",
            Self::TooDeep => "import_too_deep",
            Self::TooLarge => "import_too_large",
        }
    }
}

/// An import that was not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedImport {
    /// The path of the importing file below the owning directory.
    pub importer: String,
    /// The line, from 1.
    pub line: usize,
    /// The path as written.
    pub path: String,
    /// Why.
    pub why: Refusal,
}

/// A file's text with its imports in place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Expanded {
    pub(crate) text: String,
    pub(crate) refused: Vec<RefusedImport>,
}

/// Reads `file` in `owner` and puts imports in place. `owner` must be free of symbolic links.
///
/// # Errors
/// Why the file itself cannot be read.
pub(crate) fn expand(owner: &Path, file: &Path) -> io::Result<Expanded> {
    let mut expander = Expander {
        owner,
        open: Vec::new(),
        result: Expanded::default(),
    };
    let text = read(file)?;
    expander.open.push(file.canonicalize()?);
    let name = file
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    expander.text(&text, owner, &name);
    Ok(expander.result)
}

struct Expander<'a> {
    owner: &'a Path,
    /// The files being read, outermost first.
    open: Vec<PathBuf>,
    result: Expanded,
}

impl Expander<'_> {
    fn text(&mut self, text: &str, folder: &Path, name: &str) {
        let mut fence: Option<&str> = None;
        for (index, line) in text.lines().enumerate() {
            let trimmed = line.trim();
            // Examples in code blocks are no imports.
            match fence {
                Some(mark) if trimmed.starts_with(mark) => fence = None,
                None => fence = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark)),
                Some(_) => {}
            }
            let import = trimmed
                .strip_prefix('@')
                .filter(|path| fence.is_none() && is_path(path));
            match import.map(|path| (path, self.import(path, folder))) {
                None => self.line(line),
                Some((_, Ok(()))) => {}
                Some((path, Err(why))) => {
                    let (importer, path) = (name.to_owned(), path.to_owned());
                    self.line(&format!("@{path}  <!-- rejected: {} -->", why.word()));
                    self.result.refused.push(RefusedImport {
                        importer,
                        line: index + 1,
                        path,
                        why,
                    });
                }
            }
        }
    }

    fn import(&mut self, path: &str, folder: &Path) -> Result<(), Refusal> {
        let inside = is_below(folder, Path::new(path), self.owner);
        if !inside {
            return Err(Refusal::OutsideSource);
        }
        let resolved = folder
            .join(path)
            .canonicalize()
            .map_err(|_| Refusal::Unreadable)?;
        let Ok(relative) = resolved.strip_prefix(self.owner) else {
            return Err(Refusal::OutsideSource);
        };
        if self.open.contains(&resolved) {
            return Err(Refusal::Cycle);
        }
        if self.open.len() > MAX_IMPORT_DEPTH {
            return Err(Refusal::TooDeep);
        }
        if self.result.text.len() > MAX_FILE_BYTES {
            return Err(Refusal::TooLarge);
        }
        let text = read(&resolved).map_err(|_| Refusal::Unreadable)?;
        let name = relative.to_string_lossy().into_owned();
        let folder = resolved.parent().unwrap_or(self.owner).to_owned();
        self.line(&format!("<instruction-import path=\"{path}\">"));
        self.open.push(resolved);
        self.text(&text, &folder, &name);
        self.open.pop();
        self.line("</instruction-import>");
        Ok(())
    }

    fn line(&mut self, line: &str) {
        // Enough to be cut later; a hundred imports of the same file must not fill the memory.
        if self.result.text.len() <= MAX_FILE_BYTES {
            self.result.text.push_str(line);
            self.result.text.push('\n');
        }
    }
}

/// Says whether the rest of an `@` line is a path rather than a mention or a sentence.
fn is_path(text: &str) -> bool {
    let looks_like_one = text.contains(['/', '.']);
    looks_like_one && !text.contains(char::is_whitespace) && !text.contains(['"', '<', '>', '\0'])
}

/// Says whether `path`, taken from `folder`, stays below `owner` at every step.
fn is_below(folder: &Path, path: &Path, owner: &Path) -> bool {
    let Ok(relative) = folder.strip_prefix(owner) else {
        return false;
    };
    let mut depth = relative.components().count();
    for component in path.components() {
        match component {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    !path.as_os_str().is_empty()
}

/// Reads an ordinary file of UTF-8 text, no further than one byte past the limit allows to notice.
fn read(path: &Path) -> io::Result<String> {
    use io::Read as _;
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let most = u64::try_from(MAX_FILE_BYTES + 1).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    let length = fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        // The limit may fall inside a character.
        Err(error) if length > MAX_FILE_BYTES && error.utf8_error().error_len().is_none() => {
            String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]).into_owned()
        }
        Err(_) => return Err(io::Error::other("it is not UTF-8 text")),
    };
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

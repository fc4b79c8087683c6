//! Lists and reads the files of the repository.

use std::path::Path;

use anyhow::Context as _;

/// Folders that hold no source, wherever they are.
const SKIPPED: [&str; 3] = ["target", "dist", ".git"];

/// A text file of the repository.
pub(crate) struct TextFile {
    /// Relative to the root, with `/` between the parts.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Reads every text file below `folder`, in the order of their paths; files that are not UTF-8 are left out.
pub(crate) fn text_files(root: &Path, folder: &Path) -> anyhow::Result<Vec<TextFile>> {
    let mut files = Vec::new();
    collect(root, folder, &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<TextFile>) -> anyhow::Result<()> {
    let listing =
        std::fs::read_dir(folder).with_context(|| format!("could not list {}", folder.display()))?;
    for entry in listing {
        let entry = entry.with_context(|| format!("could not list {}", folder.display()))?;
        let path = entry.path();
        let kind = entry
            .file_type()
            .with_context(|| format!("could not look at {}", path.display()))?;
        if kind.is_dir() && !SKIPPED.iter().any(|skipped| entry.file_name() == *skipped) {
            collect(root, &path, files)?;
        } else if kind.is_file() {
            let bytes = std::fs::read(&path).with_context(|| format!("could not read {}", path.display()))?;
            if let Ok(text) = String::from_utf8(bytes) {
                let relative = path.strip_prefix(root).unwrap_or(&path);
                files.push(TextFile {
                    path: relative.to_string_lossy().into_owned(),
                    text,
                });
            }
        }
    }
    Ok(())
}

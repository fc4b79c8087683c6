//! Finds and parses the Rust source of the repository.

use std::path::Path;

use crate::system;
use crate::tree::{self, TextFile};

/// A parsed source file.
pub(super) struct Source {
    pub(super) path: String,
    pub(super) text: String,
    pub(super) tree: syn::File,
}

impl Source {
    /// Parses `text` as the content of the file `path`.
    pub(super) fn parse(path: &str, text: &str) -> Self {
        let tree = syn::parse_file(text).unwrap_or_else(|error| panic!("{path} does not parse: {error}"));
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
            tree,
        }
    }
}

/// Returns all Rust files of the repository.
pub(super) fn rust_files() -> Vec<TextFile> {
    let root = system::repository_root();
    let mut files = tree::text_files(&root, &root).unwrap();
    files.retain(|file| {
        Path::new(&file.path)
            .extension()
            .is_some_and(|extension| extension == "rs")
    });
    files
}

/// Returns all Rust files of the repository, parsed.
pub(super) fn sources() -> Vec<Source> {
    rust_files()
        .iter()
        .map(|file| Source::parse(&file.path, &file.text))
        .collect()
}

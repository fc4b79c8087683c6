//! Keeps `docs/PROTOCOL.md` in step with the wire types: the page carries a hash over their source.
//!
//! Whoever changes the types reads the page again, then runs `cargo xtask protocol-hash --write`.

use std::path::Path;

use anyhow::{Context as _, bail};
use sha2::{Digest as _, Sha256};

use crate::system::hex;
use crate::tree::{self, TextFile};

const PAGE: &str = "docs/PROTOCOL.md";
const SOURCE: &str = "remote-agent/crates/protocol/src";
const LABEL: &str = "protocol/src sha256: ";

/// Prints the hash, or puts it into the page.
pub(crate) fn run(root: &Path, write: bool) -> anyhow::Result<()> {
    let hash = current(root)?;
    if !write {
        println!("{LABEL}{hash}");
        return Ok(());
    }
    let path = root.join(PAGE);
    let page = std::fs::read_to_string(&path).with_context(|| format!("could not read {PAGE}"))?;
    let Some(old) = stated(&page) else {
        bail!("{PAGE} has no line with `{LABEL}<hash>`")
    };
    std::fs::write(
        &path,
        page.replace(&format!("{LABEL}{old}"), &format!("{LABEL}{hash}")),
    )
    .with_context(|| format!("could not write {PAGE}"))
}

fn current(root: &Path) -> anyhow::Result<String> {
    let mut files = tree::text_files(root, &root.join(SOURCE))?;
    files.retain(|file| {
        Path::new(&file.path)
            .extension()
            .is_some_and(|extension| extension == "rs")
    });
    Ok(hash(&files))
}

/// Hashes paths and contents, each with its length before it so that no two sets of files look alike.
fn hash(files: &[TextFile]) -> String {
    let mut hasher = Sha256::new();
    for part in files.iter().flat_map(|file| [&file.path, &file.text]) {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part.as_bytes());
    }
    hex(&hasher.finalize())
}

/// Returns the hash that a page states.
fn stated(page: &str) -> Option<&str> {
    let (_, rest) = page.split_once(LABEL)?;
    Some(
        rest.split(|c: char| !c.is_ascii_hexdigit())
            .next()
            .unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system;

    fn file(path: &str, text: &str) -> TextFile {
        TextFile {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn the_page_states_the_hash_of_the_source() {
        let root = system::repository_root();
        let page = std::fs::read_to_string(root.join(PAGE)).unwrap_or_default();
        assert_eq!(
            stated(&page),
            Some(current(&root).unwrap().as_str()),
            "{PAGE} may be out of step with {SOURCE}: read it again, then `cargo xtask protocol-hash --write`"
        );
    }

    #[test]
    fn any_change_of_name_or_content_changes_the_hash() {
        let hashes = [
            hash(&[file("a.rs", "x")]),
            hash(&[file("a.rs", "y")]),
            hash(&[file("b.rs", "x")]),
            hash(&[file("a.rs", ""), file("x", "")]),
            hash(&[]),
        ];
        let distinct: std::collections::BTreeSet<_> = hashes.iter().collect();
        assert_eq!(distinct.len(), hashes.len());
    }

    #[test]
    fn a_page_is_read_up_to_the_end_of_the_hash() {
        assert_eq!(stated("text\n`protocol/src sha256: 00ff`\nmore"), Some("00ff"));
        assert_eq!(stated("nothing"), None);
    }
}

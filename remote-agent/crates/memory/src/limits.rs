//! How much of the instructions is read, and how text is cut.

/// The most bytes of one file, imports included.
pub const MAX_FILE_BYTES: usize = 64 * 1024;

/// The most bytes of all instructions.
pub const MAX_TOTAL_BYTES: usize = 256 * 1024;

/// The deepest import: a file imported by a file counts one.
pub const MAX_IMPORT_DEPTH: usize = 5;

/// What stands where text was cut.
pub const CUT_MARK: &str = "[cut: the instructions are longer than the limit]\n";

/// Cuts `text` at the end of a line so that it has at most `most` bytes with the mark, and says whether it did.
/// A single line that is too long is cut at a character.
#[must_use]
pub fn cut(text: String, most: usize) -> (String, Cut) {
    if text.len() <= most {
        return (text, Cut::No);
    }
    let kept = stdx::bounded::prefix(&text, most.saturating_sub(CUT_MARK.len() + 1));
    let kept = kept.rfind('\n').map_or(kept, |newline| &kept[..newline]);
    let mut result = kept.to_owned();
    if !result.is_empty() {
        result.push('\n');
    }
    result.push_str(CUT_MARK);
    (result, Cut::Yes)
}

/// Whether something was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Nothing was.
    No,
    /// The end was.
    Yes,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_at_lines_and_characters_and_says_so() {
        assert_eq!(cut("a\nb\n".into(), 4), ("a\nb\n".into(), Cut::No));
        let long = "line\n".repeat(100);
        let (text, was_cut) = cut(long, 100);
        assert_eq!(was_cut, Cut::Yes);
        assert!(text.len() <= 100 && text.ends_with(CUT_MARK) && text.starts_with("line\nline\n"));
        assert!(
            text[..text.len() - CUT_MARK.len()]
                .lines()
                .all(|line| line == "line")
        );
        let (text, _) = cut("é".repeat(100), 101);
        assert!(text.len() <= 101 && text.starts_with('é') && text.ends_with(CUT_MARK));
    }
}

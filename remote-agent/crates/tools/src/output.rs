//! Keeping results at a size that a model can be sent again and again.

use stdx::bounded::prefix;

/// The longest content of a result, in bytes.
pub const MAX_CONTENT: usize = 32 * 1024;

/// What is left for text when a marker follows it, in bytes.
const KEPT: usize = MAX_CONTENT - 1024;

/// A text that fits, and the whole one where it was cut.
pub(crate) struct Bounded {
    pub(crate) content: String,
    pub(crate) raw: Option<String>,
}

/// Cuts a text that is too long after its last whole line that fits, and says so in a line of its own.
pub(crate) fn bound(text: String) -> Bounded {
    if text.len() <= MAX_CONTENT {
        return Bounded {
            content: text,
            raw: None,
        };
    }
    let mut kept = prefix(&text, KEPT);
    if let Some(end) = kept.rfind('\n') {
        kept = &kept[..=end];
    }
    let gap = if kept.ends_with('\n') { "" } else { "\n" };
    let content = format!(
        "{kept}{gap}[result truncated: original_bytes={} kept_bytes={}; narrow the call to see the rest]",
        text.len(),
        kept.len()
    );
    Bounded {
        content,
        raw: Some(text),
    }
}

/// Shows a name or path on one line: control characters are escaped, everything else is as it is.
pub(crate) fn on_one_line(name: &str) -> String {
    let mut shown = String::with_capacity(name.len());
    for character in name.chars() {
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cut_is_valid_and_fits() {
        for character in ["汉", "👩‍💻", "é", "a\n"] {
            for shift in 0..4 {
                let text = "x".repeat(shift) + &character.repeat(40_000);
                let bounded = bound(text.clone());
                assert!(bounded.content.len() <= MAX_CONTENT);
                assert!(
                    bounded
                        .content
                        .contains(&format!("original_bytes={}", text.len()))
                );
                assert_eq!(bounded.raw, Some(text));
            }
        }
        assert!(bound("x".repeat(MAX_CONTENT)).raw.is_none());
    }

    #[test]
    fn names_stay_on_their_line() {
        assert_eq!(on_one_line("a\nb\t文件"), "a\\nb\\t文件");
    }
}

//! What text may reach a line.

use std::borrow::Cow;

/// Stands for a character that must not be shown.
const REPLACEMENT: char = '\u{fffd}';

/// Makes text of several lines safe to show: line ends are `\n`, tabs stay, every other control character and every
/// character that shows text in another order than it has becomes a replacement character; invisible marks go.
#[must_use]
pub fn sanitize(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| judge(c) == Judged::Shown) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    let mut after_return = false;
    push_safe(&mut safe, text, &mut after_return);
    Cow::Owned(safe)
}

/// Makes text safe to show within one line: as [`sanitize`], and runs of blanks and line ends become one space.
#[must_use]
pub fn safe_line(text: &str) -> String {
    let safe = sanitize(text);
    let mut line = String::with_capacity(safe.len());
    for word in safe.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// Makes text that a person decides about safe to show: as [`sanitize`], and characters that take no room or only
/// blank room, which could make one command look like another, become replacement characters too.
#[must_use]
pub fn reveal(text: &str) -> String {
    let shown = |c: char| if is_invisible(c) { REPLACEMENT } else { c };
    let revealed: String = text.chars().map(shown).collect();
    sanitize(&revealed).into_owned()
}

/// Says whether nothing is seen of a character: the `Default_Ignorable_Code_Point`s of the Unicode Character Database,
/// and blanks other than the usual one.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
        || (c.is_whitespace() && !matches!(c, ' ' | '\t' | '\n' | '\r'))
}

/// Appends the safe form of a piece. `after_return` carries over whether the last piece ended in a carriage return,
/// so that a line end cut in two stays one.
pub(crate) fn push_safe(safe: &mut String, piece: &str, after_return: &mut bool) {
    for c in piece.chars() {
        match judge(c) {
            Judged::Shown if c == '\n' && *after_return => {}
            Judged::Shown => safe.push(c),
            Judged::LineEnd => safe.push('\n'),
            Judged::Dropped => {}
            Judged::Replaced => safe.push(REPLACEMENT),
        }
        *after_return = c == '\r';
    }
}

/// What happens to a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Judged {
    /// It stays.
    Shown,
    /// It ends a line, in another way than `\n`.
    LineEnd,
    /// It goes: it is invisible and only hints at things.
    Dropped,
    /// It is replaced, so that a person sees that something was there.
    Replaced,
}

pub(crate) fn judge(c: char) -> Judged {
    match c {
        '\n' | '\t' => Judged::Shown,
        '\r' | '\u{2028}' | '\u{2029}' | '\u{85}' => Judged::LineEnd,
        // Marks of direction (UAX #9) that order nothing by themselves, and the byte order mark.
        '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{feff}' => Judged::Dropped,
        // Embeddings, overrides and isolates of UAX #9; interlinear annotations; language tags, which spell hidden text.
        '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{206f}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e001f}' => Judged::Replaced,
        c if c.is_control() => Judged::Replaced,
        _ => Judged::Shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_the_terminal() {
        assert_eq!(sanitize("a\x1b[2Jb\u{9b}d"), "a\u{fffd}[2Jb\u{fffd}d");
        assert_eq!(sanitize("rm \u{202e}txt.a\u{2066}"), "rm \u{fffd}txt.a\u{fffd}");
        assert_eq!(sanitize("a\r\nb\rc\u{2028}d\te"), "a\nb\nc\nd\te");
        assert_eq!(sanitize("\u{feff}שלום\u{200f}"), "שלום");
        assert!(matches!(sanitize("plain\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn one_line_stays_one() {
        assert_eq!(safe_line("  a\r\n\tb\x07  c "), "a b\u{fffd} c");
        assert_eq!(safe_line(" \n "), "");
    }

    #[test]
    fn what_is_decided_about_hides_nothing() {
        assert_eq!(
            reveal("rm\u{200b} a\u{a0}b\u{2800}\u{e0041}\u{202e}c"),
            "rm\u{fffd} a\u{fffd}b\u{2800}\u{fffd}\u{fffd}c"
        );
        assert_eq!(reveal("echo 汉字 é\t1\r\n2\n"), "echo 汉字 é\t1\n2\n");
    }

    #[test]
    fn a_line_end_cut_in_two_is_one() {
        let (mut safe, mut after_return) = (String::new(), false);
        push_safe(&mut safe, "a\r", &mut after_return);
        push_safe(&mut safe, "\nb", &mut after_return);
        assert_eq!(safe, "a\nb");
    }
}

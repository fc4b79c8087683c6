//! What holds for every text.

use proptest::prelude::{Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};
use ratatui_core::text::{Line, Span};
use richtext::{Breaking, Diff, Folding, Indent, LineNumbers, Stream, markdown, output, width, wrap};

use crate::dump::styles;

/// Markdown, terminal sequences, and characters that are easily handled wrong.
const ODD: &[&str] = &[
    "\n",
    "\n\n",
    "\r",
    "\r\n",
    "\t",
    " ",
    "  ",
    "    ",
    "# ",
    "- ",
    "1. ",
    "10) ",
    "> ",
    "```",
    "```rust\n",
    "~~~",
    "---",
    "***",
    "**",
    "*",
    "_",
    "~~",
    "`",
    "[",
    "](",
    ")",
    "![",
    "<",
    ">",
    "<br>",
    "<!--",
    "-->",
    "<pre>",
    "| ",
    "|-|-|",
    "|",
    "[x] ",
    "[a]: b",
    "\\",
    "&#x202e;",
    "&amp;",
    "\x1b[31m",
    "\x1b]0;",
    "\x07",
    "\u{9b}",
    "\u{202e}",
    "\u{2066}",
    "\u{200d}",
    "\u{feff}",
    "\u{301}",
    "汉字",
    "，",
    "👩‍💻",
    "👍🏽",
    "🇩🇪",
    "क्षि",
    "ﾞ",
    "\u{17d8}",
    "a",
    "word",
    "https://example.org/",
    "fn ",
    "\"",
    "//",
    "/*",
    "+a",
    "-b",
    "@@ -1,2 +3,4 @@",
    "--- a\n",
    "+++ b\n",
];

/// Pieces of which texts are made.
fn pieces() -> impl Strategy<Value = Vec<String>> {
    let piece = prop_oneof![
        8 => prop::sample::select(ODD).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
        1 => "[a-z ]{0,12}",
    ];
    prop::collection::vec(piece, 0..60)
}

fn check(lines: &[Line<'_>], columns: usize) -> Result<(), String> {
    for line in lines {
        let used: usize = line.spans.iter().map(|span| width(&span.content)).sum();
        if used > columns {
            return Err(format!("{line:?} takes {used} of {columns} columns"));
        }
        let steers = |c: char| {
            c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c) || ('\u{2066}'..='\u{2069}').contains(&c)
        };
        if line.spans.iter().any(|span| span.content.contains(steers)) {
            return Err(format!("{line:?} steers the terminal"));
        }
    }
    Ok(())
}

fn ok(checked: Result<(), String>) -> Result<(), proptest::test_runner::TestCaseError> {
    checked.map_err(proptest::test_runner::TestCaseError::fail)
}

proptest! {
    #[test]
    fn markdown_fits_and_is_safe(pieces in pieces(), columns in 1_usize..90) {
        ok(check(&markdown(&pieces.concat(), columns, &styles()), columns))?;
    }

    #[test]
    fn a_stream_shows_what_the_whole_text_shows(pieces in pieces(), columns in 1_usize..90, looks in any::<u64>()) {
        let mut stream = Stream::new(columns, styles());
        let mut text = String::new();
        for (at, piece) in pieces.iter().enumerate() {
            stream.push(piece);
            text.push_str(piece);
            if looks >> (at % 64) & 1 == 1 {
                prop_assert_eq!(stream.lines(), markdown(&text, columns, &styles()));
            }
        }
        prop_assert_eq!(stream.into_lines(), markdown(&text, columns, &styles()));
    }

    #[test]
    fn each_character_by_itself(pieces in pieces()) {
        let text = pieces.concat();
        let mut stream = Stream::new(40, styles());
        for c in text.chars() {
            stream.push(c.encode_utf8(&mut [0; 4]));
            stream.lines();
        }
        prop_assert_eq!(stream.into_lines(), markdown(&text, 40, &styles()));
    }

    #[test]
    fn output_fits_and_is_safe(pieces in pieces(), columns in 1_usize..90, head in 0_usize..4, tail in 0_usize..4) {
        let text = pieces.concat();
        ok(check(&output(&text, columns, Folding::Whole, &styles()), columns))?;
        let folded = output(&text, columns, Folding::Folded { head, tail }, &styles());
        ok(check(&folded, columns))?;
        prop_assert!(folded.len() <= head + tail + 1);
    }

    #[test]
    fn diffs_fit_are_safe_and_count_right(old in pieces(), new in pieces(), columns in 1_usize..90, most in 0_usize..20) {
        let (old, new) = (old.concat(), new.concat());
        let diff = Diff::between("name", &old, &new, 3, LineNumbers::Shown);
        let lines = diff.lines(columns, most, &styles());
        ok(check(&lines, columns))?;
        prop_assert!(lines.len() <= most + 1);
        let none = Diff::between("name", &new, &new, 3, LineNumbers::Shown);
        prop_assert_eq!(none.counts(), (0, 0));
    }

    #[test]
    fn any_text_may_be_taken_for_a_diff(pieces in pieces(), columns in 1_usize..90) {
        let text = format!("--- a\n+++ b\n@@ -1,2 +3,4 @@\n{}", pieces.concat());
        if let Some(diff) = Diff::parse(&text) {
            ok(check(&diff.lines(columns, usize::MAX, &styles()), columns))?;
        }
    }

    #[test]
    fn wrapping_loses_nothing_but_blanks(text in "[a-z汉字 ]{0,80}", columns in 2_usize..40) {
        let lines = wrap(&[Span::raw(text.as_str())], columns, &Indent::default(), Breaking::Words);
        ok(check(&lines, columns))?;
        let shown: String = lines.iter().map(ToString::to_string).collect();
        let without_blanks = |text: &str| text.replace(' ', "");
        prop_assert_eq!(without_blanks(&shown), without_blanks(&text));
        let kept = wrap(&[Span::raw(text.as_str())], columns, &Indent::default(), Breaking::Anywhere);
        prop_assert_eq!(kept.iter().map(ToString::to_string).collect::<String>(), text);
    }
}

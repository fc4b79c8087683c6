//! What a program's output looks like.

use richtext::{Folding, output};

use crate::dump::{plain, styled, styles};

#[test]
fn the_last_state_of_a_line_is_shown() {
    for (text, expected) in [
        ("", ""),
        ("a\r\nb\r\n", "a\nb"),
        ("10%\r50%\r100%\ndone\n", "100%\ndone"),
        ("50%\r", "50%"),
        ("abc\x08\x08x", "ax"),
        ("a\x1b[2Kb\x1b[1;1Hc\x1b(Bd\x1b=e", "abcde"),
        (
            "\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\",
            "alink",
        ),
        ("a\x1b]never ended\nnext", "a\nnext"),
        ("a\u{9b}31mb\u{9d}x\u{9c}c", "abc"),
        ("bell\x07 nul\0 vt\x0b", "bell nul vt\u{fffd}"),
        ("\x1bPq#0\x1b\\x", "x"),
        ("\u{202e}abc", "\u{fffd}abc"),
        ("a\n\n\nb\n\n", "a\n\n\nb"),
        ("a\tb", "a   b"),
        ("\x1b[", ""),
        ("\x1b", ""),
        ("x\x1b[38;5", "x"),
    ] {
        assert_eq!(
            plain(&output(text, 80, Folding::Whole, &styles())),
            expected,
            "{text:?}"
        );
    }
}

#[test]
fn colours_stay() {
    let text = "\x1b[1;31mred\x1b[0m \x1b[38;5;208mindexed\x1b[39m \x1b[38;2;1;2;3;44mtrue\x1b[m \x1b[38:2::4:5:6mcolon\x1b[0m\n\x1b[92mnext\nline\x1b[0m \x1b[8mhidden\x1b[?25l\x1b[>4;1mx";
    insta::assert_snapshot!(styled(&output(text, 80, Folding::Whole, &styles())));
}

#[test]
fn long_outputs_are_folded() {
    let text: String = (1..=100).map(|n| format!("line {n}\n")).collect();
    let fold = |head, tail| plain(&output(&text, 80, Folding::Folded { head, tail }, &styles()));
    assert_eq!(fold(1, 2), "line 1\n… 97 lines\nline 99\nline 100");
    assert_eq!(fold(0, 1), "… 99 lines\nline 100");
    assert_eq!(fold(1, 0), "line 1\n… 99 lines");
    assert_eq!(fold(0, 0), "… 100 lines");
    assert_eq!(fold(50, 50).lines().count(), 100);
    assert_eq!(fold(50, 49).lines().nth(50), Some("… 1 line"));
}

#[test]
fn a_long_line_is_folded_by_the_lines_that_it_takes() {
    let folding = Folding::Folded { head: 1, tail: 1 };
    let text = format!("{}end", "0123456789".repeat(10));
    assert_eq!(
        plain(&output(&text, 10, folding, &styles())),
        "0123456789\n… 9 lines\nend"
    );
}

#[test]
fn progress_of_many_states_in_one_line_is_cheap_and_right() {
    let text: String = (0..100_000).map(|n| format!("{n} of 100000\r")).collect();
    let folding = Folding::Folded { head: 3, tail: 3 };
    assert_eq!(plain(&output(&text, 80, folding, &styles())), "99999 of 100000");
}

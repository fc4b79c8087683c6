//! Moves, cuts, undo; and that random edits never leave the borders of characters.

use proptest::prelude::*;

use super::{super::paste::Paste, *};

const MOVES: [Move; 9] = [
    Move::Left,
    Move::Right,
    Move::WordLeft,
    Move::WordRight,
    Move::BlankLeft,
    Move::LineStart,
    Move::LineEnd,
    Move::Start,
    Move::End,
];

/// Makes a buffer of a text in which `|` is the cursor.
fn at(text: &str) -> TextBuffer {
    let cursor = text.find('|').unwrap();
    let mut buffer = TextBuffer::default();
    buffer.insert(&Fragment::plain(&text.replace('|', "")), Kind::Whole);
    buffer.move_to(cursor);
    buffer
}

fn shown(buffer: &TextBuffer) -> String {
    let mut text = buffer.text.as_str().to_owned();
    text.insert(buffer.cursor, '|');
    text
}

fn after(text: &str, act: impl Fn(&mut TextBuffer)) -> String {
    let mut buffer = at(text);
    act(&mut buffer);
    shown(&buffer)
}

#[test]
fn one_step_is_one_character_as_a_person_counts() {
    for text in ["汉字汉字汉", "👩‍💻👨‍👩‍👧‍👦🇩🇪👍🏽e\u{301}", "กำนี่สุ"]
    {
        let mut buffer = at(&format!("{text}|"));
        let count = unicode_segmentation::UnicodeSegmentation::graphemes(text, true).count();
        for _ in 0..count {
            assert!(buffer.cursor > 0);
            buffer.go(Move::Left);
        }
        assert_eq!(buffer.cursor, 0, "{text}");
        buffer.insert(&Fragment::plain("a"), Kind::Type);
        assert_eq!(shown(&buffer), format!("a|{text}"));
    }
    assert_eq!(after("x👩‍💻|y", |b| b.delete(Move::Left)), "x|y");
    assert_eq!(after("xe\u{301}|", |b| b.delete(Move::Left)), "x|");
    assert_eq!(after("|🇩🇪🇫🇷", |b| b.delete(Move::Right)), "|🇫🇷");
}

#[test]
fn words_and_lines() {
    for (from, to, want) in [
        ("one two_2, |three", Move::WordLeft, "one |two_2, three"),
        ("one tw|o", Move::WordLeft, "one |two"),
        ("one| two_2, three", Move::WordRight, "one two_2|, three"),
        ("one two|, ", Move::WordRight, "one two, |"),
        ("ls -la ./a|", Move::BlankLeft, "ls -la |./a"),
        ("ls -la  |", Move::BlankLeft, "ls |-la  "),
        ("one\ntw|o\nthree", Move::LineStart, "one\n|two\nthree"),
        ("one\ntw|o\nthree", Move::LineEnd, "one\ntwo|\nthree"),
        ("one\ntw|o", Move::Start, "|one\ntwo"),
        ("o|ne\ntwo", Move::End, "one\ntwo|"),
        ("größe| 汉字", Move::WordLeft, "|größe 汉字"),
    ] {
        assert_eq!(after(from, |b| b.go(to)), want, "{from} {to:?}");
    }
}

#[test]
fn cuts_come_back() {
    assert_eq!(after("one two| three", |b| b.kill(Move::LineEnd)), "one two|");
    assert_eq!(after("one|\ntwo", |b| b.kill(Move::LineEnd)), "one|two");
    assert_eq!(after("one\n|two", |b| b.kill(Move::LineStart)), "one|two");
    assert_eq!(after("one two|", |b| b.kill(Move::LineStart)), "|");
    assert_eq!(after("|", |b| b.kill(Move::LineEnd)), "|");
    let moved = after("one two|", |b| {
        b.kill(Move::BlankLeft);
        b.go(Move::Start);
        b.yank();
        b.yank();
    });
    assert_eq!(moved, "twotwo|one ");
}

#[test]
fn a_paste_is_cut_and_moved_over_as_one() {
    let mut buffer = at("ab|");
    let block = Fragment::paste(Paste::new(1, "one\ntwo".to_owned()));
    buffer.insert(&block, Kind::Whole);
    buffer.insert(&Fragment::plain("cd"), Kind::Type);
    assert_eq!(buffer.text.expanded(), "abone\ntwocd");
    buffer.go(Move::WordLeft);
    buffer.go(Move::WordLeft);
    assert_eq!(buffer.cursor, 2);
    buffer.delete(Move::Right);
    assert_eq!(buffer.text.expanded(), "abcd");
    assert!(buffer.undo());
    assert_eq!(buffer.text.expanded(), "abone\ntwocd");
    buffer.go(Move::End);
    buffer.kill(Move::Start);
    buffer.yank();
    assert_eq!(
        buffer.text.expanded(),
        "abone\ntwocd",
        "a cut keeps what the paste holds"
    );
}

#[test]
fn typing_is_undone_by_words_and_redone() {
    let mut buffer = TextBuffer::default();
    for char in "hello big world".chars() {
        buffer.insert(&Fragment::plain(&char.to_string()), Kind::Type);
    }
    let mut steps = Vec::new();
    while buffer.undo() {
        steps.push(shown(&buffer));
    }
    assert_eq!(steps, ["hello big |", "hello |", "|"]);
    while buffer.redo() {}
    assert_eq!(shown(&buffer), "hello big world|");
    for _ in 0..3 {
        buffer.delete(Move::Left);
    }
    assert!(buffer.undo());
    assert_eq!(
        shown(&buffer),
        "hello big world|",
        "deletions in a row are one step"
    );
    assert!(buffer.undo());
    buffer.insert(&Fragment::plain("x"), Kind::Type);
    assert!(!buffer.redo(), "a new change ends what could be redone");
}

#[test]
fn a_joining_character_takes_the_cursor_along() {
    // Typed before a lone accent, a letter and the accent are one character.
    assert_eq!(
        after("|\u{301}x", |b| b.insert(&Fragment::plain("e"), Kind::Type)),
        "e\u{301}|x"
    );
    // What is left joins too.
    assert_eq!(
        after("👩\u{200d}X|👧y", |b| b.delete(Move::Left)),
        "👩\u{200d}👧|y"
    );
}

#[test]
fn keys_do_not_copy_the_text() {
    let mut buffer = TextBuffer::default();
    let letter = Fragment::plain("x");
    for _ in 0..200_000 {
        buffer.insert(&letter, Kind::Type);
    }
    assert_eq!(buffer.cursor, 200_000);
    for _ in 0..50_000 {
        buffer.delete(Move::Left);
    }
    assert_eq!(buffer.text.len(), 150_000);
}

#[derive(Debug, Clone)]
enum Step {
    Type(String),
    Paste(String),
    Go(Move),
    Delete(Move),
    Kill(Move),
    Yank,
    Undo,
    Redo,
    To(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let text = || {
        let parts = prop_oneof![
            Just("a"),
            Just(" "),
            Just("\n"),
            Just("\t"),
            Just("汉"),
            Just("👩‍💻"),
            Just("\u{301}"),
            Just("\u{200d}"),
            Just("🇩"),
            Just("ﷺ"),
            Just("क्"),
            Just("ष"),
            Just("\u{202e}"),
            Just("é"),
            Just("\r\n"),
        ];
        prop::collection::vec(parts, 0..4).prop_map(|parts| parts.concat())
    };
    let to = || prop::sample::select(&MOVES[..]);
    prop_oneof![
        4 => text().prop_map(Step::Type),
        1 => text().prop_map(Step::Paste),
        4 => to().prop_map(Step::Go),
        2 => to().prop_map(Step::Delete),
        1 => to().prop_map(Step::Kill),
        1 => Just(Step::Yank),
        2 => Just(Step::Undo),
        1 => Just(Step::Redo),
        1 => (0..64_usize).prop_map(Step::To),
    ]
}

fn perform(buffer: &mut TextBuffer, step: Step) {
    match step {
        Step::Type(text) => buffer.insert(&Fragment::plain(&text), Kind::Type),
        Step::Paste(text) => buffer.insert(&Fragment::paste(Paste::new(1, text)), Kind::Whole),
        Step::Go(to) => buffer.go(to),
        Step::Delete(to) => buffer.delete(to),
        Step::Kill(to) => buffer.kill(to),
        Step::Yank => buffer.yank(),
        Step::Undo => drop(buffer.undo()),
        Step::Redo => drop(buffer.redo()),
        Step::To(at) => {
            let at = (0..=at.min(buffer.text.len()))
                .rev()
                .find(|at| buffer.text.as_str().is_char_boundary(*at));
            buffer.move_to(at.unwrap());
        }
    }
}

proptest! {
    #[test]
    fn random_edits_keep_the_cursor_between_characters(steps in prop::collection::vec(step(), 0..60)) {
        let mut buffer = TextBuffer::default();
        for step in steps {
            perform(&mut buffer, step);
            let text = buffer.text.as_str();
            prop_assert!(graphemes::is_border(text, buffer.cursor), "{:?} at {}", text, buffer.cursor);
            prop_assert_eq!(text.matches(super::super::fragment::MARK).count(), text
                .char_indices()
                .filter(|(at, _)| buffer.text.paste_at(*at).is_some())
                .count());
        }
        // Everything can be taken back, and made again.
        while buffer.redo() {}
        let last = buffer.text.clone();
        while buffer.undo() {}
        prop_assert!(buffer.text.is_empty());
        while buffer.redo() {}
        prop_assert_eq!(&buffer.text, &last);
    }

    #[test]
    fn steps_right_and_left_visit_the_same_borders(steps in prop::collection::vec(step(), 0..30)) {
        let mut buffer = TextBuffer::default();
        for step in steps {
            perform(&mut buffer, step);
        }
        buffer.go(Move::Start);
        let mut right = vec![0];
        while buffer.cursor < buffer.text.len() {
            buffer.go(Move::Right);
            right.push(buffer.cursor);
        }
        let mut left = vec![buffer.cursor];
        while buffer.cursor > 0 {
            buffer.go(Move::Left);
            left.push(buffer.cursor);
        }
        left.reverse();
        prop_assert_eq!(left, right);
    }
}

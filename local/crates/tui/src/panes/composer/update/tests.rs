//! Keys in; text, effects and screen out.

use proptest::prelude::*;
use ratatui::{
    buffer::Buffer,
    layout::{Position, Rect},
};

use super::{
    super::{History, graphemes},
    *,
};
use crate::{Appearance, keymap::typing, slash::Effect, theme::Theme};

fn composer(history: &[&str]) -> Composer {
    let mut past = History::default();
    for entry in history {
        past.push((*entry).to_owned());
    }
    Composer::new(past)
}

fn press(composer: &mut Composer, keys: &str) -> Vec<ComposerEffect> {
    typing::keys(keys)
        .into_iter()
        .flat_map(|key| composer.update(ComposerMsg::Key(key)))
        .collect()
}

fn paste(composer: &mut Composer, text: &str) -> Vec<ComposerEffect> {
    composer.update(ComposerMsg::Paste(text.to_owned()))
}

/// Gives what stands in the composer, with `|` for the cursor.
fn text(composer: &Composer) -> String {
    let mut text = composer.buffer.text().as_str().to_owned();
    text.insert(composer.buffer.cursor(), '|');
    text
}

fn typed_text(keys: &str) -> String {
    let mut composer = composer(&[]);
    press(&mut composer, keys);
    text(&composer)
}

/// Draws a screen whose last `rows` rows are the composer, with `▏` at the cursor.
fn screen(composer: &Composer, width: u16, height: u16) -> String {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    let rows = composer.height(width, height / 3);
    let place = Rect::new(0, height - rows, width, rows);
    composer.view(&Theme::new(Appearance::Plain), place, &mut buffer);
    let shown = typing::screen(&buffer);
    let Position { x, y } = composer.cursor(place).unwrap();
    assert!(x < width && y < height, "the cursor is on the screen");
    format!("{shown}cursor {x},{y}\n")
}

#[test]
fn enter_sends_and_the_other_enters_break_lines() {
    let mut composer = composer(&[]);
    let effects = press(
        &mut composer,
        "one<shift+enter>two<alt+enter>three<ctrl+j>four\\<enter>five<enter>",
    );
    let want = "one\ntwo\nthree\nfour\nfive";
    assert_eq!(
        effects,
        [
            ComposerEffect::Remember(want.to_owned()),
            ComposerEffect::Submit(want.to_owned())
        ]
    );
    assert!(composer.is_empty());
    assert!(
        press(&mut composer, "<enter> <enter>").is_empty(),
        "nothing is no request"
    );
    composer.clear();
    let effects = press(&mut composer, " C:\\\\<enter>");
    assert_eq!(
        effects,
        [ComposerEffect::Submit(" C:\\\\".to_owned())],
        "an escaped backslash"
    );
}

#[test]
fn keys_edit() {
    for (keys, want) in [
        ("汉字<left>a", "汉a|字"),
        ("one two<ctrl+w>", "one |"),
        ("one two<alt+backspace>x", "one x|"),
        ("one two<ctrl+a><alt+f>!", "one!| two"),
        ("one two<home><alt+d><end><alt+y>", " twoone|"),
        ("one<ctrl+u>", "|"),
        ("one<ctrl+u><ctrl+_>", "one|"),
        ("one two<ctrl+_><ctrl+_><alt+z>", "one |"),
        ("ab<ctrl+left><delete>", "|b"),
        ("ab<ctrl+h>", "a|"),
        ("one<ctrl+j>two<up>!", "one!|\ntwo"),
        ("a<ctrl+x><alt+x>b", "ab|"),
        ("ein<alt+b><ctrl+k>", "|"),
    ] {
        assert_eq!(typed_text(keys), want, "{keys}");
    }
}

#[test]
fn up_and_down_go_through_rows_and_then_prompts() {
    let mut composer = composer(&["older", "two\nlines"]);
    press(&mut composer, "draft<up>");
    assert_eq!(text(&composer), "two\nlines|");
    press(&mut composer, "<up>");
    assert_eq!(text(&composer), "two|\nlines");
    press(&mut composer, "<up>");
    assert_eq!(text(&composer), "older|");
    press(&mut composer, "<up>");
    assert_eq!(text(&composer), "older|", "there is no older one");
    press(&mut composer, "<down><down>");
    assert_eq!(text(&composer), "draft|", "the draft comes back");
    press(&mut composer, "<ctrl+p>!<up>");
    assert_eq!(
        text(&composer),
        "two|\nlines!",
        "a prompt that was changed is a draft"
    );
    press(&mut composer, "<ctrl+p><ctrl+n><ctrl+n>");
    assert_eq!(text(&composer), "two\nlines!|");
    press(&mut composer, "<ctrl+_>");
    assert_ne!(text(&composer), "two\nlines!|", "undo goes through it all");
}

#[test]
fn up_keeps_its_column_over_short_and_wide_rows() {
    let mut composer = composer(&[]);
    press(&mut composer, "abcdefgh<ctrl+j>汉字<ctrl+j>abcdefgh");
    press(&mut composer, "<left><up>");
    assert_eq!(text(&composer), "abcdefgh\n汉字|\nabcdefgh");
    press(&mut composer, "<up>");
    assert_eq!(text(&composer), "abcdefg|h\n汉字\nabcdefgh");
    press(&mut composer, "<home><right><down>");
    assert_eq!(
        text(&composer),
        "abcdefgh\n|汉字\nabcdefgh",
        "the middle of a wide character"
    );
    composer.update(ComposerMsg::Width(7));
    composer.set_draft("aaaa bbbb");
    press(&mut composer, "<up>");
    assert_eq!(text(&composer), "aaaa| bbbb", "rows that were broken count");
}

#[test]
fn a_paste_is_one_block_and_is_sent_only_by_enter() {
    let mut composer = composer(&[]);
    press(&mut composer, "look: ");
    assert!(paste(&mut composer, "a\r\nb\rc\x1b[0m\n").is_empty());
    assert_eq!(text(&composer), "look: a\nb\nc[0m\n|", "a short one is text");
    composer.clear();
    let long = "line\n".repeat(1_024);
    assert!(paste(&mut composer, &long).is_empty());
    press(&mut composer, " and ");
    paste(&mut composer, &"x".repeat(2_001));
    insta::assert_snapshot!("pastes", screen(&composer, 60, 9));
    press(&mut composer, "<backspace>");
    let effects = press(&mut composer, "<enter>");
    assert_eq!(effects[1], ComposerEffect::Submit(format!("{long} and ")));
    assert!(paste(&mut composer, &long).is_empty());
    assert!(
        screen(&composer, 60, 9).contains("[paste #1, 1,024 lines]"),
        "numbers begin anew"
    );
}

#[test]
fn too_long_a_text_is_refused_in_words_and_kept() {
    let mut composer = composer(&[]);
    let megabyte = "x".repeat(1024 * 1024);
    assert!(paste(&mut composer, &megabyte).is_empty());
    press(&mut composer, "<backspace>");
    let exactly = "x".repeat(limits::SUBMIT_TEXT);
    assert!(paste(&mut composer, &exactly).is_empty());
    let effects = paste(&mut composer, "more");
    let [ComposerEffect::Notice(words)] = effects.as_slice() else {
        panic!("a notice");
    };
    assert!(
        words.starts_with("the text has 2,049 KiB and a request may have 2,048 KiB"),
        "{words}"
    );
    assert!(matches!(
        press(&mut composer, "<enter>").as_slice(),
        [ComposerEffect::Notice(_)]
    ));
    assert_eq!(composer.buffer.text().expanded_len(), limits::SUBMIT_TEXT + 4);
    press(&mut composer, "<ctrl+_>");
    let effects = press(&mut composer, "<enter>");
    assert!(effects.contains(&ComposerEffect::Submit(exactly)));
}

#[test]
fn commands_are_completed() {
    let mut composer = composer(&[]);
    press(&mut composer, "/co");
    insta::assert_snapshot!("menu", screen(&composer, 70, 12));
    press(&mut composer, "<down><down><tab>");
    assert_eq!(text(&composer), "/copy |");
    let effects = press(&mut composer, "2<enter>");
    let [ComposerEffect::Remember(_), ComposerEffect::Slash(call)] = effects.as_slice() else {
        panic!("a command, not {effects:?}");
    };
    assert_eq!((call.name, &call.effect), ("copy", &Effect::Copy(2)));
    assert!(composer.is_empty());
    let effects = press(&mut composer, "/qui<enter>");
    assert!(matches!(effects.last(), Some(ComposerEffect::Slash(call)) if call.effect == Effect::Quit));
    press(&mut composer, "/theme ");
    insta::assert_snapshot!("choices", screen(&composer, 70, 12));
    press(&mut composer, "d<tab>");
    assert_eq!(text(&composer), "/theme dark|");
}

#[test]
fn the_menu_closes_and_stays_closed() {
    let mut composer = composer(&[]);
    press(&mut composer, "/h");
    assert!(composer.has_popup());
    press(&mut composer, "<esc>");
    assert!(!composer.has_popup());
    press(&mut composer, "e");
    assert!(!composer.has_popup(), "it was sent away");
    press(&mut composer, "<ctrl+u>/");
    assert!(composer.has_popup(), "a new word is a new question");
    press(&mut composer, "usr/bin");
    assert!(!composer.has_popup());
    assert_eq!(
        press(&mut composer, "<enter>")[1],
        ComposerEffect::Submit("/usr/bin".to_owned())
    );
}

#[test]
fn a_wrong_command_is_said_and_kept() {
    let mut composer = composer(&[]);
    let effects = press(&mut composer, "/hlepp<enter>");
    let [ComposerEffect::Notice(words)] = effects.as_slice() else {
        panic!("a notice, not {effects:?}");
    };
    assert!(words.contains("did you mean /help?"), "{words}");
    assert_eq!(text(&composer), "/hlepp|");
    let effects = press(&mut composer, "<home> <enter>");
    assert_eq!(
        effects,
        [ComposerEffect::Submit(" /hlepp".to_owned())],
        "a space makes it text"
    );
}

#[test]
fn older_prompts_are_searched() {
    let mut composer = composer(&["fix the tests", "run them", "Fix\nthe docs", "汉字"]);
    press(&mut composer, "draft<alt+r>fix");
    insta::assert_snapshot!("search", screen(&composer, 60, 12));
    press(&mut composer, "<alt+r><enter>");
    assert_eq!(text(&composer), "fix the tests|");
    press(&mut composer, "<down>");
    assert_eq!(text(&composer), "run them|", "one stands where it was found");
    press(&mut composer, "<ctrl+u><alt+r>zzz");
    insta::assert_snapshot!("search_without_result", screen(&composer, 60, 12));
    press(&mut composer, "<backspace><backspace><backspace>");
    paste(&mut composer, "docs\nmore");
    press(&mut composer, "<tab>");
    assert_eq!(text(&composer), "Fix\nthe docs|");
    press(&mut composer, "<alt+r><esc>");
    assert_eq!(text(&composer), "Fix\nthe docs|");
}

#[test]
fn every_script_is_drawn_with_the_cursor_in_its_cell() {
    let mut composer = composer(&[]);
    insta::assert_snapshot!("nothing_typed", screen(&composer, 50, 6));
    press(&mut composer, "全角文字で書く 👩‍💻👍🏽 e\u{301} שלום مرحبا");
    insta::assert_snapshot!("scripts", screen(&composer, 50, 6));
    press(&mut composer, "<ctrl+u><ctrl+j>a\u{200b}b\u{202e}c");
    paste(&mut composer, "\n\tx\ty");
    press(&mut composer, "<home><right>");
    insta::assert_snapshot!("tabs_and_invisible_characters", screen(&composer, 50, 12));
}

#[test]
fn it_grows_to_a_third_and_then_scrolls() {
    let mut composer = composer(&[]);
    for line in 0..20 {
        press(&mut composer, &format!("line {line}<ctrl+j>"));
    }
    assert_eq!((composer.height(80, 8), composer.height(80, 100)), (8, 21));
    insta::assert_snapshot!("at_the_end", screen(&composer, 30, 18));
    for _ in 0..10 {
        press(&mut composer, "<up>");
    }
    insta::assert_snapshot!("in_the_middle", screen(&composer, 30, 18));
}

#[test]
fn a_long_draft_is_a_block() {
    let mut composer = composer(&[]);
    let long = "word ".repeat(10_000);
    composer.set_draft(&long);
    assert_eq!(composer.height(80, 10), 1);
    let effects = press(&mut composer, "<enter>");
    assert_eq!(effects[1], ComposerEffect::Submit(long));
    press(&mut composer, "x<up>");
    assert_eq!(
        composer.height(80, 10),
        1,
        "and so it is when it comes back from the history"
    );
    composer.set_draft("");
    press(&mut composer, "<ctrl+_>");
    assert!(!composer.is_empty(), "undo brings back what was put away");
}

#[test]
fn many_keys_without_paste_marks_are_taken() {
    let mut composer = composer(&[]);
    press(&mut composer, "/");
    let key = typing::keys("x")[0];
    for _ in 0..100_000 {
        composer.update(ComposerMsg::Key(key));
    }
    assert_eq!(composer.buffer.cursor(), 100_001);
    assert_eq!(composer.height(80, 20), 20);
}

const KEYS: [&str; 40] = [
    "a",
    "汉",
    "👩‍💻",
    "\u{301}",
    " ",
    "/",
    "\\",
    "<enter>",
    "<shift+enter>",
    "<tab>",
    "<esc>",
    "<up>",
    "<down>",
    "<left>",
    "<right>",
    "<home>",
    "<end>",
    "<backspace>",
    "<delete>",
    "<ctrl+a>",
    "<ctrl+e>",
    "<ctrl+k>",
    "<ctrl+u>",
    "<ctrl+w>",
    "<alt+b>",
    "<alt+f>",
    "<alt+d>",
    "<alt+y>",
    "<ctrl+_>",
    "<alt+z>",
    "<ctrl+p>",
    "<ctrl+n>",
    "<alt+r>",
    "<ctrl+enter>",
    "<ctrl+left>",
    "<pgup>",
    "<f1>",
    "e",
    "x",
    "?",
];

proptest! {
    #[test]
    fn random_keys_and_pastes_can_always_be_drawn(
        steps in prop::collection::vec((0..KEYS.len() + 3, 1..40_u16, 1..12_u16), 0..80)
    ) {
        let mut composer = composer(&["one", "two\nlines 汉字", "/help"]);
        for (step, width, height) in steps {
            match step.checked_sub(KEYS.len()) {
                None => drop(press(&mut composer, KEYS[step])),
                Some(0) => drop(paste(&mut composer, "a\n\tb\u{1b}[0m\r\n汉")),
                Some(1) => drop(paste(&mut composer, &"block\n".repeat(20))),
                Some(_) => drop(composer.update(ComposerMsg::Width(width))),
            }
            let text = composer.buffer.text().as_str();
            prop_assert!(graphemes::is_border(text, composer.buffer.cursor()));
            let area = Rect::new(0, 0, width, height);
            let mut buffer = Buffer::empty(area);
            let rows = composer.height(width, height.div_ceil(3));
            let place = Rect::new(0, height - rows, width, rows);
            composer.view(&Theme::new(Appearance::Dark), place, &mut buffer);
            let cursor = composer.cursor(place).unwrap();
            prop_assert!(cursor.x < width && cursor.y < height);
        }
    }
}

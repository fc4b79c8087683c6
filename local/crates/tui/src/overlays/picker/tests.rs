//! Keys in, screen out.

use crossterm::event::KeyModifiers;
use ratatui::{buffer::Buffer, layout::Rect};

use super::*;
use crate::{Appearance, keymap::typing, theme::Theme};

fn row(title: &str, workspace: &str, state: &str, value: usize) -> Row<usize> {
    Row {
        cells: vec![title.to_owned(), workspace.to_owned(), state.to_owned()],
        value,
    }
}

fn sessions() -> Picker<usize> {
    let rows = vec![
        row("Fix the failing tests", "~/src/shop", "working", 1),
        row("为什么编译失败？看看日志", "~/src/编译器", "idle", 2),
        row(
            "Write a changelog",
            "/srv/www/a-rather-long-folder-name/of/somebody",
            "",
            3,
        ),
        row("evil \u{1b}[31mtitle\nsecond line", "~", "", 4),
    ];
    Picker::new("Sessions", rows)
}

fn screen(picker: &Picker<usize>, width: u16, height: u16) -> String {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    picker.view(&Theme::new(Appearance::Plain), area, &mut buffer);
    typing::screen(&buffer)
}

fn press(picker: &mut Picker<usize>, keys: &str) -> Outcome<usize> {
    let mut outcome = Outcome::Open;
    for key in typing::keys(keys) {
        outcome = picker.update(key);
    }
    outcome
}

#[test]
fn rows_stand_in_columns() {
    insta::assert_snapshot!("wide", screen(&sessions(), 90, 12));
    insta::assert_snapshot!("narrow", screen(&sessions(), 40, 12));
    insta::assert_snapshot!("low", screen(&sessions(), 60, 5));
}

#[test]
fn typing_filters_and_enter_chooses() {
    let mut picker = sessions();
    assert_eq!(press(&mut picker, "chlog"), Outcome::Open);
    insta::assert_snapshot!("filtered", screen(&picker, 60, 12));
    assert_eq!(press(&mut picker, "<enter>"), Outcome::Chosen(3));
    assert_eq!(press(&mut picker, "<ctrl+u>编译<enter>"), Outcome::Chosen(2));
    press(&mut picker, "zzz");
    insta::assert_snapshot!("nothing_fits", screen(&picker, 60, 12));
    assert_eq!(
        press(&mut picker, "<enter>"),
        Outcome::Open,
        "there is nothing to choose"
    );
    assert_eq!(press(&mut picker, "<esc>"), Outcome::Closed);
}

#[test]
fn keys_move_the_choice() {
    for (keys, want) in [
        ("<enter>", 1),
        ("<down><enter>", 2),
        ("jjk<enter>", 2),
        ("<ctrl+n><ctrl+n><ctrl+p><tab>", 2),
        ("<end><enter>", 4),
        ("<end><home><enter>", 1),
        ("<up><enter>", 1),
        ("<end><down><enter>", 4),
        ("<pgdn><pgup><down><enter>", 2),
        // With a filter j is a letter.
        ("xj<backspace><enter>", 1),
    ] {
        assert_eq!(press(&mut sessions(), keys), Outcome::Chosen(want), "{keys}");
    }
}

#[test]
fn an_empty_list_says_so() {
    let mut picker: Picker<usize> = Picker::new("Sessions", Vec::new());
    insta::assert_snapshot!("empty", screen(&picker, 60, 12));
    assert_eq!(press(&mut picker, "<down><enter>"), Outcome::Open);
}

#[test]
fn a_long_list_shows_what_is_chosen() {
    let rows = (0..20_000).map(|number| row(&format!("row {number}"), "~", "", number));
    let mut picker = Picker::new("Many", rows.collect());
    assert!(screen(&picker, 60, 12).contains("row 0 "));
    press(&mut picker, "<pgdn>");
    assert!(screen(&picker, 60, 12).contains("row 8 "));
    press(&mut picker, "<end>");
    assert!(screen(&picker, 60, 12).contains("row 19999 "));
    picker.paste("row 12345\nand more");
    assert_eq!(press(&mut picker, "<enter>"), Outcome::Chosen(12_345));
}

#[test]
fn every_size_can_be_drawn() {
    let mut picker = sessions();
    press(&mut picker, "e");
    for width in 0..50 {
        for height in 0..10 {
            screen(&picker, width, height);
            picker.cursor(Rect::new(0, 0, width, height));
        }
    }
    let alt = KeyEvent::new(KeyCode::Char('x'), KeyModifiers::ALT);
    assert_eq!(picker.update(alt), Outcome::Open);
}

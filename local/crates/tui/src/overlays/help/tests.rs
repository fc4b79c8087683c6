//! Keys in, screen out.

use ratatui::{buffer::Buffer, layout::Rect};

use super::*;
use crate::{Appearance, keymap::typing};

fn screen(help: &Help, width: u16, height: u16) -> String {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    help.view(&Theme::new(Appearance::Plain), area, &mut buffer);
    typing::screen(&buffer)
}

fn press(help: &mut Help, keys: &str) -> OverlayOutcome {
    let mut outcome = OverlayOutcome::Open;
    for key in typing::keys(keys) {
        outcome = help.update(key);
    }
    outcome
}

#[test]
fn everything_is_listed() {
    insta::assert_snapshot!("all", screen(&Help::new(), 100, 94));
    insta::assert_snapshot!("small", screen(&Help::new(), 60, 14));
}

#[test]
fn it_scrolls_and_filters() {
    let mut help = Help::new();
    screen(&help, 80, 14);
    press(&mut help, "<pgdn><down>");
    insta::assert_snapshot!("scrolled", screen(&help, 80, 14));
    press(&mut help, "<end>");
    let end = screen(&help, 80, 14);
    press(&mut help, "<down><pgdn>");
    assert_eq!(screen(&help, 80, 14), end, "there is nothing below the end");
    press(&mut help, "word cut");
    insta::assert_snapshot!("filtered", screen(&help, 80, 14));
    assert_eq!(press(&mut help, "<esc>"), OverlayOutcome::Closed);
}

#[test]
fn every_size_can_be_drawn() {
    let mut help = Help::new();
    for width in 0..40 {
        for height in 0..8 {
            screen(&help, width, height);
            help.cursor(Rect::new(0, 0, width, height));
            press(&mut help, "<down>");
        }
    }
}

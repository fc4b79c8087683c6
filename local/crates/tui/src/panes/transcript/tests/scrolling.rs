//! Scrolling: what stays in place, and what it costs.

use super::*;

/// A long session: so many requests with an answer each.
fn long(turns: u64) -> Vec<Item> {
    let items = (1..=turns).flat_map(|turn| {
        let text =
            format!("Answer {turn}\n\n- one\n- two\n\nMore text that is longer than the line is wide.");
        [
            user(turn, &format!("request {turn}")),
            answer(turn, turn, &text, ""),
        ]
    });
    items.collect()
}

/// Shows a session with a turn that runs.
fn running(width: u16, height: u16, items: Vec<Item>) -> Shown {
    let mut shown = Shown::of(width, height, items);
    shown.submit(100_000, "now");
    shown.turn(TurnEvent::Started {
        turn: TurnId(100_000),
    });
    shown
}

#[test]
fn the_end_is_followed_until_a_person_scrolls_up() {
    let mut shown = running(30, 6, long(5));
    shown.say(900, "a\n\nb");
    assert_eq!(shown.rows(), ["", "› now", "", "a", "", "b"]);
    shown.pane.update(TranscriptMsg::WheelUp);
    let top = shown.rows()[..5].to_vec();
    assert_eq!(shown.rows()[5], "↓ 4 lines below (Ctrl+End)");
    for n in 0..50 {
        shown.say(900, &format!("\n\nmore {n}"));
        assert_eq!(shown.rows()[..5], top, "the view stays in place");
    }
    assert_eq!(shown.rows()[5], "↓ 104 new lines below (Ctrl+E…");
    shown.pane.update(TranscriptMsg::Bottom);
    assert_eq!(shown.rows()[5], "more 49");
    shown.say(900, "\n\nlast");
    assert_eq!(shown.rows()[5], "last");
}

#[test]
fn scrolling_down_to_the_end_follows_again() {
    let mut shown = running(30, 6, long(5));
    let at_end = shown.rows();
    shown.pane.update(TranscriptMsg::PageUp);
    shown.pane.update(TranscriptMsg::LineUp);
    assert_ne!(shown.rows(), at_end);
    shown.pane.update(TranscriptMsg::PageDown);
    shown.pane.update(TranscriptMsg::PageDown);
    assert_eq!(shown.rows(), at_end);
    shown.say(900, "new");
    assert_eq!(shown.rows()[5], "new");
}

#[test]
fn every_line_comes_into_sight_once() {
    let mut shown = Shown::of(30, 5, long(8));
    let all = shown.pane.tail(30, 10_000);
    shown.pane.update(TranscriptMsg::Top);
    let mut seen = Vec::new();
    while shown.rows()[4].starts_with('↓') {
        seen.push(shown.rows()[0].clone());
        shown.pane.update(TranscriptMsg::LineDown);
    }
    seen.extend(shown.rows());
    assert_eq!(seen, all);
}

#[test]
fn a_short_session_begins_at_the_top() {
    let mut shown = Shown::of(30, 6, vec![user(1, "hello")]);
    for msg in [TranscriptMsg::PageUp, TranscriptMsg::PageDown, TranscriptMsg::Top] {
        shown.pane.update(msg);
        assert_eq!(shown.rows(), ["› hello", "", "", "", "", ""]);
    }
}

#[test]
fn another_width_keeps_the_cell_at_the_top() {
    let mut shown = Shown::of(60, 6, long(50));
    shown.pane.update(TranscriptMsg::Top);
    for _ in 0..20 {
        shown.pane.update(TranscriptMsg::PageDown);
    }
    let is_top = |shown: &Shown| shown.pane.cell(shown.pane.top(6).index).map(|cell| cell.id);
    let before = is_top(&shown);
    for width in [20, 90, 7, 60] {
        shown.pane.update(TranscriptMsg::Resize { width, height: 6 });
        shown.screen();
        assert_eq!(is_top(&shown), before, "at {width}");
    }
}

/// Gives how many cells are laid out by a start at the end, by keys and by streamed words.
fn cost(turns: u64) -> [u64; 3] {
    let mut shown = running(60, 20, long(turns));
    let made = |shown: &Shown| shown.pane.drawn.cache.borrow().made;
    shown.screen();
    let start = made(&shown);
    for _ in 0..10 {
        shown.pane.update(TranscriptMsg::PageUp);
        assert!(!shown.pane.wants_older());
        shown.screen();
    }
    let scrolled = made(&shown);
    shown.pane.update(TranscriptMsg::Bottom);
    for _ in 0..100 {
        shown.say(900_000, "word ");
        shown.screen();
    }
    [start, scrolled - start, made(&shown) - scrolled]
}

#[test]
fn the_cost_does_not_grow_with_the_session() {
    let (short, long) = (cost(60), cost(5_000));
    assert_eq!(short, long);
    assert!(long[0] < 20, "the start lays out what is in sight: {long:?}");
    assert!(long[1] < 120, "a page lays out what comes into sight: {long:?}");
    assert!(long[2] <= 101, "a word lays out its own cell: {long:?}");
}

//! Rows, and that places and borders are one to one.

use std::collections::HashSet;

use proptest::prelude::*;

use super::{super::paste::Paste, *};

fn rows(text: &str, width: u16) -> Vec<String> {
    let text = Fragment::plain(text);
    let layout = Layout::new(&text, width);
    layout
        .rows
        .iter()
        .map(|row| text.as_str()[row.start..row.end].to_owned())
        .collect()
}

#[test]
fn rows_break_at_blanks() {
    for (text, width, want) in [
        ("", 5, vec![""]),
        ("hello", 5, vec!["hello"]),
        ("hello world", 5, vec!["hello ", "world"]),
        ("hello world", 7, vec!["hello ", "world"]),
        ("hello  world", 5, vec!["hello ", " ", "world"]),
        ("abcdefgh", 3, vec!["abc", "def", "gh"]),
        ("ab cdefgh", 4, vec!["ab ", "cdef", "gh"]),
        ("a\n\nb\n", 5, vec!["a", "", "b", ""]),
        ("汉字汉字", 5, vec!["汉字", "汉字"]),
        ("ab汉字", 3, vec!["ab", "汉", "字"]),
        ("汉", 1, vec!["汉"]),
        ("a\tb", 8, vec!["a\tb"]),
        ("a\tbcde", 6, vec!["a\t", "bcde"]),
        ("👩‍💻👩‍💻", 3, vec!["👩‍💻", "👩‍💻"]),
    ] {
        assert_eq!(rows(text, width), want, "{text:?} in {width}");
    }
}

#[test]
fn the_cursor_is_counted_in_cells() {
    let place = |text: &str, at: usize, width| {
        let text = Fragment::plain(text);
        let place = Layout::new(&text, width).place(&text, at);
        (place.row, place.column)
    };
    assert_eq!(place("汉字a", 6, 10), (0, 4));
    assert_eq!(place("e\u{301}x", 3, 10), (0, 1));
    assert_eq!(place("\tx", 1, 10), (0, 4));
    assert_eq!(
        place("hello world", 5, 5),
        (0, 5),
        "before the blank that hangs over"
    );
    assert_eq!(place("hello world", 6, 5), (1, 0), "behind it");
    assert_eq!(place("hello", 5, 5), (0, 5), "a full row has a place behind it");
    assert_eq!(place("a\n", 2, 5), (1, 0));
    assert_eq!(
        place("\u{200b}x", 3, 5),
        (0, 1),
        "what is invisible has a cell of its own"
    );
}

#[test]
fn a_place_beside_a_row_is_the_nearest_border() {
    let text = Fragment::plain("hello world\n汉字");
    let layout = Layout::new(&text, 8);
    let offset = |row, column| layout.offset(&text, Place { row, column });
    assert_eq!(offset(0, 7), 5, "a broken row ends before its blank");
    assert_eq!(offset(1, 7), 11);
    assert_eq!(offset(2, 1), 12, "the middle of a wide character");
    assert_eq!(offset(2, 2), 15);
    assert_eq!(offset(9, 0), text.len());
}

#[test]
fn a_megabyte_is_laid_out() {
    let text = Fragment::plain(&"word ".repeat(200_000));
    let layout = Layout::new(&text, 80);
    assert_eq!(layout.row_count(), 1_000_000 / 80);
    assert_eq!(layout.place(&text, text.len()).row, layout.row_count() - 1);
}

fn texts() -> impl Strategy<Value = Fragment> {
    let part = prop_oneof![
        4 => Just("a"), 3 => Just(" "), 1 => Just("\n"), 1 => Just("\t"), 2 => Just("汉"), 1 => Just("👩‍💻"),
        1 => Just("\u{301}"), 1 => Just("\u{200b}"), 1 => Just("🇩"), 1 => Just("ﷺ"), 1 => Just("क्ष"),
        1 => Just("\u{202e}"), 1 => Just("שלום"), 1 => Just("!paste"),
    ];
    prop::collection::vec(part, 0..40).prop_map(|parts| {
        let mut text = Fragment::default();
        for part in parts {
            match part {
                "!paste" => text.append(&Fragment::paste(Paste::new(1, "x\ny".to_owned()))),
                part => text.append(&Fragment::plain(part)),
            }
        }
        text
    })
}

proptest! {
    #[test]
    fn places_and_borders_are_one_to_one(text in texts(), width in 1..30_u16) {
        let layout = Layout::new(&text, width);
        let mut seen = HashSet::new();
        let mut at = 0;
        loop {
            let place = layout.place(&text, at);
            prop_assert!(place.column <= width, "{place:?} in {width}");
            prop_assert!(place.row < layout.row_count());
            prop_assert!(seen.insert(place), "{place:?} twice");
            prop_assert_eq!(layout.offset(&text, place), at, "{:?}", place);
            if at == text.len() {
                break;
            }
            at = graphemes::next(text.as_str(), at);
        }
    }

    #[test]
    fn rows_hold_everything_in_order(text in texts(), width in 1..30_u16) {
        let layout = Layout::new(&text, width);
        let mut at = 0;
        for (index, row) in layout.rows.iter().enumerate() {
            prop_assert_eq!(row.start, at);
            let last = layout.units(&text, index).last();
            let cells = last.map_or(0, |unit| unit.column + unit.width);
            prop_assert!(cells <= width + 1, "{cells} cells in {width}");
            prop_assert_eq!(last.map_or(row.start, |unit| unit.end), row.end);
            at = if row.is_broken { row.end } else { row.end + 1 };
        }
        prop_assert_eq!(at, text.len() + 1);
    }
}

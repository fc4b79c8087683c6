//! The decoder of server-sent events, cut everywhere.

use std::collections::VecDeque;

use client::sse::{Decoder, Message, TooLarge};
use proptest::{collection::vec, prelude::*};

fn decode(pieces: &[&[u8]]) -> Vec<Message> {
    let mut decoder = Decoder::new(1 << 20);
    let mut out = VecDeque::new();
    for piece in pieces {
        decoder.push(piece, &mut out).unwrap();
    }
    out.into()
}

fn message(event: &str, data: &str, id: &str) -> Message {
    Message {
        event: event.into(),
        data: data.into(),
        id: id.into(),
    }
}

/// Asserts the messages of `text`, decoded at once, byte by byte and cut in two at every place.
fn check(text: &[u8], expected: &[Message]) {
    assert_eq!(decode(&[text]), expected, "{:?}", String::from_utf8_lossy(text));
    let bytes: Vec<&[u8]> = text.chunks(1).collect();
    assert_eq!(decode(&bytes), expected, "byte by byte");
    for cut in 0..=text.len() {
        let (a, b) = text.split_at(cut);
        assert_eq!(decode(&[a, b]), expected, "cut at {cut}");
    }
}

#[test]
fn the_rules_of_the_standard() {
    check(b"data: a\n\n", &[message("", "a", "")]);
    check(
        b"data:a\r\rdata: b\r\n\r\ndata:  c\n\n",
        &["a", "b", " c"].map(|data| message("", data, "")),
    );
    check(b"data: a\ndata\ndata: b\n\n", &[message("", "a\n\nb", "")]);
    check(
        b"event: x\ndata: 1\nid: 7\n\ndata: 2\n\n",
        &[message("x", "1", "7"), message("", "2", "7")],
    );
    check(
        b"id: 7\n\ndata: 1\n\nid\ndata: 2\n\n",
        &[message("", "1", "7"), message("", "2", "")],
    );
    check(b"id: a\0b\ndata: 1\n\n", &[message("", "1", "")]);
    check(b"event: lost\n\ndata: 1\n\n", &[message("", "1", "")]);
    check(
        b": comment\n\n:\n\nretry: 10\n\nother: x\ndata: 1\n\n",
        &[message("", "1", "")],
    );
    check(b"data\n\n", &[message("", "", "")]);
    check(b"data: unfinished\n", &[]);
    check(b"data: unfinished", &[]);
    check(
        "\u{feff}data: 汉字 👩‍💻\n\n".as_bytes(),
        &[message("", "汉字 👩‍💻", "")],
    );
    check(
        "data: 1\n\n\u{feff}data: 2\n\n".as_bytes(),
        &[message("", "1", "")],
    );
    check(b"data: \xff\n\n", &[message("", "\u{fffd}", "")]);
    check(b"data: a: b\n\n", &[message("", "a: b", "")]);
    check(b"", &[]);
}

#[test]
fn a_line_or_an_event_over_the_limit_is_refused() {
    let max = 16;
    let push = |text: &[u8]| Decoder::new(max).push(text, &mut VecDeque::new());
    assert_eq!(push(b"data: 0123456789\n\n"), Ok(()));
    assert_eq!(push(b"data: 0123456789x"), Err(TooLarge { max }));
    assert_eq!(push(b"data: 01234567\ndata: 0123456\n\n"), Ok(()));
    assert_eq!(push(b"data: 01234567\ndata: 01234567\n\n"), Err(TooLarge { max }));
    let mut decoder = Decoder::new(max);
    let mut out = VecDeque::new();
    for _ in 0..3 {
        decoder.push(b"data: 0123", &mut out).unwrap();
        decoder.push(b"456789\n\n", &mut out).unwrap();
    }
    assert_eq!(out.len(), 3);
}

proptest! {
    #[test]
    fn cuts_make_no_difference(
        text in vec(prop_oneof![
            Just("data: x"), Just("data"), Just("id: 1"), Just("event: e"), Just(":"), Just("汉"), Just("\n"),
            Just("\r"), Just("\r\n"), Just("\u{feff}"), Just(" "), Just("\0"),
        ], 0..40),
        cuts in vec(any::<prop::sample::Index>(), 0..10),
    ) {
        let text = text.concat().into_bytes();
        let mut places: Vec<_> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        places.sort_unstable();
        let mut pieces = Vec::new();
        let mut start = 0;
        for place in places {
            pieces.push(&text[start..place]);
            start = place;
        }
        pieces.push(&text[start..]);
        prop_assert_eq!(decode(&pieces), decode(&[&text]));
    }

    #[test]
    fn what_is_written_is_read(
        messages in vec(("[a-z]{0,5}", "[a-z汉é \n]{0,20}", 0..1000u32), 0..10),
        end in prop_oneof![Just("\n"), Just("\r\n"), Just("\r")],
        comment in any::<bool>(),
    ) {
        let mut text = String::new();
        let mut expected = Vec::new();
        for (event, data, id) in messages {
            if comment {
                text += &format!(": keep-alive{end}{end}");
            }
            text += &format!("id: {id}{end}event: {event}{end}");
            for line in data.split('\n') {
                text += &format!("data: {line}{end}");
            }
            text += end;
            expected.push(message(&event, &data, &id.to_string()));
        }
        prop_assert_eq!(decode(&[text.as_bytes()]), expected);
    }

    #[test]
    fn arbitrary_bytes_never_panic_and_stay_bounded(pieces in vec(vec(any::<u8>(), 0..50), 0..20)) {
        let mut decoder = Decoder::new(64);
        let mut out = VecDeque::new();
        for piece in &pieces {
            if decoder.push(piece, &mut out).is_err() {
                break;
            }
        }
        for message in out {
            // Each invalid byte may become the three of U+FFFD.
            prop_assert!(message.data.len() <= 3 * 64);
        }
    }
}

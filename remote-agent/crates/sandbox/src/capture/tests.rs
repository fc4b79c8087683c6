use super::*;

fn captured(limits: OutputLimits, pieces: &[&[u8]]) -> Output {
    let mut capture = Capture::new(limits);
    pieces.iter().for_each(|piece| capture.push(piece));
    capture.finish()
}

#[test]
fn keeps_both_ends_whatever_the_pieces() {
    let bytes: Vec<u8> = (0..=255u8).map(|n| b'a' + n % 26).cycle().take(1000).collect();
    for piece in [1, 7, 99, 100, 101, 1000] {
        let pieces: Vec<_> = bytes.chunks(piece).collect();
        let output = captured(OutputLimits { head: 60, tail: 40 }, &pieces);
        assert_eq!(
            (output.head.as_slice(), output.tail.as_slice()),
            (&bytes[..60], &bytes[960..]),
            "{piece}"
        );
        assert_eq!(output.total_bytes(), 1000);
        assert!(!output.is_complete());
    }
}

#[test]
fn short_output_is_complete() {
    let output = captured(OutputLimits { head: 4, tail: 4 }, &[b"abc", b"defg"]);
    assert!(output.is_complete());
    assert_eq!(output.text(), "abcdefg");
    assert_eq!(
        output.render(7, |_, _| String::new()),
        Rendered {
            text: "abcdefg".into(),
            elided: 0
        }
    );
}

#[test]
fn long_output_is_cut_between_lines() {
    let text: String = (0..1000).map(|n| format!("line {n}\n")).collect();
    let rendered =
        Output::from_bytes(text.as_bytes()).render(200, |elided, total| format!("[{elided} of {total}]"));
    assert!(rendered.text.len() <= 200, "{}", rendered.text.len());
    assert!(rendered.text.starts_with("line 0\nline 1\n") && rendered.text.ends_with("line 999\n"));
    let marker = format!("\n[{} of {}]\n", rendered.elided, text.len());
    assert!(rendered.text.contains(&marker), "{}", rendered.text);
    assert_eq!(
        rendered.elided as usize,
        text.len() - (rendered.text.len() - marker.len() + 1)
    );
}

#[test]
fn every_cut_of_wide_characters_is_valid() {
    for character in ["汉", "👩‍💻", "é"] {
        let text = character.repeat(300);
        for shift in 0..4 {
            let bytes = format!("{}{text}", "x".repeat(shift));
            for max in 30..90 {
                let whole = Output::from_bytes(bytes.as_bytes()).render(max, |_, _| "[cut]".into());
                let limits = OutputLimits { head: max, tail: max };
                let part = captured(limits, &[bytes.as_bytes()]).render(max, |_, _| "[cut]".into());
                for rendered in [whole, part] {
                    assert!(rendered.text.len() <= max);
                    assert!(
                        !rendered.text.contains(char::REPLACEMENT_CHARACTER),
                        "{shift} {max}"
                    );
                }
            }
        }
    }
}

#[test]
fn decodes_what_two_streams_mixed() {
    let check = |bytes: &[u8], want: &str| assert_eq!(decode(bytes), want, "{bytes:?}");
    check("汉字".as_bytes(), "汉字");
    check(b"a\xe6err\n\xb1\x89b", "aerr\n汉b");
    check(b"\xf0\x9f err\n\x91\xa9", " err\n👩");
    check(b"a\xe6b\xb1\x89", "a\u{fffd}b\u{fffd}\u{fffd}");
    check(b"a\xff\n\xb1b", "a\u{fffd}\n\u{fffd}b");
    check(b"\xff\xe6", "\u{fffd}\u{fffd}");
    check(b"a\0b", "a\u{2400}b");
    check(b"\xe6\xe6\xb1\x89", "\u{fffd}汉");
}

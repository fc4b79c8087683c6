//! Cutting text without breaking characters, and decoding bytes that arrive in pieces.

/// Gives the longest prefix of `text` that is at most `max` bytes and ends at a character boundary.
#[must_use]
pub fn prefix(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let mut end = max;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Gives the longest suffix of `text` that is at most `max` bytes and starts at a character boundary.
#[must_use]
pub fn suffix(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let mut start = text.len() - max;
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// Shortens `text` to one line of at most `max` bytes, marking a cut with `…`.
#[must_use]
pub fn one_line(text: &str, max: usize) -> String {
    let flat: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.len() <= max {
        return flat;
    }
    let mut cut = prefix(&flat, max.saturating_sub('…'.len_utf8())).to_owned();
    cut.push('…');
    cut
}

/// Decodes a stream of UTF-8 bytes whose characters may be split over several reads.
///
/// Valid text comes out unchanged wherever it is cut; each invalid byte sequence becomes one U+FFFD.
#[derive(Debug, Default)]
pub struct Utf8Decoder {
    pending: Vec<u8>,
}

impl Utf8Decoder {
    /// Decodes `bytes`, keeping an unfinished character for the next call.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        let mut input = std::mem::take(&mut self.pending);
        input.extend_from_slice(bytes);
        let mut out = String::with_capacity(input.len());
        let mut rest = input.as_slice();
        loop {
            match std::str::from_utf8(rest) {
                Ok(text) => {
                    out.push_str(text);
                    return out;
                }
                Err(error) => {
                    let (valid, after) = rest.split_at(error.valid_up_to());
                    out.push_str(&String::from_utf8_lossy(valid));
                    let Some(bad) = error.error_len() else {
                        self.pending = after.to_vec();
                        return out;
                    };
                    out.push(char::REPLACEMENT_CHARACTER);
                    rest = &after[bad..];
                }
            }
        }
    }

    /// Ends the stream: an unfinished character becomes one U+FFFD.
    pub fn finish(&mut self) -> String {
        if std::mem::take(&mut self.pending).is_empty() {
            String::new()
        } else {
            char::REPLACEMENT_CHARACTER.to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_never_split_a_character() {
        let text = "ab汉字👩‍💻é";
        for max in 0..=text.len() + 1 {
            assert!(text.starts_with(prefix(text, max)) && prefix(text, max).len() <= max);
            assert!(text.ends_with(suffix(text, max)) && suffix(text, max).len() <= max);
        }
        assert_eq!(one_line("a\n  b\tc", 10), "a b c");
        assert_eq!(one_line("汉字汉字", 7), "汉…");
    }

    #[test]
    fn decodes_at_every_cut() {
        let text = "x汉é👩‍💻y";
        for cut in 0..=text.len() {
            let mut decoder = Utf8Decoder::default();
            let (a, b) = text.as_bytes().split_at(cut);
            let got = decoder.push(a) + &decoder.push(b) + &decoder.finish();
            assert_eq!(got, text, "cut at {cut}");
        }
    }

    #[test]
    fn shows_invalid_bytes_once_each() {
        let mut decoder = Utf8Decoder::default();
        assert_eq!(
            decoder.push(b"a\xffb\xe6") + &decoder.finish(),
            "a\u{fffd}b\u{fffd}"
        );
    }
}

//! An incremental, pure reader of server-sent events (WHATWG HTML, section 9.2.6).
//!
//! It accepts every spelling that the specification allows at every cut between pieces, and is more generous in one
//! point: an event at the end of the stream counts even without its blank line.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::panic))]

/// The longest event that is accepted, in bytes. Without a limit a server could fill the memory.
pub(crate) const MAX_EVENT: usize = 8 * 1024 * 1024;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    /// The `event` field; empty when there is none.
    pub(crate) name: String,
    /// The `data` lines, joined by line feeds.
    pub(crate) data: String,
}

/// An event is longer than [`MAX_EVENT`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLong;

/// The state between two pieces of a stream.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    /// The unfinished line.
    line: Vec<u8>,
    /// The unfinished event; `None` until a `data` field comes.
    data: Option<String>,
    name: String,
    lines: u64,
    ended_with_cr: bool,
    field_bytes: u64,
}

impl Parser {
    /// Reads the next piece and gives the events that it completes.
    ///
    /// # Errors
    /// [`TooLong`]; the parser is then of no more use.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, TooLong> {
        let mut events = Vec::new();
        let mut rest = bytes;
        if self.ended_with_cr && !rest.is_empty() {
            // The carriage return has already ended the line; its line feed came in the next piece.
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            self.ended_with_cr = false;
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (line, after) = rest.split_at(end);
            self.extend_line(line)?;
            events.extend(self.end_line()?);
            rest = match after {
                [b'\r', b'\n', more @ ..] => more,
                [b'\r'] => {
                    self.ended_with_cr = true;
                    &[]
                }
                [_, more @ ..] => more,
                [] => &[],
            };
        }
        self.extend_line(rest)?;
        Ok(events)
    }

    /// Ends the stream and gives the event that lacked only its end.
    pub(crate) fn finish(&mut self) -> Option<Event> {
        if !self.line.is_empty() {
            // A blank line cannot come from a line that holds something, so nothing is lost here.
            drop(self.end_line());
        }
        self.dispatch()
    }

    /// Counts the bytes of fields so far. Comments and blank lines do not count, so that a server which only keeps the
    /// connection alive makes no progress.
    pub(crate) fn field_bytes(&self) -> u64 {
        self.field_bytes
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        self.line.extend_from_slice(bytes);
        if self.line.len() > MAX_EVENT {
            return Err(TooLong);
        }
        if self.line.first().is_some_and(|first| *first != b':') {
            self.field_bytes += bytes.len() as u64;
        }
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<Event>, TooLong> {
        let bytes = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&bytes);
        let first = self.lines == 0;
        self.lines += 1;
        let line = if first {
            text.strip_prefix('\u{feff}').unwrap_or(&text)
        } else {
            &*text
        };
        if line.is_empty() {
            return Ok(self.dispatch());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                let data = match self.data.as_mut() {
                    Some(data) => {
                        data.push('\n');
                        data
                    }
                    None => self.data.insert(String::new()),
                };
                data.push_str(value);
                if data.len() > MAX_EVENT {
                    return Err(TooLong);
                }
            }
            "event" => value.clone_into(&mut self.name),
            // A comment has an empty field name; `id` and `retry` serve reconnection, which a POST cannot use.
            _ => {}
        }
        Ok(None)
    }

    fn dispatch(&mut self) -> Option<Event> {
        let name = std::mem::take(&mut self.name);
        self.data.take().map(|data| Event { name, data })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(pieces: &[&[u8]]) -> Vec<Event> {
        let mut parser = Parser::default();
        let mut events = Vec::new();
        for piece in pieces {
            events.extend(parser.push(piece).unwrap());
        }
        events.extend(parser.finish());
        events
    }

    fn check(text: &str, want: &[(&str, &str)]) {
        let want: Vec<_> = want
            .iter()
            .map(|(name, data)| Event {
                name: (*name).to_owned(),
                data: (*data).to_owned(),
            })
            .collect();
        let bytes = text.as_bytes();
        for cut in 0..=bytes.len() {
            let (a, b) = bytes.split_at(cut);
            assert_eq!(parse(&[a, b]), want, "{text:?} cut at {cut}");
        }
        let single: Vec<_> = bytes.chunks(1).collect();
        assert_eq!(parse(&single), want, "{text:?} byte by byte");
    }

    #[test]
    fn reads_every_spelling_at_every_cut() {
        check("data: a\n\ndata:b\n\n", &[("", "a"), ("", "b")]);
        check("data: a\r\n\r\ndata: b\r\n\r\n", &[("", "a"), ("", "b")]);
        check("data: a\r\rdata: b\r\r", &[("", "a"), ("", "b")]);
        check("data: a\rdata: b\r\n\ndata: c\n\r", &[("", "a\nb"), ("", "c")]);
        check("\u{feff}data: a\n\n", &[("", "a")]);
        check(": hello\n\n:\n\ndata: a\n\n: end\n", &[("", "a")]);
        check(
            "event: error\ndata: x\n\ndata: y\n\n",
            &[("error", "x"), ("", "y")],
        );
        check("event: lost\n\ndata: y\n\n", &[("", "y")]);
        check("data:  two spaces\n\n", &[("", " two spaces")]);
        check("data\n\n", &[("", "")]);
        check("data: \n\n\n\n", &[("", "")]);
        check("id: 1\nretry: 5\nwhat: x\ndata: 汉é👩\n\n", &[("", "汉é👩")]);
        check("data: no end", &[("", "no end")]);
        check("data: no end\n", &[("", "no end")]);
        check("data: no end\r", &[("", "no end")]);
        check("", &[]);
        check("\n\n\r\r", &[]);
    }

    #[test]
    fn bad_bytes_become_marks() {
        assert_eq!(parse(&[b"data: a\xffb\n\n"])[0].data, "a\u{fffd}b");
    }

    #[test]
    fn comments_are_no_progress() {
        let mut parser = Parser::default();
        for piece in [&b": keep"[..], b"-alive\n", b"\n:\n\r\n"] {
            parser.push(piece).unwrap();
            assert_eq!(parser.field_bytes(), 0);
        }
        parser.push(b"d").unwrap();
        assert_eq!(parser.field_bytes(), 1);
    }

    #[test]
    fn refuses_endless_events() {
        let piece = vec![b'x'; 1024 * 1024];
        let mut line = Parser::default();
        assert_eq!((0..9).find_map(|_| line.push(&piece).err()), Some(TooLong));
        let mut lines = Parser::default();
        let mut piece = b"data: ".to_vec();
        piece.extend(vec![b'x'; 1024 * 1024]);
        piece.push(b'\n');
        assert_eq!((0..9).find_map(|_| lines.push(&piece).err()), Some(TooLong));
    }

    proptest! {
        #[test]
        fn cuts_never_matter(
            text in "(data: ?|event: |: |id: |\\{\"a\"\\}|é|汉|\r\n|\n|\r){0,40}",
            cuts in proptest::collection::vec(0_usize..200, 0..6),
        ) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut from = 0;
            for cut in cuts {
                pieces.push(&bytes[from..cut]);
                from = cut;
            }
            pieces.push(&bytes[from..]);
            prop_assert_eq!(parse(&pieces), parse(&[bytes]));
        }

        #[test]
        fn line_ends_never_matter(lines in proptest::collection::vec("(data: [a-z汉]{0,5}|: [a-z]{0,3}|event: [a-z]{1,3}|)", 0..20)) {
            let spelled = |end: &str| parse(&[(lines.join(end) + end).as_bytes()]);
            prop_assert_eq!(spelled("\n"), spelled("\r\n"));
            prop_assert_eq!(spelled("\n"), spelled("\r"));
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            parse(&[&bytes]);
        }
    }
}

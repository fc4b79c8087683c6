//! The escape character of a terminal, as OpenSSH has it: `~` counts at the beginning of a line only.

/// What a piece of typed input comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// These bytes go to the host.
    Send(Vec<u8>),
    /// `~?`: the list of escapes is shown here.
    Help,
    /// `~.`: hang up.
    HangUp,
}

/// Where in a line the input is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// After a newline, and at the very beginning.
    #[default]
    Start,
    /// After a `~` at the beginning of a line, which is held back.
    Escape,
    /// Anywhere else.
    Inside,
}

/// Reads typed bytes; an escape may be split over any number of reads.
#[derive(Debug, Default)]
pub(crate) struct Escapes(Place);

impl Escapes {
    /// Takes the next bytes. Nothing follows a [`Typed::HangUp`].
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Vec<Typed> {
        let (mut out, mut plain) = (Vec::new(), Vec::new());
        for &byte in bytes {
            let own = match (self.0, byte) {
                (Place::Start, b'~') => {
                    self.0 = Place::Escape;
                    continue;
                }
                (Place::Escape, b'.') => Some(Typed::HangUp),
                (Place::Escape, b'?') => Some(Typed::Help),
                // The second stands for itself.
                (Place::Escape, b'~') => None,
                (Place::Escape, _) => {
                    plain.push(b'~');
                    None
                }
                _ => None,
            };
            if let Some(own) = own {
                if !plain.is_empty() {
                    out.push(Typed::Send(std::mem::take(&mut plain)));
                }
                let ends = own == Typed::HangUp;
                out.push(own);
                self.0 = Place::Start;
                if ends {
                    return out;
                }
                continue;
            }
            plain.push(byte);
            self.0 = if matches!(byte, b'\r' | b'\n') {
                Place::Start
            } else {
                Place::Inside
            };
        }
        if !plain.is_empty() {
            out.push(Typed::Send(plain));
        }
        out
    }

    /// Gives what is held back, when nothing more is typed.
    pub(crate) fn end(&mut self) -> &'static [u8] {
        match std::mem::take(&mut self.0) {
            Place::Escape => b"~",
            Place::Start | Place::Inside => b"",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &str, expected: &[Typed]) {
        // However it is cut.
        for cut in 0..=input.len() {
            let mut escapes = Escapes::default();
            let mut got: Vec<Typed> = Vec::new();
            for part in [&input.as_bytes()[..cut], &input.as_bytes()[cut..]] {
                if got.last() == Some(&Typed::HangUp) {
                    break;
                }
                for one in escapes.take(part) {
                    match (got.last_mut(), one) {
                        (Some(Typed::Send(all)), Typed::Send(more)) => all.extend(more),
                        (_, one) => got.push(one),
                    }
                }
            }
            assert_eq!(got, expected, "{input:?} cut at {cut}");
        }
    }

    fn send(text: &str) -> Typed {
        Typed::Send(text.as_bytes().to_vec())
    }

    #[test]
    fn what_is_held_back_comes_at_the_end() {
        let mut escapes = Escapes::default();
        assert_eq!(escapes.take(b"a\n~"), [send("a\n")]);
        assert_eq!(escapes.end(), b"~");
        assert_eq!(escapes.end(), b"");
    }

    #[test]
    fn escapes_count_at_the_beginning_of_a_line_only() {
        check("ls\r~.", &[send("ls\r"), Typed::HangUp]);
        check("~.", &[Typed::HangUp]);
        check("a~.b", &[send("a~.b")]);
        check("\r~~.", &[send("\r~.")]);
        check("\r~x", &[send("\r~x")]);
        check("~?~.", &[Typed::Help, Typed::HangUp]);
        check("~\r~.", &[send("~\r"), Typed::HangUp]);
        check("~.rest", &[Typed::HangUp]);
    }
}

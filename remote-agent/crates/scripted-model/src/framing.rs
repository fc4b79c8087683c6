//! Chunks as the bytes of a server-sent event stream (pure).

use std::collections::VecDeque;

use crate::{Fault, Framing, LineEnd, Spelling, chunks::Step};

/// One thing that the response body does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Frame {
    /// Writes bytes in one go.
    Bytes(Vec<u8>),
    /// Waits, in milliseconds.
    Pause(u64),
    /// Waits for the gate of this name.
    Gate(String),
    /// Breaks the connection.
    Drop,
    /// Does nothing for ever.
    Stall,
    /// Writes comments for ever, with pauses in milliseconds.
    Comments(u64),
}

/// Spells the steps of an answer.
pub(crate) fn frames(steps: &[Step], spelling: &Spelling) -> Vec<Frame> {
    let last = steps.iter().rposition(|step| match step {
        Step::Data(data) => !(data == "[DONE]" && spelling.has(Framing::NoDone)),
        Step::Named(..) => true,
        _ => false,
    });
    let mut frames = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        match step {
            Step::Pause(pause) => frames.push(Frame::Pause(*pause)),
            Step::Gate(name) => frames.push(Frame::Gate(name.clone())),
            Step::Raw(raw) => frames.push(Frame::Bytes(raw.clone().into_bytes())),
            Step::Data(data) if data == "[DONE]" && spelling.has(Framing::NoDone) => {}
            Step::Data(data) => frames.push(Frame::Bytes(event(
                None,
                data,
                spelling,
                ending(at, last, spelling),
            ))),
            Step::Named(name, data) => {
                frames.push(Frame::Bytes(event(
                    Some(name),
                    data,
                    spelling,
                    ending(at, last, spelling),
                )));
            }
        }
    }
    if spelling.has(Framing::ByteOrderMark)
        && let Some(Frame::Bytes(bytes)) = frames.iter_mut().find(|frame| matches!(frame, Frame::Bytes(_)))
    {
        bytes.splice(0..0, "\u{feff}".bytes());
    }
    match spelling.write_size {
        Some(size) => pieces(frames, size, None),
        None => frames,
    }
}

/// Lets a fault strike the frames of an answer.
pub(crate) fn strike(frames: Vec<Frame>, fault: &Fault) -> Vec<Frame> {
    match fault {
        Fault::Drop { after } => cut(frames, *after, Frame::Drop),
        Fault::Stall { after } => cut(frames, *after, Frame::Stall),
        Fault::Trickle { bytes, every_ms } => pieces(frames, *bytes, Some(*every_ms)),
        Fault::CommentsOnly { every_ms } => vec![Frame::Comments(*every_ms)],
        Fault::MalformedJson => {
            let mut frames = frames;
            let broken = b"data: {\"choices\":[{\"delta\":{\"content\":\"bro\n\n".to_vec();
            frames.insert(frames.len() / 2, Frame::Bytes(broken));
            frames
        }
        _ => frames,
    }
}

/// Whether an event is ended by a blank line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Blank,
    None,
}

fn ending(at: usize, last: Option<usize>, spelling: &Spelling) -> Ending {
    if Some(at) == last && spelling.has(Framing::NoFinalBlankLine) {
        Ending::None
    } else {
        Ending::Blank
    }
}

fn event(name: Option<&str>, data: &str, spelling: &Spelling, ending: Ending) -> Vec<u8> {
    let mut lines: Vec<String> = Vec::new();
    let colon = if spelling.has(Framing::NoSpace) { ":" } else { ": " };
    if spelling.has(Framing::Comments) {
        lines.extend([": keep-alive".to_owned(), String::new(), ":".to_owned()]);
    }
    if spelling.has(Framing::OtherFields) {
        lines.extend([
            format!("id{colon}7"),
            "retry: 10".to_owned(),
            "unheard-of: x".to_owned(),
            "alone".to_owned(),
        ]);
    }
    if let Some(name) = name {
        lines.push(format!("event{colon}{name}"));
    }
    lines.extend(
        data_lines(data, spelling)
            .iter()
            .map(|line| format!("data{colon}{line}")),
    );
    if ending == Ending::Blank {
        lines.push(String::new());
    }
    let end = match spelling.line_end {
        LineEnd::Lf => "\n",
        LineEnd::CrLf => "\r\n",
        LineEnd::Cr => "\r",
    };
    lines
        .iter()
        .flat_map(|line| [line.as_bytes(), end.as_bytes()].concat())
        .collect()
}

/// Cuts the data into lines where JSON allows white space.
fn data_lines(data: &str, spelling: &Spelling) -> Vec<String> {
    let pretty = spelling
        .has(Framing::ManyDataLines)
        .then(|| serde_json::from_str::<serde_json::Value>(data).ok())
        .flatten()
        .and_then(|value| serde_json::to_string_pretty(&value).ok());
    pretty.map_or_else(
        || vec![data.to_owned()],
        |text| text.lines().map(str::to_owned).collect(),
    )
}

/// Cuts writes into pieces, with a pause after each if one is given.
fn pieces(frames: Vec<Frame>, size: usize, pause: Option<u64>) -> Vec<Frame> {
    let mut out = Vec::new();
    for frame in frames {
        let Frame::Bytes(bytes) = frame else {
            out.push(frame);
            continue;
        };
        for piece in bytes.chunks(size.max(1)) {
            out.push(Frame::Bytes(piece.to_vec()));
            out.extend(pause.map(Frame::Pause));
        }
    }
    out
}

/// Keeps `after` bytes and then does `then`.
fn cut(frames: Vec<Frame>, after: usize, then: Frame) -> Vec<Frame> {
    let mut left = after;
    let mut out = Vec::new();
    let mut queue = VecDeque::from(frames);
    while left > 0
        && let Some(frame) = queue.pop_front()
    {
        match frame {
            Frame::Bytes(mut bytes) => {
                bytes.truncate(left);
                left -= bytes.len();
                out.push(Frame::Bytes(bytes));
            }
            other => out.push(other),
        }
    }
    out.push(then);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(frames: &[Frame]) -> String {
        let bytes: Vec<u8> = frames
            .iter()
            .flat_map(|frame| {
                if let Frame::Bytes(bytes) = frame {
                    bytes.clone()
                } else {
                    Vec::new()
                }
            })
            .collect();
        String::from_utf8(bytes).unwrap()
    }

    fn steps() -> Vec<Step> {
        vec![
            Step::Data("{\"a\":[1,2]}".to_owned()),
            Step::Data("[DONE]".to_owned()),
        ]
    }

    #[test]
    fn spells_events() {
        let check = |spelling: Spelling, want: &str| assert_eq!(text(&frames(&steps(), &spelling)), want);
        let plain = Spelling::default();
        check(plain.clone(), "data: {\"a\":[1,2]}\n\ndata: [DONE]\n\n");
        check(
            plain.clone().lines(LineEnd::Cr),
            "data: {\"a\":[1,2]}\r\rdata: [DONE]\r\r",
        );
        check(
            plain.clone().framed(Framing::NoSpace),
            "data:{\"a\":[1,2]}\n\ndata:[DONE]\n\n",
        );
        check(plain.clone().framed(Framing::NoDone), "data: {\"a\":[1,2]}\n\n");
        check(
            plain.clone().framed(Framing::NoFinalBlankLine),
            "data: {\"a\":[1,2]}\n\ndata: [DONE]\n",
        );
        check(
            plain
                .clone()
                .framed(Framing::NoDone)
                .framed(Framing::NoFinalBlankLine),
            "data: {\"a\":[1,2]}\n",
        );
        check(
            plain.clone().framed(Framing::ByteOrderMark),
            "\u{feff}data: {\"a\":[1,2]}\n\ndata: [DONE]\n\n",
        );
        check(
            plain.framed(Framing::ManyDataLines).lines(LineEnd::CrLf),
            "data: {\r\ndata:   \"a\": [\r\ndata:     1,\r\ndata:     2\r\ndata:   ]\r\ndata: }\r\n\r\ndata: [DONE]\r\n\r\n",
        );
    }

    #[test]
    fn faults_strike_at_the_byte() {
        let plain = frames(&steps(), &Spelling::default());
        let whole = text(&plain);
        for after in 0..=whole.len() {
            let cut = strike(plain.clone(), &Fault::Drop { after });
            assert_eq!(text(&cut), whole[..after]);
            assert_eq!(cut.last(), Some(&Frame::Drop));
        }
        let slow = strike(
            plain.clone(),
            &Fault::Trickle {
                bytes: 5,
                every_ms: 1,
            },
        );
        assert_eq!(text(&slow), whole);
        assert!(text(&strike(plain, &Fault::MalformedJson)).contains("bro\n"));
    }
}

//! Server-sent events, decoded as their bytes arrive (WHATWG HTML, section 9.2.6).
//!
//! The bytes may be cut anywhere: inside a character, between CR and LF, inside the byte order mark.

use std::collections::VecDeque;

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The `event` field; empty when there is none.
    pub event: String,
    /// The `data` fields, joined by line feeds.
    pub data: String,
    /// The last `id` seen, on this event or before it; empty when there was none.
    pub id: String,
}

/// A line or an event is larger than the decoder allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event is larger than {max} bytes")]
pub struct TooLarge {
    /// The limit in bytes.
    pub max: usize,
}

/// The decoder.
#[derive(Debug)]
pub struct Decoder {
    max: usize,
    line: Vec<u8>,
    /// The last byte ended a line and was CR, so a LF that follows belongs to it.
    after_cr: bool,
    /// No line is complete yet, so a byte order mark may still come off.
    first_line: bool,
    event: Vec<u8>,
    data: Option<Vec<u8>>,
    id: String,
}

impl Decoder {
    /// Makes a decoder that holds at most `max` bytes of one event and of one line.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self {
            max,
            line: Vec::new(),
            after_cr: false,
            first_line: true,
            event: Vec::new(),
            data: None,
            id: String::new(),
        }
    }

    /// Decodes the next bytes and appends the events they complete to `out`.
    ///
    /// # Errors
    /// [`TooLarge`]; the stream cannot be decoded further.
    pub fn push(&mut self, bytes: &[u8], out: &mut VecDeque<Message>) -> Result<(), TooLarge> {
        let mut rest = bytes;
        while let Some(first) = rest.first() {
            if std::mem::take(&mut self.after_cr) && *first == b'\n' {
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            match rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
                None => {
                    self.extend_line(rest)?;
                    return Ok(());
                }
                Some(end) => {
                    let (line, after) = rest.split_at(end);
                    self.extend_line(line)?;
                    self.after_cr = after.first() == Some(&b'\r');
                    rest = after.get(1..).unwrap_or_default();
                    self.end_line(out)?;
                }
            }
        }
        Ok(())
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), TooLarge> {
        if self.line.len() + bytes.len() > self.max {
            return Err(TooLarge { max: self.max });
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self, out: &mut VecDeque<Message>) -> Result<(), TooLarge> {
        let buffer = std::mem::take(&mut self.line);
        let mut line = buffer.as_slice();
        if std::mem::take(&mut self.first_line) {
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        if line.is_empty() {
            self.dispatch(out);
        } else {
            let (name, value) = match line.iter().position(|byte| *byte == b':') {
                Some(colon) => {
                    let (name, value) = line.split_at(colon);
                    let value = value.get(1..).unwrap_or_default();
                    (name, value.strip_prefix(b" ").unwrap_or(value))
                }
                None => (line, &b""[..]),
            };
            self.field(name, value)?;
        }
        // Keep the room of the buffer for the next line, unless one long line would hold it for ever.
        if buffer.capacity() <= 64 * 1024 {
            self.line = buffer;
            self.line.clear();
        }
        Ok(())
    }

    fn field(&mut self, name: &[u8], value: &[u8]) -> Result<(), TooLarge> {
        match name {
            b"event" => value.clone_into(&mut self.event),
            b"data" => {
                let data = match &mut self.data {
                    Some(data) => {
                        data.push(b'\n');
                        data
                    }
                    None => self.data.insert(Vec::new()),
                };
                if data.len() + value.len() > self.max {
                    return Err(TooLarge { max: self.max });
                }
                data.extend_from_slice(value);
            }
            b"id" if !value.contains(&0) => self.id = String::from_utf8_lossy(value).into_owned(),
            // Comments have an empty name. `retry` is advice for browsers; our callers decide when to come again.
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self, out: &mut VecDeque<Message>) {
        let event = std::mem::take(&mut self.event);
        if let Some(data) = self.data.take() {
            out.push_back(Message {
                event: text(event),
                data: text(data),
                id: self.id.clone(),
            });
        }
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

//! What a server answers (draft, section 7).

use bytes::Bytes;

use super::{
    Attributes, Code,
    wire::{Malformed, Reader, Writer},
};

/// What a server answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// How it ended.
    Status {
        /// The kind of end.
        code: Code,
        /// The server's words; may be empty.
        message: String,
    },
    /// What was opened.
    Handle(Bytes),
    /// What was read.
    Data(Bytes),
    /// Names: of a folder, or the one that was asked for.
    Names(Vec<Name>),
    /// What is known of a file.
    Attributes(Attributes),
    /// The answer to an extension, as it defines it.
    Extended(Bytes),
}

/// A name with what is known of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Name {
    /// The name as the file system has it.
    pub name: Vec<u8>,
    /// A line as `ls -l` prints it; the answer to a path has none.
    pub long: Vec<u8>,
    /// What is known of it.
    pub attributes: Attributes,
}

impl Reply {
    /// Makes a status.
    #[must_use]
    pub fn status(code: Code, message: impl Into<String>) -> Self {
        Self::Status {
            code,
            message: message.into(),
        }
    }

    /// Gives the whole packet with the number `id`.
    #[must_use]
    pub fn encode(&self, id: u32) -> Bytes {
        let (kind, size) = match self {
            Self::Status { message, .. } => (101, message.len()),
            Self::Handle(_) => (102, 32),
            Self::Data(data) => (103, data.len()),
            Self::Names(names) => (104, names.iter().map(|n| n.name.len() + n.long.len() + 64).sum()),
            Self::Attributes(_) => (105, 64),
            Self::Extended(data) => (201, data.len()),
        };
        let mut to = Writer::new(kind, size);
        to.u32(id);
        match self {
            Self::Status { code, message } => {
                // The language of the message, by its tag.
                to.u32(code.0).string(message.as_bytes()).string(b"en");
            }
            Self::Handle(bytes) | Self::Data(bytes) => {
                to.string(bytes);
            }
            Self::Names(names) => {
                to.u32(u32::try_from(names.len()).unwrap_or(u32::MAX));
                for name in names {
                    to.string(&name.name).string(&name.long);
                    name.attributes.encode(&mut to);
                }
            }
            Self::Attributes(attributes) => attributes.encode(&mut to),
            Self::Extended(data) => {
                to.raw(data);
            }
        }
        to.done()
    }

    /// Reads a packet without its length: the number of the request and the answer to it.
    ///
    /// # Errors
    /// It is no answer.
    pub fn decode(packet: Bytes) -> Result<(u32, Self), Malformed> {
        let mut from = Reader::new(packet);
        let kind = from.u8()?;
        let id = from.u32()?;
        let reply = match kind {
            101 => Self::Status {
                code: Code(from.u32()?),
                // Old servers leave the words out.
                message: match from.string() {
                    Ok(message) => String::from_utf8_lossy(&message).into_owned(),
                    Err(_) => String::new(),
                },
            },
            102 => Self::Handle(from.handle()?),
            103 => Self::Data(from.string()?),
            104 => Self::Names(names(&mut from)?),
            105 => Self::Attributes(Attributes::decode(&mut from)?),
            201 => Self::Extended(from.rest()),
            kind => return Err(Malformed::Kind(kind)),
        };
        Ok((id, reply))
    }
}

fn names(from: &mut Reader) -> Result<Vec<Name>, Malformed> {
    let count = from.u32()? as usize;
    // Two strings and flags: at least twelve bytes each.
    if count > from.left() / 12 {
        return Err(Malformed::Number);
    }
    let mut names = Vec::with_capacity(count);
    for _ in 0..count {
        names.push(Name {
            // A name with a zero byte is left to whoever uses it: one bad name must not hide the others.
            name: from.string()?.to_vec(),
            long: from.string()?.to_vec(),
            attributes: Attributes::decode(from)?,
        });
    }
    Ok(names)
}

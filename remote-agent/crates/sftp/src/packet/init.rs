//! The first packet of each side, and the extensions announced in it (draft, section 4).

use bytes::Bytes;

use super::wire::{Malformed, Reader, Writer};

const INIT: u8 = 1;
const VERSION: u8 = 2;

/// Extensions that a side announces: name and data, in order.
pub type Announced = Vec<(String, Vec<u8>)>;

/// The client's first packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Init {
    /// The highest version it speaks.
    pub version: u32,
}

/// The server's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The version that is spoken from here on.
    pub version: u32,
    /// What the server can do beside it.
    pub extensions: Announced,
}

impl Init {
    /// Gives the whole packet.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut to = Writer::new(INIT, 4);
        to.u32(self.version);
        to.done()
    }

    /// Reads a packet without its length. Extensions of the client are passed over.
    ///
    /// # Errors
    /// It is another packet, or none.
    pub fn decode(packet: Bytes) -> Result<Self, Malformed> {
        let mut from = Reader::new(packet);
        match from.u8()? {
            INIT => Ok(Self { version: from.u32()? }),
            kind => Err(Malformed::Kind(kind)),
        }
    }
}

impl Version {
    /// Gives the whole packet.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut to = Writer::new(VERSION, 64 * self.extensions.len());
        to.u32(self.version);
        for (name, data) in &self.extensions {
            to.string(name.as_bytes()).string(data);
        }
        to.done()
    }

    /// Reads a packet without its length.
    ///
    /// # Errors
    /// It is another packet, or none.
    pub fn decode(packet: Bytes) -> Result<Self, Malformed> {
        let mut from = Reader::new(packet);
        match from.u8()? {
            VERSION => {}
            kind => return Err(Malformed::Kind(kind)),
        }
        let version = from.u32()?;
        let mut extensions = Announced::new();
        while !from.is_empty() {
            let name = String::from_utf8_lossy(&from.string()?).into_owned();
            extensions.push((name, from.string()?.to_vec()));
        }
        Ok(Self { version, extensions })
    }
}

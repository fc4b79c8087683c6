//! Numbers and strings as they stand in packets.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

use super::MAX_HANDLE;

/// Why bytes are no packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// It ends before what it should hold.
    #[error("the packet ends early")]
    Short,
    /// A length, count or number in it cannot be.
    #[error("the packet holds a number that cannot be")]
    Number,
    /// Its kind is none of version 3.
    #[error("packets of kind {0} are not known")]
    Kind(u8),
}

/// Takes values from the front of a packet.
pub(crate) struct Reader(Bytes);

impl Reader {
    pub(crate) fn new(packet: Bytes) -> Self {
        Self(packet)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        self.0.try_get_u8().map_err(|_| Malformed::Short)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        self.0.try_get_u32().map_err(|_| Malformed::Short)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Malformed> {
        self.0.try_get_u64().map_err(|_| Malformed::Short)
    }

    /// Takes a string without copying it.
    pub(crate) fn string(&mut self) -> Result<Bytes, Malformed> {
        let length = self.u32()? as usize;
        if length > self.0.len() {
            return Err(Malformed::Short);
        }
        Ok(self.0.split_to(length))
    }

    /// Takes a name or path. No system has one with a zero byte.
    pub(crate) fn name(&mut self) -> Result<Vec<u8>, Malformed> {
        let name = self.string()?;
        if name.contains(&0) {
            return Err(Malformed::Number);
        }
        Ok(name.to_vec())
    }

    pub(crate) fn handle(&mut self) -> Result<Bytes, Malformed> {
        let handle = self.string()?;
        if handle.len() > MAX_HANDLE {
            return Err(Malformed::Number);
        }
        Ok(handle)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn left(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn rest(self) -> Bytes {
        self.0
    }
}

/// Builds a packet: leaves room for its length, which [`Writer::done`] fills in.
pub(crate) struct Writer(BytesMut);

impl Writer {
    pub(crate) fn new(kind: u8, size: usize) -> Self {
        let mut buffer = BytesMut::with_capacity(size + 32);
        buffer.put_u32(0);
        buffer.put_u8(kind);
        Self(buffer)
    }

    pub(crate) fn u32(&mut self, value: u32) -> &mut Self {
        self.0.put_u32(value);
        self
    }

    pub(crate) fn u64(&mut self, value: u64) -> &mut Self {
        self.0.put_u64(value);
        self
    }

    pub(crate) fn string(&mut self, value: &[u8]) -> &mut Self {
        // Whoever makes packets keeps them below `MAX_PACKET`; the other side would refuse a longer one.
        self.0.put_u32(u32::try_from(value.len()).unwrap_or(u32::MAX));
        self.raw(value)
    }

    pub(crate) fn raw(&mut self, value: &[u8]) -> &mut Self {
        self.0.put_slice(value);
        self
    }

    pub(crate) fn done(mut self) -> Bytes {
        let length = u32::try_from(self.0.len().saturating_sub(4)).unwrap_or(u32::MAX);
        self.0[..4].copy_from_slice(&length.to_be_bytes());
        self.0.freeze()
    }
}

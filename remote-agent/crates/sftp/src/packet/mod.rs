//! Packets of SFTP version 3, both ways, as values.
//!
//! A packet on the wire is a length (`u32`, big-endian, without itself), a kind (`u8`) and the rest. [`read`] takes one
//! from a stream; `encode` of each type gives the whole packet with its length.

mod attributes;
mod extension;
mod init;
mod reply;
mod request;
mod status;
mod wire;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _};

pub use attributes::{Attributes, Kind, Owner, Times};
pub use extension::{Extension, FileSystem, Limits};
pub use init::{Announced, Init, Version};
pub use reply::{Name, Reply};
pub use request::{OpenFlags, Refused, Request, Target};
pub use status::Code;
pub use wire::Malformed;

/// The longest packet that is taken, in bytes without its length field: what OpenSSH takes.
pub const MAX_PACKET: usize = 256 * 1024;

/// The longest handle, in bytes (draft, section 6.3).
pub const MAX_HANDLE: usize = 256;

/// The version spoken here.
pub const VERSION: u32 = 3;

/// Takes one packet from a stream, without its length field. `None` is the end of the stream between two packets.
///
/// Not safe to cancel: bytes already taken are lost with the future.
///
/// # Errors
/// [`std::io::ErrorKind::InvalidData`] for a length of 0 or over [`MAX_PACKET`], `UnexpectedEof` for an end within a packet.
pub async fn read<R: AsyncRead + Unpin>(from: &mut R) -> std::io::Result<Option<Bytes>> {
    let mut length = [0; 4];
    if from.read(&mut length[..1]).await? == 0 {
        return Ok(None);
    }
    from.read_exact(&mut length[1..]).await?;
    let length = check_length(length)?;
    let mut packet = BytesMut::with_capacity(length);
    let mut limited = from.take(length as u64);
    while packet.len() < length {
        if limited.read_buf(&mut packet).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(Some(packet.freeze()))
}

/// Reads a length field.
pub(crate) fn check_length(field: [u8; 4]) -> std::io::Result<usize> {
    let length = u32::from_be_bytes(field) as usize;
    if length == 0 || length > MAX_PACKET {
        let text = stdx::bounded::one_line(&String::from_utf8_lossy(&field), 16);
        return Err(std::io::Error::new(
            std::io::ErrorKind::InvalidData,
            format!("a packet of {length} bytes (its length reads {text:?})"),
        ));
    }
    Ok(length)
}

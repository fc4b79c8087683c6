//! A TUN device: packets that the kernel routes into it are read from a file, and the other way round.
//!
//! The only `unsafe` of this crate: `TUNSETIFF` has no safe wrapper.
#![expect(unsafe_code, reason = "the ioctl that names a TUN device has no safe wrapper")]

use std::fs::File;

use anyhow::{Context as _, ensure};
use rustix::fs::{Mode, OFlags, open};
use rustix::ioctl::{Setter, ioctl};

/// `IFNAMSIZ` of `linux/if.h`.
const NAME: usize = 16;
/// `TUNSETIFF` of `linux/if_tun.h`: `_IOW('T', 202, int)`.
const TUNSETIFF: rustix::ioctl::Opcode = 0x4004_54ca;
/// `IFF_TUN | IFF_NO_PI`: IP packets and nothing before them.
const FLAGS: u16 = 0x0001 | 0x1000;

/// `struct ifreq` of `linux/if.h` as `TUNSETIFF` reads it.
#[repr(C)]
struct Request {
    name: [u8; NAME],
    flags: u16,
    rest: [u8; 22],
}

/// Makes a device in the network namespace of this thread. It is gone when the file is closed.
pub(crate) fn create(name: &str) -> anyhow::Result<File> {
    ensure!(name.len() < NAME, "{name} is too long for a network device");
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = open("/dev/net/tun", flags, Mode::empty())
        .context("could not open /dev/net/tun: is this root, on Linux with TUN?")?;
    let mut request = Request {
        name: [0; NAME],
        flags: FLAGS,
        rest: [0; 22],
    };
    for (to, from) in request.name.iter_mut().zip(name.bytes()) {
        *to = from;
    }
    // SAFETY: TUNSETIFF reads and writes one `struct ifreq` (40 bytes on 64-bit Linux), whose layout `Request` has,
    // and keeps no pointer to it. It writes back the name it gave, into memory that `Setter` owns.
    let made = unsafe { ioctl(&file, Setter::<TUNSETIFF, Request>::new(request)) };
    made.with_context(|| format!("could not make the network device {name}"))?;
    Ok(File::from(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_has_the_size_of_the_kernels() {
        assert_eq!(size_of::<Request>(), 40);
    }
}

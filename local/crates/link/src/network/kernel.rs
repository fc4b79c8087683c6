//! What Linux tells of devices, addresses and routes (rtnetlink(7)), without what changes nothing: routers repeat their
//! announcements, devices their statistics, and temporary addresses come and go.

use std::{
    collections::{HashMap, HashSet},
    io,
    os::unix::net::UnixDatagram as StdDatagram,
};

use rustix::{
    io::Errno,
    net::{AddressFamily, SocketFlags, SocketType, netlink::SocketAddrNetlink},
};
use tokio::net::UnixDatagram;

/// `RTMGRP_LINK`, `RTMGRP_IPV4_IFADDR`, `RTMGRP_IPV4_ROUTE`, `RTMGRP_IPV6_IFADDR`, `RTMGRP_IPV6_ROUTE` of
/// `linux/rtnetlink.h`.
const GROUPS: u32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400;
/// A datagram holds a few messages; one that is longer is cut, and its whole messages are read.
const BUFFER: usize = 16 * 1024;

/// Changes as the kernel tells them.
pub(super) struct Changes {
    /// A netlink socket. Datagrams are received from it as from any other, and tokio has no safe type for one that it
    /// does not know.
    socket: UnixDatagram,
    buffer: Vec<u8>,
    known: Known,
}

impl Changes {
    pub(super) fn open() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
        rustix::net::bind(&socket, &SocketAddrNetlink::new(0, GROUPS))?;
        Ok(Self {
            socket: UnixDatagram::from_std(StdDatagram::from(socket))?,
            buffer: vec![0; BUFFER],
            known: Known::default(),
        })
    }

    /// Waits until something changed. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> io::Result<()> {
        loop {
            match self.socket.recv(&mut self.buffer).await {
                Ok(count) if self.known.take(self.buffer.get(..count).unwrap_or_default()) => return Ok(()),
                Ok(_) => {}
                // More than the socket can hold: what was lost is certainly a change.
                Err(error) if error.raw_os_error() == Some(Errno::NOBUFS.raw_os_error()) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
}

/// Most facts that are remembered; a machine with more of them is told of repetitions.
const MOST: usize = 4096;

/// What was told so far.
#[derive(Debug, Default)]
struct Known {
    /// Devices by number: whether they are up and carry something.
    devices: HashMap<u32, u32>,
    /// Addresses and routes, as the bytes that identify them.
    facts: HashSet<Vec<u8>>,
}

// Of `linux/netlink.h`, `linux/rtnetlink.h`, `linux/if_addr.h` and `linux/if.h`.
const NEW_LINK: u16 = 16;
const DELETED_LINK: u16 = 17;
const NEW_ADDRESS: u16 = 20;
const DELETED_ADDRESS: u16 = 21;
const NEW_ROUTE: u16 = 24;
const DELETED_ROUTE: u16 = 25;
const LOOPBACK: u32 = 0x8;
/// `IFF_UP`, `IFF_RUNNING` and `IFF_LOWER_UP`.
const CARRIES: u32 = 0x1 | 0x40 | 0x1_0000;
/// `IFA_F_TEMPORARY`, for IPv6 only.
const TEMPORARY: u8 = 0x1;
const INET6: u8 = 10;
/// `RT_SCOPE_LINK`: this and higher numbers do not reach beyond the next router.
const SCOPE_LINK: u8 = 253;
const UNICAST: u8 = 1;

impl Known {
    /// Reads the messages of one datagram and says whether one of them is a change.
    fn take(&mut self, mut datagram: &[u8]) -> bool {
        let mut is_change = false;
        // struct nlmsghdr: length, type, flags, sequence, port.
        while let Some(length) = u32_at(datagram, 0).and_then(|length| usize::try_from(length).ok()) {
            let (Some(kind), Some(body)) = (u16_at(datagram, 4), datagram.get(16..length)) else {
                break;
            };
            is_change |= self.message(kind, body);
            datagram = datagram.get(aligned(length)..).unwrap_or_default();
        }
        is_change
    }

    fn message(&mut self, kind: u16, body: &[u8]) -> bool {
        match kind {
            NEW_LINK | DELETED_LINK => self.device(kind == NEW_LINK, body),
            NEW_ADDRESS | DELETED_ADDRESS => match address(body) {
                Some(fact) => self.fact(kind == NEW_ADDRESS, fact),
                None => false,
            },
            NEW_ROUTE | DELETED_ROUTE => match route(body) {
                Some(fact) => self.fact(kind == NEW_ROUTE, fact),
                None => false,
            },
            _ => false,
        }
    }

    /// struct ifinfomsg: family, padding, type, number, flags.
    fn device(&mut self, is_new: bool, body: &[u8]) -> bool {
        let (Some(number), Some(flags)) = (u32_at(body, 4), u32_at(body, 8)) else {
            return false;
        };
        if flags & LOOPBACK != 0 {
            return false;
        }
        let now = flags & CARRIES;
        if !is_new {
            return self.devices.remove(&number) != Some(0);
        }
        if self.devices.len() >= MOST {
            self.devices.clear();
        }
        match self.devices.insert(number, now) {
            Some(before) => before != now,
            // One that appears without carrying anything changes nothing yet.
            None => now != 0,
        }
    }

    fn fact(&mut self, is_new: bool, fact: Vec<u8>) -> bool {
        if !is_new {
            self.facts.remove(&fact);
            return true;
        }
        if self.facts.len() >= MOST {
            self.facts.clear();
        }
        self.facts.insert(fact)
    }
}

/// Gives what identifies an address; nothing for one that reaches no other network, or that is temporary.
///
/// struct ifaddrmsg: family, length of the prefix, flags, scope, number of the device.
fn address(body: &[u8]) -> Option<Vec<u8>> {
    let [family, prefix, flags, scope, ..] = *body.get(..8)? else {
        return None;
    };
    let is_temporary = family == INET6 && flags & TEMPORARY != 0;
    if is_temporary || scope >= SCOPE_LINK {
        return None;
    }
    let mut fact = vec![b'a', family, prefix];
    fact.extend(body.get(4..8)?);
    // IFA_ADDRESS and IFA_LOCAL.
    extend_by(&mut fact, body.get(8..)?, &[1, 2]);
    Some(fact)
}

/// Gives what identifies a route; nothing for the local ones that come with every address.
///
/// struct rtmsg: family, lengths of destination and source, service, table, protocol, scope, type, flags.
fn route(body: &[u8]) -> Option<Vec<u8>> {
    let [family, length, _, _, table, _, _, kind, ..] = *body.get(..12)? else {
        return None;
    };
    if kind != UNICAST {
        return None;
    }
    let attributes = body.get(12..)?;
    let mut destination = Vec::new();
    extend_by(&mut destination, attributes, &[1]);
    // Behind the number of the attribute: link-local and multicast.
    let is_near = matches!(destination.as_slice(), [_, 0xfe, second, ..] if second & 0xc0 == 0x80)
        || matches!(destination.as_slice(), [_, 0xff, ..]);
    if family == INET6 && is_near {
        return None;
    }
    let mut fact = vec![b'r', family, length, table];
    // RTA_DST, RTA_OIF and RTA_GATEWAY.
    extend_by(&mut fact, attributes, &[1, 4, 5]);
    Some(fact)
}

/// Adds the attributes of some kinds, each with its kind. struct rtattr: length, type, value.
fn extend_by(fact: &mut Vec<u8>, mut attributes: &[u8], kinds: &[u8]) {
    while let Some(length) = u16_at(attributes, 0).map(usize::from) {
        let (Some(kind), Some(value)) = (u16_at(attributes, 2), attributes.get(4..length)) else {
            return;
        };
        if let Some(kind) = kinds.iter().find(|wanted| u16::from(**wanted) == kind) {
            fact.push(*kind);
            fact.extend(value);
        }
        attributes = attributes.get(aligned(length)..).unwrap_or_default();
    }
}

fn aligned(length: usize) -> usize {
    length.div_ceil(4).max(1) * 4
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(16 + body.len()).unwrap();
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend([0; 10]);
        bytes.extend(body);
        bytes.resize(aligned(bytes.len()), 0);
        bytes
    }

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let length = u16::try_from(4 + value.len()).unwrap();
        let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
        bytes.extend(value);
        bytes.resize(aligned(bytes.len()), 0);
        bytes
    }

    fn device(number: u32, flags: u32) -> Vec<u8> {
        [[0; 4], number.to_ne_bytes(), flags.to_ne_bytes(), [0; 4]].concat()
    }

    fn v4(last: u8) -> Vec<u8> {
        [vec![2, 24, 0, 0, 3, 0, 0, 0], attribute(1, &[10, 0, 0, last])].concat()
    }

    fn v6(flags: u8, scope: u8) -> Vec<u8> {
        let address = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
        [vec![10, 64, flags, scope, 3, 0, 0, 0], attribute(1, &address)].concat()
    }

    fn v6_route(destination: &[u8; 16], kind: u8, expires: u8) -> Vec<u8> {
        let head = vec![10, 64, 0, 0, 254, 2, 0, kind, 0, 0, 0, 0];
        // RTA_CACHEINFO is another one each time.
        [
            head,
            attribute(1, destination),
            attribute(12, &[expires; 32]),
            attribute(4, &[3, 0, 0, 0]),
        ]
        .concat()
    }

    fn check(rows: &[(u16, Vec<u8>, bool)]) {
        let mut known = Known::default();
        for (row, (kind, body, is_change)) in rows.iter().enumerate() {
            assert_eq!(known.take(&message(*kind, body)), *is_change, "row {row}");
        }
    }

    #[test]
    fn devices_count_when_they_begin_or_cease_to_carry() {
        check(&[
            (NEW_LINK, device(1, LOOPBACK | CARRIES), false),
            (NEW_LINK, device(7, 0), false),
            (NEW_LINK, device(7, CARRIES), true),
            // Statistics, and a flag that does not matter.
            (NEW_LINK, device(7, CARRIES | 0x1000), false),
            (NEW_LINK, device(7, 1), true),
            (DELETED_LINK, device(7, 0), true),
            (NEW_LINK, device(8, 0), false),
            (DELETED_LINK, device(8, 0), false),
        ]);
    }

    #[test]
    fn addresses_count_once_and_temporary_ones_never() {
        check(&[
            (NEW_ADDRESS, v4(1), true),
            (NEW_ADDRESS, v4(1), false),
            (NEW_ADDRESS, v4(2), true),
            (DELETED_ADDRESS, v4(1), true),
            (NEW_ADDRESS, v4(1), true),
            (NEW_ADDRESS, v6(0, 0), true),
            (NEW_ADDRESS, v6(0, 0), false),
            (NEW_ADDRESS, v6(TEMPORARY, 0), false),
            (DELETED_ADDRESS, v6(TEMPORARY, 0), false),
            (NEW_ADDRESS, v6(0, SCOPE_LINK), false),
        ]);
    }

    #[test]
    fn routes_count_once_however_often_a_router_repeats_them() {
        let mut far = [0; 16];
        far[..2].copy_from_slice(&[0x20, 1]);
        let mut near = far;
        near[..2].copy_from_slice(&[0xfe, 0x80]);
        check(&[
            (NEW_ROUTE, v6_route(&far, UNICAST, 1), true),
            (NEW_ROUTE, v6_route(&far, UNICAST, 2), false),
            (NEW_ROUTE, v6_route(&near, UNICAST, 1), false),
            (NEW_ROUTE, v6_route(&far, 2, 1), false),
            (DELETED_ROUTE, v6_route(&far, UNICAST, 3), true),
            (NEW_ROUTE, v6_route(&far, UNICAST, 4), true),
        ]);
    }

    #[test]
    fn several_messages_come_in_one_datagram() {
        let mut known = Known::default();
        let both = [message(NEW_LINK, &device(7, 0)), message(NEW_ADDRESS, &v4(1))].concat();
        assert!(known.take(&both));
        assert!(!known.take(&both));
    }

    proptest! {
        #[test]
        fn nothing_that_comes_breaks_it(datagram in prop::collection::vec(any::<u8>(), 0..200), kind in 16_u16..26) {
            let mut known = Known::default();
            known.take(&datagram);
            known.take(&message(kind, &datagram));
        }
    }
}

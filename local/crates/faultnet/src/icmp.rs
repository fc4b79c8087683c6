//! What a router says to a host whose packet does not fit (pure): ICMP type 3, code 4 (RFC 792, RFC 1191).

/// An IPv4 header without options.
const HEADER: usize = 20;
/// How much of the packet is sent back: what RFC 792 asks for, and a little more.
const QUOTED: usize = 64;
/// The protocol number of ICMP.
const ICMP: u8 = 1;

/// Makes the answer to an IPv4 packet that is longer than `mtu`; anything else gets none. It speaks with the address that
/// the packet was for, as there is no router between the two.
pub(crate) fn fragmentation_needed(packet: &[u8], mtu: u16) -> Option<Vec<u8>> {
    let (from, to) = (packet.get(12..16)?, packet.get(16..20)?);
    // An error message is never answered with another one.
    if packet.first()? >> 4 != 4 || *packet.get(9)? == ICMP {
        return None;
    }
    let quoted = packet.get(..QUOTED.min(packet.len()))?;
    let length = u16::try_from(HEADER + 8 + quoted.len()).ok()?;
    let mut answer = vec![0x45, 0];
    answer.extend(length.to_be_bytes());
    answer.extend([0, 0, 0, 0, 64, ICMP, 0, 0]);
    answer.extend(to);
    answer.extend(from);
    answer.extend([3, 4, 0, 0, 0, 0]);
    answer.extend(mtu.to_be_bytes());
    answer.extend(quoted);
    let (header, message) = answer.split_at_mut(HEADER);
    for (part, at) in [(header, 10), (message, 2)] {
        let sum = checksum(part).to_be_bytes();
        part.get_mut(at..at + 2)?.copy_from_slice(&sum);
    }
    Some(answer)
}

/// The checksum of RFC 1071 over bytes whose own checksum field is 0.
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_goes_to_the_sender_and_its_sums_are_right() {
        let mut packet = vec![0x45; 1500];
        packet[9] = 6;
        packet[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        let answer = fragmentation_needed(&packet, 1280).unwrap();
        assert_eq!(answer.len(), HEADER + 8 + QUOTED);
        assert_eq!(answer[12..20], [10, 0, 0, 2, 10, 0, 0, 1]);
        assert_eq!(answer[20..22], [3, 4]);
        assert_eq!(answer[26..28], 1280_u16.to_be_bytes());
        assert_eq!(answer[28..], packet[..QUOTED]);
        // A sum over what contains its own sum is 0.
        assert_eq!((checksum(&answer[..HEADER]), checksum(&answer[HEADER..])), (0, 0));
        assert_eq!(fragmentation_needed(&answer, 20), None);
        assert_eq!(fragmentation_needed(&[0x60; 40], 20), None);
        assert_eq!(fragmentation_needed(&[], 20), None);
    }
}

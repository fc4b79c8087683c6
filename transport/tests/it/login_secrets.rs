//! Secrets are gone from memory when nobody needs them any more.

use std::{fs::File, os::unix::fs::FileExt as _};

use stdx::Secret;
use transport::SecretMemory;

/// Texts are built and looked for behind a mask, so that looking does not make a copy that is found.
const MASK: u8 = 0x5a;

fn masked() -> Vec<u8> {
    let text = "a passphrase of the test, and of nobody else";
    text.bytes().rev().map(|byte| byte ^ MASK).collect()
}

fn secret(masked: &[u8]) -> Secret {
    let bytes: Vec<u8> = masked.iter().map(|byte| byte ^ MASK).collect();
    Secret::new(String::from_utf8(bytes).unwrap())
}

/// Counts the places of this process's memory that hold the text behind the mask.
fn copies(masked: &[u8]) -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let memory = File::open("/proc/self/mem").unwrap();
    let mut found = 0;
    // On the stack, where no secret is: what is read into the heap would be read again.
    let mut buffer = [0; 8192];
    for line in maps.lines().filter(|line| line.contains(" rw")) {
        let (range, _) = line.split_once(' ').unwrap();
        let (start, end) = range.split_once('-').unwrap();
        let (mut at, end) = (
            u64::from_str_radix(start, 16).unwrap(),
            u64::from_str_radix(end, 16).unwrap(),
        );
        while at < end {
            let wanted = buffer.len().min(usize::try_from(end - at).unwrap());
            // Some mappings are not for reading.
            let read = memory.read_at(&mut buffer[..wanted], at).unwrap_or(0);
            if read < masked.len() {
                break;
            }
            let first = masked[0] ^ MASK;
            let is_here = |rest: &&[u8]| {
                let same = || masked.iter().zip(*rest).all(|(mask, byte)| mask ^ MASK == *byte);
                rest[0] == first && same()
            };
            found += buffer[..read].windows(masked.len()).filter(is_here).count();
            // A text may lie across two pieces.
            at += u64::try_from(read - masked.len() + 1).unwrap();
        }
    }
    found
}

#[test]
fn what_was_remembered_is_wiped_with_the_last_handle() {
    let masked = masked();
    assert_eq!(copies(&masked), 0);
    let memory = SecretMemory::default();
    memory.remember_password("me", "host", 22, secret(&masked));
    memory.remember_passphrase("/key".as_ref(), secret(&masked));
    let other_handle = memory.clone();
    assert_eq!(copies(&masked), 2);
    // Another one takes the place of the first, which is wiped.
    memory.remember_password("me", "host", 22, secret(&masked));
    assert_eq!(copies(&masked), 2);
    drop(memory);
    assert_eq!(copies(&masked), 2);
    drop(other_handle);
    assert_eq!(copies(&masked), 0);
}

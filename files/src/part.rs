//! Names of files that are not whole yet.
//!
//! A file that is being written lies beside its target as `.NAME.reasonix-KEY-RANDOM.part`. The key stands for the
//! target's name and the state of the source, so that a later run finds what an earlier one left of the same transfer.

use sha2::{Digest as _, Sha256};

/// The longest name that file systems take, in bytes.
const LONGEST: usize = 255;
const MARK: &[u8] = b".reasonix-";
const END: &[u8] = b".part";
/// Hex digits of the key and of the random half.
const KEY: usize = 12;
const RANDOM: usize = 12;

/// Stands for a target's name and the state of its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key(Vec<u8>);

impl Key {
    /// `source` is anything that changes with the source: its size and time.
    pub(crate) fn new(name: &[u8], source: &[u64]) -> Self {
        let mut hash = Sha256::new();
        hash.update((name.len() as u64).to_be_bytes());
        hash.update(name);
        for number in source {
            hash.update(number.to_be_bytes());
        }
        let hex: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Self(hex.as_bytes().get(..KEY).unwrap_or_default().to_vec())
    }
}

/// Makes a new name beside `name`.
pub(crate) fn name(name: &[u8], key: &Key) -> Vec<u8> {
    let random = uuid::Uuid::new_v4().simple().to_string();
    let random = random.as_bytes().get(..RANDOM).unwrap_or_default();
    let rest = 1 + MARK.len() + KEY + 1 + RANDOM + END.len();
    let kept = name.get(..LONGEST - rest).unwrap_or(name);
    [b".", kept, MARK, &key.0, b"-", random, END].concat()
}

/// Says whether a name is one of ours.
pub(crate) fn is_part(name: &[u8]) -> bool {
    tail(name).is_some()
}

/// Says whether a name is one of ours with this key.
pub(crate) fn has_key(name: &[u8], key: &Key) -> bool {
    tail(name).is_some_and(|tail| tail.starts_with(&key.0))
}

/// Cuts out key and random half.
fn tail(name: &[u8]) -> Option<&[u8]> {
    let rest = name.strip_suffix(END)?;
    let at = rest.len().checked_sub(KEY + 1 + RANDOM)?;
    let (front, tail) = rest.split_at(at);
    let hex = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_hexdigit);
    let whole = front.starts_with(b".")
        && front.ends_with(MARK)
        && tail.get(KEY) == Some(&b'-')
        && tail.get(..KEY).is_some_and(hex)
        && tail.get(KEY + 1..).is_some_and(hex);
    whole.then_some(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_again_and_never_too_long() {
        let long = vec![b'x'; 255];
        for of in [&b"a"[..], b"", b"a\n\xff", &long] {
            let key = Key::new(of, &[1, 2]);
            let part = name(of, &key);
            assert!(part.len() <= LONGEST && is_part(&part) && has_key(&part, &key));
            assert!(!has_key(&part, &Key::new(of, &[1, 3])));
            assert_ne!(part, name(of, &key));
        }
        for other in [
            &b"a"[..],
            b".a.part",
            b".a.reasonix-.part",
            b"a.reasonix-000000000000-000000000000.part",
        ] {
            assert!(!is_part(other));
        }
    }
}

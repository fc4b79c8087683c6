//! Hashes of what must stay the same.

use sha2::{Digest as _, Sha256};

/// Gives the SHA-256 of the parts in 64 hexadecimal digits. Lengths are hashed too, so that moving text from one part to
/// the next changes it.
pub(crate) fn full(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Gives the first 16 digits, enough to tell versions apart.
pub(crate) fn short(parts: &[&str]) -> String {
    let mut text = full(parts);
    text.truncate(16);
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn borders_count() {
        assert_ne!(super::short(&["ab", "c"]), super::short(&["a", "bc"]));
        assert_eq!(super::short(&["ab"]).len(), 16);
    }
}

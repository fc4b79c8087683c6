//! Names of files as bytes, and as text for a person.

use std::fmt::Write as _;

/// Gives a name as text: what is UTF-8 stays, control characters and other bytes are escaped as in `\n` or `\xff`.
#[must_use]
pub fn show(name: &[u8]) -> String {
    let mut text = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character.is_control() {
                text.extend(character.escape_default());
            } else {
                text.push(character);
            }
        }
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// Joins a folder and a name.
#[must_use]
pub fn join(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() || name.starts_with(b"/") {
        return name.to_vec();
    }
    let slash: &[u8] = if folder.ends_with(b"/") { b"" } else { b"/" };
    [folder, slash, name].concat()
}

/// Cuts a path into its folder and its last name. The folder of `a` is empty, that of `/a` is `/`.
#[must_use]
pub fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let mut end = path.len();
    while end > 1 && path.get(end - 1) == Some(&b'/') {
        end -= 1;
    }
    let path = path.get(..end).unwrap_or_default();
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(0) => (b"/", path.get(1..).unwrap_or_default()),
        Some(at) => (
            path.get(..at).unwrap_or_default(),
            path.get(at + 1..).unwrap_or_default(),
        ),
        None => (b"", path),
    }
}

/// Says whether a name may stand for one entry of a folder: not empty, not `.` or `..`, without a slash or zero byte.
#[must_use]
pub fn is_plain(name: &[u8]) -> bool {
    !name.is_empty() && name != b"." && name != b".." && !name.contains(&b'/') && !name.contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_joined_and_split() {
        for (name, text) in [
            (&b"a b"[..], "a b"),
            ("gr\u{fc}n".as_bytes(), "gr\u{fc}n"),
            (b"a\nb\xff", "a\\nb\\xff"),
            (b"\x1b[2J", "\\u{1b}[2J"),
        ] {
            assert_eq!(show(name), text);
        }
        assert_eq!(join(b"/", b"a"), b"/a");
        assert_eq!(join(b"a", b"b"), b"a/b");
        assert_eq!(join(b"a", b"/b"), b"/b");
        for (path, folder, name) in [
            (&b"/a/b"[..], &b"/a"[..], &b"b"[..]),
            (b"/a", b"/", b"a"),
            (b"a", b"", b"a"),
            (b"a/b//", b"a", b"b"),
            (b"/", b"/", b""),
        ] {
            assert_eq!(split(path), (folder, name), "{}", show(path));
        }
        assert!(
            is_plain(b"..a") && !is_plain(b"..") && !is_plain(b"a/b") && !is_plain(b"") && !is_plain(b"a\0")
        );
    }
}

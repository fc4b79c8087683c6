//! The folder name of a workspace.

use std::os::unix::ffi::OsStrExt as _;

use stdx::AbsPath;

use crate::blob::sha256_hex;

/// The most bytes of a path that a name shows.
const SHOWN: usize = 120;
/// Hex digits of the hash: 64 bits.
const HASH: usize = 16;

/// Names the folder under `sessions/` that belongs to a workspace: `/srv/app` becomes `-srv-app`.
///
/// Two workspaces never share a name: where the path has more than ASCII letters, digits, `_`, `.` and separators (a
/// `-` would be ambiguous), or is long, `@` and 16 hex digits of its SHA-256 follow, and `@` itself never comes from a
/// path. Long paths keep their end, which tells more than the start.
#[must_use]
pub fn workspace_slug(workspace: &AbsPath) -> String {
    let bytes = workspace.as_path().as_os_str().as_bytes();
    let shown: String = bytes.iter().map(|byte| shown_as(*byte)).collect();
    let exact = bytes
        .iter()
        .all(|byte| *byte == b'/' || (shown_as(*byte) == char::from(*byte) && *byte != b'-'));
    if exact && bytes.len() <= SHOWN {
        return shown;
    }
    format!(
        "{}@{}",
        stdx::bounded::suffix(&shown, SHOWN),
        &sha256_hex(bytes)[..HASH]
    )
}

fn shown_as(byte: u8) -> char {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' => char::from(byte),
        b'/' | b'-' => '-',
        _ => '_',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_and_differ() {
        let long = format!("/{}", "汉字/".repeat(300));
        let longer = format!("/x{}", "汉字/".repeat(300));
        let paths = [
            "/", "/a/b", "/a-b", "/a_b", "/a b", "/a@b", "/汉", "/字", "/a\n", &long, &longer, "/A/b",
        ];
        let mut seen = std::collections::HashSet::new();
        for path in paths {
            let slug = workspace_slug(&AbsPath::new(path).unwrap());
            assert!(
                slug.len() <= SHOWN + 1 + HASH && slug.starts_with(['-', '_']),
                "{path}: {slug}"
            );
            assert!(
                slug.bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"-_.@".contains(&b)),
                "{path}: {slug}"
            );
            assert!(seen.insert(slug), "{path}");
        }
        assert_eq!(workspace_slug(&AbsPath::new("/srv/app").unwrap()), "-srv-app");
    }
}

//! Patterns for names of a host.
//!
//! Bytes are matched, since names are bytes; `?` and the members of `[…]` are characters where the name is UTF-8 there.

use futures_util::{StreamExt as _, stream};
use sftp::{Client, Kind, name::join};

use crate::{Error, error::Cause, listing::Listing};

/// Folders that are looked into at the same time.
const AT_ONCE: usize = 32;
/// Paths that a pattern may give.
const MOST: usize = 1_000_000;

/// Says whether a part of a path is a pattern.
fn is_pattern(part: &[u8]) -> bool {
    part.iter().any(|byte| matches!(byte, b'*' | b'?' | b'['))
}

/// Gives the paths on the host that an absolute pattern matches, sorted.
pub(crate) async fn expand(client: &Client, pattern: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
    let parts: Vec<_> = pattern
        .split(|byte| *byte == b'/')
        .filter(|part| !part.is_empty())
        .collect();
    let mut found = vec![b"/".to_vec()];
    let mut unchecked = false;
    for (at, part) in parts.iter().enumerate() {
        if !is_pattern(part) {
            for path in &mut found {
                *path = join(path, &plain(part));
            }
            unchecked = true;
            continue;
        }
        let last = at + 1 == parts.len();
        let steps: Vec<_> = stream::iter(&found)
            .map(|folder| step(client, folder, part, last))
            .buffered(AT_ONCE)
            .collect()
            .await;
        found = Vec::new();
        for step in steps {
            found.extend(step?);
            if found.len() > MOST {
                return Err(Error::host(
                    "match",
                    pattern,
                    Cause::Pattern("it matches too much"),
                ));
            }
        }
        unchecked = false;
    }
    if unchecked {
        let exist: Vec<_> = stream::iter(&found)
            .map(|path| async move { client.stat_link(path).await.is_ok() })
            .buffered(AT_ONCE)
            .collect()
            .await;
        let mut exist = exist.into_iter();
        found.retain(|_| exist.next().unwrap_or(false));
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// Gives what in `folder` matches one part of a pattern. A folder that is none, or may not be read, has nothing.
async fn step(client: &Client, folder: &[u8], part: &[u8], last: bool) -> Result<Vec<Vec<u8>>, Error> {
    let deep = part == b"**";
    let mut found = Vec::new();
    let mut todo = vec![folder.to_vec()];
    if deep && !last {
        found.push(folder.to_vec());
    }
    while let Some(folder) = todo.pop() {
        let mut listing = match Listing::open(client, &folder).await {
            Ok(listing) => listing,
            Err(error) if error.is_lost() => return Err(error),
            Err(_) => continue,
        };
        while let Some(entries) = listing.next().await? {
            for entry in entries {
                let (name, kind) = (&entry.name, entry.kind());
                let hidden = name.starts_with(b".") && !part.starts_with(b".");
                if hidden || crate::part::is_part(name) {
                    continue;
                }
                let path = join(&folder, name);
                if deep {
                    if kind == Kind::Folder {
                        todo.push(path.clone());
                    }
                    if last || kind == Kind::Folder {
                        found.push(path);
                    }
                } else if matches(part, name)
                    && (last || matches!(kind, Kind::Folder | Kind::Link | Kind::Unknown))
                {
                    found.push(path);
                }
            }
            if found.len() > MOST {
                return Err(Error::host("match", part, Cause::Pattern("it matches too much")));
            }
        }
    }
    Ok(found)
}

/// Takes the backslashes off a part without a pattern.
fn plain(part: &[u8]) -> Vec<u8> {
    let mut bytes = part.iter();
    let mut plain = Vec::with_capacity(part.len());
    while let Some(byte) = bytes.next() {
        plain.push(match byte {
            b'\\' => *bytes.next().unwrap_or(byte),
            other => *other,
        });
    }
    plain
}

/// Says whether a name matches one part of a pattern.
pub(crate) fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut pattern_at, mut name_at) = (0, 0);
    // Where to go on when what follows the last star did not match.
    let mut star: Option<(usize, usize)> = None;
    loop {
        let rest = pattern.get(pattern_at..).unwrap_or_default();
        let here = name.get(name_at..).unwrap_or_default();
        if rest.first() == Some(&b'*') {
            star = Some((pattern_at + 1, name_at));
            pattern_at += 1;
            continue;
        }
        if rest.is_empty() && here.is_empty() {
            return true;
        }
        if let Some((used, taken)) = one(rest, here) {
            (pattern_at, name_at) = (pattern_at + used, name_at + taken);
            continue;
        }
        match star {
            Some((after, at)) if at < name.len() => {
                star = Some((after, at + 1));
                (pattern_at, name_at) = (after, at + 1);
            }
            _ => return false,
        }
    }
}

/// Matches one character: how many bytes of the pattern and of the name that took.
fn one(pattern: &[u8], name: &[u8]) -> Option<(usize, usize)> {
    let width = width(name)?;
    let character = name.get(..width)?;
    match pattern {
        [b'?', ..] => Some((1, width)),
        [b'[', rest @ ..] => match class(rest, character) {
            Some((used, true)) => Some((used + 1, width)),
            Some((_, false)) => None,
            // An open bracket that is never closed stands for itself.
            None => (character == b"[").then_some((1, 1)),
        },
        [b'\\', escaped, ..] => (name.first() == Some(escaped)).then_some((2, 1)),
        [byte, ..] => (name.first() == Some(byte)).then_some((1, 1)),
        [] => None,
    }
}

/// Reads a class behind its bracket: how long it is, and whether the character is in it.
fn class(pattern: &[u8], character: &[u8]) -> Option<(usize, bool)> {
    let negated = matches!(pattern.first(), Some(b'!' | b'^'));
    let start = usize::from(negated);
    let (mut at, mut inside) = (start, false);
    loop {
        let rest = pattern.get(at..)?;
        if rest.first() == Some(&b']') && at > start {
            return Some((at + 1, inside != negated));
        }
        let low = rest.get(..width(rest)?)?;
        at += low.len();
        match pattern.get(at..)? {
            [b'-', high @ ..] if !high.is_empty() && high.first() != Some(&b']') => {
                let high = high.get(..width(high)?)?;
                at += 1 + high.len();
                // In UTF-8 the order of the bytes is that of the characters.
                inside |= low <= character && character <= high;
            }
            _ => inside |= low == character,
        }
    }
}

/// Gives how many bytes the first character has: one where it is no UTF-8.
fn width(bytes: &[u8]) -> Option<usize> {
    let width = match bytes.first()? {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    };
    let whole = bytes
        .get(..width)
        .is_some_and(|bytes| std::str::from_utf8(bytes).is_ok());
    Some(if whole { width } else { 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_as_in_a_shell() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abcd", false),
            ("*.rs", "main.rs", true),
            ("*a*b*", "xaybz", true),
            ("?", "\u{fc}", true),
            ("??", "\u{fc}", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[]x]", "]", true),
            ("[\u{e0}-\u{fc}]", "\u{f6}", true),
            ("[a", "[a", true),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("a\nb*", "a\nbc", true),
        ] {
            assert_eq!(
                matches(pattern.as_bytes(), name.as_bytes()),
                expected,
                "{pattern} {name}"
            );
        }
        assert!(matches(b"?\xff*", b"a\xff\xfe"));
        assert!(!matches(b"*x*x*x*x*x*x*x*x*y", &[b'x'; 250]));
    }
}

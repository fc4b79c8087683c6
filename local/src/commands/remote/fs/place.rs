//! `HOST:PATH` as scp(1) and rsync(1) have it, with names as bytes.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};

use sftp::name::show;

use crate::{exit::Exit, host::HostRef, report::Failure};

/// A path on a host, as typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The host, with user and port.
    pub(super) host: String,
    /// The path; empty is the home.
    pub(super) path: Vec<u8>,
}

impl Place {
    /// Splits `HOST[:PATH]`. Digits right after the host are a port.
    pub(super) fn parse(text: &OsStr) -> Result<Self, Failure> {
        let bytes = text.as_bytes();
        // Each byte as one character, so that what splits text splits bytes.
        let wide: String = bytes.iter().map(|&byte| char::from(byte)).collect();
        let parsed = match HostRef::parse(&wide) {
            // Nothing behind the colon is the home, as for scp.
            Err(_) if wide.len() > 1 && wide.ends_with(':') => HostRef::parse(wide.trim_end_matches(':')),
            parsed => parsed,
        };
        let bad = || {
            let message = format!("{:?} names no host", show(bytes));
            Failure::new(Exit::Usage, message)
                .hint("write HOST:PATH, as in box:notes.txt or me@host:2222:/etc/hosts")
        };
        let parsed = parsed.map_err(|_| bad())?;
        let narrow = |text: &str| -> Vec<u8> { text.chars().filter_map(|c| u8::try_from(c).ok()).collect() };
        Ok(Self {
            host: String::from_utf8(narrow(&parsed.host)).map_err(|_| bad())?,
            path: parsed.workspace.as_deref().map(narrow).unwrap_or_default(),
        })
    }

    /// Splits `HOST:PATH` where the path is needed.
    pub(super) fn with_path(text: &OsStr) -> Result<Self, Failure> {
        let place = Self::parse(text)?;
        if place.path.is_empty() {
            let message = format!("{} names no file", show(text.as_bytes()));
            let hint = "write HOST:PATH; digits right after the host are a port, so box:./2024 is a file of that name";
            return Err(Failure::new(Exit::Usage, message).hint(hint));
        }
        Ok(place)
    }

    /// Says whether text means a host rather than a file of this machine: it has a colon, and no slash before it.
    pub(super) fn is_on_host(text: &OsStr) -> bool {
        let bytes = text.as_bytes();
        let colon = match bytes {
            [b'[', ..] => bytes.windows(2).position(|pair| pair == b"]:"),
            _ => bytes.iter().position(|&byte| byte == b':').filter(|&at| at > 0),
        };
        let slash = bytes.iter().position(|&byte| byte == b'/');
        // In an address within brackets there is no slash.
        colon.is_some_and(|colon| slash.is_none_or(|slash| colon < slash))
    }

    /// Gives it as text for a person.
    pub(super) fn shown(&self) -> String {
        format!("{}:{}", self.host, show(&self.path))
    }
}

/// Gives the one host of several places.
pub(super) fn one_host(places: &[Place]) -> Result<&str, Failure> {
    let first = places.first().map_or("", |place| place.host.as_str());
    match places.iter().find(|place| place.host != first) {
        None => Ok(first),
        Some(other) => Err(Failure::new(
            Exit::Usage,
            format!(
                "one command works with one host: {first} and {} are two",
                other.host
            ),
        )
        .hint("copy to this machine first, then to the other host")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_hosts_and_paths_that_are_bytes() {
        let check = |text: &[u8], host: &str, path: &[u8]| {
            let place = Place::parse(OsStr::from_bytes(text)).unwrap();
            assert_eq!((place.host.as_str(), place.path.as_slice()), (host, path));
        };
        check(b"box", "box", b"");
        check(b"box:", "box", b"");
        check(b"box:a\xff\nb", "box", b"a\xff\nb");
        check("box:gr\u{fc}n".as_bytes(), "box", "gr\u{fc}n".as_bytes());
        check(b"me@h:22:", "me@h:22", b"");
        check(b"me@h:22:/a:b", "me@h:22", b"/a:b");
        check(b"box:2024", "box:2024", b"");
        check(b"box:./2024", "box", b"./2024");
        check(b"[::1]:~/x", "[::1]", b"~/x");
        for bad in [&b""[..], b":a", b"\xff:a"] {
            let failure = Place::parse(OsStr::from_bytes(bad)).unwrap_err();
            assert_eq!(failure.exit, Exit::Usage);
        }
        assert!(Place::with_path(OsStr::new("box:2024")).is_err());
    }

    #[test]
    fn a_colon_before_any_slash_means_a_host() {
        for (text, expected) in [
            ("box:a", true),
            ("box:", true),
            ("[::1]:a", true),
            ("me@[::1]:a", true),
            ("a", false),
            ("./a:b", false),
            ("/a:b", false),
            (":a", false),
            ("[a", false),
        ] {
            assert_eq!(Place::is_on_host(OsStr::new(text)), expected, "{text}");
        }
    }
}

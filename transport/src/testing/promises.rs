//! What the parsers of this crate promise of any input, whoever wrote it. Fuzz targets (`cargo xtask fuzz`) and the replay
//! of their corpora call the same functions; a broken promise is a panic.

use std::{
    cell::Cell,
    path::{Path, PathBuf},
};

use russh::keys::PublicKey;

use crate::{
    Target,
    host_key::{HostNames, KnownHost, Verdict},
    known_hosts::{Entry, Marker, hosts_match, listed_name, parse},
    ssh_config::{Pairs, Query, parse_dump, parse_file},
};

/// Entries that are compared with each other: the check is quadratic, and files with more show nothing new.
const ENTRIES: usize = 24;
/// Files that one configuration may include here.
const INCLUDES: u32 = 12;

/// Reads `data` as a known-hosts file, prints and reads every entry again, and judges every key for several hosts.
///
/// # Panics
/// An entry that is not read as it was printed, a revoked key that is not judged as such, or a key that is known
/// without a line that says so.
pub fn known_hosts(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let file = Path::new("known_hosts");
    let mut entries = parse(&text, file);
    let lines = text.lines().count();
    for entry in &entries {
        assert!(
            (1..=lines).contains(&entry.line),
            "line {} of {lines}",
            entry.line
        );
        is_read_as_printed(entry);
    }
    entries.truncate(ENTRIES);
    let first = entries.first().and_then(|entry| entry.hosts.split(',').next());
    let own = first.unwrap_or_default().trim_matches(['[', ']', '!']).to_owned();
    for name in ["h", "box.example", "2001:db8::1", &own] {
        for (port, alias) in [(22, None), (2222, None), (22, Some("alias"))] {
            let names = HostNames {
                typed: "h",
                name,
                port,
                alias,
            };
            judge_all(&entries, &names);
        }
    }
}

fn is_read_as_printed(entry: &Entry) {
    let Ok(key) = entry.key.to_openssh() else {
        return;
    };
    let marker = match entry.marker {
        Marker::Plain => "",
        Marker::CertAuthority => "@cert-authority ",
        Marker::Revoked => "@revoked ",
    };
    let again = parse(&format!("{marker}{} {key}\n", entry.hosts), &entry.file);
    let same = |other: &Entry| {
        other.marker == entry.marker
            && other.hosts == entry.hosts
            && other.key.key_data() == entry.key.key_data()
    };
    assert!(
        matches!(again.as_slice(), [one] if same(one)),
        "{entry:?}: {again:?}"
    );
}

fn judge_all(entries: &[Entry], names: &HostNames<'_>) {
    let host = KnownHost::find(entries, &[], names);
    let listed: Vec<String> = match names.alias {
        Some(alias) => vec![alias.to_owned()],
        None => vec![listed_name(names.name, names.port), listed_name(names.name, 22)],
    };
    let says = |marker: Marker, key: &PublicKey| {
        entries.iter().any(|entry| {
            entry.marker == marker
                && entry.key.key_data() == key.key_data()
                && listed.iter().any(|name| hosts_match(&entry.hosts, name))
        })
    };
    for entry in entries {
        let verdict = host.judge(&entry.key);
        if says(Marker::Revoked, &entry.key) {
            assert!(matches!(verdict, Verdict::Revoked(_)), "{verdict:?}: {entry:?}");
        }
        if verdict == Verdict::Known {
            assert!(says(Marker::Plain, &entry.key), "{entry:?}");
        }
    }
    assert!(!host.algorithms().is_empty());
}

/// Reads `data` as a client configuration that may include itself, and as the output of `ssh -G`.
///
/// # Panics
/// What was read is not read again from its own dump, or a host name that was read is not written as it is read.
pub fn ssh_config(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let left = Cell::new(INCLUDES);
    let includes = |name: &str| -> Vec<(PathBuf, String)> {
        if left.get() == 0 {
            return Vec::new();
        }
        left.set(left.get() - 1);
        vec![(PathBuf::from(name), text.clone().into_owned())]
    };
    for typed in ["h", "me@box.example:2222", "[2001:db8::1]:22"] {
        let Ok(target) = typed.parse::<Target>() else {
            continue;
        };
        let query = Query {
            target: &target,
            local_user: "someone",
        };
        left.set(INCLUDES);
        let mut pairs = Pairs::default();
        if parse_file(&text, Path::new("config"), query, &includes, &mut pairs).is_ok() {
            names_are_stable(&pairs);
        }
    }
    let dumped = parse_dump(&text);
    names_are_stable(&dumped);
    let mut printed = String::new();
    let read: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once(' ')).collect();
    for (keyword, value) in &read {
        printed.push_str(&format!("{keyword} {value}\n"));
    }
    let again = parse_dump(&printed);
    for (keyword, _) in read {
        let keyword = keyword.to_ascii_lowercase();
        assert_eq!(again.first(&keyword), dumped.first(&keyword), "{keyword}");
    }
}

fn names_are_stable(pairs: &Pairs) {
    for keyword in ["hostname", "proxyjump", "user", "port"] {
        for value in pairs.every(keyword) {
            let Ok(target) = value.parse::<Target>() else {
                continue;
            };
            let again = target.to_string().parse::<Target>();
            assert_eq!(again.ok().as_ref(), Some(&target), "{value:?}");
            assert!(
                !target.host.starts_with('-'),
                "{value:?} would be an option of ssh"
            );
        }
    }
}

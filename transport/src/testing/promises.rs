//! What the parsers of this crate promise of any input, whoever wrote it. Fuzz targets (`cargo xtask fuzz`) and the replay
//! of their corpora call the same functions; a broken promise is a panic.

use std::{
    cell::Cell,
    collections::HashSet,
    net::IpAddr,
    path::{Path, PathBuf},
    slice,
};

use russh::keys::PublicKey;

use crate::{
    AddressFamily, Target,
    host_key::{HostNames, KnownHost, Verdict},
    known_hosts::{Entry, Marker, hosts_match, listed_name, parse},
    ssh_config::{Level, Machine, Pairs, Query, SourceFile, aliases, parse_dump, read},
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
    let lines = text.split('\n').count();
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

/// A machine on which every file is the same one, and every command and name does what it is called.
struct Echo<'a> {
    text: &'a str,
    left: Cell<u32>,
}

impl Machine for Echo<'_> {
    fn included(&self, pattern: &str, _level: Level) -> Result<Vec<(PathBuf, String)>, String> {
        if self.left.get() == 0 {
            return Ok(Vec::new());
        }
        self.left.set(self.left.get() - 1);
        Ok(vec![(PathBuf::from(pattern), self.text.to_owned())])
    }

    fn succeeds(&self, command: &str) -> Result<bool, String> {
        Ok(command.len().is_multiple_of(2))
    }

    fn own_addresses(&self) -> Option<Vec<IpAddr>> {
        Some(vec![IpAddr::from([192, 0, 2, 1])])
    }

    fn canonical_name(&self, name: &str, _family: AddressFamily) -> Option<String> {
        name.ends_with("example").then(|| format!("c.{name}"))
    }
}

/// Reads `data` as a client configuration that may include itself, as a list of hosts, and as the output of `ssh -G`.
///
/// # Panics
/// What was read is not read again from its own dump, a host name that was read is not written as it is read or could be
/// an option of ssh, or a pattern is taken for a host.
pub fn ssh_config(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let environment = [("HOME".to_owned(), "/h".to_owned())];
    let file = SourceFile {
        path: PathBuf::from("config"),
        text: text.clone().into_owned(),
        level: Level::User,
    };
    let machine = Echo {
        text: &text,
        left: Cell::new(INCLUDES),
    };
    for typed in ["h", "me@box.example:2222", "[2001:db8::1]:22"] {
        let Ok(target) = typed.parse::<Target>() else {
            continue;
        };
        let query = Query {
            target: &target,
            local_user: "someone",
            home: "/h",
            environment: &environment,
        };
        machine.left.set(INCLUDES);
        if let Ok(pairs) = read(slice::from_ref(&file), &[], query, &machine) {
            names_are_stable(&pairs);
        }
    }
    machine.left.set(INCLUDES);
    let mut seen = HashSet::new();
    for alias in aliases(&text, &file.path, &machine) {
        assert!(
            !alias.name.contains(['*', '?', '!']) && alias.line > 0,
            "{alias:?}"
        );
        assert!(seen.insert(alias.name.clone()), "{alias:?} twice");
    }
    // `ssh` writes no carriage return.
    dump_is_read_again(&text.replace('\r', ""));
}

fn dump_is_read_again(text: &str) {
    let dumped = parse_dump(text);
    names_are_stable(&dumped);
    let read: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once(' ')).collect();
    let printed: String = read
        .iter()
        .map(|(keyword, value)| format!("{keyword} {value}\n"))
        .collect();
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

//! Our known-hosts matcher against `ssh-keygen -F`.

use std::path::Path;

use transport::known_hosts::{Marker, hosts_match, parse};

use crate::support::run;

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ";

#[tokio::test]
async fn agrees_with_openssh() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("known_hosts");
    let plain = [
        "a",
        "A,b",
        "*.example.com,!bad.example.com",
        "!bad.example.com,*.example.com",
        "[a]:2222",
        "[a]:*",
        "?,??c",
        "10.0.0.?",
        "[::1]:22022",
        "::1",
        "*",
    ];
    let names = [
        "a",
        "b",
        "good.example.com",
        "bad.example.com",
        "[a]:2222",
        "[a]:22",
        "abc",
        "10.0.0.1",
        "10.0.0.12",
        "[::1]:22022",
        "::1",
        "z",
    ];
    let mut hosts: Vec<String> = plain.iter().map(|&field| field.to_owned()).collect();
    // The same names hashed by OpenSSH.
    std::fs::write(&file, names.map(|name| format!("{name} {KEY}\n")).concat()).unwrap();
    assert!(
        run("ssh-keygen", &["-H", "-f", "known_hosts"], folder.path())
            .await
            .0
    );
    let hashed = std::fs::read_to_string(&file).unwrap();
    hosts.extend(
        hashed
            .lines()
            .map(|line| line.split_once(' ').unwrap().0.to_owned()),
    );

    let mut hits = 0;
    for field in &hosts {
        let line = format!("{field} {KEY}\n");
        std::fs::write(&file, &line).unwrap();
        for name in names {
            let (_, found) = run("ssh-keygen", &["-F", name, "-f", "known_hosts"], folder.path()).await;
            let theirs = found.contains(KEY);
            let ours = parse(&line, Path::new("f"))
                .iter()
                .any(|entry| entry.marker == Marker::Plain && hosts_match(&entry.hosts, name));
            assert_eq!(ours, theirs, "{field} against {name}");
            hits += usize::from(ours);
        }
    }
    assert!(hits > names.len(), "the table has to have hits and misses");
}

/// Numbers that look random and are the same for the same seed (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(limit).unwrap()).unwrap()
    }

    fn one_of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

const NAMES: [&str; 9] = [
    "a",
    "b.example",
    "[a]:2222",
    "[b.example]:22",
    "10.0.0.1",
    "::1",
    "[fe80::1%eth0]:2222",
    "fe80::1%eth0",
    "alias",
];
const PATTERNS: [&str; 12] = [
    "*",
    "A",
    "?",
    "*.example",
    "!a",
    "!*.example",
    "[*]:2222",
    "[a]:*",
    "10.0.0.?",
    "fe80::*",
    "",
    "B.Example",
];
const KEYS: [&str; 4] = [
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti a comment",
    "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBHwf2HMM5TRXvo2SQJjsNkiDD5KqiiNjrGVv3UUh+mMT5RHxiRtOnlqvjhQtBq0VpmpCV/PwUdhOig4vkbqAcEc=",
    "sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAICFo/k5LU8863u66YC9eUO2170QduohPURkQnbLa/dczAAAABHNzaDo=",
];
/// What stands in files without being a key of any known algorithm.
const ODD: [&str; 6] = [
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9",
    "ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ",
    "ssh-odd@example AAAAD3NzaC1vZGRAZXhhbXBsZQAA",
    "1024 35 12345678901234567890",
    "ssh-ed25519",
    "ssh-ed25519 !!!",
];

/// A line as people, programs and accidents write them. `hashed` are host fields that OpenSSH made.
fn line(dice: &mut Dice, hashed: &[String]) -> String {
    let mut hosts = match dice.below(4) {
        0 => hashed[dice.below(hashed.len())].clone(),
        1 => NAMES[dice.below(NAMES.len())].to_owned(),
        _ => (0..=dice.below(4))
            .map(|_| {
                if dice.below(2) == 0 {
                    dice.one_of(&NAMES)
                } else {
                    dice.one_of(&PATTERNS)
                }
            })
            .collect::<Vec<_>>()
            .join(","),
    };
    if dice.below(12) == 0 {
        // At the length where OpenSSH gives up on a list.
        let long = "x".repeat(1020 + dice.below(6));
        hosts = if dice.below(2) == 0 {
            format!("{long},{hosts}")
        } else {
            format!("{hosts},{long}")
        };
    }
    if hosts.is_empty() || hosts.starts_with('#') {
        hosts.insert(0, 'z');
    }
    // A tab after a marker is read as a space here; OpenSSH does so only where no space follows in the line.
    let marker = match dice.below(8) {
        0 => "@revoked ",
        1 => "@cert-authority  ",
        2 => dice.one_of(&["@odd ", "@revoked @revoked ", "@cert-authority", "@"]),
        _ => "",
    };
    let key = if dice.below(5) == 0 {
        dice.one_of(&ODD)
    } else {
        dice.one_of(&KEYS)
    };
    let before = dice.one_of(&["", "", "", " ", "\t", " \t "]);
    let between = dice.one_of(&[" ", " ", "\t", "  "]);
    let after = dice.one_of(&["", "", " # more", "\r", " \t"]);
    match dice.below(15) {
        0 => format!("{before}# {hosts} {key}"),
        1 => String::new(),
        _ => format!("{before}{marker}{hosts}{between}{key}{after}"),
    }
}

/// Reads which lines `ssh-keygen -l -F` found, and as what.
fn found_lines(said: &str) -> Vec<(usize, Marker)> {
    let mut found = Vec::new();
    let mut said = said.lines().peekable();
    while let Some(line) = said.next() {
        let Some((_, rest)) = line.split_once(" found: line ") else {
            continue;
        };
        let mut words = rest.split_whitespace();
        let number = words.next().unwrap().parse().unwrap();
        let marker = match words.next() {
            Some("CA") => Marker::CertAuthority,
            Some("REVOKED") => Marker::Revoked,
            _ => Marker::Plain,
        };
        // The fingerprint follows where the key could be read.
        if said.peek().is_some_and(|next| next.contains("SHA256:")) {
            found.push((number, marker));
        }
    }
    found
}

#[tokio::test]
async fn agrees_with_openssh_about_random_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("known_hosts");
    std::fs::write(&file, NAMES.map(|name| format!("{name} {KEY}\n")).concat()).unwrap();
    let made = run("ssh-keygen", &["-H", "-f", "known_hosts"], folder.path()).await;
    assert!(made.0);
    let text = std::fs::read_to_string(&file).unwrap();
    let mut hashed: Vec<_> = text
        .lines()
        .map(|line| line.split_once(' ').unwrap().0.to_owned())
        .collect();
    hashed.extend([
        "|1|x|y".into(),
        "|2|a|b".into(),
        "|1|".into(),
        format!("{},a", hashed[0]),
    ]);

    let mut hits = [0; 3];
    for seed in 1..=24_u64 {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let lines: Vec<_> = (0..30).map(|_| line(&mut dice, &hashed)).collect();
        let text = lines.join("\n") + dice.one_of(&["\n", ""]);
        std::fs::write(&file, &text).unwrap();
        let entries = parse(&text, &file);
        for name in NAMES {
            let args = ["-l", "-F", name, "-f", "known_hosts"];
            let theirs = found_lines(&run("ssh-keygen", &args, folder.path()).await.1);
            let ours: Vec<_> = entries
                .iter()
                .filter(|entry| hosts_match(&entry.hosts, &name.to_ascii_lowercase()))
                .map(|entry| (entry.line, entry.marker))
                .collect();
            assert_eq!(ours, theirs, "seed {seed}, {name} in\n{text}");
            for (_, marker) in ours {
                hits[match marker {
                    Marker::Plain => 0,
                    Marker::CertAuthority => 1,
                    Marker::Revoked => 2,
                }] += 1;
            }
        }
    }
    assert!(hits.iter().all(|&hits| hits > 20), "{hits:?}");
}

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

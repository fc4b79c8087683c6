//! What the fuzzer was given and found keeps the promises of the parsers.

use std::{fs, path::Path};

use transport::testing::promises;

fn replay(name: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/corpus")
        .join(name);
    let files = fs::read_dir(folder).unwrap();
    let count = files
        .map(|file| check(&fs::read(file.unwrap().path()).unwrap()))
        .count();
    assert!(count > 5, "{count}");
}

#[test]
fn known_hosts() {
    replay("known_hosts", promises::known_hosts);
}

#[test]
fn ssh_config() {
    replay("ssh_config", promises::ssh_config);
}

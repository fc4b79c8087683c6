use super::*;

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ";

#[test]
fn matches_lists_like_openssh() {
    let check = |hosts, name, expect| assert_eq!(hosts_match(hosts, name), expect, "{hosts} {name}");
    check("a,b", "b", true);
    check("A.example", "a.example", true);
    check("*.example,!bad.example", "good.example", true);
    check("*.example,!bad.example", "bad.example", false);
    check("!bad.example", "good.example", false);
    check("[a]:2222", "[a]:2222", true);
    check("[a]:*", "[a]:2222", true);
    check("a", "[a]:2222", false);
    check("[ab]", "a", false);
    check("h?st*", "hostname", true);
    check("*", "", true);
    check("", "a", false);
    check("|1|x|y", "a", false);
    check("|1|", "a", false);
}

#[test]
fn reads_markers_and_skips_bad_lines() {
    let text = format!(
        "# c\n\nbad line\n\ta,b\t{KEY} comment # more\n@revoked * {KEY}\n@cert-authority *.x {KEY}\n@odd a {KEY}\na ssh-ed25519 !!!\n"
    );
    let got: Vec<_> = parse(&text, Path::new("f"))
        .into_iter()
        .map(|e| (e.marker, e.hosts, e.line))
        .collect();
    assert_eq!(
        got,
        [
            (Marker::Plain, "a,b".into(), 4),
            (Marker::Revoked, "*".into(), 5),
            (Marker::CertAuthority, "*.x".into(), 6)
        ]
    );
}

#[test]
fn adds_a_line_after_an_unfinished_one() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("new/known_hosts");
    let key = PublicKey::from_openssh(KEY).unwrap();
    add_line(&file, "a", &key).unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), format!("a {KEY}\n"));
    std::fs::write(&file, "unfinished").unwrap();
    add_line(&file, "[b]:22022", &key).unwrap();
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        format!("unfinished\n[b]:22022 {KEY}\n")
    );
}

proptest::proptest! {
    #[test]
    fn never_panics(text in ".{0,200}", name in "[a-z*?|]{0,12}") {
        for entry in parse(&text, Path::new("f")) {
            std::hint::black_box(hosts_match(&entry.hosts, &name));
        }
        std::hint::black_box(hosts_match(&text, &name));
    }
}

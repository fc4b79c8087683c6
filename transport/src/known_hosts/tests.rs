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
fn tells_foreign_lines_from_broken_ones() {
    let blob = |name: &str, rest: &[u8]| {
        let length = u32::try_from(name.len()).unwrap().to_be_bytes();
        BASE64.encode([&length, name.as_bytes(), rest].concat())
    };
    let odd = blob("ssh-odd@example", &[0, 0, 0, 1, 7, 9, 9]);
    let text = format!(
        "a ssh-odd@example {odd}\r\na other {odd}\nb ssh-ed25519 {}\nc 1024 35 123\n@x y {KEY}\nd\n",
        blob("ssh-ed25519", &[0, 0, 0, 1, 7])
    );
    let mut listed = Listed::default();
    listed.add(&text, Path::new("f"));
    assert!(listed.entries.is_empty(), "{listed:?}");
    let [one] = listed.foreign.as_slice() else {
        panic!("{listed:?}")
    };
    assert_eq!((one.hosts.as_str(), one.key.line), ("a", 1));
    assert_eq!(one.key.algorithm, "ssh-odd@example");
    assert!(one.key.fingerprint.starts_with("SHA256:"), "{one:?}");
    let broken: Vec<_> = listed.broken.iter().map(|(_, line)| *line).collect();
    assert_eq!(broken, [2, 3, 4, 5, 6]);
}

#[test]
fn nested_certificates_are_not_followed() {
    let name = "ssh-ed25519-cert-v01@openssh.com";
    let part = [
        u32::try_from(name.len()).unwrap().to_be_bytes().as_slice(),
        name.as_bytes(),
    ]
    .concat();
    let line = format!("h {name} {}\n", BASE64.encode(part.repeat(200_000)));
    let mut listed = Listed::default();
    listed.add(&line, Path::new("f"));
    assert_eq!((listed.entries.len(), listed.foreign.len()), (0, 1));
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

use std::path::Path;

use super::*;
use crate::known_hosts::parse;

const A: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ";
const B: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti";
const P256: &str = "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBHwf2HMM5TRXvo2SQJjsNkiDD5KqiiNjrGVv3UUh+mMT5RHxiRtOnlqvjhQtBq0VpmpCV/PwUdhOig4vkbqAcEc=";

fn host(text: &str, port: u16) -> KnownHost {
    let names = HostNames {
        typed: "h",
        name: "H",
        port,
        alias: None,
    };
    KnownHost::find(&parse(text, Path::new("kh")), &["kh".into()], &names)
}

fn judge(text: &str, port: u16, key: &str) -> Verdict {
    host(text, port).judge(&PublicKey::from_openssh(key).unwrap())
}

#[test]
fn the_exact_key_is_known() {
    assert_eq!(judge(&format!("h {A}\n"), 22, A), Verdict::Known);
    assert_eq!(judge(&format!("h {B}\nh {A}\n"), 22, A), Verdict::Known);
    assert_eq!(judge("", 22, A), Verdict::Unknown);
}

#[test]
fn another_key_is_changed_and_names_the_line() {
    let Verdict::Changed(lines) = judge(&format!("\nh {B}\ni {A}\n*,!i {B}\n"), 22, A) else {
        panic!("not changed")
    };
    let places: Vec<_> = lines
        .iter()
        .map(|line| (line.line, line.algorithm.as_str()))
        .collect();
    assert_eq!(places, [(2, "ssh-ed25519"), (4, "ssh-ed25519")]);
}

#[test]
fn the_port_qualified_line_decides() {
    assert_eq!(judge(&format!("h {B}\n[h]:2222 {A}\n"), 2222, A), Verdict::Known);
    assert!(matches!(
        judge(&format!("h {A}\n[h]:2222 {B}\n"), 2222, A),
        Verdict::Changed(_)
    ));
    assert_eq!(judge(&format!("h {A}\n"), 2222, A), Verdict::Known);
    assert_eq!(judge(&format!("h {B}\n"), 2222, A), Verdict::Unknown);
}

#[test]
fn revoked_beats_known_and_authorities_never_match() {
    assert!(matches!(
        judge(&format!("h {A}\n@revoked * {A}\n"), 22, A),
        Verdict::Revoked(_)
    ));
    assert_eq!(
        judge(&format!("@cert-authority h {A}\n"), 22, A),
        Verdict::Unknown
    );
    assert!(matches!(
        judge(&format!("@cert-authority h {A}\nh {B}\n"), 22, A),
        Verdict::Changed(_)
    ));
}

#[test]
fn another_algorithm_is_its_own_case() {
    assert!(
        matches!(judge(&format!("h {P256}\n"), 22, A), Verdict::KnownOtherwise(lines) if lines.len() == 1)
    );
    assert!(matches!(
        judge(&format!("h {P256}\nh {B}\n"), 22, A),
        Verdict::Changed(_)
    ));
    let first = host(&format!("h {P256}\n"), 22).algorithms().remove(0);
    assert_eq!(
        first,
        Algorithm::Ecdsa {
            curve: EcdsaCurve::NistP256
        }
    );
    assert!(!host("", 22).algorithms().contains(&Algorithm::Rsa { hash: None }));
}

#[test]
fn keys_that_cannot_be_used_still_make_a_host_known() {
    let mut listed = Listed::default();
    listed.add(
        "h ssh-odd@example AAAAD3NzaC1vZGRAZXhhbXBsZQAA\nbroken\n",
        Path::new("kh"),
    );
    let names = HostNames {
        typed: "h",
        name: "h",
        port: 22,
        alias: None,
    };
    let host = KnownHost::find(&listed.entries, &["kh".into()], &names).with(&listed, Vec::new(), None);
    let key = PublicKey::from_openssh(A).unwrap();
    let verdict = host.judge(&key);
    assert!(
        matches!(&verdict, Verdict::KnownOtherwise(lines) if lines.len() == 1),
        "{verdict:?}"
    );
    let said = host
        .refusal(
            &key,
            &Judged {
                verdict,
                certificate: None,
            },
        )
        .to_string();
    assert!(
        said.contains("ssh-odd@example") && said.contains("kh line 1"),
        "{said}"
    );
}

#[test]
fn algorithms_of_our_own_file_come_first() {
    let mut listed = Listed::default();
    listed.add(&format!("h {A}\n"), Path::new("theirs"));
    listed.add(&format!("h {P256}\n"), Path::new("ours"));
    let names = HostNames {
        typed: "h",
        name: "h",
        port: 22,
        alias: None,
    };
    let host = KnownHost::find(&listed.entries, &[], &names).with(&listed, Vec::new(), Some("ours".into()));
    let first: Vec<_> = host
        .algorithms()
        .into_iter()
        .take(2)
        .map(|algorithm| algorithm.to_string())
        .collect();
    assert_eq!(first, ["ecdsa-sha2-nistp256", "ssh-ed25519"]);
    assert!(host.certificate_algorithms().is_empty());
}

use std::{net::IpAddr, path::Path};

use super::*;
use crate::Error;

/// A machine whose files, names and addresses are made up.
struct Stub;

impl Machine for Stub {
    fn included(&self, pattern: &str, _: Level) -> Result<Vec<(PathBuf, String)>, String> {
        let text = match pattern {
            "first" => "Match user nobody\n Compression yes\n",
            "second" => "Host alpha\n HostName 127.0.0.1\n Port 2200\n",
            "broken" => "Host x\n\nPort none\n",
            "loop" => "Include loop",
            "twice" => "Include twice\nInclude twice",
            _ => return Ok(vec![]),
        };
        Ok(vec![(PathBuf::from(pattern), text.to_owned())])
    }

    fn succeeds(&self, command: &str) -> Result<bool, String> {
        match command {
            "hangs" => Err("no answer within 10 s".into()),
            _ => Ok(command.ends_with("alpha")),
        }
    }

    fn own_addresses(&self) -> Option<Vec<IpAddr>> {
        Some(vec![IpAddr::from([10, 1, 2, 3])])
    }

    /// `alpha.example.com` is another name of `web.example.net`; `beta.example.org` is its own.
    fn canonical_name(&self, name: &str, _: AddressFamily) -> Option<String> {
        match name.trim_end_matches('.') {
            "alpha.example.com" | "alpha" => Some("web.example.net".into()),
            "beta.example.org" => Some("beta.example.org".into()),
            _ => None,
        }
    }
}

fn try_read(text: &str, host: &str) -> Result<Pairs, Error> {
    let target: Target = host.parse().unwrap();
    let query = Query {
        target: &target,
        local_user: "me",
        home: "/h",
        environment: &[],
    };
    let file = SourceFile {
        path: PathBuf::from("config"),
        text: text.to_owned(),
        level: Level::User,
    };
    read(&[file], &[], query, &Stub)
}

fn pairs(text: &str, host: &str) -> Pairs {
    try_read(text, host).unwrap()
}

#[test]
fn a_match_block_in_an_included_file_ends_with_it() {
    let got = pairs("Include first second\nUser late\n", "alpha");
    assert_eq!(got.first("hostname").as_deref(), Some("127.0.0.1"));
    assert_eq!(got.first("port").as_deref(), Some("2200"));
    assert_eq!(got.first("user").as_deref(), Some("late"));
    assert_eq!(got.first("compression"), None);
}

#[test]
fn an_include_in_a_block_stays_in_it() {
    let port = |text: &str| pairs(text, "alpha").first("port");
    assert_eq!(port("Host other\n Include second\n"), None);
    assert_eq!(port("Host alpha\n Include second\n").as_deref(), Some("2200"));
}

#[test]
fn the_first_value_wins_and_identities_add_up() {
    let got = pairs(
        "IdentityFile a\nUser one\nHost *\nUser two\nIdentityFile \"b c\"\nIdentityFile a\n",
        "h",
    );
    assert_eq!(got.first("user").as_deref(), Some("one"));
    assert_eq!(got.every("identityfile").collect::<Vec<_>>(), ["a", "b c"]);
}

/// What `ssh -G` of the tests' machine cannot be asked: newer conditions, and a machine that is made up.
#[test]
fn conditions() {
    let check = |head: &str, host: &str, expect: bool| {
        assert_eq!(
            pairs(&format!("{head}\nPort 7\n"), host).first("port").is_some(),
            expect,
            "{head} for {host}"
        );
    };
    check("Match exec \"test %h\"", "alpha", true);
    check("Match !exec \"test %h\"", "beta", true);
    check("Match host beta exec hangs", "alpha", false);
    check("Tag work\nMatch tagged work,home", "a", true);
    check("Match tagged work", "a", false);
    check("Match localnetwork 10.0.0.0/8", "a", true);
    check("Match !localnetwork 10.0.0.0/8", "a", false);
    check("Match sessiontype shell", "a", false);
    check("Match !sessiontype shell", "a", false);
    check("Match version OpenSSH_*", "a", false);
}

#[test]
fn names_are_canonicalized() {
    let check = |text: &str, host: &str, name: &str, port: Option<&str>| {
        let text = format!("CanonicalDomains example.com example.org\n{text}\nHost *.example.*\nPort 7\n");
        let got = pairs(&text, host);
        assert_eq!(
            (got.first("hostname").as_deref(), got.first("port").as_deref()),
            (Some(name), port),
            "{text} for {host}"
        );
    };
    let on = "CanonicalizeHostname yes";
    check("", "alpha", "alpha", None);
    check(on, "alpha", "alpha.example.com", Some("7"));
    check(on, "BETA", "beta.example.org", Some("7"));
    check(on, "gamma", "gamma", None);
    check(on, "a.b.c", "a.b.c", None);
    check(on, "beta.example.org.", "beta.example.org", Some("7"));
    check(&format!("{on}\nProxyCommand nc"), "alpha", "alpha", None);
    check(
        "CanonicalizeHostname always\nProxyCommand nc",
        "alpha",
        "alpha.example.com",
        Some("7"),
    );
    check(
        &format!("{on}\nCanonicalizePermittedCNAMEs *.example.com:*.example.net"),
        "alpha",
        "web.example.net",
        Some("7"),
    );
    check(
        &format!("{on}\nCanonicalizePermittedCNAMEs *.example.org:*.example.net"),
        "alpha",
        "alpha.example.com",
        Some("7"),
    );
    let error = try_read(&format!("{on}\nCanonicalizeFallbackLocal no\n"), "gamma").unwrap_err();
    assert!(error.message().contains("could not resolve gamma"), "{error}");
}

#[test]
fn mistakes_name_file_line_and_word() {
    let check = |text: &str, parts: &[&str]| {
        let message = try_read(text, "a").unwrap_err().message().to_owned();
        for part in parts {
            assert!(message.contains(part), "{text:?}: {message}");
        }
    };
    check("User x\nPrt 7\n", &["config line 2", "prt"]);
    check("Include broken\n", &["broken line 3", "none"]);
    check("Include loop", &["loop line 1", "nested"]);
    check("Include twice", &["twice line"]);
    check("Match exec hangs\n", &["config line 1", "hangs", "no answer"]);
    check("Match localnetwork x\n", &["config line 1", "x"]);
    check("\u{feff}Host a\n", &["config line 1"]);
    check("ProxyJump a,b c\n", &["config line 1", "b c"]);
    let hint = try_read("\u{feff}Host a\n", "a").unwrap_err();
    assert!(hint.hint().unwrap_or_default().contains("byte order mark"));
}

proptest::proptest! {
    #[test]
    fn never_panics(text in "(?s).{0,300}") {
        let target = Target::host("a");
        let query = Query { target: &target, local_user: "me", home: "/h", environment: &[] };
        // Only the absence of a panic is asserted; most such texts are errors.
        drop(parse_file(&text, Path::new("c"), query, &Stub, &mut Pairs::default()));
    }
}

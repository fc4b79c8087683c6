use super::*;

fn pairs(text: &str, host: &str) -> Pairs {
    let target: Target = host.parse().unwrap();
    let mut pairs = Pairs::default();
    let includes = |name: &str| match name {
        "first" => vec![(
            PathBuf::from("first"),
            "Match user nobody\n Compression yes\n".to_owned(),
        )],
        "second" => vec![(
            PathBuf::from("second"),
            "Host alpha\n HostName 127.0.0.1\n Port 2200\n".to_owned(),
        )],
        "loop" => vec![(PathBuf::from("loop"), "Include loop".to_owned())],
        _ => vec![],
    };
    parse_file(
        text,
        Path::new("config"),
        Query {
            target: &target,
            local_user: "me",
        },
        &includes,
        &mut pairs,
    )
    .unwrap();
    pairs
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
    assert_eq!(
        pairs("Host other\n Include second\n", "alpha").first("port"),
        None
    );
    assert_eq!(
        pairs("Host alpha\n Include second\n", "alpha")
            .first("port")
            .as_deref(),
        Some("2200")
    );
}

#[test]
fn the_first_value_wins_and_identities_add_up() {
    let got = pairs(
        "IdentityFile a\nUser one\nHost *\nUser two\nIdentityFile \"b c\"\n",
        "h",
    );
    assert_eq!(got.first("user").as_deref(), Some("one"));
    assert_eq!(got.every("identityfile").collect::<Vec<_>>(), ["a", "b c"]);
}

#[test]
fn conditions() {
    let check = |head: &str, host: &str, expect: bool| {
        assert_eq!(
            pairs(&format!("{head}\nPort 7\n"), host).first("port").is_some(),
            expect,
            "{head} for {host}"
        );
    };
    check("Host a b*", "bcd", true);
    check("Host * !bcd", "bcd", false);
    check("Host=a", "a", true);
    check("Match all", "x", true);
    check("Match host a,b", "b", true);
    check("Match !host a,b", "b", false);
    check("Match host=a,b user you", "you@a", true);
    check("Match user you", "a", false);
    check("Match localuser me", "a", true);
    check("Match originalhost alpha", "alpha", true);
    check("HostName real\nMatch host real", "alpha", true);
    check("Match exec true", "a", false);
    check("Match !exec true", "a", false);
    check("Match final all", "a", false);
}

#[test]
fn lines() {
    let split = |line: &str| split_line(line).unwrap();
    assert_eq!(
        split("  Port = 22 # why"),
        Some(("port".into(), vec!["22".into()]))
    );
    assert_eq!(
        split("IdentityFile \"a b\" 'c'"),
        Some(("identityfile".into(), vec!["a b".into(), "c".into()]))
    );
    assert_eq!(
        split("ProxyCommand nc \"%h\" %p"),
        Some(("proxycommand".into(), vec!["nc \"%h\" %p".into()]))
    );
    assert_eq!(split("# no"), None);
    assert!(split_line("User \"x").is_err());
}

#[test]
fn endless_includes_are_an_error() {
    let target = Target::host("a");
    let includes = |_: &str| vec![(PathBuf::from("loop"), "Include loop".to_owned())];
    let query = Query {
        target: &target,
        local_user: "me",
    };
    let error = parse_file(
        "Include loop",
        Path::new("config"),
        query,
        &includes,
        &mut Pairs::default(),
    )
    .unwrap_err();
    assert!(error.message().contains("loop line 1"), "{error}");
}

proptest::proptest! {
    #[test]
    fn never_panics(text in "(?s).{0,300}") {
        let target = Target::host("a");
        let query = Query { target: &target, local_user: "me" };
        // Only the absence of a panic is asserted; most such texts are errors.
        drop(parse_file(&text, Path::new("c"), query, &|_| vec![], &mut Pairs::default()));
    }
}

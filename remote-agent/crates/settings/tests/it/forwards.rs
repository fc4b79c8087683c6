//! Adding and removing forwards keeps everything else.

use std::fs;

use settings::{
    Error, add_forward, remove_forward,
    schema::{Forward, ForwardKind, Via},
};

use crate::support::Fixture;

const FILE: &str = "# My settings.
[[remote.hosts]]
name = \"a\"   # a comment
host = 'a.example'

  # Its forward.
  [[remote.hosts.forwards]]
  bind = '80'
  target = '81'

# The second host.
[[remote.hosts]]
name = \"b\"
tags = [
  1,
]   # the end

[agent]
temperature = 0.1
";

fn forward(kind: ForwardKind, bind: &str, target: Option<&str>) -> Forward {
    Forward {
        r#type: kind,
        bind: bind.to_owned(),
        target: target.map(str::to_owned),
        via: Via::Auto,
    }
}

#[test]
fn a_forward_is_added_to_its_host_and_taken_away_again() {
    let fixture = Fixture::new().user(FILE);
    let path = fixture.path("home/config.toml");
    let text = || fs::read_to_string(&path).unwrap();
    let socks = Forward {
        via: Via::Agent,
        ..forward(ForwardKind::Dynamic, "1080", None)
    };
    let local = forward(ForwardKind::Local, "127.0.0.1:3000", Some("127.0.0.1:3000"));
    assert!(add_forward(&path, "b", &socks).unwrap());
    assert!(add_forward(&path, "a", &local).unwrap());
    // The same one is there at most once, whoever carries it.
    assert!(!add_forward(&path, "b", &forward(ForwardKind::Dynamic, "1080", None)).unwrap());
    let expected = FILE
        .replace(
            "target = '81'\n",
            "target = '81'\n[[remote.hosts.forwards]]\nbind = \"127.0.0.1:3000\"\ntarget = \"127.0.0.1:3000\"\n",
        )
        .replace(
            "# the end\n",
            "# the end\n[[remote.hosts.forwards]]\nbind = \"1080\"\ntype = \"dynamic\"\nvia = \"agent\"\n",
        );
    assert_eq!(text(), expected);
    let hosts = fixture.load().settings.remote.hosts;
    assert_eq!(hosts[0].forwards.len(), 2);
    assert_eq!(hosts[1].forwards, [socks]);

    let is_three = |forward: &Forward| forward.bind.ends_with("3000");
    assert_eq!(remove_forward(&path, "a", is_three).unwrap(), 1);
    assert_eq!(remove_forward(&path, "a", is_three).unwrap(), 0);
    let all = |_: &Forward| true;
    assert_eq!(remove_forward(&path, "a", all).unwrap(), 1);
    assert_eq!(remove_forward(&path, "b", all).unwrap(), 1);
    let left = text();
    assert!(!left.contains("forward"), "{left}");
    for kept in [
        "# My settings.",
        "# a comment",
        "# The second host.",
        "# the end",
        "temperature = 0.1",
    ] {
        assert!(left.contains(kept), "{kept}: {left}");
    }
}

#[test]
fn what_cannot_be_changed_is_said_and_stays() {
    let check = |file: &str, host: &str, says: &str| {
        let fixture = Fixture::new().user(file);
        let path = fixture.path("home/config.toml");
        let added = add_forward(&path, host, &forward(ForwardKind::Local, "1", Some("2")));
        let error = added.unwrap_err();
        assert!(matches!(error, Error::Refused { .. }), "{error:?}");
        assert!(error.to_string().contains(says), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), file);
    };
    check(FILE, "c", "no host named \"c\"");
    check("[remote]\nhosts = [{name = \"a\"}]\n", "a", "in one line");
    check(
        "[[remote.hosts]]\nname = \"a\"\nforwards = [{bind = \"5\", target = \"6\"}]\n",
        "a",
        "in one line",
    );
    check("[[remote.hosts]\n", "a", "TOML");
}

//! Adding and removing hosts keeps everything else.

use std::{fs, os::unix::fs::PermissionsExt as _};

use settings::{Error, NewHost, add_host, remove_host};

use crate::support::Fixture;

const FILE: &str = "# My settings.

default_model = \"x\"   # the good one

# The first host.
[[remote.hosts]]
name = \"a\"   # a comment
host = 'a.example'
tags = [
  1,
]

  # Its forward.
  [[remote.hosts.forwards]]
  bind = '80'
  target = '81'

# The second host,
# described at length.
[[remote.hosts]]
name = \"b\"

# Not about a host.

[agent]
temperature = 0.1
";

fn host(name: &str) -> NewHost {
    NewHost {
        name: name.into(),
        host: Some("c.example".into()),
        port: Some(2222),
        ..NewHost::default()
    }
}

#[test]
fn a_host_is_added_behind_an_untouched_file() {
    let fixture = Fixture::new().user(FILE);
    let path = fixture.path("home/config.toml");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    add_host(&path, &host("c \"quoted\"".split(' ').next().unwrap())).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(
        text,
        format!("{FILE}\n[[remote.hosts]]\nhost = \"c.example\"\nname = \"c\"\nport = 2222\n")
    );
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    let loaded = fixture.load();
    assert_eq!(loaded.settings.remote.hosts[2].port, Some(2222));
}

#[test]
fn a_missing_file_is_created_for_its_owner_only() {
    let fixture = Fixture::new();
    let path = fixture.path("home/config.toml");
    add_host(
        &path,
        &NewHost {
            workspace: Some("~/a \"b\"\n".into()),
            install: Some("never".into()),
            ..host("c")
        },
    )
    .unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(
        fixture.load().settings.remote.hosts[0].workspace.as_deref(),
        Some("~/a \"b\"\n")
    );
    assert_eq!(
        fixture.load().settings.remote.hosts[0].agent.install,
        settings::schema::Install::Never
    );
    assert!(remove_host(&path, "c").unwrap());
    assert_eq!(fs::read_to_string(&path).unwrap(), "");
}

#[test]
fn a_host_is_removed_with_its_comment_and_tables_and_nothing_else() {
    let fixture = Fixture::new().user(FILE);
    let path = fixture.path("home/config.toml");
    assert!(!remove_host(&path, "c").unwrap());
    assert_eq!(fs::read_to_string(&path).unwrap(), FILE);
    assert!(remove_host(&path, "a").unwrap());
    let start = FILE.find("# The first host.").unwrap();
    let end = FILE.find("# The second host,").unwrap();
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        format!("{}{}", &FILE[..start], &FILE[end..])
    );
    assert!(remove_host(&path, "b").unwrap());
    let rest = "# My settings.\n\ndefault_model = \"x\"   # the good one\n\n# Not about a host.\n\n[agent]\ntemperature = 0.1\n";
    assert_eq!(fs::read_to_string(&path).unwrap(), rest);
}

#[test]
fn adding_and_removing_gives_the_same_file() {
    for text in [
        "",
        "# only a comment\n",
        FILE,
        "[remote]\nknown_hosts = 'x'\n",
        "a = 1",
    ] {
        let fixture = Fixture::new().user(text);
        let path = fixture.path("home/config.toml");
        add_host(&path, &host("c")).unwrap();
        remove_host(&path, "c").unwrap();
        let left = fs::read_to_string(&path).unwrap();
        assert_eq!(left.trim_end(), text.trim_end(), "{text:?}");
    }
}

#[test]
fn what_cannot_be_changed_safely_is_refused_and_left_alone() {
    let inline = "remote.hosts = [{ name = 'a' }]\n";
    for (text, name, reason) in [
        (
            FILE,
            "",
            "\"\" is not a name for a host: it must be one word without / : @ [ ]",
        ),
        (
            FILE,
            "a b",
            "\"a b\" is not a name for a host: it must be one word without / : @ [ ]",
        ),
        (
            FILE,
            "a:b",
            "\"a:b\" is not a name for a host: it must be one word without / : @ [ ]",
        ),
        (
            inline,
            "c",
            "its hosts are written in one line; write each as a [[remote.hosts]] table",
        ),
        ("[x\n", "c", "it is not TOML: unclosed table, expected `]`"),
    ] {
        let fixture = Fixture::new().user(text);
        let path = fixture.path("home/config.toml");
        let Error::Refused { reason: found, .. } = add_host(&path, &host(name)).unwrap_err() else {
            panic!("{name}")
        };
        assert_eq!(found, reason);
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    let fixture = Fixture::new().user(FILE);
    let taken = add_host(&fixture.path("home/config.toml"), &host("a")).unwrap_err();
    assert!(
        taken.to_string().ends_with("there is already a host named \"a\""),
        "{taken}"
    );
    assert!(taken.hints()[0].contains("`reasonix remote show a`"), "{taken:?}");
    let fixture = Fixture::new().user(inline);
    assert!(matches!(
        remove_host(&fixture.path("home/config.toml"), "a"),
        Err(Error::Refused { .. })
    ));
}

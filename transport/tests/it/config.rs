//! Resolving a host: `ssh -G` and the own parser agree, and the result connects.

mod both;
mod machine;
mod random;
mod refused;
mod table;

use std::path::{Path, PathBuf};

use transport::{ErrorKind, Proxy, ResolveOptions, Target, configured_aliases, resolve, testing::RealSshd};

use crate::support::{Client, current_user, sshd_options};

fn options(folder: &Path, ssh: Option<&str>) -> ResolveOptions {
    let home = folder.to_string_lossy().into_owned();
    ResolveOptions {
        shown_as: None,
        home: folder.to_owned(),
        local_user: current_user(),
        ssh_program: ssh.map(PathBuf::from),
        config_file: Some(folder.join("config")),
        agent_socket: Some(folder.join("agent.sock")),
        environment: vec![("HOME".into(), home), ("PATH".into(), "/usr/bin:/bin".into())],
        overrides: Vec::new(),
    }
}

/// RA-02: every spelling of the key's place logs in; an unknown token is named.
#[tokio::test]
async fn tokens_in_identity_files() {
    let client = Client::new();
    let server = RealSshd::start(sshd_options(&client)).await.unwrap();
    client.trust(&server.known_hosts());
    let dir = client.folder.path();
    let user = current_user();
    std::fs::create_dir(dir.join(".ssh")).unwrap();
    for name in [
        "id_case".to_owned(),
        format!("u-{user}"),
        "h-127.0.0.1".into(),
        "p%".into(),
    ] {
        client.key.write(&dir.join(".ssh").join(name)).unwrap();
    }
    for ssh in [Some("/usr/bin/ssh"), None] {
        for spelling in [
            "%d/.ssh/id_case",
            "~/.ssh/id_case",
            "${HOME}/.ssh/id_case",
            "~/.ssh/u-%u",
            "~/.ssh/u-%r",
            "~/.ssh/h-%h",
            "~/.ssh/p%%",
        ] {
            let config = format!(
                "Host alpha\nHostName 127.0.0.1\nPort {}\nIdentityFile {spelling}\nIdentitiesOnly yes\nIdentityAgent none\nUserKnownHostsFile {}\n",
                server.address().port(),
                client.path("known_hosts").display()
            );
            std::fs::write(dir.join("config"), config).unwrap();
            let resolved = resolve(&Target::host("alpha"), &options(dir, ssh)).await.unwrap();
            client.connect(&resolved).await.unwrap();
        }
        std::fs::write(dir.join("config"), "IdentityFile ~/%q\n").unwrap();
        let error = resolve(&Target::host("alpha"), &options(dir, ssh))
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.to_string().contains("%q"), "{error}");
    }
}

#[tokio::test]
async fn mistakes_are_named_with_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config");
    std::fs::write(&config, "Host a\n\nUser \"unclosed\n").unwrap();
    for ssh in [Some("/usr/bin/ssh"), None] {
        let error = resolve(&Target::host("a"), &options(folder.path(), ssh))
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(
            error.to_string().contains(config.to_str().unwrap()) && error.to_string().contains("line 3"),
            "{error}"
        );
    }
    std::fs::write(&config, "Host loop\nProxyJump loop\n").unwrap();
    let error = resolve(&Target::host("loop"), &options(folder.path(), None))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("circle"), "{error}");
}

#[tokio::test]
async fn overrides_beat_the_files() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("config"), "Port 1\nUser file\n").unwrap();
    for ssh in [Some("/usr/bin/ssh"), None] {
        let mut options = options(folder.path(), ssh);
        options.overrides = vec![("Port".into(), "2".into()), ("IdentityFile".into(), "/k".into())];
        let resolved = resolve(&Target::host("h"), &options).await.unwrap();
        assert_eq!(
            (resolved.endpoint.port, resolved.endpoint.user.as_str()),
            (2, "file")
        );
        assert_eq!(resolved.identity.files, [PathBuf::from("/k")]);
    }
}

#[tokio::test]
async fn overrides_and_the_shown_name_are_for_the_destination_only() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("config"), "Host hop\nIdentityFile /hop\n").unwrap();
    for ssh in [Some("/usr/bin/ssh"), None] {
        let mut options = options(folder.path(), ssh);
        options.shown_as = Some("box".into());
        options.overrides = vec![
            ("ProxyJump".into(), "hop".into()),
            ("IdentityFile".into(), "/k".into()),
        ];
        let resolved = resolve(&"me@h:2".parse().unwrap(), &options).await.unwrap();
        assert_eq!(resolved.alias, "box");
        let Some(Proxy::Jump(hop)) = resolved.proxy else {
            panic!("no jump host")
        };
        assert_eq!((hop.alias.as_str(), hop.proxy), ("hop", None));
        assert_eq!(hop.identity.files, [PathBuf::from("/hop")]);
    }
}

#[tokio::test]
async fn the_hosts_that_files_name_are_listed_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let ssh = folder.path().join(".ssh");
    std::fs::create_dir_all(ssh.join("conf.d")).unwrap();
    std::fs::write(
        ssh.join("config"),
        "Include conf.d/[0-9]*\nHost one two* !three\n",
    )
    .unwrap();
    std::fs::write(ssh.join("conf.d/1"), "Host inner\n").unwrap();
    std::fs::write(ssh.join("conf.d/.2"), "Host hidden\n").unwrap();
    let mut options = options(folder.path(), None);
    options.config_file = None;
    let found = configured_aliases(&options).await.unwrap();
    let found: Vec<_> = found
        .iter()
        .map(|alias| (alias.name.as_str(), alias.file.clone(), alias.line))
        .collect();
    assert_eq!(
        found,
        [("inner", ssh.join("conf.d/1"), 1), ("one", ssh.join("config"), 2)]
    );
    options.home = folder.path().join("nowhere");
    assert_eq!(configured_aliases(&options).await.unwrap(), []);
}

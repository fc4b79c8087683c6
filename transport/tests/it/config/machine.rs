//! What resolving asks of this machine: programs, files and their permissions.

use std::{
    fs::{Permissions, create_dir_all, set_permissions, write},
    net::IpAddr,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use tokio::net::TcpListener;
use transport::{Error, ErrorKind, ResolveOptions, Resolved, Source, Target, resolve};

use super::{both::Account, options};
use crate::support::Client;

fn script(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    path
}

async fn own_files(options: &ResolveOptions, host: &str) -> Result<Resolved, Error> {
    let options = ResolveOptions {
        config_file: None,
        ..options.clone()
    };
    resolve(&Target::host(host), &options).await
}

#[tokio::test]
async fn a_program_that_is_no_openssh_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path().join("config"), "Port 7\n").unwrap();
    let programs = [
        (
            "old",
            "echo \"ssh: unknown option -- G\nusage: ssh [-1246AaCfgKkMNnqsTtVvXxYy]\" >&2; exit 255",
        ),
        ("other", "echo 'Usage: dbclient [options] host' >&2; exit 1"),
        ("silent", "exit 0"),
    ];
    for (name, text) in programs {
        let program = script(folder.path(), name, text);
        let mut options = options(folder.path(), None);
        options.ssh_program = Some(program);
        let resolved = resolve(&Target::host("a"), &options).await.unwrap();
        assert_eq!(
            (resolved.source, resolved.endpoint.port),
            (Source::OwnParser, 7),
            "{name}"
        );
    }
}

#[tokio::test]
async fn what_openssh_complains_about_is_passed_on() {
    let account = Account::new();
    account.write("config", "User u\nPrt 7\n");
    let error = resolve(&Target::host("a"), &account.options(Some("/usr/bin/ssh")))
        .await
        .unwrap_err();
    let message = error.message();
    let config = account.path("config").display().to_string();
    for part in [config.as_str(), "line 2", "prt"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(!message.contains("terminating"), "{message}");
}

#[tokio::test]
async fn the_users_files_are_found_from_the_home() {
    let folder = tempfile::tempdir().unwrap();
    let ssh = folder.path().join(".ssh");
    create_dir_all(ssh.join("conf.d")).unwrap();
    write(
        ssh.join("config"),
        "Include conf.d/* ~/more\nHost a\nIdentityFile ~/.ssh/key\n",
    )
    .unwrap();
    write(ssh.join("conf.d/1"), "Host a\nPort 7\nInclude inner\n").unwrap();
    write(ssh.join("inner"), "User u\n").unwrap();
    write(folder.path().join("more"), "HostName real\n").unwrap();
    let options = options(folder.path(), None);
    let resolved = own_files(&options, "a").await.unwrap();
    let endpoint = &resolved.endpoint;
    assert_eq!(
        (endpoint.host_name.as_str(), endpoint.port, endpoint.user.as_str()),
        ("real", 7, "u")
    );
    assert_eq!(resolved.identity.files, [ssh.join("key")]);
    assert_eq!(own_files(&options, "b").await.unwrap().endpoint.port, 22);
}

#[tokio::test]
async fn files_that_others_may_write_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let ssh = folder.path().join(".ssh");
    create_dir_all(&ssh).unwrap();
    let options = options(folder.path(), None);
    write(ssh.join("config"), "Port 7\n").unwrap();
    for (mode, good) in [(0o600, true), (0o644, true), (0o664, false), (0o646, false)] {
        set_permissions(ssh.join("config"), Permissions::from_mode(mode)).unwrap();
        let found = own_files(&options, "a").await;
        assert_eq!(found.is_ok(), good, "{mode:o}");
        if let Err(error) = found {
            assert_eq!(error.kind(), ErrorKind::Config);
            assert!(error.message().contains("bad owner or permissions"), "{error}");
        }
    }
    let missing = resolve(
        &Target::host("a"),
        &ResolveOptions {
            config_file: Some(ssh.join("none")),
            ..options
        },
    )
    .await
    .unwrap_err();
    assert!(missing.message().contains("no such file"), "{missing}");
}

#[tokio::test]
async fn overrides_may_have_blanks() {
    let account = Account::new();
    account.write("config", "Port 1\nProxyCommand file\nIdentityFile /k\n");
    for ssh in [Some("/usr/bin/ssh"), None] {
        let mut options = account.options(ssh);
        let overrides = [
            ("IdentityFile", "/with blank/a \"b\" # c"),
            ("ProxyCommand", "nc -x \"a b\" %h"),
            ("Port", "9"),
        ];
        options.overrides = overrides.map(|(key, value)| (key.into(), value.into())).to_vec();
        let resolved = resolve(&Target::host("a"), &options).await.unwrap();
        assert_eq!(
            resolved.identity.files,
            [PathBuf::from("/with blank/a \"b\" # c"), PathBuf::from("/k")]
        );
        assert_eq!(resolved.endpoint.port, 9);
        let Some(transport::Proxy::Command { line, .. }) = resolved.proxy else {
            panic!("no proxy command")
        };
        assert_eq!(line, "nc -x \"a b\" a");
        options.overrides = vec![("Prt".into(), "9".into())];
        let error = resolve(&Target::host("a"), &options).await.unwrap_err();
        assert!(error.message().contains("prt"), "{error}");
    }
}

/// A command that hands over its own connection is refused clearly, whoever reads the files.
#[tokio::test]
async fn fd_passing_is_refused() {
    let account = Account::new();
    account.write("config", "ProxyUseFdpass yes\nProxyCommand x\n");
    for ssh in [Some("/usr/bin/ssh"), None] {
        let error = resolve(&Target::host("a"), &account.options(ssh))
            .await
            .unwrap_err();
        assert!(error.message().contains("ProxyUseFdpass"), "{error}");
    }
}

#[tokio::test]
async fn another_users_home_is_found() {
    let account = Account::new();
    account.write(
        "config",
        "IdentityFile ~@ME@/.ssh/x\nHost b\nCertificateFile ~no-such-user/x\n",
    );
    for ssh in [Some("/usr/bin/ssh"), None] {
        let options = account.options(ssh);
        let resolved = resolve(&Target::host("a"), &options).await.unwrap();
        assert_eq!(resolved.identity.files, [options.home.join(".ssh/x")]);
        let error = resolve(&Target::host("b"), &options).await.unwrap_err();
        assert!(error.message().contains("no-such-user"), "{error}");
    }
}

/// Resolves a host on the port of a listener, connects, and gives the address from which that came, or the error.
async fn comes_from(config: &str, host: &str) -> Result<IpAddr, Error> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let account = Account::new();
    account.write("config", config);
    let target = Target {
        port: Some(listener.local_addr().unwrap().port()),
        ..Target::host(host)
    };
    let resolved = resolve(&target, &account.options(None)).await.unwrap();
    let client = Client::new();
    tokio::select! {
        biased;
        accepted = listener.accept() => Ok(accepted.unwrap().1.ip()),
        connection = client.connect(&resolved) => Err(connection.err().unwrap()),
    }
}

#[tokio::test]
async fn connections_come_from_where_the_configuration_says() {
    let good = [
        ("", "127.0.0.1", "127.0.0.1"),
        ("BindAddress 127.0.0.9", "127.0.0.1", "127.0.0.9"),
        ("BindInterface lo", "127.0.0.1", "127.0.0.1"),
        ("AddressFamily inet", "localhost", "127.0.0.1"),
    ];
    for (config, host, from) in good {
        let found = comes_from(config, host).await.unwrap();
        assert_eq!(found, from.parse::<IpAddr>().unwrap(), "{config}");
    }
    let bad = [
        ("BindAddress ::1", "127.0.0.1", "another family"),
        ("BindAddress here", "127.0.0.1", "no address"),
        ("BindInterface no-such", "127.0.0.1", "BindInterface no-such"),
        ("AddressFamily inet6", "127.0.0.1", "AddressFamily inet6"),
    ];
    for (config, host, word) in bad {
        let error = comes_from(config, host).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unreachable, "{config}");
        assert!(error.message().contains(word), "{error}");
    }
}

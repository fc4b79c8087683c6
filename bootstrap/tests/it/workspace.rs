//! The workspace is the one that was asked for, or the answer is no.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
};

use bootstrap::{Ask, ErrorKind, Stage, Workspace, Write, probe};

use crate::{
    host::Host,
    stand_in::{go, program, wanted},
};

#[tokio::test]
async fn any_name_arrives_unchanged() {
    let names = [
        "plain",
        "a b",
        "it's",
        "q\"uote",
        "$HOME",
        "`id`",
        "*",
        "new\nline",
        "end\n",
        "-n",
        "--",
        "ä/汉字",
        "back\\slash",
        "!bang",
        "~tilde",
        "%s",
        "#hash",
        "tab\there",
        "\\0101",
    ];
    for shell in ["/bin/bash", "/bin/tcsh", "/usr/bin/fish"] {
        let host = Host::with_shell(shell);
        let home = host.home().canonicalize().unwrap();
        for name in names {
            let path = home.join(name);
            fs::create_dir_all(&path).unwrap();
            let spellings = [
                path.to_str().unwrap().to_owned(),
                format!("~/{name}"),
                name.to_owned(),
            ];
            // The script is the same for every shell; only what reaches it could differ.
            for asked in spellings
                .into_iter()
                .take(if shell == "/bin/bash" { 3 } else { 1 })
            {
                let ask = Ask {
                    workspace: Some(&asked),
                    home: None,
                    write: Write::Forbidden,
                };
                let answer = probe(&host, &ask)
                    .await
                    .unwrap_or_else(|error| panic!("{shell} {asked:?}: {error}"));
                let want = Workspace::Ready(path.to_str().unwrap().to_owned());
                assert_eq!(answer.workspace, Some(want), "{shell} {asked:?}");
            }
        }
    }
}

#[tokio::test]
async fn long_names_and_a_locale_of_bytes_do_not_matter() {
    let mut host = Host::new();
    host.env.push(("LC_ALL".into(), "C".into()));
    let home = host.home().canonicalize().unwrap();
    let deep = vec!["ü".repeat(100); 15].join("/");
    fs::create_dir_all(home.join(&deep)).unwrap();
    let refused = ["n".repeat(256), "d/".repeat(2500)];
    for (name, there) in [(deep.as_str(), true), (&refused[0], false), (&refused[1], false)] {
        let ask = Ask {
            workspace: Some(name),
            home: None,
            write: Write::Forbidden,
        };
        let answer = probe(&host, &ask).await.unwrap();
        let path = home.join(name).to_str().unwrap().trim_end_matches('/').to_owned();
        let want = if there {
            Workspace::Ready(path)
        } else {
            Workspace::Missing(path)
        };
        assert_eq!(answer.workspace, Some(want));
    }
}

#[tokio::test]
async fn a_name_that_is_no_text_is_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let host = Host::new();
    let odd = host.home().join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir(&odd).unwrap();
    symlink(&odd, host.home().join("link")).unwrap();
    let mut wanted = wanted(&host, &program(20_000));
    wanted.workspace = Some("link".into());
    let error = go(&host, &wanted).await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Workspace(Workspace::Unusable(_))),
        "{error:?}"
    );
    assert!(error.to_string().contains("not UTF-8"), "{error}");
}

#[tokio::test]
async fn links_are_resolved() {
    let host = Host::new();
    let real = host.home().canonicalize().unwrap().join("real");
    fs::create_dir(&real).unwrap();
    symlink("real", host.home().join("link")).unwrap();
    let mut wanted = wanted(&host, &program(20_000));
    wanted.workspace = Some("~/link/".into());
    assert_eq!(
        go(&host, &wanted).await.unwrap().workspace.as_deref(),
        real.to_str()
    );
}

#[tokio::test]
async fn what_cannot_be_entered_is_refused() {
    let host = Host::new().unprivileged();
    let home = host.home();
    fs::write(home.join("file"), "").unwrap();
    symlink("nowhere", home.join("dangling")).unwrap();
    fs::create_dir_all(home.join("closed/below")).unwrap();
    fs::set_permissions(home.join("closed"), fs::Permissions::from_mode(0o000)).unwrap();
    let at = |name: &str| home.join(name).to_str().unwrap().to_owned();
    let table = [
        ("~/missing/x", Workspace::Missing(at("missing/x"))),
        ("~/missing//", Workspace::Missing(at("missing"))),
        ("file", Workspace::NotADirectory(at("file"))),
        ("file/x", Workspace::NotADirectory(at("file"))),
        ("dangling", Workspace::Dangling(at("dangling"))),
        ("closed", Workspace::Denied(at("closed"))),
        ("closed/below", Workspace::Denied(at("closed/below"))),
        ("", Workspace::Unusable(String::new())),
        ("a\0b", Workspace::Unusable("a\0b".into())),
    ];
    let mut wanted = wanted(&host, &program(20_000));
    for (asked, want) in table {
        wanted.workspace = Some(asked.into());
        let error = go(&host, &wanted).await.unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Workspace(got) if *got == want),
            "{asked:?}: {error:?}"
        );
        assert_eq!((error.stage(), error.exit_code()), (Stage::Choose, 5));
        assert!(error.hint().is_some());
        assert!(!home.join(".reasonix").exists(), "a refusal writes nothing");
    }
    fs::set_permissions(home.join("closed"), fs::Permissions::from_mode(0o755)).unwrap();
}

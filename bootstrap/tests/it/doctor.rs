//! What a diagnosis asks of real hosts, and what it leaves there: nothing.

use std::fs;

use bootstrap::{
    Ask, Write,
    doctor::{Examined, Git, Trial, Try, examine},
    probe,
};

use crate::host::{Host, Mounts, files};

async fn look(host: &Host, workspace: Option<&str>, may: Try) -> Examined {
    let ask = Ask {
        workspace,
        home: None,
        write: Write::Forbidden,
    };
    let probe = probe(host, &ask).await.unwrap();
    examine(host, &probe, may).await.unwrap()
}

#[tokio::test]
async fn folders_are_tried_and_left_as_they_were() {
    for shell in ["/bin/bash", "/bin/dash", "/usr/bin/fish", "/bin/tcsh"] {
        let host = Host::with_shell(shell);
        // A shell may make files of its own when it starts for the first time.
        host.raw("echo", b"").await;
        let before = files(&host.home());
        let found = look(&host, None, Try::AndRemove).await;
        assert!(found.places.len() >= 3, "{shell}: {found:?}");
        let first = &found.places[0];
        assert!(first.path.ends_with("home/.reasonix/bin"), "{shell}: {first:?}");
        assert_eq!(first.trial, Trial::Runs, "{shell}");
        assert!(first.free.is_some(), "{shell}");
        assert_eq!(files(&host.home()), before, "{shell}");
    }
}

#[tokio::test]
async fn nothing_is_tried_if_that_is_not_wanted() {
    let host = Host::new();
    let found = look(&host, None, Try::Nothing).await;
    assert_eq!(found.places[0].trial, Trial::Untried, "{found:?}");
}

#[tokio::test]
async fn a_folder_that_will_not_do_says_why() {
    let mut host = Host::new();
    let home = host.home();
    let shown = home.display();
    let setup = format!(
        "mount -t tmpfs -o noexec none {shown}\nmkdir -p {shown}/.cache/reasonix\n\
         mount -t tmpfs -o size=4k none {shown}/.cache/reasonix\necho x > {shown}/.cache/reasonix/fill\n\
         mount -t tmpfs none /var/tmp\nln -s /etc /var/tmp/reasonix-$(id -u)"
    );
    let mounts = Mounts::new(&setup).await;
    host.prefix = mounts.enter.clone();
    let found = look(&host, None, Try::AndRemove).await;
    let trials: Vec<&Trial> = found.places.iter().map(|place| &place.trial).collect();
    assert!(
        matches!(trials[..3], [Trial::NoExec(_), Trial::Full(_), Trial::Refused(_)]),
        "{found:?}"
    );
    let left = fs::read_dir(mounts.inside(&home)).unwrap().count();
    assert_eq!(left, 1, "only what the test put there");
}

#[tokio::test]
async fn git_says_whether_the_workspace_is_a_tree() {
    let host = Host::new();
    let work = host.home().join("a 'b");
    fs::create_dir(&work).unwrap();
    assert_eq!(
        look(&host, work.to_str(), Try::Nothing).await.git,
        Some(Git::NoTree)
    );
    let init = host
        .raw(&format!("git init -q \"{}\"", work.display()), b"")
        .await;
    assert!(String::from_utf8_lossy(&init.stderr).is_empty(), "{init:?}");
    assert_eq!(
        look(&host, work.to_str(), Try::Nothing).await.git,
        Some(Git::Tree)
    );
}

#[tokio::test]
async fn what_is_used_and_the_server_are_told() {
    let mut host = Host::new();
    fs::create_dir_all(host.home().join(".reasonix/sessions")).unwrap();
    fs::write(host.home().join(".reasonix/sessions/log"), vec![b'x'; 100_000]).unwrap();
    host.env
        .push(("SSH_CONNECTION".into(), "192.0.2.1 5000 2001:db8::1 2222".into()));
    let found = look(&host, None, Try::Nothing).await;
    assert!(
        found
            .used
            .iter()
            .any(|(name, size)| name == "sessions" && *size >= 100_000),
        "{found:?}"
    );
    assert_eq!(found.server, Some(("2001:db8::1".to_owned(), 2222)));
}

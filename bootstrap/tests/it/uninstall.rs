//! What is taken off a host again, and what stays.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

use bootstrap::{Ask, ItemKind, Probe, Removal, Uninstall, Write, probe};

use crate::{
    host::{Host, write_program},
    stand_in::{go, program, wanted},
};

/// Lists everything below a folder.
fn everything(folder: &Path) -> Vec<String> {
    fn walk(folder: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            found.push(path.display().to_string());
            if path.is_dir() && !path.is_symlink() {
                walk(&path, found);
            }
        }
    }
    let mut found = Vec::new();
    walk(folder, &mut found);
    found.sort();
    found
}

async fn look(host: &Host) -> Probe {
    let ask = Ask {
        workspace: None,
        home: None,
        write: Write::Forbidden,
    };
    probe(host, &ask).await.unwrap()
}

async fn uninstall(host: &Host, removal: Removal) -> Uninstall {
    bootstrap::uninstall(host, &look(host).await, removal)
        .await
        .unwrap()
}

/// Leaves what work on a host leaves there.
fn leave_work(host: &Host) {
    let home = host.home().join(".reasonix");
    for folder in ["sessions/x/1", "logs"] {
        fs::create_dir_all(home.join(folder)).unwrap();
    }
    for file in ["sessions/x/1/log.jsonl", "logs/daemon.log", "config.toml", ".env"] {
        fs::write(home.join(file), "x").unwrap();
    }
    for name in [
        ".part-0123456789ab-x",
        ".new-0123456789ab-y",
        ".lock-0123456789ab",
        ".try-1",
    ] {
        fs::write(host.programs().join(name), "x").unwrap();
    }
}

#[tokio::test]
async fn a_host_is_as_it_was_before_the_first_connect() {
    for shell in ["/bin/bash", "/usr/bin/fish", "/bin/tcsh"] {
        let host = Host::with_shell(shell);
        // A shell may make files of its own when it starts for the first time.
        host.raw("echo", b"").await;
        let before = everything(&host.home());
        go(&host, &wanted(&host, &program(20_000))).await.unwrap();
        leave_work(&host);
        let listed = uninstall(&host, Removal::List).await;
        let there = everything(&host.home());
        assert!(there.len() > 10, "{there:?}");
        let gone = uninstall(&host, Removal::Everything).await;
        assert_eq!(gone, listed, "{shell}: what was listed is what went");
        assert_eq!(gone.kept, [], "{shell}");
        assert_eq!(everything(&host.home()), before, "{shell}");
        let nothing = uninstall(&host, Removal::List).await;
        assert_eq!(nothing, Uninstall::default(), "{shell}");
    }
}

#[tokio::test]
async fn sessions_and_configuration_stay_if_they_are_wanted() {
    let host = Host::new();
    go(&host, &wanted(&host, &program(20_000))).await.unwrap();
    leave_work(&host);
    let gone = uninstall(&host, Removal::Programs).await;
    let (_, sessions) = gone.size(&[ItemKind::Sessions, ItemKind::Configuration]);
    assert_eq!(sessions, 0, "{gone:?}");
    let home = host.home().join(".reasonix");
    let left: Vec<String> = everything(&home)
        .iter()
        .filter_map(|path| path.strip_prefix(home.to_str().unwrap()).map(str::to_owned))
        .collect();
    assert_eq!(
        left,
        [
            "/.env",
            "/config.toml",
            "/sessions",
            "/sessions/x",
            "/sessions/x/1",
            "/sessions/x/1/log.jsonl"
        ]
    );
}

#[tokio::test]
async fn what_is_not_ours_stays_and_is_named() {
    let host = Host::new();
    let home = host.home().join(".reasonix");
    let elsewhere = host.dir.path().join("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    fs::create_dir_all(host.programs()).unwrap();
    fs::write(elsewhere.join("precious"), "x").unwrap();
    fs::write(elsewhere.join("reasonix-1-0123456789ab"), "x").unwrap();
    fs::write(host.programs().join("mine"), "x").unwrap();
    fs::write(home.join("notes.txt"), "x").unwrap();
    symlink(&elsewhere, home.join("sessions")).unwrap();
    symlink(
        elsewhere.join("precious"),
        host.programs().join("reasonix-1-0123456789ab"),
    )
    .unwrap();
    fs::create_dir_all(host.home().join(".cache/reasonix")).unwrap();
    symlink(&elsewhere, host.home().join(".cache/reasonix/bin")).unwrap();
    let before = everything(host.dir.path());
    let done = uninstall(&host, Removal::Everything).await;
    assert_eq!(everything(host.dir.path()), before, "{done:?}");
    let kept = |end: &str| done.kept.iter().any(|kept| kept.path.ends_with(end));
    for end in [
        ".reasonix/sessions",
        "notes.txt",
        ".cache/reasonix/bin",
        ".reasonix/bin",
    ] {
        assert!(kept(end), "{end}: {done:?}");
    }
}

#[tokio::test]
async fn what_a_person_keeps_in_the_home_itself_stays() {
    let mut host = Host::new();
    let home = host.home();
    host.env
        .push(("REASONIX_HOME".to_owned(), home.display().to_string()));
    let program = "bin/reasonix-1-0123456789ab";
    for folder in ["bin", "logs", "sessions", "dist"] {
        fs::create_dir_all(home.join(folder)).unwrap();
    }
    for file in [
        program,
        "logs/precious",
        "sessions/precious",
        "dist/precious",
        "history",
        ".env",
    ] {
        fs::write(home.join(file), "x").unwrap();
    }
    let before = everything(&home);
    let done = uninstall(&host, Removal::Everything).await;
    let gone = [home.join("bin"), home.join(program)].map(|path| path.display().to_string());
    let left: Vec<_> = before.into_iter().filter(|path| !gone.contains(path)).collect();
    assert_eq!(everything(&home), left, "{done:?}");
    let why = done.kept.iter().map(|kept| kept.why.as_str());
    assert!(why.clone().any(|why| why.contains("the home")), "{done:?}");
}

#[tokio::test]
async fn a_home_behind_a_link_is_emptied_and_the_link_stays() {
    let host = Host::new();
    let disk = host.dir.path().join("disk");
    fs::create_dir(&disk).unwrap();
    symlink(&disk, host.home().join(".reasonix")).unwrap();
    go(&host, &wanted(&host, &program(20_000))).await.unwrap();
    leave_work(&host);
    let done = uninstall(&host, Removal::Everything).await;
    assert_eq!(done.kept, []);
    assert!(host.home().join(".reasonix").is_symlink());
    assert!(
        !disk.exists() || everything(&disk).is_empty(),
        "{:?}",
        everything(&disk)
    );
}

#[tokio::test]
async fn a_program_that_runs_stays() {
    let host = Host::new();
    fs::create_dir_all(host.programs()).unwrap();
    let program = host.programs().join("reasonix-9-0123456789ab");
    fs::copy("/bin/sleep", &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut child = stdx::process::command(&program)
        .arg("60")
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let done = uninstall(&host, Removal::Everything).await;
    assert!(program.exists(), "{done:?}");
    assert!(done.kept.iter().any(|kept| kept.why == "runs"), "{done:?}");
    child.kill().await.unwrap();
    uninstall(&host, Removal::Everything).await;
    assert!(!host.home().join(".reasonix").exists());
}

#[tokio::test]
async fn a_program_of_somebody_else_on_the_path_is_named_only() {
    let host = Host::new();
    write_program(&host.dir.path().join("bin/reasonix"), "#!/bin/sh\n");
    let done = uninstall(&host, Removal::Everything).await;
    assert!(
        done.kept.iter().any(|kept| kept.path.ends_with("bin/reasonix")),
        "{done:?}"
    );
    assert!(host.dir.path().join("bin/reasonix").exists());
}

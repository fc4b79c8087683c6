//! What a confined command can and cannot touch.

use std::{fs, net::TcpListener};

use sandbox::{End, Mode, Network};

use crate::world::{World, until, write};

#[tokio::test]
async fn writes_stay_inside() {
    let world = World::new().await;
    if !world.confines().await {
        return;
    }
    let out = world.outside.display();
    std::os::unix::fs::symlink(&world.outside, world.workspace.join("link")).unwrap();
    let script =
        format!("echo ok >inside; touch {out}/a; touch link/b; touch ../outside/c; touch /etc/reasonix-test");
    let outcome = world.run(Mode::WorkspaceWrite, &script).await;
    assert_eq!(
        outcome.output.text().matches("Read-only file system").count(),
        4,
        "{}",
        outcome.output.text()
    );
    assert_eq!(
        fs::read_to_string(world.workspace.join("inside")).unwrap(),
        "ok\n"
    );
    assert_eq!(fs::read_dir(&world.outside).unwrap().count(), 0);
}

#[tokio::test]
async fn write_roots_are_writable_and_missing_ones_ignored() {
    let world = World::new().await;
    if !world.confines().await {
        return;
    }
    let mut policy = world.policy(Mode::WorkspaceWrite);
    policy.write_roots = vec![world.outside.clone(), world.outside.resolve("missing")];
    let script = format!("echo ok >{}/file", world.outside.display());
    assert_eq!(world.try_run(&policy, &script).await.unwrap().end, End::Exited(0));
    assert!(world.outside.join("file").exists());
}

#[tokio::test]
async fn read_only_writes_nothing_but_the_private_folder() {
    let world = World::new().await;
    if !world.confines().await {
        return;
    }
    let outcome = world
        .run(Mode::ReadOnly, "touch a; echo x >$TMPDIR/f && cat /tmp/f; pwd")
        .await;
    let text = outcome.output.text();
    assert!(text.contains("Read-only file system"), "{text}");
    assert!(text.ends_with(&format!("x\n{}\n", world.workspace)), "{text}");
    assert!(!world.workspace.join("a").exists());
}

#[tokio::test]
async fn a_workspace_in_tmp_is_visible() {
    let world = World::new().await;
    if !world.confines().await {
        return;
    }
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    write(folder.path().join("file"), "seen");
    for mode in [Mode::ReadOnly, Mode::WorkspaceWrite] {
        let mut policy = world.policy(mode);
        policy.workspace = stdx::AbsPath::new(folder.path()).unwrap();
        let outcome = world
            .try_run(&policy, "cat file; touch new 2>/dev/null")
            .await
            .unwrap();
        assert_eq!(outcome.output.text(), "seen");
        assert_eq!(folder.path().join("new").exists(), mode == Mode::WorkspaceWrite);
    }
}

#[tokio::test]
async fn tmp_is_shared_between_calls_and_not_with_the_host() {
    let world = World::new().await;
    if !world.confines().await {
        return;
    }
    let host = tempfile::NamedTempFile::new_in("/tmp").unwrap();
    let kept = world.run(Mode::WorkspaceWrite, "echo kept >/tmp/note").await;
    assert_eq!(kept.end, End::Exited(0));
    let script = format!(
        "cat $TMPDIR/note; test -e {} || echo hidden",
        host.path().display()
    );
    assert_eq!(
        world.run(Mode::WorkspaceWrite, &script).await.output.text(),
        "kept\nhidden\n"
    );
    world.sandbox.close().await;
    assert_eq!(
        fs::read_dir(world.workspace.resolve("../tmp")).unwrap().count(),
        0
    );
}

#[tokio::test]
async fn denied_paths_cannot_be_read() {
    let world = World::new().await;
    if !world.confines().await {
        return;
    }
    let (file, folder) = (world.workspace.resolve(".env"), world.outside.resolve("run"));
    write(&file, "KEY=hunter2");
    fs::create_dir(&folder).unwrap();
    write(folder.join("socket"), "hunter2");
    std::os::unix::fs::symlink(&file, world.workspace.join("alias")).unwrap();
    let mut policy = world.policy(Mode::WorkspaceWrite);
    policy.write_roots = vec![world.outside.clone()];
    policy.read_deny = vec![file.clone(), folder.clone(), world.outside.resolve("missing")];
    let script = format!(
        "cat .env alias; ls {folder}; cat {folder}/socket; rm -f .env; mv .env x; echo >{folder}/y; echo end"
    );
    let text = world.try_run(&policy, &script).await.unwrap().output.text();
    assert!(!text.contains("hunter2") && text.ends_with("end\n"), "{text}");
    assert_eq!(fs::read_to_string(file).unwrap(), "KEY=hunter2");
    assert!(!folder.join("y").exists());
}

#[tokio::test]
async fn what_is_hidden_or_protected_cannot_be_moved() {
    let world = World::new().await;
    if !world.confines().await {
        return;
    }
    let home = world.workspace.resolve("user/.home");
    fs::create_dir_all(home.join("deep/work")).unwrap();
    fs::create_dir(world.workspace.join("keys")).unwrap();
    write(home.join("config"), "strict");
    write(home.join(".env"), "KEY=hunter2");
    write(world.workspace.join("keys/id"), "hunter2");
    let mut policy = world.policy(Mode::WorkspaceWrite);
    policy.write_deny = vec![home.clone()];
    policy.write_roots = vec![home.resolve("deep/work")];
    policy.read_deny = vec![home.resolve(".env"), world.workspace.resolve("keys/id")];
    let script = "mv user u; mv user/.home h; mv keys k; mv user/.home/.env e; mv user/.home/deep d; \
                  echo x >user/.home/config; echo x >user/.home/new; ln keys/id l; cat user/.home/.env keys/id; \
                  echo ok >user/.home/deep/work/f; echo ok >user/f; echo ok >keys/f; mv user/f keys/g; echo end";
    let text = world.try_run(&policy, script).await.unwrap().output.text();
    assert!(!text.contains("hunter2") && text.ends_with("end\n"), "{text}");
    assert_eq!(fs::read_to_string(home.join("config")).unwrap(), "strict");
    assert_eq!(fs::read_to_string(home.join(".env")).unwrap(), "KEY=hunter2");
    assert!(!home.join("new").exists());
    for written in ["user/.home/deep/work/f", "keys/f", "keys/g"] {
        assert!(world.workspace.join(written).exists(), "{written}: {text}");
    }
    // A protected folder that is the workspace itself was chosen by a person.
    policy.workspace = home.clone();
    policy.write_roots = Vec::new();
    let outcome = world.try_run(&policy, "mv .env e; echo ok >new").await.unwrap();
    assert_eq!(outcome.end, End::Exited(0));
    assert!(home.join("new").exists() && home.join(".env").exists());
}

#[tokio::test]
async fn a_secret_that_is_replaced_stays_out_of_sight() {
    let world = World::new().await;
    if !world.confines().await {
        return;
    }
    let home = world.outside.resolve("home");
    fs::create_dir_all(home.join("sub")).unwrap();
    write(home.join(".env"), "KEY=hunter1");
    write(home.join("notes"), "public");
    for root in [world.workspace.clone(), world.outside.clone()] {
        let mut policy = world.policy(Mode::WorkspaceWrite);
        policy.write_roots = vec![root];
        policy.write_deny = vec![home.clone()];
        policy.read_deny = vec![home.resolve(".env")];
        let script = format!(
            "cat {home}/notes; : >started; until [ -e go ]; do sleep 0.01; done; cat {home}/.env; ls -A {home}"
        );
        let replaced = async {
            until("it runs", || world.workspace.join("started").exists()).await;
            write(home.join(".new"), "KEY=hunter2");
            fs::rename(home.join(".new"), home.join(".env")).unwrap();
            write(world.workspace.join("go"), "");
        };
        let (outcome, ()) = tokio::join!(world.try_run(&policy, &script), replaced);
        let text = outcome.unwrap().output.text();
        assert!(!text.contains("hunter") && text.starts_with("public"), "{text}");
        assert!(text.ends_with("notes\nsub\n"), "{text}");
        fs::remove_file(world.workspace.join("started")).unwrap();
        fs::remove_file(world.workspace.join("go")).unwrap();
    }
}

#[tokio::test]
async fn without_network_not_even_loopback_answers() {
    let world = World::new().await;
    if !world.confines().await {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!("(: </dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo open || echo closed");
    for (network, want) in [(Network::Allowed, "open\n"), (Network::Denied, "closed\n")] {
        let mut policy = world.policy(Mode::WorkspaceWrite);
        policy.network = network;
        assert_eq!(world.try_run(&policy, &script).await.unwrap().output.text(), want);
    }
}

#[tokio::test]
async fn other_processes_are_out_of_sight() {
    let world = World::new().await;
    if !world.confines().await {
        return;
    }
    let script = format!(
        "kill -0 {0} 2>/dev/null && echo reached; ls /proc/{0}/root 2>/dev/null; echo end",
        std::process::id()
    );
    assert_eq!(
        world.run(Mode::WorkspaceWrite, &script).await.output.text(),
        "end\n"
    );
}

#[tokio::test]
async fn mounts_cannot_be_undone() {
    let world = World::new().await;
    if !world.confines().await {
        return;
    }
    let script = format!(
        "mount -o remount,rw,bind / 2>/dev/null && echo remounted; umount /tmp 2>/dev/null && echo unmounted; \
         unshare -m true 2>/dev/null && echo unshared; touch {}/x 2>/dev/null && echo written; echo end",
        world.outside
    );
    assert_eq!(
        world.run(Mode::WorkspaceWrite, &script).await.output.text(),
        "end\n"
    );
}

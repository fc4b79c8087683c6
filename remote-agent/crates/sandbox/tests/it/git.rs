//! git under confinement, wherever it keeps its folders.

use sandbox::{End, Mode};

use crate::world::{World, environment};

const COMMIT: &str = "git -c user.name=a -c user.email=a@b commit -q -m text";

/// Prepares folders unconfined, then commits confined in `workspace` and tries to plant a hook and a setting.
async fn check(prepare: &str, workspace: &str, common: &str) {
    let world = World::new().await;
    let prepared = world.run(Mode::Unconfined, &format!("set -e; {prepare}")).await;
    assert_eq!(prepared.end, End::Exited(0), "{}", prepared.output.text());
    if !world.confines().await {
        return;
    }
    let common = world.workspace.resolve(common);
    let config = std::fs::read(common.join("config")).unwrap();
    let mut policy = world.policy(Mode::WorkspaceWrite);
    policy.workspace = world.workspace.resolve(workspace);
    let script = format!("echo x >file && git add file && {COMMIT} && git log --format=%s -1");
    let outcome = world.try_run(&policy, &script).await.unwrap();
    assert_eq!(outcome.output.text(), "text\n");
    assert_eq!(outcome.end, End::Exited(0));

    let attack = format!(
        "cd {common}; echo x >hooks/post-commit; mkdir -p hooks/sub; echo '[a]' >>config; git config a.b c; \
         rm -rf hooks config; mv hooks hooks2; cd ..; mv {common} {common}2; echo end"
    );
    let text = world.try_run(&policy, &attack).await.unwrap().output.text();
    assert!(text.ends_with("end\n"), "{text}");
    assert_eq!(std::fs::read(common.join("config")).unwrap(), config, "{text}");
    assert!(
        !common.join("hooks/post-commit").exists() && !common.join("hooks/sub").exists(),
        "{text}"
    );
}

fn init(folder: &str) -> String {
    format!(
        "git init -q {folder} && (cd {folder} && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first)"
    )
}

#[tokio::test]
async fn an_ordinary_repository() {
    check(&init("."), ".", ".git").await;
}

#[tokio::test]
async fn a_repository_without_hooks_folder() {
    check(&format!("{}; rm -r .git/hooks", init(".")), ".", ".git").await;
}

#[tokio::test]
async fn a_folder_below_the_top() {
    check(&format!("{}; mkdir sub", init(".")), "sub", ".git").await;
}

#[tokio::test]
async fn a_linked_worktree() {
    check(
        &format!("{}; cd main; git worktree add -q ../linked", init("main")),
        "linked",
        "main/.git",
    )
    .await;
}

#[tokio::test]
async fn a_linked_worktree_with_relative_paths() {
    let prepare = format!(
        "{}; cd main; git worktree add -q ../linked; echo 'gitdir: ../main/.git/worktrees/linked' >../linked/.git; \
         echo ../../../../linked/.git >.git/worktrees/linked/gitdir",
        init("main")
    );
    check(&prepare, "linked", "main/.git").await;
}

#[tokio::test]
async fn a_worktree_of_a_bare_repository() {
    let prepare = format!(
        "{}; git clone -q --bare seed bare.git; cd bare.git; git worktree add -q ../linked",
        init("seed")
    );
    check(&prepare, "linked", "bare.git").await;
}

#[tokio::test]
async fn a_submodule() {
    let prepare = format!(
        "{}; {}; cd super; git -c protocol.file.allow=always submodule --quiet add ../seed sub",
        init("seed"),
        init("super")
    );
    check(&prepare, "super/sub", "super/.git/modules/sub").await;
}

#[tokio::test]
async fn a_commit_without_message_does_not_wait_for_an_editor() {
    let world = World::new().await;
    let outcome = world
        .run(
            Mode::Unconfined,
            &format!("{}; echo x >f; git add f; {}; git log", init("."), "git commit"),
        )
        .await;
    assert_eq!(outcome.end, End::Exited(0), "{}", outcome.output.text());
    assert!(environment().value("GIT_EDITOR").is_some());
    assert!(world.workspace.join(".git").exists());
}

//! Finding out what confines.

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use sandbox::{Backend, End, Mode, SandboxError};

use crate::world::{PATH, World};

fn fake(folder: &Path, body: &str) -> PathBuf {
    let path = folder.join("bwrap");
    fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// A program that fails, one that only passes its command on, and one that is no program.
const FAKES: [&str; 3] = [
    "echo 'setting up uid map: Permission denied' >&2; exit 1",
    "while test \"$1\" != --; do shift; done; shift; exec \"$@\"",
    "exit 0",
];

#[tokio::test]
async fn what_does_not_confine_is_not_used() {
    for body in FAKES {
        let folder = tempfile::tempdir().unwrap();
        let path = fake(folder.path(), body);
        let Backend::None(reason) = Backend::probe_at(&path).await else {
            panic!("{body} was believed")
        };
        assert!(reason.contains("bwrap"), "{reason}");
    }
    let folder = tempfile::tempdir().unwrap();
    let reason = Backend::probe_at(&fake(folder.path(), FAKES[0])).await;
    assert!(format!("{reason:?}").contains("setting up uid map"), "{reason:?}");
}

#[tokio::test]
async fn the_next_one_that_works_is_used() {
    let folder = tempfile::tempdir().unwrap();
    fake(folder.path(), FAKES[0]);
    let mut search = OsString::from(folder.path());
    search.push(":");
    search.push(PATH);
    let (with, without) = (
        Backend::probe(&search).await,
        Backend::probe(OsStr::new(PATH)).await,
    );
    match without {
        Backend::Bubblewrap(_) => assert_eq!(with, without),
        Backend::None(_) => assert!(matches!(with, Backend::None(_))),
    }
}

#[tokio::test]
async fn without_confinement_nothing_runs_open() {
    let folder = tempfile::tempdir().unwrap();
    let backend = Backend::probe(folder.path().as_os_str()).await;
    assert_eq!(
        backend,
        Backend::None("bubblewrap (bwrap) is not installed".into())
    );
    let world = World::with(backend);
    for mode in [Mode::ReadOnly, Mode::WorkspaceWrite] {
        let error = world.try_run(&world.policy(mode), "touch ran").await.unwrap_err();
        assert!(matches!(error, SandboxError::Unavailable { .. }), "{error}");
        assert!(
            error
                .to_string()
                .starts_with("shell sandbox requested but unavailable on this host"),
            "{error}"
        );
        assert!(error.hint().unwrap().contains("bubblewrap"));
    }
    assert!(!world.workspace.join("ran").exists());
    let outcome = world.run(Mode::Unconfined, "touch ran").await;
    assert_eq!(outcome.end, End::Exited(0));
    assert!(world.workspace.join("ran").exists());
}

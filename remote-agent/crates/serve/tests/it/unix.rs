//! The socket: who can reach it, and that it serves.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::PathBuf,
};

use client::{Agent, ByteStream};
use futures_util::FutureExt as _;
use scripted_model::Scenario;
use serve::{Error, bind_unix, serve_unix};

use crate::rig::{DEADLINE, Rig};

fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o700)).unwrap();
    dir
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_reaches_the_agent_by_its_socket_until_the_scope_ends() {
    let rig = Rig::new(Scenario::new()).await;
    let dir = folder();
    let path = dir.path().join("agent.sock");
    let listener = bind_unix(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let scope = rig.scope.child("listener");
    let clients = stdx::Gauge::default();
    let served = rig.scope.spawn(serve_unix(
        listener,
        rig.router.clone(),
        clients.clone(),
        scope.clone(),
    ));
    let connector = move || {
        let path: PathBuf = path.clone();
        async move {
            let stream: io::Result<_> = tokio::net::UnixStream::connect(path).await;
            Ok(Box::new(stream?) as Box<dyn ByteStream>)
        }
        .boxed()
    };
    let agent = Agent::new(connector, client::Options::default(), &rig.scope);
    assert_eq!(agent.hello().await.unwrap(), rig.manager.hello());
    assert_eq!(clients.count(), 1);
    scope.close(DEADLINE).await;
    served.await.unwrap();
    tokio::time::timeout(DEADLINE, clients.none()).await.unwrap();
    assert!(agent.hello().await.is_err());
}

#[tokio::test]
async fn the_folder_must_be_this_users_alone() {
    let dir = folder();
    let refused = |path: PathBuf, word: &str| {
        let error = bind_unix(&path).unwrap_err();
        assert!(matches!(error, Error::Folder { .. }), "{error:?}");
        assert!(error.to_string().contains(word), "{error}");
        assert!(!path.exists());
    };
    for mode in [0o701, 0o710, 0o755, 0o777] {
        fs::set_permissions(dir.path(), Permissions::from_mode(mode)).unwrap();
        refused(dir.path().join("s"), &format!("{mode:o}"));
    }
    fs::set_permissions(dir.path(), Permissions::from_mode(0o700)).unwrap();
    let link = dir.path().join("link");
    fs::create_dir(dir.path().join("real")).unwrap();
    symlink(dir.path().join("real"), &link).unwrap();
    refused(link.join("s"), "not a folder");
    let error = bind_unix(&dir.path().join("missing/s")).unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error:?}");
}

#[tokio::test]
async fn a_path_that_is_no_socket_address_is_named() {
    let error = bind_unix(&PathBuf::from("/tmp").join("x".repeat(100))).unwrap_err();
    assert!(error.to_string().contains("105 bytes"), "{error}");
    assert!(matches!(
        bind_unix(&PathBuf::from("s")).unwrap_err(),
        Error::Path { .. }
    ));
}

#[tokio::test]
async fn a_socket_in_use_is_left_alone_and_a_leftover_replaced() {
    let dir = folder();
    let path = dir.path().join("s");
    let first = bind_unix(&path).unwrap();
    assert!(matches!(bind_unix(&path).unwrap_err(), Error::InUse { .. }));
    drop(first);
    assert!(path.exists(), "a leftover");
    drop(bind_unix(&path).unwrap());
    fs::remove_file(&path).unwrap();
    fs::write(&path, "a file of somebody").unwrap();
    let error = bind_unix(&path).unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "a file of somebody");
}

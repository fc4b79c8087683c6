//! Where programs may go: not where they cannot run, not where there is no room.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
};

use bootstrap::{Arrival, ErrorKind, Install, Stage, StorageError};

use crate::{
    host::{Host, Mounts, files},
    stand_in::{go, name, program, wanted},
};

#[tokio::test]
async fn a_noexec_home_is_passed_over() {
    let mut host = Host::new();
    let home = host.home();
    let setup = format!(
        "mount -t tmpfs -o noexec none {}\nmount -t tmpfs none /var/tmp",
        home.display()
    );
    let mounts = Mounts::new(&setup).await;
    host.prefix = mounts.enter.clone();
    let program = program(20_000);
    let ready = go(&host, &wanted(&host, &program)).await.unwrap();
    let folder = ready.probe.directory.unwrap().path;
    assert!(folder.starts_with("/var/tmp/reasonix-"), "{folder}");
    assert_eq!(ready.program, format!("{folder}/{}", name(&program)));
    assert_eq!(ready.probe.refused.len(), 2);
    assert!(
        ready
            .probe
            .refused
            .iter()
            .all(|refused| refused.reason.contains("noexec")),
        "{:?}",
        ready.probe.refused
    );
    let folder = mounts.inside(folder.as_ref());
    assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
    assert_eq!(files(&folder), [name(&program)]);
}

#[tokio::test]
async fn nowhere_to_go_names_every_folder() {
    let mut host = Host::new();
    let home = host.home();
    let setup = format!(
        "mount -t tmpfs -o noexec none {}\nmount -t tmpfs none /var/tmp\nln -s /root /var/tmp/reasonix-$(id -u)",
        home.display()
    );
    let mounts = Mounts::new(&setup).await;
    host.prefix = mounts.enter.clone();
    let error = go(&host, &wanted(&host, &program(20_000))).await.unwrap_err();
    assert_eq!(error.stage(), Stage::Choose);
    let text = error.to_string();
    assert!(
        matches!(error.kind(), ErrorKind::Storage(StorageError::NoDirectory(_))),
        "{error:?}"
    );
    for part in [
        ".reasonix/bin files in it cannot be run",
        ".cache/reasonix/bin",
        "/var/tmp/reasonix-",
        "is a symbolic link",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(host.execs(), 1);
}

#[tokio::test]
async fn folders_are_private_and_ours() {
    let host = Host::new();
    fs::create_dir_all(host.programs()).unwrap();
    fs::set_permissions(host.programs(), fs::Permissions::from_mode(0o777)).unwrap();
    go(&host, &wanted(&host, &program(20_000))).await.unwrap();
    assert_eq!(fs::metadata(host.programs()).unwrap().mode() & 0o777, 0o700);
}

#[tokio::test]
async fn a_wanted_home_is_used() {
    let mut host = Host::new();
    host.env.push((
        "REASONIX_HOME".into(),
        host.home().join("by env").display().to_string(),
    ));
    let program = program(20_000);
    let mut wanted = wanted(&host, &program);
    let ready = go(&host, &wanted).await.unwrap();
    assert_eq!(
        ready.program,
        host.home()
            .join("by env/bin")
            .join(name(&program))
            .to_str()
            .unwrap()
    );
    assert_eq!(ready.home, None);
    wanted.home = Some("~/by 'hand'".into());
    let ready = go(&host, &wanted).await.unwrap();
    assert_eq!(
        ready.program,
        host.home()
            .join("by 'hand'/bin")
            .join(name(&program))
            .to_str()
            .unwrap()
    );
    assert_eq!(ready.home.as_deref(), host.home().join("by 'hand'").to_str());
}

#[tokio::test]
async fn too_little_space_is_refused_before_anything_is_sent() {
    let mut host = Host::new();
    let mounts = Mounts::new(&format!(
        "mount -t tmpfs -o size=400k none {}\nmount -t tmpfs -o size=300k none /var/tmp",
        host.home().display()
    ))
    .await;
    host.prefix = mounts.enter.clone();
    let error = go(&host, &wanted(&host, &program(300_000))).await.unwrap_err();
    let ErrorKind::Storage(StorageError::NoSpace {
        directory, missing, ..
    }) = error.kind()
    else {
        panic!("{error:?}")
    };
    assert_eq!(directory, host.programs().to_str().unwrap());
    assert!((190_000..=600_000).contains(missing), "{missing}");
    assert_eq!((error.stage(), host.execs()), (Stage::Choose, 1));
    assert!(error.hint().is_some());
}

#[tokio::test]
async fn a_disk_that_fills_up_keeps_nothing_and_a_retry_works() {
    let mut host = Host::new();
    let home = host.home();
    let mounts = Mounts::new(&format!("mount -t tmpfs -o size=400k none {}", home.display())).await;
    host.prefix = mounts.enter.clone();
    // The disk looks roomy: the write itself must find out, while uploading (900 kB) and while copying (300 kB).
    host.fake("df", "echo head; echo fs 1000000 1 999999 1% /");
    for size in [900_000, 300_000] {
        let error = go(&host, &wanted(&host, &program(size))).await.unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Storage(StorageError::NoSpace { missing, .. }) if *missing > 0),
            "{error:?}"
        );
        assert_eq!(error.stage(), Stage::Upload);
        assert!(
            error.stderr().iter().any(|line| line.contains("No space left")),
            "{error:?}"
        );
        assert!(
            error.to_string().contains(host.programs().to_str().unwrap()),
            "{error}"
        );
        assert_eq!(files(&mounts.inside(&host.programs())), [""; 0]);
    }
    mounts
        .run(&format!("mount -o remount,size=4m {}", home.display()))
        .await;
    let program = program(900_000);
    assert_eq!(
        go(&host, &wanted(&host, &program)).await.unwrap().arrival,
        Arrival::Installed
    );
    assert_eq!(files(&mounts.inside(&host.programs())), [name(&program)]);
}

#[tokio::test]
async fn a_completely_full_disk_is_named_before_anything_is_sent() {
    let mut host = Host::new();
    let home = host.home();
    let mounts = Mounts::new(&format!(
        "mount -t tmpfs -o size=64k none {0}; dd if=/dev/zero of={0}/x 2>/dev/null || :",
        home.display()
    ))
    .await;
    host.prefix = mounts.enter.clone();
    let error = go(&host, &wanted(&host, &program(20_000))).await.unwrap_err();
    let ErrorKind::Storage(StorageError::Sessions { directory, reason }) = error.kind() else {
        panic!("{error:?}")
    };
    assert!(directory.starts_with(home.to_str().unwrap()), "{directory}");
    assert!(reason.contains("No space left"), "{reason}");
    assert_eq!(host.execs(), 1);
    assert_eq!(files(&mounts.inside(&host.programs())), [""; 0]);
}

#[tokio::test]
async fn a_file_size_limit_is_no_space() {
    let host = Host::with_startup("ulimit -f 100");
    let error = go(&host, &wanted(&host, &program(300_000))).await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Storage(StorageError::NoSpace { .. })),
        "{error:?}"
    );
    assert_eq!(host.files(), [""; 0]);
}

#[tokio::test]
async fn install_never_writes_nothing() {
    let mut host = Host::new();
    let mounts = Mounts::new("mount -t tmpfs none /var/tmp").await;
    host.prefix = mounts.enter.clone();
    let mut wanted = wanted(&host, &program(20_000));
    wanted.install = Install::Never;
    let error = go(&host, &wanted).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NotInstalled), "{error:?}");
    assert_eq!(fs::read_dir(host.home()).unwrap().count(), 0);
    fs::copy(
        host.dir.path().join("own-executable"),
        host.dir.path().join("bin/reasonix"),
    )
    .unwrap();
    fs::set_permissions(
        host.dir.path().join("bin/reasonix"),
        fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    let ready = go(&host, &wanted).await.unwrap();
    assert_eq!(
        ready.program,
        host.dir.path().join("bin/reasonix").to_str().unwrap()
    );
    assert_eq!(fs::read_dir(host.home()).unwrap().count(), 0);
}

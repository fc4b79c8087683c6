//! Copies: trees, modes, links, interruptions.

use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{STRANGE, fs_run, fs_with, litter, ok, on_box, rig, strange};
use crate::{
    local_rig::only_line,
    rig::{HostOptions, eventually, send_signal},
};

fn content(length: u32) -> Vec<u8> {
    (0..length).map(|n| (n % 249) as u8).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_goes_where_cp_would_put_it_and_keeps_what_it_should() {
    let rig = rig(HostOptions::default()).await;
    let (near, far) = (rig.local_work(), rig.host());
    fs::write(strange(&far), "strange").unwrap();
    fs::set_permissions(strange(&far), fs::Permissions::from_mode(0o750)).unwrap();
    // Into the current folder; under another name; into a folder.
    ok(&fs_with(&rig, &[OsStr::new("get"), &on_box(STRANGE)]).await);
    assert_eq!(fs::read(strange(&near)).unwrap(), b"strange");
    assert_eq!(fs::metadata(strange(&near)).unwrap().mode() & 0o777, 0o750);
    fs::create_dir(near.join("folder")).unwrap();
    ok(&fs_with(
        &rig,
        &[OsStr::new("get"), &on_box(STRANGE), OsStr::new("folder/")],
    )
    .await);
    assert!(strange(&near.join("folder")).exists());

    // A file that is replaced keeps its mode, and a link stays one.
    fs::write(near.join("new"), "new text").unwrap();
    fs::write(far.join("real"), "old").unwrap();
    fs::set_permissions(far.join("real"), fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("real", far.join("link")).unwrap();
    let ran = fs_run(&rig, &["put", "--json", "new", "box:link"]).await;
    let value: Value = only_line(ok(&ran));
    assert_eq!((&value["files"], &value["bytes"]), (&json!(1), &json!(8)));
    assert_eq!(fs::read(far.join("real")).unwrap(), b"new text");
    assert_eq!(fs::metadata(far.join("real")).unwrap().mode() & 0o777, 0o640);
    assert!(fs::symlink_metadata(far.join("link")).unwrap().is_symlink());

    // Several at once, by a pattern of the host; into what is no folder they do not go.
    fs::write(far.join("1.log"), "1").unwrap();
    fs::write(far.join("2.log"), "2").unwrap();
    ok(&fs_run(&rig, &["get", "box:*.log", "folder"]).await);
    assert_eq!(fs::read(near.join("folder/2.log")).unwrap(), b"2");
    let ran = fs_run(&rig, &["get", "box:*.log", "new"]).await;
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    assert_eq!(fs::read(near.join("new")).unwrap(), b"new text");

    // What cannot be read leaves the local file alone.
    let ran = fs_run(&rig, &["get", "box:missing", "new"]).await;
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert_eq!(fs::read(near.join("new")).unwrap(), b"new text");
    let ran = fs_run(&rig, &["put", "missing", "box:"]).await;
    assert_eq!(ran.code, Some(1), "{ran:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn trees_arrive_whole_both_ways() {
    let rig = rig(HostOptions::default()).await;
    let tree = rig.local_work().join("tree");
    fs::create_dir_all(tree.join("deep/er")).unwrap();
    for number in 0..300 {
        fs::write(tree.join(format!("deep/{number}")), number.to_string()).unwrap();
    }
    fs::write(tree.join("run.sh"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(tree.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(strange(&tree), content(5_000_000)).unwrap();
    std::os::unix::fs::symlink("../run.sh", tree.join("deep/link")).unwrap();
    // Without -r it is refused before anything happens.
    let ran = fs_run(&rig, &["put", "tree", "box:"]).await;
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    assert!(ran.stderr.contains("`-r`"), "{ran:#?}");

    let ran = fs_run(&rig, &["put", "-r", "tree", "box:"]).await;
    assert!(ok(&ran).stderr.contains("302 files"), "{ran:#?}");
    assert!(!fs_run(&rig, &["get", "box:tree", "back"]).await.stderr.is_empty());
    ok(&fs_run(&rig, &["get", "-r", "box:tree", "back"]).await);
    let same = stdx::process::command("diff")
        .args(["-r", "--no-dereference"])
        .args([&tree, &rig.local_work().join("back")])
        .status();
    assert!(same.await.unwrap().success());
    assert_eq!(
        fs::metadata(rig.host().join("tree/run.sh")).unwrap().mode() & 0o777,
        0o755
    );
    assert_eq!(
        litter(&rig.host().join("tree")).len() + litter(&rig.host()).len(),
        0
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_is_interrupted_touches_nothing_and_can_be_repeated() {
    let rig = rig(HostOptions::default()).await;
    let (near, far) = (rig.local_work(), rig.host());
    let big = content(12_000_000);
    fs::write(far.join("big"), &big).unwrap();
    fs::write(near.join("big"), "old").unwrap();
    rig.proxy.pace(3_000_000);
    let mut command = rig.command(&["remote", "fs", "get", "box:big"]);
    let child = command.spawn().unwrap();
    eventually("the copy began", || !litter(&near).is_empty()).await;
    send_signal(child.id().unwrap(), Signal::INT);
    let ran = child.wait_with_output().await.unwrap();
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(130), "{said}");
    assert!(said.contains("interrupted"), "{said}");
    assert_eq!(fs::read(near.join("big")).unwrap(), b"old");
    rig.proxy.restore();
    ok(&fs_run(&rig, &["get", "box:big"]).await);
    assert!(fs::read(near.join("big")).unwrap() == big);
    assert_eq!(litter(&near), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_cut_is_opened_again_and_the_copy_goes_on() {
    let rig = rig(HostOptions::default()).await;
    let (near, far) = (rig.local_work(), rig.host());
    let big = content(30_000_000);
    for (words, from, to) in [
        (["get", "box:big", "big"], far.join("big"), near.join("big")),
        (
            ["put", "other", "box:other"],
            near.join("other"),
            far.join("other"),
        ),
    ] {
        fs::write(&from, &big).unwrap();
        let mut command = rig.command(&["remote", "fs"]);
        let child = command.args(words).spawn().unwrap();
        let folder = to.parent().unwrap();
        let carried = || {
            let parts = litter(folder)
                .into_iter()
                .filter_map(|name| fs::metadata(folder.join(name)).ok());
            parts.map(|part| part.len()).max().unwrap_or(0)
        };
        rig.proxy.pace(10_000_000);
        eventually("a part is there", || carried() > 1_000_000 || to.exists()).await;
        rig.proxy.cut();
        rig.proxy.restore();
        let ran = child.wait_with_output().await.unwrap();
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(0), "{words:?}: {said}");
        assert!(said.contains("trying again"), "{words:?}: {said}");
        assert!(fs::read(&to).unwrap() == big, "{words:?}");
        assert_eq!(litter(folder), [""; 0], "{words:?}");
    }
}

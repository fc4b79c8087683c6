//! What a change leaves as it was: modes, owners, links, and a copy for those who want the old content back.

use std::{
    fs, io,
    os::unix::fs::{MetadataExt as _, chown},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use serde_json::json;
use tools::KeepCopy;

use crate::world::World;

/// Reads, edits and rewrites a file whose content is `old`.
async fn change(world: &World, path: &str) -> String {
    world.ok("read_file", json!({"path": path})).await;
    world
        .ok(
            "edit_file",
            json!({"path": path, "old_string": "old", "new_string": "new"}),
        )
        .await;
    world
        .ok("write_file", json!({"path": path, "content": "written"}))
        .await
}

#[tokio::test]
async fn modes_stay() {
    let world = World::new();
    for mode in [0o755, 0o600, 0o640, 0o444] {
        let name = format!("file{mode:o}");
        world.put(&name, "old");
        world.chmod(&name, mode);
        change(&world, &name).await;
        assert_eq!((world.mode(&name), world.text(&name).as_str()), (mode, "written"));
    }
    assert_eq!(
        fs::read_dir(&world.cx.workspace).unwrap().count(),
        4,
        "no temporary file stays"
    );
}

#[tokio::test]
async fn new_files_follow_the_umask() {
    let world = World::new();
    world
        .ok("write_file", json!({"path": "tool", "content": ""}))
        .await;
    world.put("std", "");
    assert_eq!(world.mode("tool"), world.mode("std"));
}

#[tokio::test]
async fn links_stay_and_their_target_changes() {
    let world = World::new();
    world.put("target", "old");
    world.link("target", "link");
    change(&world, "link").await;
    assert!(
        fs::symlink_metadata(world.cx.workspace.join("link"))
            .unwrap()
            .is_symlink()
    );
    assert_eq!(world.text("target"), "written");
}

#[tokio::test]
async fn hard_links_stay() {
    let world = World::new();
    world.put("one", "old");
    fs::hard_link(world.cx.workspace.join("one"), world.cx.workspace.join("two")).unwrap();
    let text = change(&world, "one").await;
    assert!(text.contains("hard links"), "{text}");
    assert_eq!(world.text("two"), "written");
}

#[tokio::test]
async fn owners_stay() {
    let world = World::new();
    world.put("f", "old");
    if chown(world.cx.workspace.join("f"), Some(65534), Some(65534)).is_ok() {
        change(&world, "f").await;
        let meta = fs::metadata(world.cx.workspace.join("f")).unwrap();
        assert_eq!((meta.uid(), meta.gid()), (65534, 65534));
    }
}

#[tokio::test]
async fn a_folder_without_write_permission_is_no_obstacle() {
    let world = World::new();
    world.put("dir/f", "old");
    world.chmod("dir", 0o555);
    change(&world, "dir/f").await;
    world.chmod("dir", 0o755);
    assert_eq!(world.text("dir/f"), "written");
}

type Kept = Vec<(PathBuf, Option<Vec<u8>>)>;

#[derive(Default)]
struct Keeper {
    kept: Mutex<Kept>,
    refuses: bool,
}

impl KeepCopy for Keeper {
    fn keep(&self, path: &Path, content: Option<&[u8]>) -> io::Result<()> {
        if self.refuses {
            return Err(io::Error::other("disk full"));
        }
        self.kept
            .lock()
            .unwrap()
            .push((path.to_owned(), content.map(<[u8]>::to_vec)));
        Ok(())
    }
}

#[tokio::test]
async fn a_copy_is_kept_before_each_write() {
    let mut world = World::new();
    let keeper = Arc::new(Keeper::default());
    world.cx.copies = Arc::clone(&keeper) as Arc<dyn KeepCopy>;
    world.put("f", "old");
    change(&world, "f").await;
    world
        .ok("write_file", json!({"path": "new", "content": "x"}))
        .await;
    let path = |name: &str| world.cx.workspace.join(name);
    let want: Kept = vec![
        (path("f"), Some(b"old".to_vec())),
        (path("f"), Some(b"new".to_vec())),
        (path("new"), None),
    ];
    assert_eq!(*keeper.kept.lock().unwrap(), want);

    world.cx.copies = Arc::new(Keeper {
        refuses: true,
        ..Keeper::default()
    });
    world
        .fails("write_file", json!({"path": "f", "content": "lost"}), "disk full")
        .await;
    assert_eq!(world.text("f"), "written");
}

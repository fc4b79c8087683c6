use std::os::unix::fs::PermissionsExt as _;

use super::*;

const A: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ";
const B: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti";

fn key(text: &str) -> PublicKey {
    PublicKey::from_openssh(text).unwrap()
}

fn check(old: &str, add: &[&str], kept: Option<&[&str]>, new: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("new/known_hosts");
    if !old.is_empty() {
        std::fs::create_dir(folder.path().join("new")).unwrap();
        std::fs::write(&file, old).unwrap();
    }
    let keys = |texts: &[&str]| texts.iter().map(|text| key(text)).collect::<Vec<_>>();
    let (add, kept) = (keys(add), kept.map(keys));
    let others = kept.as_deref().map_or(Others::Stay, Others::GoUnless);
    let wanted = Change {
        listed_as: "h",
        add: &add,
        others,
    };
    change(&file, &wanted).unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), new, "{old}");
    assert_eq!(change(&file, &wanted).unwrap(), Done::default(), "again: {old}");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, if old.is_empty() { 0 } else { mode & 0o077 });
    assert_eq!(std::fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn adds_and_removes_the_lines_of_one_name() {
    check("", &[A], None, &format!("h {A}\n"));
    check("unfinished", &[A], None, &format!("unfinished\nh {A}\n"));
    check(&format!("h {A} mine"), &[A], None, &format!("h {A} mine"));
    check(
        &format!("# c\nh {B}\ni {B}\n"),
        &[A],
        Some(&[]),
        &format!("# c\ni {B}\nh {A}\n"),
    );
    check(
        &format!("H,i {B}\nh {A}\n"),
        &[],
        Some(&[A]),
        &format!("i {B}\nh {A}\n"),
    );
    // Patterns and markers are a person's.
    let kept = format!("h* {B}\n@revoked h {B}\n@cert-authority h {B}\n");
    check(&kept, &[A], Some(&[]), &format!("{kept}h {A}\n"));
    check(&format!("h {B}\n"), &[A], Some(&[B]), &format!("h {B}\nh {A}\n"));
}

#[test]
fn what_is_no_file_is_neither_read_nor_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let (pipe, file) = (folder.path().join("pipe"), folder.path().join("known_hosts"));
    let mut mkfifo = stdx::process::blocking_command("/usr/bin/mkfifo");
    assert!(mkfifo.arg(&pipe).status().unwrap().success());
    std::os::unix::fs::symlink(&pipe, &file).unwrap();
    let change = Change {
        listed_as: "h",
        add: &[key(A)],
        others: Others::Stay,
    };
    let error = super::change(&file, &change).unwrap_err();
    assert_eq!(error.to_string(), "it is no regular file");
    assert!(!std::fs::metadata(&file).unwrap().is_file());
}

#[tokio::test]
async fn two_writers_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("known_hosts");
    let writers: Vec<_> = (0..8)
        .map(|index| {
            let file = file.clone();
            stdx::task::blocking(move || {
                for round in 0..10 {
                    let change = Change {
                        listed_as: &format!("h{index}-{round}"),
                        add: &[key(A)],
                        others: Others::Stay,
                    };
                    super::change(&file, &change).unwrap();
                }
            })
        })
        .collect();
    let mut tasks = tokio::task::JoinSet::new();
    for writer in writers {
        tasks.spawn(writer);
    }
    tasks.join_all().await;
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 80);
}

#[test]
fn a_full_disk_leaves_what_was_there_and_makes_no_empty_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("known_hosts");
    let key = [key(A)];
    let wanted = Change {
        listed_as: "box",
        add: &key,
        others: Others::Stay,
    };
    let full = |_: &Path, _: &[u8]| Err(io::ErrorKind::StorageFull.into());
    for there in [None, Some(""), Some("# mine\n")] {
        if let Some(text) = there {
            std::fs::write(&file, text).unwrap();
        }
        let error = change_by(&file, &wanted, full).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(std::fs::read_to_string(&file).ok().as_deref(), there);
    }
}

//! Edits: written back only where they should be, and never lost.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::PathBuf,
};

use super::{ok, rig};
use crate::rig::{HostOptions, Ran, Rig, ended};

/// Edits `box:note.txt` with a script as the editor; `$1` is the file in it.
async fn edit(rig: &Rig, script: &str, flags: &[&str]) -> Ran {
    let editor = rig.laptop().join("my editor");
    fs::write(&editor, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = rig.command(&["remote", "fs", "edit", "box:note.txt"]);
    command.args(flags);
    // A command line for the shell: its path has a space.
    command.env("EDITOR", format!("'{}' ", editor.display()));
    command.env("HOST_FILE", rig.host().join("note.txt"));
    ended(&["edit"], command.output()).await
}

/// Gives the texts that are kept on the laptop.
fn kept(rig: &Rig) -> Vec<PathBuf> {
    let Ok(folders) = fs::read_dir(rig.laptop().join(".reasonix/edits")) else {
        return Vec::new();
    };
    folders
        .flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap())
        .map(|file| file.unwrap().path())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_is_written_back_and_keeps_the_mode() {
    let rig = rig(HostOptions::default()).await;
    let file = rig.host().join("note.txt");
    fs::write(&file, "one\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o604)).unwrap();
    // The copy is private and has the name's end, by which editors know the kind of text.
    let check = "case $1 in *note.txt) ;; *) exit 9;; esac; test $(stat -c %a \"$1\") = 600 || exit 8; echo two >>\"$1\"";
    let ran = edit(&rig, check, &[]).await;
    assert!(ok(&ran).stderr.contains("written"), "{ran:#?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\ntwo\n");
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o604);

    let before = fs::metadata(&file).unwrap().ino();
    let ran = edit(&rig, "touch \"$1\"", &[]).await;
    assert!(ok(&ran).stderr.contains("not changed"), "{ran:#?}");
    assert_eq!(fs::metadata(&file).unwrap().ino(), before);

    // One that does not exist is made.
    fs::remove_file(&file).unwrap();
    ok(&edit(&rig, "true", &[]).await);
    assert!(!file.exists());
    ok(&edit(&rig, "echo new >\"$1\"", &[]).await);
    assert_eq!(fs::read_to_string(&file).unwrap(), "new\n");
    assert_eq!(kept(&rig), Vec::<PathBuf>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_is_not_written_back_is_kept_and_named() {
    let rig = rig(HostOptions::default()).await;
    let file = rig.host().join("note.txt");
    fs::write(&file, "one\n").unwrap();
    let ran = edit(&rig, "echo mine >>\"$1\"; exit 3", &[]).await;
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\n");
    let texts = kept(&rig);
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert_eq!(fs::read_to_string(&texts[0]).unwrap(), "one\nmine\n");
    assert!(ran.stderr.contains(texts[0].to_str().unwrap()), "{ran:#?}");
    fs::remove_dir_all(rig.laptop().join(".reasonix/edits")).unwrap();

    // Somebody else was faster, with a change that size does not show.
    let ran = edit(&rig, "echo mine >>\"$1\"; echo two >\"$HOST_FILE\"", &[]).await;
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert!(
        ran.stderr.contains("was changed on box while you edited it"),
        "{ran:#?}"
    );
    assert!(ran.stderr.contains("reasonix remote fs put "), "{ran:#?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "two\n");
    let texts = kept(&rig);
    assert_eq!(fs::read_to_string(&texts[0]).unwrap(), "one\nmine\n");

    let ran = edit(
        &rig,
        "echo mine >>\"$1\"; echo three >\"$HOST_FILE\"",
        &["--force"],
    )
    .await;
    ok(&ran);
    assert_eq!(fs::read_to_string(&file).unwrap(), "two\nmine\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_lost_behind_the_editor_is_opened_again() {
    let rig = rig(HostOptions::default()).await;
    let file = rig.host().join("note.txt");
    fs::write(&file, "one\n").unwrap();
    let started = rig.laptop().join("started");
    let script = format!(
        "echo mine >>\"$1\"; echo >{0}; while test -e {0}; do sleep 0.1; done",
        started.display()
    );
    let (ran, ()) = tokio::join!(edit(&rig, &script, &[]), async {
        crate::rig::eventually("the editor is open", || started.exists()).await;
        rig.proxy.cut();
        fs::remove_file(&started).unwrap();
    });
    assert!(ok(&ran).stderr.contains("trying again"), "{ran:#?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\nmine\n");
    assert_eq!(kept(&rig), Vec::<PathBuf>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_editor_that_takes_the_file_away_is_told_of_as_it_was() {
    let rig = rig(HostOptions::default()).await;
    let file = rig.host().join("note.txt");
    fs::write(&file, "one\n").unwrap();
    // Nothing is left: nothing is said to be kept.
    let ran = edit(&rig, "rm \"$1\"", &[]).await;
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert!(!ran.stderr.contains("is kept"), "{ran:#?}");
    let edits = rig.laptop().join(".reasonix/edits");
    assert_eq!(fs::read_dir(&edits).unwrap().count(), 0);

    // The text is there under another name: its folder is named.
    let ran = edit(&rig, "echo mine >>\"$1\"; mv \"$1\" \"$1.bak\"", &[]).await;
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    let texts = kept(&rig);
    assert_eq!(texts.len(), 1, "{texts:?}");
    let folder = texts[0].parent().unwrap().to_str().unwrap();
    assert!(
        ran.stderr.ends_with(&format!("is kept in {folder}\n")),
        "{ran:#?}"
    );
    fs::remove_dir_all(&edits).unwrap();

    // A pipe in its place would never end.
    let ran = edit(&rig, "rm \"$1\"; mkfifo \"$1\"", &[]).await;
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert!(ran.stderr.contains("it is no file"), "{ran:#?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\n");
}

//! Odd homes: read-only, full, of somebody else, missing, without locks. What cannot be used is said before a turn.
//! Modes hold nobody back who is root, so most of these run as another user.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
};

use bootstrap::{Arrival, Ask, Error, ErrorKind, Scarce, Stage, StorageError, Write, probe};

use crate::{
    host::{Host, Mounts, files, write_program},
    stand_in::{go, name, path, program, program_with, wanted},
};

/// A host of a user without privileges with mounts of its own.
async fn with_mounts(setup: impl FnOnce(&Host) -> String) -> (Host, Mounts) {
    let mut host = Host::new().unprivileged();
    let mounts = Mounts::new(&setup(&host)).await;
    host.prefix = [mounts.enter.clone(), host.prefix.clone()].concat();
    (host, mounts)
}

/// Checks that sessions have no place, found out by the first question.
fn no_sessions(host: &Host, error: &Error, folder: &str, words: &str) {
    let ErrorKind::Storage(StorageError::Sessions { directory, reason }) = error.kind() else {
        panic!("{error:?} {:?}", error.details())
    };
    assert!(directory.ends_with(folder) && reason.contains(words), "{error}");
    assert_eq!(
        (error.stage(), error.exit_code(), host.execs()),
        (Stage::Choose, 5, 1)
    );
    assert!(error.hint().unwrap().contains("REASONIX_HOME"));
}

#[tokio::test]
async fn a_read_only_home_is_named_and_another_one_will_do() {
    let (mut host, _mounts) =
        with_mounts(|host| format!("mount -t tmpfs -o ro,mode=777 none {}", host.home().display())).await;
    let program = program(20_000);
    let error = go(&host, &wanted(&host, &program)).await.unwrap_err();
    no_sessions(&host, &error, "home", "Read-only file system");

    let other = host.dir.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::set_permissions(&other, fs::Permissions::from_mode(0o777)).unwrap();
    host.env
        .push(("REASONIX_HOME".into(), other.display().to_string()));
    let ready = go(&host, &wanted(&host, &program)).await.unwrap();
    assert_eq!(
        ready.program,
        other.join("bin").join(name(&program)).to_str().unwrap()
    );
}

#[tokio::test]
async fn a_home_of_another_user_is_named_and_nothing_is_made_elsewhere() {
    let (host, mounts) = with_mounts(|_| "mount -t tmpfs -o mode=1777 none /var/tmp".to_owned()).await;
    // Not the tests' own user, and not root, who may write everywhere.
    let mine = fs::metadata(host.dir.path()).unwrap().uid();
    if crate::host::is_root() {
        std::os::unix::fs::chown(host.home(), Some(mine), Some(mine)).unwrap();
    }
    fs::set_permissions(host.home(), fs::Permissions::from_mode(0o555)).unwrap();
    let error = go(&host, &wanted(&host, &program(20_000))).await.unwrap_err();
    no_sessions(&host, &error, "home", "Permission denied");
    assert_eq!(files(&mounts.inside("/var/tmp".as_ref())), [""; 0]);
}

#[tokio::test]
async fn a_missing_home_is_named() {
    let mut host = Host::new().unprivileged();
    host.env.push(("HOME".into(), "/nonexistent/home".into()));
    let error = go(&host, &wanted(&host, &program(20_000))).await.unwrap_err();
    no_sessions(&host, &error, "/", "/nonexistent");
}

#[tokio::test]
async fn without_home_the_one_of_the_user_database_counts() {
    let startup = "unset HOME";
    let mut host = Host::with_startup(startup).unprivileged();
    let home = host.home().canonicalize().unwrap();
    let list = host.dir.path().join("passwd");
    let user = if crate::host::is_root() {
        65_534
    } else {
        fs::metadata("/proc/self").unwrap().uid()
    };
    fs::write(
        &list,
        format!("rx-user:x:{user}:{user}::{}:/bin/sh\n", home.display()),
    )
    .unwrap();
    let mounts = Mounts::new(&format!("mount --bind {} /etc/passwd", list.display())).await;
    host.prefix = [mounts.enter.clone(), host.prefix.clone()].concat();
    let json = serde_json::to_string(&crate::stand_in::hello()).unwrap();
    // What is started has a home too.
    let content = program_with(
        &format!(
            "[ \"$HOME\" = {} ] && printf '%s %s %s\\n' \"$4\" '{json}' \"$4\"",
            home.display()
        ),
        20_000,
    );
    let ready = go(&host, &wanted(&host, &content)).await.unwrap();
    assert_eq!(ready.probe.system.home, home.to_str().unwrap());
    assert_eq!(fs::read(path(&host, &content)).unwrap(), content);
}

#[tokio::test]
async fn sessions_that_may_not_be_written_are_named_before_anything_is_started() {
    let host = Host::new().unprivileged();
    let program = program(20_000);
    go(&host, &wanted(&host, &program)).await.unwrap();
    let sessions = host.home().join(".reasonix/sessions");
    fs::create_dir(&sessions).unwrap();
    fs::set_permissions(&sessions, fs::Permissions::from_mode(0o555)).unwrap();
    let before = host.execs();
    let error = go(&host, &wanted(&host, &program)).await.unwrap_err();
    assert!(
        error.to_string().contains("sessions cannot be kept in"),
        "{error}"
    );
    assert!(error.to_string().contains("/.reasonix/sessions: "), "{error}");
    assert_eq!(host.execs(), before + 1, "nothing was started");
}

#[tokio::test]
async fn inodes_that_run_out_are_told_from_space() {
    // The root, three folders and files of the way, and then no more: the copy that is verified has no place.
    let (host, mounts) = with_mounts(|host| {
        format!(
            "mount -t tmpfs -o size=4m,nr_inodes=5,mode=777 none {}",
            host.home().display()
        )
    })
    .await;
    let error = go(&host, &wanted(&host, &program(20_000))).await.unwrap_err();
    let ErrorKind::Storage(StorageError::NoSpace { scarce, .. }) = error.kind() else {
        panic!("{error:?} {:?}", error.details())
    };
    assert_eq!(
        (*scarce, error.stage()),
        (Scarce::Inodes, Stage::Upload),
        "{error}"
    );
    assert!(error.to_string().contains("no inode is free"), "{error}");
    assert_eq!(files(&mounts.inside(&host.programs())), [""; 0]);
}

#[tokio::test]
async fn no_inode_at_all_is_named_at_once() {
    let (host, _mounts) = with_mounts(|host| {
        format!(
            "mount -t tmpfs -o size=4m,nr_inodes=1,mode=777 none {}",
            host.home().display()
        )
    })
    .await;
    let error = go(&host, &wanted(&host, &program(20_000))).await.unwrap_err();
    no_sessions(&host, &error, "home", "No space left");
}

/// A `dd` that fails as with a quota used up, where its arguments match.
fn quota(host: &Host, pattern: &str) {
    host.fake(
        "dd",
        &format!(
            "case \"$*\" in {pattern}) head -c 1000 >/dev/null; echo 'dd: error writing: Disk quota exceeded' >&2; exit 1 ;; esac\nexec /usr/bin/dd \"$@\""
        ),
    );
}

#[tokio::test]
async fn a_quota_that_is_used_up_while_uploading_keeps_nothing() {
    let host = Host::new().unprivileged();
    quota(&host, "*of=.part-*");
    let program = program(300_000);
    let error = go(&host, &wanted(&host, &program)).await.unwrap_err();
    let ErrorKind::Storage(StorageError::NoSpace {
        directory,
        missing,
        scarce,
    }) = error.kind()
    else {
        panic!("{error:?} {:?}", error.details())
    };
    assert_eq!(
        (directory.as_str(), *scarce),
        (host.programs().to_str().unwrap(), Scarce::Quota)
    );
    assert!(*missing >= 300_000, "{missing}");
    assert!(
        error.stderr().iter().any(|line| line.contains("quota exceeded")),
        "{error:?}"
    );
    assert_eq!(host.files(), [""; 0]);
    // Freed, it works.
    fs::remove_file(host.dir.path().join("bin/dd")).unwrap();
    go(&host, &wanted(&host, &program)).await.unwrap();
    assert_eq!(host.files(), [name(&program)]);
}

#[tokio::test]
async fn a_folder_whose_quota_is_used_up_is_passed_over() {
    let host = Host::new().unprivileged();
    quota(&host, "*of=*/.reasonix/bin/.try-*");
    let program = program(300_000);
    let ready = go(&host, &wanted(&host, &program)).await.unwrap();
    let elsewhere = host.home().join(".cache/reasonix/bin");
    assert_eq!(ready.program, elsewhere.join(name(&program)).to_str().unwrap());
    assert_eq!(files(&elsewhere), [name(&program)]);
    // The next visit finds it there.
    assert_eq!(
        go(&host, &wanted(&host, &program)).await.unwrap().arrival,
        Arrival::Launched
    );
}

#[tokio::test]
async fn a_home_too_small_for_the_program_keeps_sessions_alone() {
    let (host, mounts) = with_mounts(|host| {
        format!(
            "mount -t tmpfs -o size=400k,mode=777 none {}\nmount -t tmpfs -o mode=1777 none /var/tmp",
            host.home().display()
        )
    })
    .await;
    let program = program(300_000);
    let ready = go(&host, &wanted(&host, &program)).await.unwrap();
    assert!(
        ready.program.starts_with("/var/tmp/reasonix-"),
        "{}",
        ready.program
    );
    assert_eq!(
        ready.probe.home[0],
        host.home().join(".reasonix").to_str().unwrap()
    );
    assert_eq!(
        files(&mounts.inside(&host.home())),
        [".cache", ".reasonix"].map(String::from),
        "nothing else is made"
    );
    assert_eq!(files(&mounts.inside(&host.home().join(".cache"))), [""; 0]);
    assert_eq!(
        go(&host, &wanted(&host, &program)).await.unwrap().arrival,
        Arrival::Launched
    );
}

#[tokio::test]
async fn the_runtime_directory_is_the_last_resort() {
    let (mut host, mounts) = with_mounts(|host| {
        let at = host.dir.path().display();
        format!(
            "mount -t tmpfs -o noexec,mode=777 none {at}/home\nmount -t tmpfs -o noexec,mode=1777 none /var/tmp\n\
             mkdir {at}/run; mount -t tmpfs -o mode=777 none {at}/run"
        )
    })
    .await;
    let run = host.dir.path().join("run");
    host.env
        .push(("XDG_RUNTIME_DIR".into(), run.display().to_string()));
    let program = program(20_000);
    let ready = go(&host, &wanted(&host, &program)).await.unwrap();
    assert_eq!(
        ready.program,
        run.join("reasonix-bin").join(name(&program)).to_str().unwrap()
    );
    let refused: Vec<_> = ready
        .probe
        .refused
        .iter()
        .map(|refused| refused.reason.as_str())
        .collect();
    assert!(
        refused.len() == 3 && refused.iter().all(|reason| reason.contains("noexec")),
        "{refused:?}"
    );
    assert_eq!(files(&mounts.inside(&run.join("reasonix-bin"))), [name(&program)]);
}

/// Makes `flock` fail as on a network file system without a lock service, by a system call filter (seccomp(2)).
const NO_LOCKS: &str = r#"
import ctypes, os, platform, struct, sys
number = {"x86_64": 73, "aarch64": 32}[platform.machine()]
ENOLCK = 37
code = b"".join(struct.pack("HBBI", *line) for line in [
    (0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050000 | ENOLCK), (0x06, 0, 0, 0x7fff0000)])
text = ctypes.create_string_buffer(code)
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 4, ctypes.addressof(text)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0, ctypes.get_errno()
os.execv(sys.argv[1], sys.argv[1:])
"#;

#[tokio::test]
async fn a_home_without_locks_is_named_before_a_turn() {
    let mut host = Host::new();
    let filter = host.dir.path().join("no-locks.py");
    fs::write(&filter, NO_LOCKS).unwrap();
    let shell = host.dir.path().join("login-shell");
    let bash = std::mem::replace(&mut host.shell, shell);
    let exec = format!("exec python3 {} {}", filter.display(), bash.display());
    write_program(&host.shell, &format!("#!/bin/sh\n{exec} \"$@\"\n"));
    let program = program(300_000);
    let wanted = wanted(&host, &program);
    let error = go(&host, &wanted).await.unwrap_err();
    no_sessions(&host, &error, ".reasonix", "cannot be locked");
    // With locks it works.
    host.shell = bash;
    let ready = go(&host, &wanted).await.unwrap();
    assert_eq!(ready.probe.storage.unwrap().locks, Some(true));
    assert_eq!(host.files(), [name(&program)]);
}

#[tokio::test]
async fn a_rename_that_fails_leaves_nothing_under_the_final_name() {
    let host = Host::new();
    host.fake("mv", "echo \"mv: cannot move: Stale file handle\" >&2; exit 1");
    let program = program(300_000);
    let error = go(&host, &wanted(&host, &program)).await.unwrap_err();
    assert_eq!(error.stage(), Stage::Upload);
    assert!(
        error.to_string().contains(host.programs().to_str().unwrap()),
        "{error}"
    );
    assert!(
        error
            .stderr()
            .iter()
            .any(|line| line.contains("Stale file handle")),
        "{error:?}"
    );
    assert!(
        host.files().iter().all(|file| file.starts_with(".part-")),
        "{:?}",
        host.files()
    );
    fs::remove_file(host.dir.path().join("bin/mv")).unwrap();
    go(&host, &wanted(&host, &program)).await.unwrap();
    assert_eq!(host.files(), [name(&program)]);
}

#[tokio::test]
async fn asking_without_leave_to_write_leaves_no_trace_and_still_sees_a_closed_home() {
    let host = Host::new().unprivileged();
    let ask = Ask {
        workspace: None,
        home: None,
        write: Write::Forbidden,
    };
    let open = probe(&host, &ask).await.unwrap();
    let storage = open.storage.unwrap();
    assert_eq!(
        (storage.unwritable, storage.path.as_str()),
        (None, host.home().to_str().unwrap())
    );
    assert!(storage.free.is_some());
    fs::set_permissions(host.home(), fs::Permissions::from_mode(0o555)).unwrap();
    let closed = probe(&host, &ask).await.unwrap().storage.unwrap();
    assert!(closed.unwritable.unwrap().contains("Permission denied"));
    assert_eq!(fs::read_dir(host.home()).unwrap().count(), 0);
}

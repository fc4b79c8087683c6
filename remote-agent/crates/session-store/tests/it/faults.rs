//! Disks without room.

use std::{fs, path::Path, process::Stdio};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use session_store::{LINE_MAX, Log, Stored};

use crate::samples::{AT, call_finished, folder, started, submitted};

/// Set for the process that works without room: the session folder.
const HELPER: &str = "SESSION_STORE_TEST_FULL";
/// What the process without room is to do.
const MODE: &str = "SESSION_STORE_TEST_FULL_MODE";

/// Writes until there is no room, then frees some with `free`, and checks that nothing is lost or half there.
fn fill_and_go_on(dir: &Path, free: impl FnOnce()) {
    let mut log = Log::create(dir).unwrap();
    let mut written: Vec<Stored> = Vec::new();
    let mut length = 0;
    let error = loop {
        length = (length * 7 + 13) % 3001;
        match log.append(&submitted(1, &"汉".repeat(length)), AT) {
            Ok(stored) => written.push(stored),
            Err(error) => break error,
        }
        log.sync().unwrap();
        assert!(written.len() < 10_000, "the disk never fills");
    };
    assert!(error.is_full(), "{error:?}");
    for _ in 0..3 {
        let again = log.append(&submitted(2, &"x".repeat(9_000)), AT).unwrap_err();
        assert!(again.is_full(), "{again:?}");
        assert_eq!(log.reader().read(0, usize::MAX).unwrap(), written);
        let text = fs::read(dir.join("log.jsonl")).unwrap();
        assert!(text.ends_with(b"\"}\n"), "half a line is left");
    }
    free();
    written.push(log.append(&started(3), AT).unwrap());
    let large = log
        .append(&call_finished(1, 1, 0, &"y".repeat(LINE_MAX)), AT)
        .unwrap();
    written.push(large);
    log.sync().unwrap();
    let (_, read, notices) = Log::open(dir).unwrap();
    assert_eq!((read, notices), (written, vec![]));
}

fn limit_file_size(bytes: Option<u64>) {
    let maximum = getrlimit(Resource::Fsize).maximum;
    setrlimit(
        Resource::Fsize,
        Rlimit {
            current: bytes.or(maximum),
            maximum,
        },
    )
    .unwrap();
}

/// Not a test of its own: it is run as a process without room.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the only way to tell the test binary that it is the helper"
)]
fn helper_process() {
    let (Some(dir), Some(mode)) = (std::env::var_os(HELPER), std::env::var_os(MODE)) else {
        return;
    };
    let dir = Path::new(&dir);
    if mode == "limit" {
        limit_file_size(Some(100_003));
        fill_and_go_on(&dir.join("s"), || limit_file_size(None));
    } else {
        // The folder is a small disk; a file of ballast is what will be freed.
        let ballast = dir.join("ballast");
        fs::write(&ballast, vec![1; 400 * 1024]).unwrap();
        fill_and_go_on(&dir.join("s"), || fs::remove_file(&ballast).unwrap());
    }
}

fn run_helper(mut command: std::process::Command, dir: &Path, mode: &str) {
    command
        .env(HELPER, dir)
        .env(MODE, mode)
        .env("RUST_BACKTRACE", "1")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let output = command.output().unwrap();
    let told =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && told.contains("1 passed"),
        "{:?}: {told}",
        output.status
    );
}

const ARGUMENTS: [&str; 3] = ["--exact", "faults::helper_process", "--nocapture"];

#[test]
fn a_file_size_limit_leaves_whole_lines_and_a_log_that_goes_on() {
    let folder = folder();
    let mut command = stdx::process::blocking_command(std::env::current_exe().unwrap());
    command.args(ARGUMENTS);
    run_helper(command, folder.path(), "limit");
}

#[test]
fn a_full_disk_leaves_whole_lines_and_a_log_that_goes_on() {
    let folder = folder();
    // A small disk of its own, in a mount namespace that ends with the process; needs no root where user namespaces
    // are allowed.
    let script = r#"mount -t tmpfs -o size=600k tmpfs "$1" && shift && exec "$@""#;
    let mut command = stdx::process::blocking_command("unshare");
    command.args(["-rm", "sh", "-c", script, "sh"]).arg(folder.path());
    command
        .arg(std::env::current_exe().unwrap())
        .args(ARGUMENTS)
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    run_helper(command, folder.path(), "disk");
}

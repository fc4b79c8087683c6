//! Two processes that want the same session.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Stdio},
};

use session_store::{Holder, Lease, StoreError};

use crate::samples::folder;

/// Set for the process that only takes a lease: the session folder.
const HELPER: &str = "SESSION_STORE_TEST_LEASE";

fn holder(instance: &str) -> Holder {
    let socket = Some("/tmp/reasonix-0-abc/socket".to_owned());
    Holder {
        instance: instance.to_owned(),
        pid: std::process::id(),
        start_time: 7,
        boot_id: "b".to_owned(),
        socket,
    }
}

/// Not a test of its own: it is run as the other process, takes the lease, says so, and waits for its input to end.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the only way to tell the test binary that it is the helper"
)]
fn helper_process() {
    let Some(dir) = std::env::var_os(HELPER) else {
        return;
    };
    let _lease = Lease::acquire(Path::new(&dir), &holder("other")).unwrap();
    println!("\nheld");
    std::io::stdout().flush().unwrap();
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

/// Starts the other process and waits until it has the lease.
///
/// Its output must stay open until it has ended: it goes on writing there.
fn start_helper(dir: &Path) -> (Child, ChildStdin, BufReader<ChildStdout>) {
    let mut command = stdx::process::blocking_command(std::env::current_exe().unwrap());
    command
        .args(["--exact", "lease::helper_process", "--nocapture"])
        .env(HELPER, dir);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let held = output
        .by_ref()
        .lines()
        .map_while(Result::ok)
        .any(|line| line == "held");
    assert!(held, "the helper did not get the lease");
    (child, input, output)
}

#[test]
fn a_second_process_is_refused_with_the_name_of_the_first() {
    let folder = folder();
    let (mut child, input, _output) = start_helper(folder.path());
    let error = Lease::acquire(folder.path(), &holder("me")).unwrap_err();
    assert!(
        error.to_string().contains("owned by another runtime: other"),
        "{error}"
    );
    let StoreError::Held { holder: Some(other) } = error else {
        panic!("{error}")
    };
    assert_eq!((other.pid, other.instance.as_str()), (child.id(), "other"));
    drop(input);
    assert!(child.wait().unwrap().success());
    drop(Lease::acquire(folder.path(), &holder("me")).unwrap());
    assert_eq!(Lease::last_holder(folder.path()), None);
}

#[test]
fn the_lease_of_a_killed_process_is_free_at_once() {
    for folder in [folder(), tempfile::tempdir().unwrap()] {
        let (mut child, _input, _output) = start_helper(folder.path());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(Lease::last_holder(folder.path()).unwrap().instance, "other");
        let _lease = Lease::acquire(folder.path(), &holder("me")).unwrap();
        assert_eq!(Lease::last_holder(folder.path()).unwrap().instance, "me");
    }
}

#[test]
fn a_second_lease_in_the_same_process_is_refused_and_a_rewritten_identity_is_seen() {
    let folder = folder();
    let mut lease = Lease::acquire(folder.path(), &holder("a name that is longer")).unwrap();
    lease.write(&holder("short")).unwrap();
    let error = Lease::acquire(folder.path(), &holder("me")).unwrap_err();
    assert!(matches!(error, StoreError::Held { holder: Some(other) } if *other == holder("short")));
}

#[test]
fn a_damaged_lease_file_keeps_nobody_out() {
    let folder = folder();
    std::fs::write(folder.path().join("lease"), b"\xff{not json").unwrap();
    assert_eq!(Lease::last_holder(folder.path()), None);
    let _lease = Lease::acquire(folder.path(), &holder("me")).unwrap();
    assert_eq!(Lease::last_holder(folder.path()), Some(holder("me")));
}

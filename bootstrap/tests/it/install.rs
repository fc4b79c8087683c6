//! Uploading: the right build, unchanged, run once, and nothing else under the final name.

use std::fs;

use bootstrap::{Arrival, ErrorKind, Install, Stage, ensure};

use crate::{
    cuts::without,
    host::{Fault, Host, files, write_program},
    stand_in::{Log, go, name, path, program, wanted},
};

#[tokio::test]
async fn travels_as_the_host_can_unpack_it() {
    let program = program(2_500_000);
    for (hidden, magic) in [
        (vec![], &[0x28, 0xb5, 0x2f, 0xfd][..]),
        (vec!["zstd"], &[0x1f, 0x8b][..]),
        (vec!["zstd", "gzip"], &program[..64]),
    ] {
        let (host, _mounts) = without(&hidden).await;
        let log = Log::default();
        ensure(&host, &wanted(&host, &program), &log).await.unwrap();
        assert!(fs::read(path(&host, &program)).unwrap() == program, "{hidden:?}");
        let stdin = host.seen.lock().unwrap()[1].stdin.clone();
        let script = stdin.windows(6).position(|window| window == b"\nmain\n").unwrap() + 6;
        assert!(stdin[script..].starts_with(magic), "{hidden:?}");
        let offsets = log.offsets();
        assert!(offsets.is_sorted() && offsets.len() > 8, "{offsets:?}");
        assert_eq!((offsets[0], offsets.last()), (0, Some(&2_500_000)));
    }
}

#[tokio::test]
async fn works_without_packers_and_flock() {
    let (host, _mounts) = without(&["zstd", "gzip", "flock"]).await;
    for size in [1000, 65_536, 65_537, 300_000] {
        let program = program(size.max(1200));
        let log = Log::default();
        let ready = ensure(&host, &wanted(&host, &program), &log).await.unwrap();
        let packs = ["zstd", "gzip"].map(|tool| ready.probe.tools.has(tool));
        assert!(packs == [false; 2] && !ready.probe.tools.has("flock"));
        assert_eq!(fs::read(path(&host, &program)).unwrap(), program);
        let offsets = log.offsets();
        assert_eq!(
            (offsets.first(), offsets.last()),
            (Some(&0), Some(&(program.len() as u64)))
        );
    }
}

#[tokio::test]
async fn every_hash_tool_will_do() {
    let program = program(20_000);
    for hidden in [vec!["sha256sum"], vec!["openssl"], vec!["openssl", "sha256sum"]] {
        let (host, _mounts) = without(&hidden).await;
        let ready = go(&host, &wanted(&host, &program)).await.unwrap();
        let used = ready.probe.tools.hash.unwrap();
        assert!(!hidden.contains(&used.as_str()), "{used}");
        assert_eq!(fs::read(path(&host, &program)).unwrap(), program);
    }
    let (host, _mounts) = without(&["sha256sum", "shasum", "openssl"]).await;
    let error = go(&host, &wanted(&host, &program)).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NoHashTool), "{error:?}");
}

#[tokio::test]
async fn a_changed_byte_is_refused() {
    let program = program(100_000);
    for hidden in [vec![], vec!["zstd"], vec!["zstd", "gzip"]] {
        let (mut host, _mounts) = without(&hidden).await;
        let wanted = wanted(&host, &program);
        // The last exec of a good run tells how long the input is.
        go(&host, &wanted).await.unwrap();
        let length = host.seen.lock().unwrap()[1].stdin.len();
        fs::remove_dir_all(host.programs()).unwrap();
        host.fault = Some((host.execs() + 1, Fault::Flip(length - 50_000)));
        let error = go(&host, &wanted).await.unwrap_err();
        // Behind a packer the change shows as rubbish of another length or as another checksum.
        let shown = error.stage() == Stage::Verify || hidden.len() < 2 && error.stage() == Stage::Upload;
        assert!(shown && !error.is_connection_lost(), "{error:?}");
        assert!(!path(&host, &program).exists());
        // And the next try works.
        host.fault = None;
        go(&host, &wanted).await.unwrap();
        assert_eq!(host.files(), [name(&program)]);
    }
}

#[tokio::test]
async fn a_program_that_does_not_run_is_refused() {
    let host = Host::new();
    for (text, words) in [
        ("#!/bin/sh\necho 'reasonix 0.2.01'\n", "0.2.01"),
        ("#!/bin/sh\necho cannot >&2; exit 7\n", "cannot"),
    ] {
        let error = go(&host, &wanted(&host, text.as_bytes())).await.unwrap_err();
        assert_eq!(error.stage(), Stage::Trial, "{error:?}");
        assert!(
            error.stderr().iter().any(|line| line.contains(words)),
            "{error:?}"
        );
        assert_eq!(host.files(), [""; 0]);
    }
    let error = go(&host, &wanted(&host, &[0x7f, b'E', b'L', b'F', 1, 2, 3]))
        .await
        .unwrap_err();
    assert_eq!(error.stage(), Stage::Trial, "{error:?}");
    assert_eq!(host.files(), [""; 0]);
}

#[tokio::test]
async fn another_architecture_is_named_once_and_served_from_dist() {
    let host = Host::new();
    host.fake(
        "uname",
        "case $1 in -s) echo Linux ;; -m) echo aarch64 ;; esac; echo 'uname speaks' >&2",
    );
    let program = program(20_000);
    let mut wanted = wanted(&host, &program);
    let error = go(&host, &wanted).await.unwrap_err();
    assert_eq!(
        (error.stage(), error.exit_code(), host.execs()),
        (Stage::Choose, 5, 1)
    );
    assert!(error.to_string().contains("aarch64-unknown-linux-gnu"), "{error}");
    assert!(
        error.stderr().iter().any(|line| line == "uname speaks"),
        "{error:?}"
    );
    let hint = error.hint().unwrap();
    assert!(
        hint.contains("REASONIX_DIST/aarch64-unknown-linux-gnu/reasonix"),
        "{hint}"
    );
    assert!(
        hint.contains("~/.reasonix/dist/aarch64-unknown-linux-gnu/reasonix"),
        "{hint}"
    );
    let dist = host.dir.path().join("dist");
    fs::create_dir_all(dist.join("aarch64-unknown-linux-gnu")).unwrap();
    fs::write(dist.join("aarch64-unknown-linux-gnu/reasonix"), &program).unwrap();
    wanted.source.dist = vec![host.dir.path().join("none"), dist];
    assert_eq!(go(&host, &wanted).await.unwrap().arrival, Arrival::Installed);

    for (os, arch, words) in [
        ("Haiku", "BePC", "no build exists for Haiku on BePC"),
        ("Linux", "mips64", "no build exists for Linux on mips64"),
        (
            "Linux",
            "riscv64",
            "no build for riscv64gc-unknown-linux-gnu found here, looked for ",
        ),
        (
            "Linux",
            "armv7l",
            "no build for armv7-unknown-linux-gnueabihf found here, looked for ",
        ),
        ("Linux", "i686", "/i686-unknown-linux-gnu/reasonix"),
        ("Darwin", "arm64", "no build for aarch64-apple-darwin found here"),
    ] {
        let host = Host::new();
        host.fake(
            "uname",
            &format!("case $1 in -s) echo {os} ;; -m) echo {arch} ;; esac"),
        );
        let error = go(&host, &wanted).await.unwrap_err();
        assert!(
            error.to_string().contains(words) && error.hint().is_some(),
            "{error}"
        );
        assert_eq!((error.stage(), host.files().len()), (Stage::Choose, 0), "{error}");
    }
}

#[tokio::test]
async fn a_capable_program_is_launched_instead() {
    let host = Host::new();
    let program = program(20_000);
    let json = serde_json::to_string(&crate::stand_in::hello()).unwrap();
    host.fake(
        "reasonix",
        &format!(
            "case $1 in --version) echo 'reasonix 0.9.0'; echo 'protocol 1..3' ;; *) printf '%s %s %s\\n' \"$4\" '{json}' \"$4\" ;; esac"
        ),
    );
    let mut wanted = wanted(&host, &program);
    let ready = go(&host, &wanted).await.unwrap();
    assert_eq!(
        (ready.arrival, ready.program.ends_with("bin/reasonix")),
        (Arrival::Launched, true)
    );
    assert_eq!(host.files(), [""; 0]);
    wanted.install = Install::Upload;
    assert_eq!(go(&host, &wanted).await.unwrap().arrival, Arrival::Installed);
}

#[tokio::test]
async fn old_programs_go_but_the_previous_and_running_ones_stay() {
    let host = Host::new();
    fs::create_dir_all(host.programs()).unwrap();
    let old = |n: u32| format!("reasonix-0.1.{n}-00000000000{n}");
    for n in 1..=4 {
        write_program(&host.programs().join(old(n)), "#!/bin/sh\necho reasonix 0.1.0\n");
        let time = fs::FileTimes::new()
            .set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(u64::from(n) * 1000));
        fs::File::options()
            .write(true)
            .open(host.programs().join(old(n)))
            .unwrap()
            .set_times(time)
            .unwrap();
    }
    // A copy of a real program, running under one of the old names.
    fs::copy("/bin/sleep", host.programs().join(old(2))).unwrap();
    let mut running = stdx::process::command(host.programs().join(old(2)))
        .arg("600")
        .spawn()
        .unwrap();
    let time =
        fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(2000));
    fs::File::options()
        .read(true)
        .open(host.programs().join(old(2)))
        .unwrap()
        .set_times(time)
        .unwrap();
    fs::write(host.programs().join("notes"), "mine").unwrap();
    let program = program(20_000);
    go(&host, &wanted(&host, &program)).await.unwrap();
    assert_eq!(host.files(), ["notes".to_owned(), old(2), old(4), name(&program)]);
    running.kill().await.unwrap();
}

#[tokio::test]
async fn what_cuts_and_kills_left_is_collected() {
    let host = Host::new();
    fs::create_dir_all(host.programs()).unwrap();
    let sum = "0123456789ab";
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    for kind in ["part", "new", "lock", "try"] {
        let at = |age: &str| host.programs().join(format!(".{kind}-{sum}-{age}"));
        fs::write(at("young"), "").unwrap();
        let old = fs::File::create(at("old")).unwrap();
        old.set_times(fs::FileTimes::new().set_modified(long_ago))
            .unwrap();
    }
    let program = program(20_000);
    go(&host, &wanted(&host, &program)).await.unwrap();
    let young = ["lock", "new", "part", "try"].map(|kind| format!(".{kind}-{sum}-young"));
    assert_eq!(host.files(), [&young[..], &[name(&program)]].concat());
}

#[tokio::test]
async fn two_clients_at_once_both_succeed() {
    for hidden in [vec![], vec!["flock"]] {
        let (host, _mounts) = without(&hidden).await;
        let program = program(2_000_000);
        let wanted = wanted(&host, &program);
        let mut others: Vec<Host> = (0..2).map(|_| Host::new()).collect();
        for other in &mut others {
            other.prefix = host.prefix.clone();
            other.env = vec![(
                "REASONIX_HOME".into(),
                host.home().join(".reasonix").display().to_string(),
            )];
        }
        let (a, b, c) = tokio::join!(
            go(&host, &wanted),
            go(&others[0], &wanted),
            go(&others[1], &wanted)
        );
        for ready in [a, b, c] {
            let ready = ready.unwrap_or_else(|error| panic!("{hidden:?} {error} {:?}", error.details()));
            assert_eq!(ready.program, path(&host, &program).to_str().unwrap());
        }
        assert_eq!(fs::read(path(&host, &program)).unwrap(), program);
        assert_eq!(files(&host.programs()), [name(&program)], "{hidden:?}");
    }
}

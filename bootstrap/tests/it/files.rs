//! Hosts on which a command gets no input: scripts go into the command line, programs over as files.

use std::{fs, time::Duration};

use bootstrap::{BoxFuture, Carriage, ErrorKind, Exec, Output, Put, Remote, RemoteError, Stage, ensure};
use tokio::io::AsyncReadExt as _;

use crate::{
    cuts::without,
    host::{Fault, Host},
    shells::works,
    stand_in::{go, name, path, program, wanted},
};

/// A start-up file that reads whatever comes.
const SWALLOWS: &str = "cat >/dev/null";

fn taking(mut host: Host) -> Host {
    host.takes_files = true;
    host
}

#[tokio::test]
async fn input_that_never_arrives_is_worked_around() {
    for (label, startup) in [
        ("swallowed", SWALLOWS),
        ("closed", "exec </dev/null"),
        ("greeted", "echo Welcome; exec </dev/null"),
        ("a line is read", "echo 'name?'; read answer"),
    ] {
        let host = taking(Host::with_startup(startup));
        works(&host, label).await;
        let taken = host.taken.lock().unwrap().clone();
        assert_eq!(
            taken.iter().map(|(_, at, size)| (*at, *size)).collect::<Vec<_>>(),
            [(0, 20_000)]
        );
        let seen = host.seen.lock().unwrap();
        let scripts = seen.iter().filter(|seen| seen.stdin.is_empty()).count();
        assert!(
            scripts >= 5,
            "{label}: {scripts} of {} by command line",
            seen.len()
        );
    }
}

#[tokio::test]
async fn every_login_shell_takes_scripts_in_its_command_line() {
    for shell in ["/bin/bash", "/bin/dash", "/usr/bin/fish", "/bin/tcsh", "/bin/zsh"] {
        let mut host = taking(Host::new());
        let login = host.dir.path().join("login-shell");
        crate::host::write_program(&login, &format!("#!/bin/sh\nexec {shell} \"$@\" </dev/null\n"));
        host.shell = login;
        works(&host, shell).await;
    }
}

#[tokio::test]
async fn a_host_without_dd_takes_the_file() {
    let (host, _mounts) = without(&["dd", "zstd", "gzip"]).await;
    works(&taking(host), "no dd").await;
}

#[tokio::test]
async fn a_part_is_gone_on_with() {
    let host = taking(Host::with_startup(SWALLOWS));
    let program = program(300_000);
    let wanted = wanted(&host, &program);
    go(&host, &wanted).await.unwrap();
    let whole = path(&host, &program);
    let sum = name(&program).rsplit('-').next().unwrap().to_owned();
    for (kept, offset) in [(200_000, 196_608), (65_535, 0), (300_000, 262_144)] {
        fs::remove_file(&whole).unwrap();
        let part = host.programs().join(format!(".part-{sum}-abc"));
        fs::write(&part, &program[..kept]).unwrap();
        go(&host, &wanted).await.unwrap();
        assert!(fs::read(&whole).unwrap() == program);
        assert_eq!(host.files(), [name(&program)]);
        let (_, at, size) = host.taken.lock().unwrap().last().unwrap().clone();
        assert_eq!(
            (at, size),
            (offset, program.len() - usize::try_from(offset).unwrap())
        );
    }
}

#[tokio::test]
async fn input_that_ends_early_makes_way_for_the_file() {
    // The host closes the stream after the script and some of the program.
    let mut host = taking(Host::new());
    let program = program(300_000);
    let wanted = wanted(&host, &program);
    host.fault = Some((1, Fault::Short(150_000)));
    go(&host, &wanted).await.unwrap();
    assert!(fs::read(path(&host, &program)).unwrap() == program);
    assert_eq!(host.files(), [name(&program)]);
    assert_eq!(host.taken.lock().unwrap().len(), 1);

    // Without such a way the first error is told.
    fs::remove_dir_all(host.programs()).unwrap();
    host.takes_files = false;
    host.fault = Some((host.execs() + 1, Fault::Short(150_000)));
    let error = go(&host, &wanted).await.unwrap_err();
    assert_eq!(error.stage(), Stage::Upload);
    assert!(error.to_string().contains("bytes arrived"), "{error}");
}

#[tokio::test]
async fn a_host_with_no_way_at_all_is_named() {
    let host = Host::with_startup(SWALLOWS);
    let error = go(&host, &wanted(&host, &program(20_000))).await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Remote(RemoteError::NoFiles)),
        "{error:?}"
    );
    assert_eq!((error.stage(), error.exit_code()), (Stage::Upload, 5));
    assert!(error.to_string().contains("sftp") && error.hint().is_some());
}

#[tokio::test]
async fn an_account_for_files_alone_is_told_so() {
    let mut host = taking(Host::new());
    let login = host.dir.path().join("login-shell");
    // As an SFTP server does with a packet that makes no sense.
    crate::host::write_program(&login, "#!/bin/sh\nexit 11\n");
    host.shell = login;
    let error = go(&host, &wanted(&host, &program(20_000))).await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Remote(RemoteError::FilesOnly)),
        "{error:?}"
    );
    assert_eq!((error.stage(), host.execs()), (Stage::Probe, 1));
    host.takes_files = false;
    let error = go(&host, &wanted(&host, &program(20_000))).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NoShell(None)), "{error:?}");
}

#[tokio::test]
async fn input_is_preferred() {
    let host = taking(Host::new());
    let ready = go(&host, &wanted(&host, &program(20_000))).await.unwrap();
    assert_eq!(ready.probe.carriage, Carriage::Input);
    assert!(host.taken.lock().unwrap().is_empty());
}

/// A host to which input never gets, so that whoever waits for it waits for ever. Only the clock is not waited for.
struct Deaf(Host);

impl Remote for Deaf {
    fn host(&self) -> &str {
        self.0.host()
    }

    fn exec<'a>(&'a self, mut exec: Exec<'a>) -> BoxFuture<'a, Result<Output, RemoteError>> {
        Box::pin(async move {
            let mut input = Vec::new();
            exec.stdin.read_to_end(&mut input).await.unwrap();
            if input.is_empty() {
                let stdin = Box::new(tokio::io::empty());
                return self.0.exec(Exec { stdin, ..exec }).await;
            }
            let limit = exec.deadline.idle.min(exec.deadline.total);
            assert!(limit <= Duration::from_secs(15), "nobody wants to wait {limit:?}");
            let stderr = b"still waiting\n".to_vec();
            Err(RemoteError::TimedOut { limit, stderr })
        })
    }

    fn put<'a>(&'a self, put: Put<'a>) -> BoxFuture<'a, Result<(), RemoteError>> {
        self.0.put(put)
    }

    fn takes_files(&self) -> BoxFuture<'_, bool> {
        self.0.takes_files()
    }
}

#[tokio::test]
async fn a_host_that_waits_for_input_for_ever_is_found_out_soon() {
    let host = Deaf(taking(Host::new()));
    let program = program(20_000);
    let wanted = wanted(&host.0, &program);
    let ready = ensure(&host, &wanted, &bootstrap::Silent).await.unwrap();
    assert_eq!(ready.probe.carriage, Carriage::CommandLine);
    assert_eq!(host.0.files(), [name(&program)]);

    // Where the command line does not do either, the first error is told, with what the host had said.
    let host = Deaf(Host::with_shell("/bin/false"));
    let error = ensure(&host, &wanted, &bootstrap::Silent).await.unwrap_err();
    assert_eq!(
        (error.stage(), error.stderr()),
        (Stage::Probe, &["still waiting".to_owned()][..])
    );
    assert!(
        error.to_string().contains("no answer within 15 s") && error.hint().is_some(),
        "{error}"
    );
}

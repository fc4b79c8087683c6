use super::*;
use crate::probe::{Daemon, RefusedDirectory, Tools, tests::hello};

const ALL: [Install; 3] = [Install::Auto, Install::Upload, Install::Never];

fn artifact() -> Artifact {
    Artifact::new("0.2.0", vec![7; 200_000])
}

fn request(install: Install) -> Request {
    Request {
        install,
        version: "0.2.0".into(),
        protocol: VersionRange { min: 1, max: 2 },
    }
}

fn bare() -> Probe {
    Probe {
        home: vec!["/h".into()],
        directory: Some(Directory {
            path: "/h/bin".into(),
            free: Some(1 << 30),
            inodes: None,
            full: None,
        }),
        tools: Tools {
            found: Vec::new(),
            hash: Some("sha256sum".into()),
        },
        ..Probe::default()
    }
}

fn program(path: &str, size: u64, output: &str) -> Installed {
    Installed {
        path: path.into(),
        size,
        version_output: Some(output.into()),
    }
}

/// One word per step.
fn check(probe: &Probe, install: Install, want: &str) -> Option<InstallStep> {
    let artifact = artifact();
    let got = plan(probe, &request(install), Ok(&artifact));
    let mut step = None;
    let words: Vec<String> = match got {
        Err(reason) => vec![format!("refused: {reason}")],
        Ok(steps) => steps
            .into_iter()
            .map(|s| match s {
                Step::Attach(_) => "attach".into(),
                Step::Launch { program, own, rungs } => {
                    assert_eq!(own, install == Install::Upload);
                    assert_eq!(rungs, ladder::ladder(probe));
                    format!("launch {program}")
                }
                Step::Install(install) => {
                    let word = format!("install at {}", install.offset());
                    step = Some(install);
                    word
                }
            })
            .collect(),
    };
    assert_eq!(words.join(", "), want, "{install:?}");
    step
}

#[test]
fn a_bare_host_gets_the_program() {
    let launch = format!("launch /h/bin/{}", artifact().name());
    check(&bare(), Install::Auto, &format!("install at 0, {launch}"));
    check(&bare(), Install::Upload, &format!("install at 0, {launch}"));
    check(
        &bare(),
        Install::Never,
        "refused: no usable reasonix is installed, and installing is off",
    );
    check(&bare(), Install::Attach, "refused: no agent runs there");
}

#[test]
fn capability_decides_not_the_version() {
    let mut probe = bare();
    let upload = format!("install at 0, launch /h/bin/{}", artifact().name());
    probe.installed = vec![program("/usr/bin/reasonix", 1, "reasonix 9.9.9\nprotocol 2..7\n")];
    check(&probe, Install::Auto, "launch /usr/bin/reasonix");
    check(&probe, Install::Never, "launch /usr/bin/reasonix");
    check(&probe, Install::Attach, "refused: no agent runs there");
    check(&probe, Install::Upload, &upload);
    probe.installed = vec![program("/usr/bin/reasonix", 1, "reasonix 0.2.0\nprotocol 3..7\n")];
    check(&probe, Install::Auto, &upload);
    // An older build under our version is not ours.
    probe.installed = vec![program(
        "/h/bin/reasonix-0.2.0-000000000000",
        1,
        "reasonix 0.2.0\nprotocol 1..2\n",
    )];
    check(&probe, Install::Auto, &upload);
    check(
        &probe,
        Install::Never,
        "launch /h/bin/reasonix-0.2.0-000000000000",
    );
}

#[test]
fn this_very_build_is_launched_unless_it_was_cut() {
    let path = format!("/h/bin/{}", artifact().name());
    let mut probe = bare();
    probe.installed = vec![program(&path, 200_000, "reasonix 0.2.0")];
    for install in ALL {
        check(&probe, install, &format!("launch {path}"));
    }
    probe.installed[0].size = 199_999;
    check(&probe, Install::Auto, &format!("install at 0, launch {path}"));
}

#[test]
fn a_daemon_is_used_if_it_runs_is_ours_and_understands() {
    let mut probe = bare();
    let daemon = Daemon {
        hello: Some(hello()),
        home: Some("/h".into()),
        proof: Proof::Runs,
    };
    let installs = format!("install at 0, launch /h/bin/{}", artifact().name());
    probe.daemons = vec![daemon.clone()];
    check(&probe, Install::Auto, "attach");
    check(&probe, Install::Never, "attach");
    check(&probe, Install::Attach, "attach");
    check(&probe, Install::Upload, &installs);
    let spoilers: [fn(&mut Daemon); 6] = [
        |d| d.proof = Proof::Gone,
        |d| d.proof = Proof::Unsure,
        |d| d.home = Some("/other".into()),
        |d| d.home = None,
        |d| d.hello.as_mut().unwrap().draining = true,
        |d| d.hello.as_mut().unwrap().protocol = VersionRange { min: 3, max: 3 },
    ];
    for spoil in spoilers {
        probe.daemons = vec![daemon.clone()];
        spoil(&mut probe.daemons[0]);
        check(&probe, Install::Auto, &installs);
    }
}

#[test]
fn resumes_at_a_block_of_the_largest_part() {
    let mut probe = bare();
    let part = |random: &str, size| Part {
        name: layout::part(artifact().sum(), random),
        size,
    };
    let foreign = Part {
        name: ".part-000000000000-a".into(),
        size: 150_000,
    };
    probe.parts = vec![part("a", 70_000), part("b", 140_000), part("c", 200_001), foreign];
    let launch = format!("launch /h/bin/{}", artifact().name());
    let step = check(&probe, Install::Auto, &format!("install at 131072, {launch}"));
    assert_eq!(step.unwrap().resume, Some(part("b", 140_000)));
}

#[test]
fn refusals_say_what_is_lacking() {
    let mut probe = bare();
    probe.directory.as_mut().unwrap().free = Some(150_000);
    check(
        &probe,
        Install::Auto,
        "refused: no space in /h/bin: 250000 more bytes are needed",
    );
    probe.directory = None;
    probe.refused = vec![RefusedDirectory {
        path: "/h/bin".into(),
        reason: "cannot be run".into(),
    }];
    check(
        &probe,
        Install::Auto,
        "refused: no folder on the host takes a program: /h/bin cannot be run",
    );
    let mut probe = bare();
    probe.tools.hash = None;
    check(
        &probe,
        Install::Auto,
        "refused: the host has none of sha256sum, shasum and openssl",
    );
}

#[test]
fn without_a_build_an_installed_one_may_do() {
    let none = || Err(ErrorKind::Program("no build".into()));
    let mut probe = bare();
    assert!(plan(&probe, &request(Install::Auto), none()).is_err());
    probe.installed = vec![program("/usr/bin/reasonix", 1, "reasonix 0.2.0\nprotocol 1..1\n")];
    assert!(plan(&probe, &request(Install::Auto), none()).is_ok());
    assert!(plan(&probe, &request(Install::Upload), none()).is_err());
}

use super::*;
use crate::{
    artifact::Artifact,
    platform::UnknownPlatform,
    probe::{Directory, Installed, Storage, Workspace, tests::hello},
};

fn probe() -> Probe {
    let mut probe = Probe {
        home: vec!["/h/.reasonix".into()],
        ..Probe::default()
    };
    probe.system.os = "Linux".into();
    probe.system.arch = "x86_64".into();
    probe.system.home = "/h".into();
    probe.tools.found = vec!["zstd".into(), "dd".into()];
    probe.tools.hash = Some("sha256sum".into());
    probe.isolation.bubblewrap = Some(Ok(()));
    probe.exchange.skew = Some(0);
    probe.storage = Some(Storage {
        path: "/h".into(),
        free: Some(1 << 40),
        ..Storage::default()
    });
    probe.directory = None::<Directory>;
    probe.workspace = Some(Workspace::Ready("/h/w".into()));
    probe
}

fn place(path: &str, trial: Trial, free: u64) -> Place {
    Place {
        path: path.into(),
        trial,
        free: Some(free),
    }
}

fn examined() -> Examined {
    Examined {
        places: vec![place("/h/.reasonix/bin", Trial::Runs, 1 << 40)],
        ..Examined::default()
    }
}

/// Judges, and gives what is not ok, as `GRADE CHECK`.
fn judged(probe: &Probe, examined: &Examined, offer: Result<&Artifact, &ErrorKind>) -> Vec<Finding> {
    let facts = Facts {
        host: "box",
        probe,
        examined: Some(examined),
        offer,
        install: Install::Auto,
        version: "0.1.0",
        protocol: VersionRange { min: 1, max: 1 },
    };
    judge(&facts)
}

fn check(probe: &Probe, examined: &Examined, want: &[(&str, Grade)]) {
    let artifact = Artifact::new("0.1.0", vec![0; 1000]);
    let found = judged(probe, examined, Ok(&artifact));
    let unusual: Vec<(&str, Grade)> = found
        .iter()
        .filter(|finding| finding.grade != Grade::Ok)
        .map(|finding| (finding.check, finding.grade))
        .collect();
    assert_eq!(unusual, want, "{found:#?}");
    for finding in found.iter().filter(|finding| finding.grade > Grade::Note) {
        assert!(finding.why.is_some() || finding.fix.is_some(), "{finding:#?}");
    }
    let problems = found
        .iter()
        .filter(|finding| matches!(finding.grade, Grade::Problem(_)));
    for finding in problems {
        assert!(finding.why.is_some() && finding.fix.is_some(), "{finding:#?}");
    }
}

const BOOTSTRAP: Grade = Grade::Problem(Class::Bootstrap);

#[test]
fn a_good_host_has_nothing_to_say() {
    check(&probe(), &examined(), &[]);
    let nothing = judged(&probe(), &examined(), Ok(&Artifact::new("0.1.0", vec![0; 9])));
    assert_eq!(first_problem(&nothing), None);
}

#[test]
fn each_answer_has_its_verdict() {
    type Change = fn(&mut Probe);
    let cases: [(Change, &[(&str, Grade)]); 16] = [
        (|p| p.tools.hash = None, &[("tools", BOOTSTRAP)]),
        (|p| p.tools.found = vec!["dd".into()], &[("tools", Grade::Note)]),
        (|p| p.isolation.bubblewrap = None, &[("sandbox", Grade::Warning)]),
        (
            |p| p.isolation.bubblewrap = Some(Err("no".into())),
            &[("sandbox", Grade::Warning)],
        ),
        (|p| p.exchange.skew = Some(-30), &[("clock", Grade::Note)]),
        (|p| p.exchange.skew = Some(4000), &[("clock", Grade::Warning)]),
        (
            |p| p.exchange.noise = vec!["Welcome".into()],
            &[("noise", Grade::Note)],
        ),
        (
            |p| p.carriage = crate::Carriage::CommandLine,
            &[("commands", Grade::Note)],
        ),
        (
            |p| p.system.proxies = vec!["https_proxy".into()],
            &[("proxies", Grade::Note)],
        ),
        (|p| p.home.clear(), &[("home", BOOTSTRAP)]),
        (
            |p| p.storage.as_mut().unwrap().unwritable = Some("Read-only".into()),
            &[("home", BOOTSTRAP)],
        ),
        (
            |p| p.storage.as_mut().unwrap().free = Some(0),
            &[("home", BOOTSTRAP)],
        ),
        (
            |p| p.storage.as_mut().unwrap().inodes = Some(0),
            &[("home", BOOTSTRAP)],
        ),
        (
            |p| p.storage.as_mut().unwrap().free = Some(1 << 20),
            &[("home", Grade::Warning)],
        ),
        (
            |p| p.storage.as_mut().unwrap().locks = Some(false),
            &[("home", Grade::Warning)],
        ),
        (
            |p| p.storage.as_mut().unwrap().kind = "nfs4".into(),
            &[("home", Grade::Note)],
        ),
    ];
    for (change, want) in cases {
        let mut probe = probe();
        change(&mut probe);
        check(&probe, &examined(), want);
    }
}

#[test]
fn what_becomes_of_the_agent_after_a_logout_is_told() {
    let mut probe = probe();
    probe.login.kills = Some(true);
    probe.login.in_session = true;
    check(&probe, &examined(), &[("logout", Grade::Warning)]);
    probe.login.user_manager = true;
    check(&probe, &examined(), &[("logout", Grade::Note)]);
    probe.system.lingering = true;
    check(&probe, &examined(), &[]);
}

#[test]
fn a_quota_counts_as_what_is_free() {
    let mut probe = probe();
    probe.storage.as_mut().unwrap().quota = Some(crate::probe::Quota {
        used: 100,
        limit: 100,
    });
    check(&probe, &examined(), &[("home", BOOTSTRAP)]);
}

#[test]
fn a_workspace_that_will_not_do_is_a_matter_of_the_command() {
    let mut probe = probe();
    probe.workspace = Some(Workspace::Missing("/srv/a b".into()));
    check(
        &probe,
        &examined(),
        &[("workspace", Grade::Problem(Class::Usage))],
    );
    probe.workspace = Some(Workspace::Ready("/srv".into()));
    let refused = Examined {
        git: Some(Git::Refused("dubious ownership".into())),
        ..examined()
    };
    check(&probe, &refused, &[("workspace", Grade::Warning)]);
}

#[test]
fn the_next_folder_serves_where_one_does_not() {
    let noexec = place(
        "/h/.reasonix/bin",
        Trial::NoExec("Permission denied".into()),
        1 << 40,
    );
    let tight = place("/h/.cache/reasonix/bin", Trial::Runs, 10);
    let good = place("/var/tmp/reasonix-1000", Trial::Runs, 1 << 40);
    let with = |places: &[&Place]| Examined {
        places: places.iter().map(|place| (*place).clone()).collect(),
        ..Examined::default()
    };
    let note = ("folder", Grade::Note);
    check(&probe(), &with(&[&good, &noexec]), &[]);
    check(&probe(), &with(&[&noexec, &tight, &good]), &[note, note]);
    let warning = ("folder", Grade::Warning);
    check(
        &probe(),
        &with(&[&noexec, &tight]),
        &[warning, warning, ("folder", BOOTSTRAP)],
    );
    check(&probe(), &with(&[]), &[("folder", BOOTSTRAP)]);
    // What is installed runs; no folder is needed.
    let mut installed = probe();
    installed.installed.push(Installed {
        path: "/usr/bin/reasonix".into(),
        size: 1,
        version_output: Some("reasonix 0.1.0\nprotocol 1..1\n".into()),
    });
    check(&installed, &with(&[&noexec]), &[note]);
}

#[test]
fn a_host_without_a_build_needs_an_installed_one() {
    let unknown = ErrorKind::Platform(UnknownPlatform {
        os: "FreeBSD".into(),
        arch: "amd64".into(),
    });
    let found = judged(&probe(), &examined(), Err(&unknown));
    assert_eq!(first_problem(&found), Some(Class::Bootstrap), "{found:#?}");
    assert!(
        found
            .iter()
            .any(|finding| finding.text.contains("no build exists for FreeBSD on amd64"))
    );
}

#[test]
fn a_host_without_a_workspace_is_told_so() {
    let mut probe = probe();
    probe.workspace = None;
    check(&probe, &examined(), &[("workspace", Grade::Note)]);
}

#[test]
fn an_agent_that_runs_is_named() {
    let mut probe = probe();
    let mut daemon = crate::probe::Daemon {
        hello: Some(hello()),
        home: Some("/h/.reasonix".into()),
        proof: crate::probe::Proof::Runs,
    };
    probe.daemons = vec![daemon.clone()];
    check(&probe, &examined(), &[]);
    daemon.hello.as_mut().unwrap().draining = true;
    probe.daemons.push(daemon.clone());
    check(&probe, &examined(), &[("agent", Grade::Note)]);
    probe.daemons = vec![daemon.clone()];
    check(&probe, &examined(), &[("agent", Grade::Note)]);
    let hello = daemon.hello.as_mut().unwrap();
    (hello.draining, hello.protocol) = (false, VersionRange { min: 7, max: 9 });
    probe.daemons = vec![daemon.clone()];
    check(&probe, &examined(), &[("agent", Grade::Warning)]);
    daemon.proof = crate::probe::Proof::Gone;
    probe.daemons = vec![daemon];
    check(&probe, &examined(), &[("agent", Grade::Note)]);
}

#[test]
fn bytes_are_readable() {
    for (count, text) in [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1536, "1.5 KiB"),
        (20 << 20, "20 MiB"),
    ] {
        assert_eq!(bytes(count), text);
    }
}

#[test]
fn a_path_of_a_host_is_one_line() {
    let mut lying = probe();
    lying.home = vec!["/h\nOk  everything\r\u{2028}".into()];
    let found = judged(&lying, &examined(), Ok(&Artifact::new("0.1.0", vec![0; 9])));
    let home = found.iter().find(|finding| finding.check == "home").unwrap();
    assert!(
        home.text.starts_with("/h\\nOk  everything\\r\\u{2028}"),
        "{home:?}"
    );
    assert_eq!(shown("/a b/ä"), "/a b/ä");
}

use protocol::{Build, Hello, Identity, VersionRange};

use super::{read::prove, *};
use crate::{
    answer::Answer,
    remote::{Exec, Output},
};

pub(crate) fn hello() -> Hello {
    Hello {
        protocol: VersionRange { min: 1, max: 1 },
        build: Build {
            version: "0.1.0".into(),
            target: "x86_64-unknown-linux-gnu".into(),
        },
        identity: Identity {
            instance: serde_json::from_str("\"01890a5d-ac96-774b-bcce-b302099a8057\"").unwrap(),
            pid: 42,
            start_time: 777,
            boot_id: "boot-1".into(),
            machine: "m".into(),
            uid: 1000,
            socket: "/tmp/reasonix-1000-aa/sock".into(),
            program: "/home/u/.reasonix/bin/reasonix-0.1.0-000000000000".into(),
        },
        capabilities: Vec::new(),
        draining: false,
        key_agent_socket: None,
    }
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn answer(lines: &[String]) -> Probe {
    let text: String = lines.iter().map(|line| format!("FFFF {line}\n")).collect();
    parse(&Answer::parse(&Fence::from_word("FFFF"), text.as_bytes()))
}

#[test]
fn reads_a_whole_answer() {
    let probe = answer(&[
        "os Linux".into(),
        "uid 1000".into(),
        format!("workspace ok {}", hex("/srv/a b\nä")),
        format!("dir {} :100 :7 :", hex("/h/bin")),
        format!("refused {} {}", hex("/n"), hex("is\nfull of eels")),
        format!(
            "installed 7 {} {}",
            hex("/h/bin/x"),
            hex("reasonix 1.2.3\nprotocol 1..4\n")
        ),
        format!("part 65536 {}", hex(".part-a-b")),
        "part nonsense".into(),
        "tool gzip".into(),
        "end 0".into(),
    ]);
    assert_eq!(probe.workspace, Some(Workspace::Ready("/srv/a b\nä".into())));
    assert_eq!(
        probe.directory,
        Some(Directory {
            path: "/h/bin".into(),
            free: Some(102_400),
            inodes: Some(7),
            full: None,
        })
    );
    assert_eq!(probe.refused[0].reason, "is full of eels");
    assert_eq!(
        (probe.installed[0].version(), probe.installed[0].protocol()),
        (Some("1.2.3"), Some(VersionRange { min: 1, max: 4 }))
    );
    assert_eq!(
        probe.parts,
        [Part {
            name: ".part-a-b".into(),
            size: 65536
        }]
    );
    assert!(probe.tools.has("gzip") && !probe.tools.has("flock") && probe.system.arch.is_empty());
}

#[test]
fn a_daemon_must_be_the_process_it_says() {
    let stat =
        |start: u64| format!("42 (odd ) name) S 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 {start} 1 2");
    let check = |stat: &str, boot: &str, want| {
        assert_eq!(prove(&hello().identity, stat, boot), want, "{stat} {boot}");
    };
    check(&stat(777), "boot-1", Proof::Runs);
    check(&stat(778), "boot-1", Proof::Gone);
    check(&stat(777), "boot-2", Proof::Gone);
    check(&stat(777).replace(" S ", " Z "), "boot-1", Proof::Gone);
    check("", "boot-1", Proof::Gone);
    check("alive", "", Proof::Unsure);
}

#[test]
fn a_daemons_word_is_read_with_its_home() {
    let mut record = serde_json::to_value(hello()).unwrap();
    record["home"] = "/home/u/.reasonix".into();
    record["later"] = 1.into();
    let stat = "42 (r) S 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 777 1 2";
    let probe = answer(&[
        "boot boot-1".into(),
        format!("daemon {} :{}", hex(&record.to_string()), hex(stat)),
    ]);
    let daemon = &probe.daemons[0];
    assert_eq!(
        (daemon.home.as_deref(), daemon.proof),
        (Some("/home/u/.reasonix"), Proof::Runs)
    );
    assert_eq!(daemon.hello, Some(hello()));
    let probe = answer(&[format!("daemon {} :", hex("not json"))]);
    assert!(probe.daemons[0].hello.is_none());
}

#[test]
fn a_disk_is_read_with_its_tightest_quota() {
    let line = format!(
        "storage {} :2048 : :{} :{}",
        hex("/h/.reasonix"),
        hex("nfs"),
        hex("dd: eels\nin it")
    );
    let probe = answer(&[
        line,
        "locks no".into(),
        "quota Disk quotas for user u (uid 1000):".into(),
        "quota Filesystem blocks quota limit grace files quota limit grace".into(),
        "quota /dev/sda1 20 0 0 5 0 0".into(),
        "quota srv:/home 90* 80 100 6days 5 0 0".into(),
        "quota /dev/sdb1 20 900 0 5 0 0".into(),
    ]);
    let want = Storage {
        path: "/h/.reasonix".into(),
        unwritable: Some("dd: eels in it".into()),
        free: Some(2 << 20),
        inodes: None,
        quota: Some(Quota {
            used: 90 << 10,
            limit: 100 << 10,
        }),
        kind: "nfs".into(),
        locks: Some(false),
    };
    assert_eq!(probe.storage, Some(want));
    assert_eq!(
        answer(&["storage ff : : : :".into()])
            .storage
            .unwrap()
            .unwritable
            .unwrap(),
        "its path is not UTF-8"
    );
}

#[test]
fn what_confines_is_read() {
    let probe = answer(&[
        format!("bwrap fails {}", hex("No permissions")),
        "userns runs".into(),
        "lsm lockdown,capability,landlock".into(),
        "kernel 6.1.0-9-amd64".into(),
        "proxy https_proxy".into(),
    ]);
    assert_eq!(probe.isolation.bubblewrap, Some(Err("No permissions".into())));
    assert_eq!(probe.isolation.user_namespaces, Some(Ok(())));
    assert_eq!(probe.isolation.landlock_active, Some(true));
    assert_eq!(probe.system.proxies, ["https_proxy"]);
    for (kernel, abi) in [
        ("6.1.0-9-amd64", Some(2)),
        ("5.10.0", Some(0)),
        ("6.18.44-x", Some(7)),
        ("x", None),
    ] {
        assert_eq!(Isolation::landlock_abi(kernel), abi, "{kernel}");
    }
}

#[test]
fn a_clock_counts_as_wrong_when_the_time_of_asking_does_not_explain_it() {
    let took = Duration::from_millis(2500);
    for (host, want) in [
        (100, 0),
        (99, -1),
        (102, 0),
        (104, 0),
        (105, 1),
        (4000, 3896),
        (0, -100),
    ] {
        assert_eq!(skew(host, 100_900, took), want, "{host}");
    }
}

/// A host that never answers; each time the waiting ends with the limit that `which` picks.
struct Mute {
    which: fn(&Deadline) -> Duration,
    waits: std::sync::Mutex<Vec<Deadline>>,
}

impl Remote for Mute {
    fn host(&self) -> &str {
        "box"
    }

    fn exec<'a>(&'a self, exec: Exec<'a>) -> crate::BoxFuture<'a, Result<Output, RemoteError>> {
        self.waits.lock().unwrap().push(exec.deadline);
        let limit = (self.which)(&exec.deadline);
        Box::pin(async move {
            Err(RemoteError::TimedOut {
                limit,
                stderr: Vec::new(),
            })
        })
    }
}

#[tokio::test]
async fn the_first_question_has_one_minute_in_all() {
    let ask = Ask {
        workspace: None,
        home: None,
        write: Write::Forbidden,
    };
    // Silence may mean that no input arrives; who speaks until the time is over is not asked once more.
    let idle = |deadline: &Deadline| deadline.idle;
    let total = |deadline: &Deadline| deadline.total;
    for (which, times) in [(idle as fn(&Deadline) -> Duration, 2), (total, 1)] {
        let mute = Mute {
            which,
            waits: std::sync::Mutex::default(),
        };
        let error = probe(&mute, &ask).await.unwrap_err();
        assert_eq!(error.to_string(), "probe on box: no answer within 60 s");
        let waits = mute.waits.into_inner().unwrap();
        assert_eq!(waits.len(), times, "{waits:?}");
        assert!(waits.iter().all(|wait| wait.total <= DEADLINE.total), "{waits:?}");
    }
    let left = after(Duration::from_secs(15));
    assert_eq!(left, Deadline::total(Duration::from_secs(45)));
}

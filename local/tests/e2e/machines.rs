//! Another machine under the name of a host, with a host key that is trusted.

use std::{fs, path::PathBuf};

use scripted_model::Scenario;
use serde_json::Value;

use crate::rig::{HostOptions, Rig};

const RUN: [&str; 4] = ["run", "--remote", "box", "go"];

/// The file in which the laptop remembers the host.
fn visit(rig: &Rig) -> PathBuf {
    let folder = rig.laptop().join(".reasonix/hosts");
    let files: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    let [file] = files.as_slice() else {
        panic!("{files:?}")
    };
    file.clone()
}

/// Lets the laptop believe that it met another machine the last time, and gives the id of this one.
fn met_another(rig: &Rig) -> String {
    let file = visit(rig);
    let mut known: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let id = known["machine"]["id"].as_str().unwrap().to_owned();
    known["machine"]["id"] = "0123456789abcdef0123456789abcdef".into();
    fs::write(&file, serde_json::to_vec(&known).unwrap()).unwrap();
    id
}

fn sessions(rig: &Rig) -> usize {
    fs::read_dir(rig.host().join(".reasonix/sessions")).map_or(0, Iterator::count)
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_refused_before_any_work_until_a_person_accepts_it() {
    let scenario = Scenario::new().say("One.").say("Two.").say("Three.");
    let rig = Rig::new(scenario, HostOptions::installed()).await;
    let first = rig.run(&RUN).await;
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    // A probe and a hello tell the same: no question when the agent has to be started anew.
    let stopped = rig.run(&["remote", "stop", "box"]).await;
    assert_eq!(stopped.code, Some(0), "{}", stopped.stderr);
    let second = rig.run(&RUN).await;
    assert_eq!(second.code, Some(0), "{}", second.stderr);

    let id = met_another(&rig);
    assert!(
        !id.is_empty(),
        "this machine has no /etc/machine-id: make one with systemd-machine-id-setup"
    );
    let before = sessions(&rig);
    let refused = rig.run(&RUN).await;
    assert_eq!(refused.code, Some(4), "{}", refused.stderr);
    for word in [
        "another machine or user",
        "machine 01234567",
        &id[..8],
        "reasonix remote trust box --machine",
    ] {
        assert!(refused.stderr.contains(word), "{word}: {}", refused.stderr);
    }
    assert_eq!(sessions(&rig), before, "no session was begun there");

    // The same where the agent has to be started first.
    let pid = rig.daemon_pid().unwrap();
    crate::rig::kill(pid);
    let refused = rig.run(&RUN).await;
    assert_eq!(refused.code, Some(4), "{}", refused.stderr);
    assert_eq!(rig.running_programs(), [0; 0], "nothing was started there");

    let trusted = rig.run(&["remote", "trust", "box", "--machine"]).await;
    assert_eq!(trusted.code, Some(0), "{}", trusted.stderr);
    let third = rig.run(&RUN).await;
    assert_eq!(third.code, Some(0), "{}", third.stderr);
    assert!(third.stdout.contains("Three."), "{}", third.stdout);
}

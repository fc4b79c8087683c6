//! An older build beside a newer one: the turn that runs is finished by its own agent, seen by clients of both, and the
//! older agent ends then.

use std::fs;

use scripted_model::{Reply, Scenario};
use sha2::{Digest as _, Sha256};

use crate::{
    faults::{attach, check_equals_log, effects, held, streaming},
    rig::{HostOptions, Rig, edit, eventually, program, session_of},
};

/// Puts another build of the same version on the host, as an upload of long ago would have, and gives its name.
fn older_build(rig: &Rig) -> String {
    let mut content = fs::read(program()).unwrap();
    // What follows the sections of a program is not looked at by anybody.
    content.extend_from_slice(b"older");
    let sum = Sha256::digest(&content);
    let short: String = sum.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    let name = format!("reasonix-{}-{short}", env!("CARGO_PKG_VERSION"));
    fs::create_dir_all(rig.programs()).unwrap();
    fs::write(rig.programs().join(&name), content).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(rig.programs().join(&name), mode).unwrap();
    name
}

fn program_of(rig: &Rig) -> String {
    let daemon = rig.daemon().unwrap();
    daemon["identity"]["program"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_runs_to_its_end_during_an_upgrade() {
    let scenario = Scenario::new().reply(held("held", "only")).say("Over.");
    let rig = Rig::new(scenario, HostOptions::default()).await;
    let config = rig.laptop().join(".reasonix/config.toml");
    let older = older_build(&rig);
    edit(
        &config,
        "name = \"box\"\n",
        "name = \"box\"\ninstall = \"never\"\n",
    );
    let mut run = streaming(&rig, &["go"]);
    run.reading_until("the turn", rig.model.gate("held").reached(1))
        .await;
    run.read_some_text().await;
    let old = rig.daemon_pid().expect("the older agent");
    assert!(program_of(&rig).ends_with(&older));
    let session = session_of(run.lines());

    // This very build lies there already, so that the test need not upload it.
    rig.install();
    edit(&config, "install = \"never\"\n", "");
    let upgrade = rig.run(&["remote", "upgrade", "box"]).await;
    assert_eq!(upgrade.code, Some(0), "{}\n{}", upgrade.stdout, upgrade.stderr);
    assert!(
        upgrade.stdout.contains("finishes 1 turn") && upgrade.stdout.contains(&session.to_string()),
        "{}",
        upgrade.stdout
    );
    assert_eq!(rig.running_daemons().len(), 2, "one beside the other");
    // Doing it again changes nothing.
    let again = rig.run(&["remote", "upgrade", "box"]).await;
    assert!(
        again.stdout.contains("runs already") && again.stdout.contains("finishes 1 turn"),
        "{}",
        again.stdout
    );
    assert_eq!(rig.running_daemons().len(), 2);

    // A client of the newer agent follows the session where it is.
    let mut other = attach(&rig, session);
    other
        .read_until(|line| line["frame"] == "delta" || line["event"]["type"] == "partial")
        .await;
    rig.model.gate("held").open();
    for (who, client) in [("of the older", run), ("of the newer", other)] {
        let (lines, code, stderr) = client.finish().await;
        assert_eq!(code, Some(0), "{who}: {stderr}");
        check_equals_log(&rig, &lines);
    }
    assert_eq!(effects(&rig.work()), ["only"]);
    eventually("the older agent ends", || {
        !std::path::Path::new(&format!("/proc/{old}")).exists()
    })
    .await;

    // The session goes on in the newer one.
    rig.model.push(Reply::new().say("In the newer one."));
    let more = rig
        .run(&[
            "run",
            "--remote",
            "box",
            "--resume",
            &session.to_string(),
            "go on",
        ])
        .await;
    assert_eq!(more.code, Some(0), "{}", more.stderr);
    assert!(more.stdout.contains("In the newer one."), "{}", more.stdout);
    assert!(!program_of(&rig).ends_with(&older));
    assert_eq!(rig.running_daemons().len(), 1);
    assert_eq!(rig.model.refusals(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_agent_without_a_turn_ends_at_once() {
    let rig = Rig::new(Scenario::new().say("Before."), HostOptions::default()).await;
    let config = rig.laptop().join(".reasonix/config.toml");
    older_build(&rig);
    edit(
        &config,
        "name = \"box\"\n",
        "name = \"box\"\ninstall = \"never\"\n",
    );
    let first = rig.run(&["run", "--remote", "box", "go"]).await;
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let old = rig.daemon_pid().expect("the older agent");
    rig.install();
    edit(&config, "install = \"never\"\n", "");
    let upgrade = rig.run(&["remote", "upgrade", "box"]).await;
    assert!(
        upgrade.stdout.contains("has no turn and ends"),
        "{}\n{}",
        upgrade.stdout,
        upgrade.stderr
    );
    eventually("the older agent ends", || {
        !std::path::Path::new(&format!("/proc/{old}")).exists()
    })
    .await;
    assert_eq!(rig.running_daemons().len(), 1);
}

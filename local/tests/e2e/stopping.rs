//! `reasonix remote stop` while a turn runs: whoever is at the terminal decides.

use scripted_model::{Reply, Scenario};

use crate::{
    rig::{HostOptions, Rig},
    trust::at_terminal,
};

const STOP: [&str; 3] = ["remote", "stop", "box"];

#[tokio::test(flavor = "multi_thread")]
async fn a_running_turn_is_stopped_only_when_the_person_says_so() {
    let scenario = Scenario::new().reply(Reply::new().say("Begun. ").gate("end").say("Ended."));
    let rig = Rig::new(scenario, HostOptions::installed()).await;
    let run = ["run", "--remote", "box", "--output-format", "stream-json", "go"];
    let mut run = rig.start(&run);
    run.until(|line| line["frame"] == "delta").await;
    // The turn goes on without its client, which would start the agent again.
    run.child.start_kill().unwrap();
    run.finish().await;
    let pid = rig.daemon_pid();
    assert!(pid.is_some());

    let nobody = rig.run(&STOP).await;
    assert_eq!(nobody.code, Some(1), "{}", nobody.stderr);
    assert!(
        nobody.stderr.contains("1 turn(s) are running on box ("),
        "{}",
        nobody.stderr
    );
    assert!(nobody.stderr.contains("--force"), "{}", nobody.stderr);
    for answer in ["n\n", "\n"] {
        let no = at_terminal(&rig, &STOP, answer).await;
        assert_eq!((no.code, rig.daemon_pid()), (Some(1), pid), "{no:?}");
    }
    let yes = at_terminal(&rig, &STOP, "y\n").await;
    assert_eq!((yes.code, rig.daemon_pid()), (Some(0), None), "{yes:?}");
    assert!(yes.stdout.contains("the agent on box is stopped"), "{yes:?}");
}

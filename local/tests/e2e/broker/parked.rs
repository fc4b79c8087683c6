//! A laptop that is away when the host wants to ask: the turn waits and says so, and goes on when it is back.

use scripted_model::Scenario;
use serde_json::json;

use super::{Brokered, count};
use crate::{
    faults::{Followed, attach, effects, streaming},
    rig::{HostOptions, Streaming, eventually, session_of},
};

/// A command that goes on while the laptop is away.
const WORK: &str = "touch started; while [ ! -e go ]; do sleep 0.05; done; echo once >> effects";

/// A turn that wants to ask the model while no laptop is there, and who looks on.
struct Parked {
    brokered: Brokered,
    session: protocol::SessionId,
    onlooker: Followed,
}

impl Parked {
    async fn new() -> Self {
        let scenario = Scenario::new()
            .call("bash", &json!({"command": WORK}))
            .say("Back again.");
        let brokered = Brokered::new(scenario, HostOptions::installed()).await;
        let rig = &brokered.rig;
        let mut run = streaming(rig, &["go"]);
        run.reading_until("the command", async {
            eventually("the command runs", || rig.work().join("started").exists()).await;
        })
        .await;
        let before = run.kill().await;
        let session = session_of(&before);
        let id = session.to_string();
        let mut command = rig.command(&["attach", "--remote", "box", "--output-format", "stream-json", &id]);
        command.env("REASONIX_HOME", brokered.onlooker());
        let mut onlooker = Followed::new(Streaming::follow(command));
        std::fs::write(rig.work().join("go"), "").unwrap();
        onlooker.reading_until_said("waiting for credentials", 1).await;
        assert_eq!(effects(&rig.work()), ["once"], "commands go on");
        brokered.asked(1);
        Self {
            brokered,
            session,
            onlooker,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_waits_for_credentials_and_goes_on_when_the_laptop_is_back() {
    let parked = Parked::new().await;
    let rig = &parked.brokered.rig;
    let (lines, code, stderr) = attach(rig, parked.session).finish().await;
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(lines.last().unwrap()["result"], "Back again.");
    assert_eq!((count(&lines, "waiting"), count(&lines, "went_on")), (1, 1));
    assert_eq!(count(&lines, "asked_again"), 0);
    let (lines, code, stderr) = parked.onlooker.finish().await;
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("the turn goes on"), "{stderr}");
    assert_eq!(lines.last().unwrap()["result"], "Back again.");
    assert_eq!(effects(&rig.work()), ["once"]);
    parked.brokered.asked(2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_has_waited_too_long_is_refused() {
    let parked = Parked::new().await;
    let brokered = &parked.brokered;
    brokered.set("broker_expires = \"1ms\"");
    let (lines, code, stderr) = attach(&brokered.rig, parked.session).finish().await;
    assert_eq!(code, Some(6), "{stderr}\n{:#?}", lines.last());
    let result = lines.last().unwrap().to_string();
    assert!(result.contains("waited for this machine"), "{result}");
    assert!(stderr.contains("broker_expires"), "{stderr}");
    brokered.asked(1);
}

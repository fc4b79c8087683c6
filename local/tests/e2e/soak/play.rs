//! One seed from its beginning to its end.

use protocol::SessionId;
use scripted_model::Scenario;
use tokio::sync::watch;
use transport::testing::Choices;

use super::{
    blow::{self, Means},
    breaker::{BOUND, Breaker, tail},
    checks,
    client::{Client, Orders},
    counts::{self, Counts},
    report::Report,
    road::Road,
};
use crate::rig::{HostOptions, Rig, edit};

/// Milliseconds before each word of the model.
const WORD: u64 = 4;

/// Plays a seed; fails unless everything holds.
pub(super) async fn play(seed: u64, faults: usize) {
    let means = Means::of(seed);
    let mut choices = Choices::seeded(seed);
    let blows = blow::seeded(&mut choices.fork(), faults, means);
    let rig = host().await;
    let road = if means.packets {
        Road::through_namespaces(&rig, seed).await
    } else {
        Road::straight()
    };
    let mut report = Report::new(seed);
    let session = SessionId::fresh();
    let mut client = Client::new(&rig, session, choices.fork());
    let orders = watch::Sender::new(Orders::default());

    // One request on a sound network.
    within("the first request", client.work(orders.subscribe())).await;
    let before = Counts::take(&rig);
    orders.send_modify(|orders| orders.goes_on = true);
    let breaker = Breaker {
        rig: &rig,
        road: &road,
        orders: &orders,
        shown: client.shown.subscribe(),
        choices: choices.fork(),
    };
    let breaking = async {
        breaker.run(&blows, &mut report).await;
        orders.send_modify(|orders| orders.goes_on = false);
        // What was begun has to end, too.
        tokio::time::sleep(BOUND).await;
    };
    let is_done = tokio::select! {
        biased;
        () = client.work(orders.subscribe()) => true,
        () = breaking => false,
    };
    if !is_done && report.wedged == 0 {
        report.wedged += 1;
        let log = tail(&rig.sshd.log());
        let stuck = client.stuck().await;
        report
            .problems
            .push(format!("wedged: requests do not end: {stuck}\nsshd said:\n{log}"));
    }
    report.problems.append(&mut client.problems);
    if report.wedged == 0 {
        let (leaked, words) = before.settle(&rig).await;
        report.leaked += leaked;
        report.problems.extend((leaked > 0).then_some(words));
        checks::check(&rig, &client, means, &mut report).await;
    }
    client.leave().await;
    let left = counts::logged_out(&rig).await;
    if left > 0 {
        report.leaked += left;
        report
            .problems
            .push(format!("leaked: {left} processes of logins"));
    }
    road.close().await;
    report.finish();
}

/// Makes a host whose agent asks before it touches something.
async fn host() -> Rig {
    let scenario = Scenario::new().delay_ms(WORD);
    let options = HostOptions {
        // What is gone without a word is let go.
        sshd: vec![
            "ClientAliveInterval 2".to_owned(),
            "ClientAliveCountMax 2".to_owned(),
        ],
        ..HostOptions::installed()
    };
    let rig = Rig::new(scenario, options).await;
    let config = rig.host().join(".reasonix/config.toml");
    let ask = "[permissions]\nask = [\"Bash(touch *)\"]\n[sandbox]";
    edit(&config, "[sandbox]", ask);
    rig
}

async fn within<T>(what: &str, work: impl Future<Output = T>) -> T {
    let work = tokio::time::timeout(2 * BOUND, work).await;
    work.unwrap_or_else(|_| panic!("never came: {what}"))
}

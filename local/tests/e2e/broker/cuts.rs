//! Links that break while a brokered answer streams: the vendor is asked once, and the host gets every byte.

use scripted_model::{Fault, Reply, Scenario};
use serde_json::{Value, json};
use stdx::task::Scope;
use transport::testing::Choices;

use super::{Brokered, answers, count};
use crate::{
    attached::ending_processes,
    faults::{attach, check_equals_log, choices, effects, held, streaming},
    rig::{HostOptions, Rig, eventually, session_of},
};

/// How often links break on `direct-streamlocal`, over all hosts.
const CUTS: usize = 100;
/// How many hosts are played with at a time.
const HOSTS: usize = 4;
/// How often the link over a bridge breaks.
const BRIDGED: usize = 8;

fn name(round: usize) -> String {
    format!("round-{round}")
}

/// What the vendor says in a round, as `held` has it.
fn said(round: usize) -> String {
    let (begin, end) = ("and on it goes ".repeat(15), "until it is over. ".repeat(20));
    format!("{} begins. {begin}{end}", name(round))
}

/// Breaks the link in each round, in the middle of an answer whose rest comes while the link is down.
async fn play(mut choices: Choices, cuts: usize, host: HostOptions) {
    let rounds = (0..cuts).map(|round| held(&name(round), &name(round)));
    let scenario = rounds
        .fold(Scenario::new(), Scenario::reply)
        .say("All rounds are over.");
    let brokered = Brokered::new(scenario, host).await;
    let rig = &brokered.rig;
    let mut run = streaming(rig, &["go"]);
    for round in 0..cuts {
        let gate = rig.model.gate(&name(round));
        run.reading_until("the next round", gate.reached(1)).await;
        let before = rig.proxy.connections();
        run.reading_until("a break", broken(rig, &mut choices)).await;
        gate.open();
        run.reading_until("a new attempt", async {
            eventually("another connection", || rig.proxy.connections() > before).await;
        })
        .await;
        rig.proxy.restore();
    }
    let (lines, code, stderr) = run.finish().await;
    assert_eq!(code, Some(0), "{stderr}\n{:#?}", lines.last());
    check_equals_log(rig, &lines);
    let mut wanted: Vec<String> = (0..cuts).map(said).collect();
    wanted.push("All rounds are over.".to_owned());
    assert_eq!(answers(&lines), wanted);
    assert_eq!(effects(&rig.work()), (0..cuts).map(name).collect::<Vec<_>>());
    assert_eq!(count(&lines, "asked_again"), 0, "nobody was killed");
    brokered.asked(cuts + 1);
    assert!(rig.proxy.connections() > cuts as u64);
}

/// Breaks the link in one of several ways.
async fn broken(rig: &Rig, choices: &mut Choices) {
    match choices.below(4) {
        0 => rig.proxy.half_close(),
        1 => {
            // Somewhere in what comes next, or now where nothing does.
            let before = rig.proxy.connections();
            rig.proxy
                .cut_after_received(u32::try_from(choices.below(600)).unwrap());
            let came = eventually("another connection", || rig.proxy.connections() > before);
            let patience = std::time::Duration::from_millis(200);
            if tokio::time::timeout(patience, came).await.is_err() {
                rig.proxy.cut();
            }
        }
        _ => rig.proxy.cut(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_cuts_ask_the_vendor_nothing_twice_and_lose_no_byte() {
    let mut choices = choices();
    let scope = Scope::root("plays");
    let plays: Vec<_> = (0..HOSTS)
        .map(|_| scope.spawn(play(choices.fork(), CUTS / HOSTS, HostOptions::installed())))
        .collect();
    for play in plays {
        play.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cuts_of_a_bridge_ask_the_vendor_nothing_twice_and_lose_no_byte() {
    let host = HostOptions {
        sshd: vec!["AllowStreamLocalForwarding no".to_owned()],
        ..HostOptions::installed()
    };
    play(choices(), BRIDGED, host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_longer_than_one_delivery_goes_on_where_it_was_and_comes_in_while_the_host_is_away() {
    let part = |number: usize| format!("part {number} goes on and on. ").repeat(700);
    let answer = (0..4).fold(Reply::new(), |reply, number| {
        let reply = reply.say(part(number));
        if number < 3 {
            reply.gate(name(number))
        } else {
            reply
        }
    });
    let long = scripted_model::wire_bytes(&answer, &scripted_model::Spelling::default()).len();
    assert!(long > 2 << 20, "{long} bytes");
    let scenario = Scenario::new().reply(answer);
    let brokered = Brokered::new(scenario, HostOptions::installed()).await;
    let rig = &brokered.rig;
    let mut run = streaming(rig, &["go"]);
    for number in 0..3 {
        let gate = rig.model.gate(&name(number));
        run.reading_until("the next part", gate.reached(1)).await;
        // Nothing is told of the end: all that comes from the vendor before it is noticed is kept.
        rig.proxy.black_hole(true);
        gate.open();
        run.reading_until_said("trying again", number + 1).await;
        rig.proxy.restore();
        run.reading_until_said("connected again", number + 1).await;
    }
    let (lines, code, stderr) = run.finish().await;
    assert_eq!(code, Some(0), "{stderr}\n{:#?}", lines.last());
    check_equals_log(rig, &lines);
    assert_eq!(answers(&lines), [(0..4).map(part).collect::<String>()]);
    assert_eq!(count(&lines, "asked_again"), 0);
    brokered.asked(1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_on_the_connection_is_served_and_a_cut_ends_its_turn_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = Scenario::new()
        .call("bash", &json!({"command": "echo one >> effects"}))
        .reply(held("held", "never"));
    let brokered = Brokered::new(scenario, ending_processes(folder.path())).await;
    let rig = &brokered.rig;
    let mut run = streaming(rig, &["go"]);
    run.reading_until("the turn", rig.model.gate("held").reached(1))
        .await;
    run.read_some_text().await;
    rig.proxy.cut();
    let (lines, code, stderr) = run.finish().await;
    assert_eq!(code, Some(1), "{stderr}\n{lines:#?}");
    assert_eq!(lines.last().unwrap()["outcome"]["outcome"], "interrupted");
    assert!(stderr.contains("it ends with this connection"), "{stderr}");
    brokered.asked(2);
    rig.model.gate("held").open();
    rig.model.push(Reply::new().say("Taken up again."));
    let session = session_of(&lines).to_string();
    let more = rig
        .run(&["run", "--remote", "box", "--resume", &session, "go on"])
        .await;
    assert_eq!(more.code, Some(0), "{}", more.stderr);
    assert!(more.stdout.contains("Taken up again."), "{}", more.stdout);
    assert_eq!(effects(&rig.work()), ["one"], "nothing ran twice");
    brokered.asked(3);
}

/// Whether the laptop's second program is there before the first one is killed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Second {
    Before,
    After,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_laptop_that_is_killed_in_mid_answer_has_it_asked_once_more_and_no_tool_runs_twice() {
    killed(Second::After).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_program_of_the_laptop_takes_over_from_one_that_is_killed() {
    killed(Second::Before).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_laptop_that_is_killed_before_the_first_byte_of_an_answer_is_a_repeat_that_is_told() {
    let scenario = Scenario::new()
        .fault(0, Fault::Silent)
        .call("bash", &json!({"command": "echo only >> effects"}))
        .say("Over.");
    let brokered = Brokered::new(scenario, HostOptions::installed()).await;
    let rig = &brokered.rig;
    let mut run = streaming(rig, &["go"]);
    run.reading_until("the request", async {
        eventually("the vendor is asked", || rig.model.requests().len() == 1).await;
    })
    .await;
    run.read_until(|line| line["event"]["type"] == "opened").await;
    let before = run.kill().await;
    let (lines, code, stderr) = attach(rig, session_of(&before)).finish().await;
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(lines.last().unwrap()["result"], "Over.");
    assert_eq!(count(&lines, "asked_again"), 1, "{lines:#?}");
    assert_eq!(effects(&rig.work()), ["only"]);
    brokered.asked(3);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_vendor_does_wrong_reaches_the_host_and_is_tried_again_there() {
    let busy = Fault::Status {
        status: 429,
        retry_after: Some("0".to_owned()),
        body: None,
    };
    let scenario = Scenario::new()
        .fault(0, busy)
        .fault(1, Fault::Drop { after: 300 })
        .fault(2, Fault::Hangup)
        .reply(Reply::new().say("It answers after all. ".repeat(20)));
    let brokered = Brokered::new(scenario, HostOptions::installed()).await;
    let (lines, code, stderr) = streaming(&brokered.rig, &["go"]).finish().await;
    assert_eq!(code, Some(0), "{stderr}\n{:#?}", lines.last());
    assert_eq!(answers(&lines), ["It answers after all. ".repeat(20)]);
    assert_eq!(count(&lines, "asked_again"), 0, "nobody was killed");
    brokered.asked(4);
}

async fn killed(second: Second) {
    let scenario = Scenario::new()
        .reply(held("first", "only"))
        .reply(held("second", "only"))
        .say("Over.");
    let brokered = Brokered::new(scenario, HostOptions::installed()).await;
    let rig = &brokered.rig;
    let mut run = streaming(rig, &["go"]);
    run.reading_until("the turn", rig.model.gate("first").reached(1))
        .await;
    run.read_some_text().await;
    let mut early = match second {
        Second::Before => Some(attach(rig, session_of(run.lines()))),
        Second::After => None,
    };
    if let Some(early) = &mut early {
        early.read_some_text().await;
    }
    let before = run.kill().await;
    rig.model.gate("first").open();
    let mut next = early.unwrap_or_else(|| attach(rig, session_of(&before)));
    next.reading_until("the repeat", rig.model.gate("second").reached(1))
        .await;
    rig.model.gate("second").open();
    let (lines, code, stderr) = next.finish().await;
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("the model was asked once more"), "{stderr}");
    assert_eq!(count(&lines, "asked_again"), 1, "{lines:#?}");
    let begun = format!(
        "only begins. {}{}",
        "and on it goes ".repeat(15),
        "until it is over. ".repeat(20)
    );
    assert_eq!(answers(&lines), [begun, "Over.".to_owned()]);
    assert_eq!(effects(&rig.work()), ["only"], "no tool ran twice");
    brokered.asked(3);
    let seen = lines.iter().filter(|line| line["frame"] == "event");
    let numbers: Vec<&Value> = seen.map(|line| &line["n"]).collect();
    let all: Vec<Value> = (1..=numbers.len() as u64).map(Value::from).collect();
    assert_eq!(numbers, all.iter().collect::<Vec<_>>());
}

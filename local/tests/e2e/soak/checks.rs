//! What has to hold when all is done.

use std::{collections::BTreeMap, fs};

use protocol::{Event, EventEnvelope, Outcome, TurnEvent};
use stdx::task::Scope;

use super::{blow::Means, client::Client, report::Report};
use crate::{
    rig::Rig,
    screen_faults::{
        laptop,
        person::{effect, request},
        play::{history, interrupted},
    },
    serving::records,
};

/// Compares what the client has with the host, and the host with what was asked of it.
pub(super) async fn check(rig: &Rig, client: &Client<'_>, means: Means, report: &mut Report) {
    let scope = Scope::root("fresh");
    let link = laptop::link(laptop::options(rig, "fresh"), &scope);
    let session = link.agent().session(client.session);
    let fresh = session.snapshot().await.unwrap();
    let log = history(&session, &fresh).await;
    let on_disk = records(&rig.session_log(&rig.host(), client.session));
    let mut wrong = |what: String| report.problems.push(what);
    if client.snapshot() != Some(&fresh) {
        wrong(format!(
            "the state differs from a fresh one: {:?} and {fresh:?}",
            client.snapshot()
        ));
    }
    if on_disk.len() != log.len() {
        wrong(format!("{} records on disk, {} events", on_disk.len(), log.len()));
    }
    let refusals = rig.model.refusals();
    if !refusals.is_empty() {
        wrong(format!("the model refused: {refusals:?}"));
    }
    told(client, means, &log, report);
    submits(client, means, &log, report);
    effects(rig, client, means, &log, report);
    report.figure("turns", client.typed);
    report.figure("approvals", client.approvals);
    report.figure("events", log.len());
    report.figure("told one by one", client.heard.count());
    report.figure("interrupted turns", interrupted(&log));
    report.figure("connections", rig.proxy.connections());
    link.close().await;
    scope.close(std::time::Duration::from_secs(2)).await;
}

/// Every event of the log was told, once and as it is.
fn told(client: &Client<'_>, means: Means, log: &[EventEnvelope], report: &mut Report) {
    let heard = &client.heard;
    let (missing, wrong) = heard.compare(log);
    report.lost += missing + heard.skipped;
    report.doubled += heard.doubled;
    if !wrong.is_empty() {
        report
            .problems
            .push(format!("told otherwise than logged: {wrong:?}"));
    }
    if heard.refreshed > 0 && !means.kills {
        let times = heard.refreshed;
        report
            .problems
            .push(format!("a state replaced events {times} times"));
    }
}

/// Every request arrived once and in order, and its turn ended as it should.
fn submits(client: &Client<'_>, means: Means, log: &[EventEnvelope], report: &mut Report) {
    let submitted: Vec<String> = log
        .iter()
        .filter_map(|event| match &event.event {
            Event::Turn(TurnEvent::Submitted { text, .. }) => Some(text.clone()),
            _ => None,
        })
        .collect();
    let wanted: Vec<String> = (0..client.typed).map(request).collect();
    if submitted != wanted {
        let times = times(&submitted);
        let of = |text: &String| times.get(text.as_str()).copied().unwrap_or(0);
        report.lost += wanted.iter().filter(|text| of(text) == 0).count() as u64;
        report.doubled += wanted.iter().filter(|text| of(text) > 1).count() as u64;
        report.problems.push(format!("submitted: {submitted:?}"));
    }
    let bad = log.iter().filter(|event| match &event.event {
        Event::Turn(TurnEvent::Ended { outcome, .. }) => {
            *outcome != Outcome::Completed && !(means.kills && *outcome == Outcome::Interrupted)
        }
        _ => false,
    });
    for event in bad {
        report.problems.push(format!("a turn ended badly: {event:?}"));
    }
}

/// Every call ran once, and those of interrupted turns at most once.
fn effects(rig: &Rig, client: &Client<'_>, means: Means, log: &[EventEnvelope], report: &mut Report) {
    let text = fs::read_to_string(rig.work().join("effects")).unwrap_or_default();
    let ran: Vec<String> = text.lines().map(str::to_owned).collect();
    let times = times(&ran);
    let doubled = times.values().filter(|times| **times > 1).count() as u64;
    let missing = (0..client.typed)
        .filter(|k| !times.contains_key(effect(*k).as_str()))
        .count();
    report.doubled += doubled;
    let excused = if means.kills { interrupted(log) } else { 0 };
    report.lost += missing.saturating_sub(excused) as u64;
    if doubled > 0 || missing > excused {
        report.problems.push(format!("calls ran: {ran:?}"));
    }
    let asked = rig.model.requests().len();
    if !means.kills && asked != 2 * client.typed {
        let typed = client.typed;
        report
            .problems
            .push(format!("{typed} requests, but the model was asked {asked} times"));
    }
}

fn times(lines: &[String]) -> BTreeMap<&str, usize> {
    let mut times = BTreeMap::new();
    for line in lines {
        *times.entry(line.as_str()).or_default() += 1;
    }
    times
}

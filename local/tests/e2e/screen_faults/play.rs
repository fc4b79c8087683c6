//! One host, one session, one screen; and what has to hold at the end.

use std::{
    fs,
    io::Write as _,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use link::AgentLink;
use protocol::{Event, EventEnvelope, OpenSession, Outcome, SessionId, Snapshot, ToolEvent, TurnEvent};
use scripted_model::Scenario;
use stdx::task::Scope;
use transport::testing::Choices;
use tui::{
    Appearance, Opening, TuiOptions,
    stage::{Heard, Seen, Stage},
};

use super::{
    breaker::Breaker,
    laptop,
    person::{Person, effect, request},
};
use crate::{
    rig::{DEADLINE, HostOptions, Rig, edit},
    serving::records,
};

/// The screen during the play.
const SIZE: (u16, u16) = (100, 30);
/// A screen on which the whole session has room.
const TALL: (u16, u16) = (100, 6000);

/// What breaks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Faults {
    pub(super) cuts: usize,
    pub(super) kills: usize,
}

/// What came of it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Figures {
    pub(super) cuts: usize,
    pub(super) kills: usize,
    submits: usize,
    pub(super) typed_in_outages: usize,
    approvals: usize,
    pub(super) interrupted_turns: usize,
    pub(super) connections: u64,
    events_in_log: u64,
    heard: Heard,
}

impl Figures {
    pub(super) fn add(&mut self, other: &Self) {
        self.cuts += other.cuts;
        self.kills += other.kills;
        self.submits += other.submits;
        self.typed_in_outages += other.typed_in_outages;
        self.approvals += other.approvals;
        self.interrupted_turns += other.interrupted_turns;
        self.connections += other.connections;
        self.events_in_log += other.events_in_log;
        let (heard, more) = (&mut self.heard, &other.heard);
        heard.at += more.at;
        heard.events += more.events;
        heard.deltas += more.deltas;
        heard.doubled += more.doubled;
        heard.lost += more.lost;
        heard.replaced += more.replaced;
        heard.in_replaced += more.in_replaced;
        heard.interrupted += more.interrupted;
    }

    pub(super) fn print(&self, what: &str) {
        let heard = &self.heard;
        let text = format!(
            "{what}: cuts {}, agents killed {}, connections {}, submits {} ({} of them typed in outages), approvals {}, \
             interrupted turns {}, events {} one by one and {} in {} snapshots of {} in the log, deltas {}, \
             stream broken {} times, lost {}, doubled {}\n",
            self.cuts,
            self.kills,
            self.connections,
            self.submits,
            self.typed_in_outages,
            self.approvals,
            self.interrupted_turns,
            heard.events,
            heard.in_replaced,
            heard.replaced,
            self.events_in_log,
            heard.deltas,
            heard.interrupted,
            heard.lost,
            heard.doubled,
        );
        std::io::stderr().write_all(text.as_bytes()).unwrap();
    }
}

/// A laptop and a host, and what is going to happen between them.
pub(super) struct Play {
    choices: Choices,
    faults: Faults,
    scope: Scope,
    session: SessionId,
}

impl Play {
    pub(super) fn new(choices: Choices, faults: Faults) -> Self {
        Self {
            choices,
            faults,
            scope: Scope::root("play"),
            session: SessionId::fresh(),
        }
    }

    pub(super) async fn run(mut self) -> Figures {
        let scenario = Scenario::new().delay_ms(4);
        let rig = Rig::new(scenario, HostOptions::installed()).await;
        let config = rig.host().join(".reasonix/config.toml");
        edit(
            &config,
            "[sandbox]",
            "[permissions]\nask = [\"Bash(touch *)\"]\n[sandbox]",
        );
        let link = laptop::link(laptop::options(&rig, "live"), &self.scope);
        let stage = self.stage(&rig, &link, true);
        let breaks = AtomicBool::new(true);
        let breaker = Breaker {
            rig: &rig,
            link: &link,
            stage: &stage,
            choices: self.choices.fork(),
        };
        let mut person = Person {
            rig: &rig,
            link: &link,
            stage: &stage,
            choices: self.choices.fork(),
            typed: 0,
            in_outages: 0,
            answered: 0,
        };
        let breaking = async {
            breaker.run(self.faults).await;
            breaks.store(false, Ordering::SeqCst);
        };
        let working = person.work(|| breaks.load(Ordering::SeqCst));
        tokio::join!(breaking, within("the end", &stage, working));
        let mut figures = Figures {
            cuts: self.faults.cuts,
            kills: self.faults.kills,
            submits: person.typed,
            typed_in_outages: person.in_outages,
            approvals: person.answered,
            connections: rig.proxy.connections(),
            heard: stage.heard(),
            ..Figures::default()
        };
        self.check(&rig, &stage, &mut figures).await;
        self.scope.close(Duration::from_secs(3)).await;
        figures
    }

    /// Checks what has to hold.
    async fn check(&self, rig: &Rig, stage: &Stage, figures: &mut Figures) {
        let fresh_link = laptop::link(laptop::options(rig, "fresh"), &self.scope);
        let fresh = self.stage(rig, &fresh_link, false);
        let live = stage.seen().snapshot;
        within(
            "a fresh screen",
            &fresh,
            fresh.until(|seen| seen.snapshot.at == live.at),
        )
        .await;
        let client = fresh_link.agent().session(self.session);
        let snapshot = client.snapshot().await.unwrap();
        assert_eq!(*live, snapshot, "the live state equals a fresh one");

        let log = history(&client, &snapshot).await;
        figures.events_in_log = log.len() as u64;
        figures.interrupted_turns = interrupted(&log);
        let on_disk = records(&rig.session_log(&rig.host(), self.session));
        assert_eq!(on_disk.len(), log.len());
        check_heard(&figures.heard, self.faults, &log);
        check_submits(&log, figures.submits);
        self.check_effects(rig, figures, &log);
        same_screens(stage, &fresh, self.faults).await;
        assert_eq!(rig.model.refusals(), Vec::<String>::new());
    }

    /// Each call ran once, and those of interrupted turns at most once.
    fn check_effects(&self, rig: &Rig, figures: &Figures, log: &[EventEnvelope]) {
        let text = fs::read_to_string(rig.work().join("effects")).unwrap_or_default();
        let ran: Vec<&str> = text.lines().collect();
        let all: Vec<String> = (0..figures.submits).map(effect).collect();
        if self.faults.kills == 0 {
            assert_eq!(ran, all, "each call ran once, in order");
            assert_eq!(rig.model.requests().len(), 2 * figures.submits);
            return;
        }
        let mut wanted = all.iter();
        for line in &ran {
            assert!(
                wanted.any(|effect| effect == line),
                "{line} ran twice or out of turn: {ran:?}"
            );
        }
        let begun = |event: &&EventEnvelope| matches!(event.event, Event::Tool(ToolEvent::Started { .. }));
        assert!(ran.len() <= log.iter().filter(begun).count());
        assert!(
            figures.submits - ran.len() <= figures.interrupted_turns,
            "{ran:?}"
        );
    }

    fn stage(&self, rig: &Rig, link: &AgentLink, is_new: bool) -> Stage {
        let opening = if is_new {
            Opening::New(OpenSession {
                session: self.session,
                workspace: Some(rig.work().display().to_string()),
                model: None,
                preset: None,
                credentials: None,
            })
        } else {
            Opening::Resume(self.session)
        };
        let options = TuiOptions {
            opening,
            draft: String::new(),
            history_file: None,
            version: "0.0.0".to_owned(),
            introduction: String::new(),
            appearance: Appearance::Plain,
            way_back: String::new(),
            mouse: false,
        };
        let (_prompter, questions) = tui::questions();
        Stage::open(link.clone(), questions, options, SIZE, &self.scope)
    }
}

/// Waits for something that has to come, and shows the screen if it does not.
async fn within<T>(what: &str, stage: &Stage, work: impl Future<Output = T>) -> T {
    match tokio::time::timeout(3 * DEADLINE, work).await {
        Ok(done) => done,
        Err(_) => panic!("never came: {what}\n{:?}\n{}", stage.heard(), stage.seen().text),
    }
}

/// Reads the whole log.
pub(crate) async fn history(client: &client::SessionClient, snapshot: &Snapshot) -> Vec<EventEnvelope> {
    let mut log: Vec<EventEnvelope> = Vec::new();
    while (log.len() as u64) < snapshot.at {
        let page = client.history(log.len() as u64, 500).await.unwrap();
        assert!(!page.events.is_empty());
        log.extend(page.events);
    }
    for (index, event) in log.iter().enumerate() {
        assert_eq!(event.n, index as u64 + 1);
    }
    log
}

fn check_heard(heard: &Heard, faults: Faults, log: &[EventEnvelope]) {
    assert_eq!((heard.lost, heard.doubled), (0, 0), "{heard:?}");
    assert_eq!(heard.at, log.len() as u64, "{heard:?}");
    assert!(heard.interrupted > 0, "{heard:?}");
    if faults.kills == 0 {
        assert_eq!(heard.replaced, 1, "only the first state came whole: {heard:?}");
        assert_eq!(heard.events + heard.in_replaced, log.len() as u64, "{heard:?}");
    }
}

/// Each submit arrived once, and in order.
fn check_submits(log: &[EventEnvelope], typed: usize) {
    let submitted = log.iter().filter_map(|event| match &event.event {
        Event::Turn(TurnEvent::Submitted { text, .. }) => Some(text.clone()),
        _ => None,
    });
    assert_eq!(
        submitted.collect::<Vec<_>>(),
        (0..typed).map(request).collect::<Vec<_>>()
    );
}

pub(crate) fn interrupted(log: &[EventEnvelope]) -> usize {
    let is_interrupted = |event: &&EventEnvelope| {
        matches!(
            event.event,
            Event::Turn(TurnEvent::Ended {
                outcome: Outcome::Interrupted,
                ..
            })
        )
    };
    log.iter().filter(is_interrupted).count()
}

/// Both screens show the same, from the first line to the last.
async fn same_screens(live: &Stage, fresh: &Stage, faults: Faults) {
    for stage in [live, fresh] {
        stage.resize(TALL.0, TALL.1).await;
    }
    let whole = |seen: &Seen| seen.text.contains(&request(0));
    within("all of the session", fresh, fresh.until(whole)).await;
    let (live, fresh) = (
        without_times(&live.seen().text),
        without_times(&fresh.seen().text),
    );
    if faults.kills > 0 {
        assert!(
            live.contains("The agent ended in the middle of this turn"),
            "{live}"
        );
        assert_eq!(without_notices(&live), without_notices(&fresh));
        return;
    }
    for (row, (live, fresh)) in live.lines().zip(fresh.lines()).enumerate() {
        assert_eq!(live, fresh, "row {row}");
    }
    assert_eq!(live, fresh);
}

/// Gives the blocks of a screen without what only the one is told that was there: that a question is gone.
fn without_notices(text: &str) -> Vec<String> {
    let is_notice = |block: &&str| {
        let block = block.trim_start();
        block.starts_with("· The question was withdrawn:") || block.starts_with("! The answer was not taken:")
    };
    let blocks = text.split("\n\n").filter(|block| !is_notice(block));
    let blocks = blocks.map(|block| block.trim_matches('\n').to_owned());
    blocks.filter(|block| !block.is_empty()).collect()
}

/// Takes the round trip out of the status line: it is measured, and by each link on its own.
fn without_times(text: &str) -> String {
    let (rows, status) = text.trim_end().rsplit_once('\n').unwrap();
    let (status, rtt) = status.rsplit_once(" · ").unwrap();
    let millis = rtt
        .strip_suffix(" ms")
        .unwrap_or_else(|| panic!("{status} · {rtt}"));
    assert!(millis.bytes().all(|byte| byte.is_ascii_digit()), "{rtt}");
    format!(
        "{rows}\n{}",
        status.split_whitespace().collect::<Vec<_>>().join(" ")
    )
}

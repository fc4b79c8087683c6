//! The pane follows the session, however its state arrived.

use proptest::prelude::{Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};

use super::*;

/// Something that happens to a session or its screen.
#[derive(Debug, Clone)]
enum Step {
    Submit,
    Start,
    Say(String),
    Think(String),
    Partial,
    Discard,
    Answer { calls: usize },
    StartTool(usize),
    Print(usize),
    FinishTool(usize),
    End(bool),
    Replace,
    Scroll(u8),
    Notice,
    Resize(u16, u16),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => prop::strategy::Just(Step::Submit),
        3 => prop::strategy::Just(Step::Start),
        6 => "[a-z*` \n#-]{1,20}".prop_map(Step::Say),
        1 => "[a-z \n]{1,20}".prop_map(Step::Think),
        1 => prop::strategy::Just(Step::Partial),
        1 => prop::strategy::Just(Step::Discard),
        4 => (0_usize..4).prop_map(|calls| Step::Answer { calls }),
        3 => any::<usize>().prop_map(Step::StartTool),
        3 => any::<usize>().prop_map(Step::Print),
        3 => any::<usize>().prop_map(Step::FinishTool),
        2 => any::<bool>().prop_map(Step::End),
        1 => prop::strategy::Just(Step::Replace),
        3 => any::<u8>().prop_map(Step::Scroll),
        1 => prop::strategy::Just(Step::Notice),
        1 => (1_u16..60, 1_u16..20).prop_map(|(width, height)| Step::Resize(width, height)),
    ];
    prop::collection::vec(step, 0..120)
}

/// Performs the steps that make sense where they come.
struct Play {
    shown: Shown,
    turns: u64,
    message: u64,
    calls: u64,
    with_notices: bool,
}

impl Play {
    fn step(&mut self, step: &Step) {
        let running = self.shown.snapshot.phase.turn();
        match (step, running) {
            (Step::Submit, _) => {
                self.turns += 1;
                self.shown.submit(self.turns, "please");
            }
            (Step::Start, None) => {
                if let Some(turn) = self.shown.snapshot.queue.first().copied() {
                    self.shown.turn(TurnEvent::Started { turn });
                    self.message += 1;
                }
            }
            (Step::Say(text), Some(_)) => self.shown.say(self.message, text),
            (Step::Think(text), Some(_)) => {
                let item = self.message;
                self.shown.delta(DeltaTarget::Reasoning { item }, text);
            }
            (Step::Partial, Some(turn)) => {
                let (item, text) = (self.message, "from the log".to_owned());
                self.shown.turn(TurnEvent::Partial {
                    turn,
                    item,
                    offset: 0,
                    text,
                });
            }
            (Step::Discard, Some(turn)) => {
                let (item, reason) = (self.message, "again".to_owned());
                self.shown.turn(TurnEvent::Discarded { turn, item, reason });
                self.message += 1;
            }
            (Step::Answer { calls }, Some(turn)) => self.answer(turn, *calls),
            (Step::StartTool(_) | Step::Print(_) | Step::FinishTool(_), Some(turn)) => self.tool(turn, step),
            (Step::End(well), Some(turn)) => {
                let outcome = if *well {
                    Outcome::Completed
                } else {
                    Outcome::Interrupted
                };
                let usage = UsageView {
                    input: 100 * turn.0,
                    ..UsageView::default()
                };
                self.shown.turn(TurnEvent::Ended { turn, outcome, usage });
            }
            (Step::Replace, _) => self.shown.pane.replace(&self.shown.snapshot),
            (Step::Notice, _) if self.with_notices => self.shown.pane.push(notice(Level::Info, "note")),
            (Step::Scroll(which), _) => self.shown.pane.update(scroll(*which)),
            (Step::Resize(width, height), _) => {
                let (width, height) = (*width, *height);
                self.shown.pane.update(TranscriptMsg::Resize { width, height });
            }
            _ => {}
        }
    }

    fn tool(&mut self, turn: TurnId, step: &Step) {
        match step {
            Step::StartTool(which) => {
                if let Some(call) = self.call(*which, |state| state == ToolState::Pending) {
                    self.shown.event(Event::Tool(ToolEvent::Started { turn, call }));
                }
            }
            Step::Print(which) => {
                if let Some(call) = self.call(*which, |state| state == ToolState::Running) {
                    self.shown.delta(DeltaTarget::Output { call }, "printed\n");
                }
            }
            Step::FinishTool(which) => {
                if let Some(call) = self.call(*which, |state| !matches!(state, ToolState::Done { .. })) {
                    let (outcome, output) = (CallOutcome::Ok, "result".to_owned());
                    self.shown.event(Event::Tool(ToolEvent::Finished {
                        turn,
                        call,
                        outcome,
                        output,
                    }));
                }
            }
            _ => {}
        }
    }

    fn answer(&mut self, turn: TurnId, calls: usize) {
        let calls = (0..calls).map(|_| {
            self.calls += 1;
            CallView {
                id: format!("call {}", self.calls),
                name: ["bash", "read_file", "edit_file"][(self.calls % 3) as usize].to_owned(),
                arguments: r#"{"path":"a","old_string":"x","new_string":"y"}"#.to_owned(),
            }
        });
        let calls = calls.collect();
        self.shown.turn(TurnEvent::Assistant {
            turn,
            item: self.message,
            text: "the whole answer".to_owned(),
            reasoning: String::new(),
            calls,
            usage: None,
            cost: None,
        });
        self.message += 1;
    }

    fn call(&self, which: usize, is_wanted: impl Fn(ToolState) -> bool) -> Option<String> {
        let calls = self.shown.snapshot.items.iter().filter_map(|item| match item {
            Item::Tool { call, state, .. } if is_wanted(*state) => Some(call.clone()),
            _ => None,
        });
        let calls: Vec<_> = calls.collect();
        calls.get(which.checked_rem(calls.len())?).cloned()
    }
}

fn scroll(which: u8) -> TranscriptMsg {
    match which % 10 {
        0 => TranscriptMsg::LineUp,
        1 => TranscriptMsg::LineDown,
        2 => TranscriptMsg::PageUp,
        3 => TranscriptMsg::PageDown,
        4 => TranscriptMsg::Top,
        5 => TranscriptMsg::Bottom,
        6 => TranscriptMsg::WheelUp,
        7 => TranscriptMsg::WheelDown,
        8 => TranscriptMsg::ToggleReasoning,
        _ => TranscriptMsg::ToggleOutput,
    }
}

fn play(steps: &[Step], with_notices: bool) -> Play {
    let mut play = Play {
        shown: Shown::new(40, 10),
        turns: 0,
        message: 0,
        calls: 0,
        with_notices,
    };
    for step in steps {
        play.step(step);
        play.shown.screen();
        assert!(play.shown.pane.mirrors(&play.shown.snapshot), "after {step:?}");
    }
    play
}

proptest! {
    #[test]
    fn a_pane_that_followed_equals_a_fresh_one(steps in steps()) {
        let play = play(&steps, false);
        let mut fresh = Transcript::new();
        fresh.replace(&play.shown.snapshot);
        prop_assert_eq!(play.shown.pane.tail(50, 100_000), fresh.tail(50, 100_000));
    }

    #[test]
    fn nothing_that_happens_is_a_failure(steps in steps()) {
        let play = play(&steps, true);
        prop_assert!(play.shown.pane.mirrors(&play.shown.snapshot));
    }
}

#[test]
fn items_that_the_snapshot_drops_stay_as_history() {
    let mut shown = Shown::new(40, 10);
    for turn in 1..=700 {
        shown.submit(turn, &format!("request {turn}"));
        shown.turn(TurnEvent::Started { turn: TurnId(turn) });
        shown.turn(TurnEvent::Ended {
            turn: TurnId(turn),
            outcome: Outcome::Completed,
            usage: UsageView::default(),
        });
    }
    assert_eq!(shown.snapshot.items_before, 400);
    assert!(shown.pane.mirrors(&shown.snapshot));
    shown.pane.update(TranscriptMsg::Top);
    assert_eq!(shown.rows()[0], "› request 1");
    assert!(shown.pane.wants_older());
    shown
        .pane
        .prepend(vec![user(1, "request 1"), end(1, Outcome::Completed)]);
    shown.pane.update(TranscriptMsg::Top);
    assert_eq!(
        shown.rows()[..3],
        ["› request 1", "", "› request 2"],
        "what is known is not shown twice"
    );
}

#[test]
fn older_history_comes_above_without_moving_the_view() {
    let items = (10..30)
        .map(|turn| user(turn, &format!("request {turn}")))
        .collect();
    let mut shown = Shown::new(40, 9);
    shown.pane.push(notice(Level::Banner, "banner"));
    shown.snapshot.items = items;
    shown.pane.replace(&shown.snapshot);
    assert!(!shown.pane.wants_older());
    shown.pane.update(TranscriptMsg::Top);
    assert_eq!(shown.rows()[..3], ["banner", "", "› request 10"]);
    assert!(shown.pane.wants_older());
    shown.pane.prepend(
        (5..10)
            .map(|turn| user(turn, &format!("request {turn}")))
            .collect(),
    );
    assert_eq!(shown.rows()[..3], ["› request 9", "", "› request 10"]);
    assert!(!shown.pane.wants_older());
    shown.pane.update(TranscriptMsg::WheelDown);
    let before = shown.rows();
    shown.pane.prepend(
        (1..5)
            .map(|turn| user(turn, &format!("request {turn}")))
            .collect(),
    );
    assert_eq!(shown.rows(), before);
    shown.pane.update(TranscriptMsg::Top);
    assert_eq!(shown.rows()[..3], ["banner", "", "› request 1"]);
}

#[test]
fn the_newest_answer_is_given_in_full() {
    let mut shown = Shown::of(
        20,
        5,
        vec![answer(1, 1, "one", ""), answer(1, 2, "", "only thought")],
    );
    assert_eq!(shown.pane.last_answer(), Some("one"));
    shown.pane.replace(&Snapshot::empty(SessionId::fresh()));
    assert_eq!(shown.pane.last_answer(), None);
}

#[test]
fn a_message_is_known_by_its_number_alone() {
    let mut shown = Shown::of(40, 10, vec![answer(1, 7, "old", ""), user(2, "next")]);
    shown.turn(TurnEvent::Assistant {
        turn: TurnId(2),
        item: 7,
        text: "new".to_owned(),
        reasoning: String::new(),
        calls: Vec::new(),
        usage: None,
        cost: None,
    });
    assert_eq!(shown.screen(), "new\n\n› next");
}

#[test]
fn what_waits_behind_a_turn_that_was_cut_off_is_held_back_until_another_begins() {
    let mut shown = Shown::new(60, 20);
    for turn in 1..=3 {
        shown.submit(turn, "please");
    }
    shown.turn(TurnEvent::Started { turn: TurnId(1) });
    assert_eq!(shown.screen().matches("waits for the running turn").count(), 2);
    shown.turn(TurnEvent::Ended {
        turn: TurnId(1),
        outcome: Outcome::Interrupted,
        usage: UsageView::default(),
    });
    let screen = shown.screen();
    assert_eq!(screen.matches("held back").count(), 2, "{screen}");
    shown.turn(TurnEvent::Started { turn: TurnId(2) });
    let screen = shown.screen();
    assert_eq!(screen.matches("held back").count(), 0, "{screen}");
    assert_eq!(
        screen.matches("waits for the running turn").count(),
        1,
        "{screen}"
    );
}

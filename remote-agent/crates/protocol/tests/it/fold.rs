//! Folding events and deltas: whatever way the frames take, the state at the end is the same.

use std::collections::HashMap;

use proptest::{collection::vec, prelude::*};
use protocol::{
    Amount, Applied, ApplyError, CallOutcome, CallView, Delta, DeltaTarget, Event, EventEnvelope, Frame,
    Item, OpenPrompt, Outcome, Phase, Preset, PromptEvent, PromptId, PromptKind, SessionEvent, Snapshot,
    ToolEvent, TurnEvent, TurnId, UsageView, limits,
};

use crate::samples;

/// Something an agent may do next; what makes no sense at that moment is left out.
#[derive(Debug, Clone)]
enum Step {
    Submit,
    Text(String),
    Reasoning(String),
    Checkpoint,
    Retry,
    Answer { calls: u8 },
    StartCall,
    Output(String),
    FinishCall,
    Ask,
    Settle,
    CancelQueued,
    End,
}

fn step() -> impl Strategy<Value = Step> {
    let text = "[a-c汉é👩 ]{1,6}";
    prop_oneof![
        2 => Just(Step::Submit),
        6 => text.prop_map(Step::Text),
        2 => text.prop_map(Step::Reasoning),
        2 => Just(Step::Checkpoint),
        1 => Just(Step::Retry),
        3 => (0..3u8).prop_map(|calls| Step::Answer { calls }),
        3 => Just(Step::StartCall),
        3 => text.prop_map(Step::Output),
        3 => Just(Step::FinishCall),
        1 => Just(Step::Ask),
        1 => Just(Step::Settle),
        1 => Just(Step::CancelQueued),
        1 => Just(Step::End),
    ]
}

/// A session that numbers its events and streams text, as an agent does.
#[derive(Default)]
struct Agent {
    frames: Vec<Frame>,
    n: u64,
    turns: u64,
    item: u64,
    prompt: u64,
    running: Option<TurnId>,
    queue: Vec<TurnId>,
    /// Text and reasoning of the message being streamed, and how much of the text is durable.
    streaming: Option<(String, String, usize)>,
    calls: Vec<(String, bool)>,
    output: String,
}

impl Agent {
    fn run(steps: &[Step]) -> Vec<Frame> {
        let mut agent = Self::default();
        agent.event(Event::Session(SessionEvent::Opened {
            session: samples::session(),
            workspace: "/w".into(),
            model: "main".into(),
            preset: Preset::WorkspaceWrite,
            context_window: Some(1_000),
        }));
        for step in steps {
            agent.step(step);
        }
        agent.frames
    }

    fn event(&mut self, event: Event) {
        self.n += 1;
        let envelope = EventEnvelope {
            n: self.n,
            at: 0,
            event,
        };
        self.frames.push(Frame::Event(envelope));
    }

    fn turn(&mut self, event: TurnEvent) {
        self.event(Event::Turn(event));
    }

    fn delta(&mut self, target: DeltaTarget, offset: usize, text: &str) {
        let delta = Delta {
            target,
            offset: offset as u64,
            text: text.to_owned(),
        };
        self.frames.push(Frame::Delta(delta));
    }

    fn step(&mut self, step: &Step) {
        match (step, self.running) {
            (Step::Submit, _) if self.queue.len() < 3 => self.submit(),
            (Step::CancelQueued, _) => {
                if let Some(turn) = self.queue.pop() {
                    self.turn(TurnEvent::Ended {
                        turn,
                        outcome: Outcome::Cancelled,
                        usage: UsageView::default(),
                    });
                }
            }
            (Step::Ask, Some(turn)) => {
                self.prompt += 1;
                let prompt = OpenPrompt {
                    id: PromptId(self.prompt),
                    turn,
                    call: "call".into(),
                    tool: "bash".into(),
                    subject: "ls".into(),
                    reason: "asked".into(),
                    scope: None,
                    kind: PromptKind::default(),
                };
                self.event(Event::Prompt(PromptEvent::Opened { prompt }));
            }
            (Step::Settle, Some(_)) => {
                let event = PromptEvent::Withdrawn {
                    prompt: PromptId(self.prompt),
                    reason: "moot".into(),
                };
                self.event(Event::Prompt(event));
            }
            (Step::End, Some(turn)) => self.end(turn),
            (step, Some(turn)) if self.calls.is_empty() => self.message_step(turn, step),
            (step, Some(turn)) => self.call_step(turn, step),
            _ => {}
        }
    }

    fn submit(&mut self) {
        self.turns += 1;
        let turn = TurnId(self.turns);
        self.turn(TurnEvent::Submitted {
            turn,
            text: format!("request {turn}"),
            command: samples::command(),
        });
        self.queue.push(turn);
        self.start_next();
    }

    fn start_next(&mut self) {
        if self.running.is_none() && !self.queue.is_empty() {
            let turn = self.queue.remove(0);
            self.running = Some(turn);
            self.turn(TurnEvent::Started { turn });
        }
    }

    fn end(&mut self, turn: TurnId) {
        self.checkpoint(turn);
        // Reasoning of an unfinished message is not durable, so only a message without it can be compared.
        if self
            .streaming
            .as_ref()
            .is_some_and(|(_, reasoning, _)| !reasoning.is_empty())
        {
            let item = self.item;
            self.turn(TurnEvent::Discarded {
                turn,
                item,
                reason: "stopped".into(),
            });
        }
        self.streaming = None;
        while !self.calls.is_empty() {
            self.call_step(turn, &Step::FinishCall);
        }
        self.turn(TurnEvent::Ended {
            turn,
            outcome: Outcome::Completed,
            usage: UsageView::default(),
        });
        self.running = None;
        self.start_next();
    }

    fn checkpoint(&mut self, turn: TurnId) {
        let item = self.item;
        if let Some((text, _, durable)) = &mut self.streaming
            && *durable < text.len()
        {
            let event = TurnEvent::Partial {
                turn,
                item,
                offset: *durable as u64,
                text: text[*durable..].to_owned(),
            };
            *durable = text.len();
            self.turn(event);
        }
    }

    fn stream(&mut self) -> &mut (String, String, usize) {
        if self.streaming.is_none() {
            self.item += 1;
        }
        self.streaming.get_or_insert_default()
    }

    fn message_step(&mut self, turn: TurnId, step: &Step) {
        match step {
            Step::Text(piece) => {
                let known = &mut self.stream().0;
                let offset = known.len();
                known.push_str(piece);
                self.delta(DeltaTarget::Text { item: self.item }, offset, piece);
            }
            Step::Reasoning(piece) => {
                let known = &mut self.stream().1;
                let offset = known.len();
                known.push_str(piece);
                self.delta(DeltaTarget::Reasoning { item: self.item }, offset, piece);
            }
            Step::Checkpoint => self.checkpoint(turn),
            Step::Retry if self.streaming.take().is_some() => {
                let item = self.item;
                self.turn(TurnEvent::Discarded {
                    turn,
                    item,
                    reason: "again".into(),
                });
            }
            Step::Answer { calls } => {
                let (text, reasoning, _) = self.stream().clone();
                self.streaming = None;
                let item = self.item;
                self.calls = (0..*calls)
                    .map(|call| (format!("call_{item}_{call}"), false))
                    .collect();
                let view = |(id, _): &(String, bool)| CallView {
                    id: id.clone(),
                    name: "bash".into(),
                    arguments: "{}".into(),
                };
                let calls = self.calls.iter().map(view).collect();
                let usage = Some(UsageView {
                    input: 10,
                    cached: 5,
                    output: 1,
                });
                self.turn(TurnEvent::Assistant {
                    turn,
                    item,
                    text,
                    reasoning,
                    calls,
                    usage,
                    cost: Some(Amount {
                        currency: "USD".into(),
                        micros: 7,
                    }),
                });
            }
            _ => {}
        }
    }

    fn call_step(&mut self, turn: TurnId, step: &Step) {
        let (call, started) = self.calls[0].clone();
        match step {
            Step::StartCall if !started => {
                self.calls[0].1 = true;
                self.output.clear();
                self.event(Event::Tool(ToolEvent::Started { turn, call }));
            }
            Step::Output(piece) if started => {
                let offset = self.output.len();
                self.output.push_str(piece);
                self.delta(DeltaTarget::Output { call }, offset, piece);
            }
            Step::FinishCall => {
                self.calls.remove(0);
                let output = std::mem::take(&mut self.output);
                let outcome = CallOutcome::Ok;
                self.event(Event::Tool(ToolEvent::Finished {
                    turn,
                    call,
                    outcome,
                    output,
                }));
            }
            _ => {}
        }
    }
}

/// Frames as a paced follower gets them: text merged over events, cut elsewhere, repeated, and left out when its item
/// was complete before it was sent.
fn another_way(frames: &[Frame], choices: &[u8]) -> Vec<Frame> {
    let mut out: Vec<Frame> = Vec::new();
    let mut live: Vec<(DeltaTarget, String, usize)> = Vec::new();
    let mut gone: Vec<DeltaTarget> = Vec::new();
    let mut choices = choices.iter().copied().cycle();
    let mut choose = |of: usize| usize::from(choices.next().unwrap()) % of.max(1);
    for frame in frames {
        match frame {
            Frame::Delta(delta) => match live.iter_mut().find(|(target, ..)| *target == delta.target) {
                Some((_, text, _)) => text.push_str(&delta.text),
                None => live.push((delta.target.clone(), delta.text.clone(), 0)),
            },
            Frame::Event(envelope) => {
                if let Event::Turn(TurnEvent::Discarded { item, .. }) = &envelope.event {
                    gone.push(DeltaTarget::Text { item: *item });
                    gone.push(DeltaTarget::Reasoning { item: *item });
                }
                out.push(frame.clone());
                live.retain(|(target, ..)| !supersedes(&envelope.event, target));
            }
            _ => {}
        }
        if choose(3) == 0 {
            flush(&mut live, &mut out, &mut choose);
        }
        if choose(4) == 0 && !out.is_empty() {
            let again = out[choose(out.len())].clone();
            if !matches!(&again, Frame::Delta(delta) if gone.contains(&delta.target)) {
                out.push(again);
            }
        }
    }
    flush(&mut live, &mut out, &mut choose);
    out
}

fn flush(
    live: &mut [(DeltaTarget, String, usize)],
    out: &mut Vec<Frame>,
    choose: &mut impl FnMut(usize) -> usize,
) {
    for (target, text, sent) in live {
        while *sent < text.len() {
            // Start earlier than needed, and stop before the end, at character boundaries.
            let start = floor(text, *sent - choose(*sent + 1));
            let stop = floor(text, *sent + choose(text.len() - *sent) + 1);
            let end = if stop <= *sent || choose(2) == 0 {
                text.len()
            } else {
                stop
            };
            let delta = Delta {
                target: target.clone(),
                offset: start as u64,
                text: text[start..end].to_owned(),
            };
            out.push(Frame::Delta(delta));
            *sent = end;
        }
    }
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn supersedes(event: &Event, target: &DeltaTarget) -> bool {
    match (event, target) {
        (
            Event::Turn(TurnEvent::Assistant { item: done, .. } | TurnEvent::Discarded { item: done, .. }),
            DeltaTarget::Text { item } | DeltaTarget::Reasoning { item },
        ) => done == item,
        (Event::Tool(ToolEvent::Finished { call: done, .. }), DeltaTarget::Output { call }) => done == call,
        (
            Event::Turn(TurnEvent::Ended {
                turn: _,
                outcome: Outcome::Completed,
                ..
            }),
            _,
        ) => true,
        _ => false,
    }
}

fn fold(snapshot: &mut Snapshot, frames: &[Frame]) {
    for frame in frames {
        match frame {
            Frame::Event(envelope) => drop(snapshot.apply(envelope).unwrap()),
            Frame::Delta(delta) => drop(snapshot.apply_delta(delta).unwrap()),
            other => panic!("{other:?}"),
        }
        assert!(snapshot.items.len() <= limits::SNAPSHOT_ITEMS);
    }
}

fn folded(frames: &[Frame]) -> Snapshot {
    let mut snapshot = Snapshot::empty(samples::session());
    fold(&mut snapshot, frames);
    snapshot
}

proptest! {
    #[test]
    fn merged_cut_repeated_and_left_out_text_gives_the_same_state(
        steps in vec(step(), 0..80),
        choices in vec(any::<u8>(), 1..64),
    ) {
        let frames = Agent::run(&steps);
        prop_assert_eq!(folded(&another_way(&frames, &choices)), folded(&frames));
    }

    #[test]
    fn a_snapshot_at_any_point_goes_on_as_the_events_from_the_start(
        steps in vec(step(), 0..80),
        choices in vec(any::<u8>(), 1..64),
        cut in any::<prop::sample::Index>(),
        back in 0..5usize,
    ) {
        let frames = Agent::run(&steps);
        let cut = cut.index(frames.len() + 1);
        let json = serde_json::to_string(&folded(&frames[..cut])).unwrap();
        let mut late: Snapshot = serde_json::from_str(&json).unwrap();
        // A stream that is opened after a snapshot gives the live text from its start.
        let mut rest = another_way(&frames, &choices);
        rest.retain(|frame| match frame {
            Frame::Event(envelope) => envelope.n + back as u64 > late.at,
            Frame::Delta(_) => true,
            _ => false,
        });
        for frame in &rest {
            match frame {
                Frame::Event(envelope) => drop(late.apply(envelope).unwrap()),
                // Old text meets a newer state here; it may be refused, and must not do harm.
                Frame::Delta(delta) => drop(late.apply_delta(delta)),
                _ => {}
            }
        }
        let mut whole = folded(&frames);
        prop_assert_eq!(late.at, whole.at);
        // Old text of a message that was thrown away cannot be told from new text; a follower never mixes streams.
        if !frames.iter().any(|frame| matches!(frame, Frame::Event(e) if matches!(e.event, Event::Turn(TurnEvent::Discarded { .. })))) {
            whole.usage = late.usage;
            prop_assert_eq!(late, whole);
        }
    }

    #[test]
    fn events_alone_give_the_state_once_nothing_is_being_streamed(steps in vec(step(), 0..80)) {
        let frames = Agent::run(&steps);
        let mut live = Snapshot::empty(samples::session());
        let mut durable = Snapshot::empty(samples::session());
        let mut open: HashMap<DeltaTarget, ()> = HashMap::new();
        for frame in &frames {
            fold(&mut live, std::slice::from_ref(frame));
            match frame {
                Frame::Event(envelope) => {
                    fold(&mut durable, std::slice::from_ref(frame));
                    open.retain(|target, ()| !supersedes(&envelope.event, target));
                    if open.is_empty() {
                        prop_assert_eq!(&live, &durable);
                    }
                }
                Frame::Delta(delta) => {
                    open.insert(delta.target.clone(), ());
                }
                _ => {}
            }
        }
    }

    #[test]
    fn a_missing_event_is_reported_and_changes_nothing(
        steps in vec(step(), 4..60),
        missing in any::<prop::sample::Index>(),
    ) {
        let frames = Agent::run(&steps);
        let events: Vec<_> = frames
            .iter()
            .filter_map(|frame| match frame {
                Frame::Event(envelope) => Some(envelope.clone()),
                _ => None,
            })
            .collect();
        let missing = missing.index(events.len());
        let mut snapshot = Snapshot::empty(samples::session());
        for envelope in &events[..missing] {
            prop_assert_eq!(snapshot.apply(envelope), Ok(Applied::Changed));
            prop_assert_eq!(snapshot.apply(envelope), Ok(Applied::Known));
        }
        let before = snapshot.clone();
        for envelope in &events[missing + 1..] {
            let expected = missing as u64 + 1;
            prop_assert_eq!(snapshot.apply(envelope), Err(ApplyError::Gap { expected, got: envelope.n }));
            prop_assert_eq!(&snapshot, &before);
        }
    }

    #[test]
    fn missing_text_is_reported_and_changes_nothing(steps in vec(step(), 0..60), offset in 1..1000u64) {
        let mut snapshot = folded(&Agent::run(&steps));
        let newest = snapshot.items.iter().filter_map(|item| match item {
            Item::Assistant { id, .. } => Some(*id),
            _ => None,
        });
        let item = newest.max().unwrap_or(0) + 1;
        let before = snapshot.clone();
        let delta = Delta { target: DeltaTarget::Text { item }, offset, text: "x".into() };
        let got = snapshot.apply_delta(&delta);
        if before.phase.turn().is_some() {
            prop_assert_eq!(got, Err(ApplyError::TextGap { known: 0, got: offset }));
        } else {
            prop_assert_eq!(got, Ok(Applied::Known));
        }
        prop_assert_eq!(snapshot, before);
    }
}

#[test]
fn the_transcript_is_bounded_and_counts_what_it_left_out() {
    let turns = limits::SNAPSHOT_ITEMS as u64;
    let mut snapshot = Snapshot::empty(samples::session());
    let mut n = 0;
    for turn in (1..=turns).map(TurnId) {
        for event in [
            TurnEvent::Submitted {
                turn,
                text: "x".into(),
                command: samples::command(),
            },
            TurnEvent::Started { turn },
            TurnEvent::Ended {
                turn,
                outcome: Outcome::Completed,
                usage: UsageView::default(),
            },
        ] {
            n += 1;
            let envelope = EventEnvelope {
                n,
                at: 0,
                event: Event::Turn(event),
            };
            assert_eq!(snapshot.apply(&envelope), Ok(Applied::Changed));
        }
    }
    assert_eq!(snapshot.items.len(), limits::SNAPSHOT_ITEMS);
    assert_eq!(snapshot.items_before, turns);
    assert_eq!(snapshot.phase, Phase::Idle);
    let newest = Item::TurnEnd {
        turn: TurnId(turns),
        outcome: Outcome::Completed,
        usage: UsageView::default(),
    };
    assert_eq!(snapshot.items.back(), Some(&newest));
}

#[test]
fn a_request_that_waits_stays_behind_the_answer_that_is_being_given() {
    let steps = [
        Step::Submit,
        Step::Submit,
        Step::Text("ab".into()),
        Step::Answer { calls: 0 },
    ];
    let items: Vec<_> = folded(&Agent::run(&steps))
        .items
        .iter()
        .map(|item| match item {
            Item::User { turn, .. } => format!("user {turn}"),
            Item::Assistant { turn, .. } => format!("assistant {turn}"),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(items, ["user 1", "assistant 1", "user 2"]);
}

//! Twenty thousand random things that can happen to a screen, without a panic.

use std::time::Duration;

use crossterm::event::{
    KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use link::{Health, LinkState, Stage};
use protocol::{
    Answer, CallOutcome, CallView, CommandId, Delta, DeltaTarget, Event, Frame, Item, Outcome, Preset,
    PromptEvent, PromptId, PromptKind, Receipt, SessionEvent, Snapshot, ToolEvent, TurnEvent, TurnId,
    UsageView,
};

use super::*;
use crate::{
    Question,
    msg::{SessionMsg, SessionNews},
    testing::{Harness, approval, broken, failure},
};

/// How many things happen.
const STEPS: usize = 20_000;

/// A small generator (xorshift64*), so that a seed is all there is to say.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 33) as usize % end.max(1)
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    fn text(&mut self) -> String {
        const PIECES: [&str; 16] = [
            "word ",
            "漢字",
            "👩‍💻",
            "\n",
            "```rust\n",
            "fn main() {}",
            "| a | b |\n",
            "e\u{301}",
            "\u{1b}[31m",
            "\u{202e}",
            "\t",
            "- item\n",
            "/help",
            "@@ -1 +1 @@\n-old\n+new\n",
            "\r\n",
            "`code` **bold** ",
        ];
        (0..self.below(12)).map(|_| self.pick(&PIECES)).collect()
    }
}

fn key(random: &mut Random) -> Msg {
    use KeyCode::{
        BackTab, Backspace, Char, Delete, Down, End, Enter, Esc, F, Home, Left, PageDown, PageUp, Right, Tab,
        Up,
    };
    const CODES: [KeyCode; 16] = [
        BackTab,
        Backspace,
        Delete,
        Down,
        End,
        Enter,
        Esc,
        F(1),
        Home,
        Left,
        PageDown,
        PageUp,
        Right,
        Tab,
        Up,
        Enter,
    ];
    let code = match random.below(3) {
        0 => random.pick(&CODES),
        _ => Char(random.pick(&[
            'a', 'b', 'c', 'd', 'j', 'k', 'l', 'n', 'o', 'q', 'r', 'u', 'w', 'y', 'z', '1', '2', '9', ' ',
            '/', '?', '漢', '\u{301}',
        ])),
    };
    let modifiers = match random.below(4) {
        0 => random.pick(&[
            KeyModifiers::CONTROL,
            KeyModifiers::ALT,
            KeyModifiers::SHIFT,
            KeyModifiers::CONTROL | KeyModifiers::SHIFT,
        ]),
        _ => KeyModifiers::NONE,
    };
    let mut event = KeyEvent::new(code, modifiers);
    event.kind = random.pick(&[
        KeyEventKind::Press,
        KeyEventKind::Press,
        KeyEventKind::Repeat,
        KeyEventKind::Release,
    ]);
    Msg::Key(event)
}

fn link_state(random: &mut Random) -> Msg {
    let now = stdx::clock::monotonic();
    Msg::Link(match random.below(8) {
        0 => LinkState::Offline,
        1 => LinkState::Connecting(Stage::Installing {
            done: random.next(),
            total: random.next(),
        }),
        2 => LinkState::Prompting,
        3 => LinkState::Waiting {
            next_try: now + Duration::from_millis(random.next() % 10_000),
            cause: failure(),
            attempts: 1,
        },
        4 => LinkState::Failed(failure()),
        _ => LinkState::Live {
            rtt: Duration::from_micros(random.next() % 1_000_000),
            health: random.pick(&[Health::Good, Health::Quiet, Health::Stalled]),
        },
    })
}

/// Something an agent could record now, whether or not it makes sense after what it recorded before.
fn event(random: &mut Random, truth: &Snapshot) -> Event {
    let turn = truth.phase.turn().unwrap_or(TurnId(truth.at));
    match random.below(14) {
        0..8 => Event::Turn(turn_event(random, truth, turn)),
        8 => Event::Tool(ToolEvent::Started {
            turn,
            call: known_call(random, truth),
        }),
        9 => Event::Tool(ToolEvent::Finished {
            turn,
            call: known_call(random, truth),
            outcome: random.pick(&[CallOutcome::Ok, CallOutcome::Failed, CallOutcome::Denied]),
            output: random.text(),
        }),
        10..13 => Event::Prompt(prompt_event(random, truth, turn)),
        _ => Event::Session(SessionEvent::PresetChanged {
            preset: random.pick(&[Preset::ReadOnly, Preset::DangerFullAccess, Preset::Unknown]),
            command: CommandId::fresh(),
        }),
    }
}

fn turn_event(random: &mut Random, truth: &Snapshot, turn: TurnId) -> TurnEvent {
    let item = streaming(truth);
    let command = CommandId::fresh();
    let text = random.text();
    match random.below(8) {
        0 => TurnEvent::Submitted {
            turn: TurnId(truth.at),
            text,
            command,
        },
        1 => TurnEvent::Started {
            turn: truth.queue.first().copied().unwrap_or(turn),
        },
        2 => TurnEvent::Partial {
            turn,
            item,
            offset: 0,
            text,
        },
        3 => TurnEvent::Discarded {
            turn,
            item,
            reason: text,
        },
        4 => TurnEvent::CancelRequested { turn, command },
        5 => TurnEvent::Ended {
            turn,
            outcome: random.pick(&[
                Outcome::Completed,
                Outcome::Cancelled,
                Outcome::Interrupted,
                Outcome::Unknown,
            ]),
            usage: UsageView::default(),
        },
        _ => TurnEvent::Assistant {
            turn,
            item,
            reasoning: random.text(),
            text,
            calls: vec![CallView {
                id: format!("call-{}", truth.at),
                name: random
                    .pick(&["bash", "edit_file", "read_file", "odd\u{1b}"])
                    .to_owned(),
                arguments: random
                    .pick(&["{}", "{\"command\":\"ls\"}", "not json", "{\"path\":\"a\"}"])
                    .to_owned(),
            }],
            usage: Some(UsageView::default()),
            cost: None,
        },
    }
}

fn prompt_event(random: &mut Random, truth: &Snapshot, turn: TurnId) -> PromptEvent {
    let prompt = truth
        .prompts
        .first()
        .map_or(PromptId(truth.at), |prompt| prompt.id);
    match random.below(3) {
        0 => PromptEvent::Opened {
            prompt: prompt_of(random, truth, turn),
        },
        1 => PromptEvent::Answered {
            prompt,
            answer: Answer::AllowOnce,
            replies: Vec::new(),
            command: CommandId::fresh(),
        },
        _ => PromptEvent::Withdrawn {
            prompt,
            reason: random.text(),
        },
    }
}

/// Gives the message of the running turn that is being streamed, else a new one.
fn streaming(truth: &Snapshot) -> u64 {
    let open = truth.items.iter().rev().find_map(|item| match item {
        Item::Assistant {
            id,
            turn,
            complete: false,
            ..
        } if truth.phase.turn() == Some(*turn) => Some(*id),
        _ => None,
    });
    open.unwrap_or(truth.at)
}

/// Gives one of the newest calls.
fn known_call(random: &mut Random, truth: &Snapshot) -> String {
    let calls = truth.items.iter().rev().filter_map(|item| match item {
        Item::Tool { call, .. } => Some(call),
        _ => None,
    });
    let calls: Vec<&String> = calls.take(4).collect();
    calls
        .get(random.below(calls.len()))
        .map_or_else(String::new, |call| (*call).clone())
}

/// Gives how much is known of a text.
fn known(truth: &Snapshot, target: &DeltaTarget) -> u64 {
    let length = truth.items.iter().rev().find_map(|item| match (item, target) {
        (Item::Assistant { id, text, .. }, DeltaTarget::Text { item }) if id == item => Some(text.len()),
        (Item::Assistant { id, reasoning, .. }, DeltaTarget::Reasoning { item }) if id == item => {
            Some(reasoning.len())
        }
        (Item::Tool { call, output, .. }, DeltaTarget::Output { call: wanted }) if call == wanted => {
            Some(output.len())
        }
        _ => None,
    });
    length.unwrap_or(0) as u64
}

fn prompt_of(random: &mut Random, truth: &Snapshot, turn: TurnId) -> protocol::OpenPrompt {
    let mut prompt = approval(truth.at, &random.text());
    prompt.turn = turn;
    if random.below(2) == 0 {
        prompt.kind = PromptKind::Question {
            questions: vec![protocol::Question {
                header: random.text(),
                text: random.text(),
                options: Vec::new(),
                multi_select: random.below(2) == 0,
                free_text: random.below(2) == 0,
            }],
        };
    }
    prompt
}

fn frame(random: &mut Random, harness: &mut Harness) -> Msg {
    let session = harness.truth.session.session;
    let news = match random.below(20) {
        0 => SessionNews::Replaced(Box::new(harness.truth.clone())),
        1 => SessionNews::Interrupted(broken()),
        2..8 => {
            let item = streaming(&harness.truth);
            let target = match random.below(3) {
                0 => DeltaTarget::Text { item },
                1 => DeltaTarget::Reasoning { item },
                _ => DeltaTarget::Output {
                    call: known_call(random, &harness.truth),
                },
            };
            let delta = Delta {
                offset: known(&harness.truth, &target),
                target,
                text: random.text(),
            };
            // As the session task does: what says nothing or does not fit is not passed on.
            if delta.text.is_empty() || harness.truth.apply_delta(&delta) != Ok(protocol::Applied::Changed) {
                return Msg::Tick;
            }
            SessionNews::Frame(Box::new(Frame::Delta(delta)))
        }
        _ => {
            let event = event(random, &harness.truth);
            SessionNews::Frame(Box::new(Frame::Event(harness.record(event))))
        }
    };
    Msg::Session(SessionMsg { session, news })
}

fn question(random: &mut Random) -> Msg {
    let (secret, answer) = crate::overlays::sample_secret();
    if random.below(2) == 0 {
        drop(answer);
    } else {
        // Somebody waits as long as the test runs.
        std::mem::forget(answer);
    }
    Msg::Question(match random.below(3) {
        0 => Question::Notice(random.text()),
        _ => secret,
    })
}

fn result(random: &mut Random, harness: &Harness) -> Msg {
    let sent = harness.sent();
    let Some(request) = sent.get(random.below(sent.len())) else {
        return Msg::Done(Done::Sessions(Ok(Vec::new())));
    };
    let result = match random.below(3) {
        0 => Err(broken()),
        _ => Ok(Receipt {
            id: request.id,
            at: harness.truth.at,
            turn: None,
        }),
    };
    Msg::Done(Done::Command(request.id, result))
}

fn happens(random: &mut Random, harness: &mut Harness) -> Msg {
    match random.below(100) {
        0..40 => key(random),
        40..44 => Msg::Paste(random.text()),
        44..48 => {
            let edge = [0, 1, 2, 3, 7, 8, 20, 40, 80, 132];
            Msg::Resize(random.pick(&edge), random.pick(&edge))
        }
        48..52 => Msg::Mouse(MouseEvent {
            kind: random.pick(&[
                MouseEventKind::ScrollUp,
                MouseEventKind::ScrollDown,
                MouseEventKind::Down(MouseButton::Left),
            ]),
            column: 3,
            row: 3,
            modifiers: KeyModifiers::NONE,
        }),
        52..56 => link_state(random),
        56..58 => question(random),
        58..64 => result(random, harness),
        64..68 => Msg::Tick,
        _ => frame(random, harness),
    }
}

/// Lets the random things happen. Another session may be shown on the way; the agent then answers for that one.
fn play(seed: u64, steps: usize) -> Harness {
    let mut random = Random(seed);
    let mut harness = Harness::new(80, 24);
    for step in 0..steps {
        let msg = happens(&mut random, &mut harness);
        harness.model.screen.now += Duration::from_millis(random.next() % 700);
        harness.take(msg);
        if harness.model.session.id() != harness.truth.session.session {
            harness.truth = Snapshot::empty(harness.model.session.id());
            harness = harness.open();
        }
        if harness.effects.len() > 200 {
            harness.effects.drain(..100);
        }
        if step % 4 == 0 {
            // Drawing asserts that the cursor is inside.
            drop(harness.screen());
        }
    }
    harness
}

#[test]
fn twenty_thousand_random_things_end_without_panic() {
    let seed = 0x5eed_0003_0001;
    println!("seed {seed:#x}");
    let harness = play(seed, STEPS);
    drop(harness.screen());
}

#[test]
fn the_live_screen_equals_one_from_a_fresh_snapshot() {
    for seed in 1..=40_u64 {
        println!("seed {seed}");
        let mut harness = play(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15), 300);
        assert_eq!(harness.model.session.snapshot, harness.truth);
        // What was kept up to date frame by frame looks as what is made anew from the state. Notices are left out: they
        // are this screen's own, and stand where they were when they came.
        let live = items_of(&harness.model.transcript.tail(80, 100_000));
        harness.model.transcript.replace(&harness.truth);
        let fresh = items_of(&harness.model.transcript.tail(80, 100_000));
        let only = |some: &[String], other: &[String]| -> Vec<String> {
            some.iter()
                .filter(|line| !other.contains(line))
                .cloned()
                .collect()
        };
        assert_eq!(only(&live, &fresh), only(&fresh, &live));
        assert_eq!(live, fresh);
    }
}

/// Leaves blank lines out, and puts the others in an order that does not depend on where notices stand.
fn items_of(lines: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = lines
        .iter()
        .filter(|line| !line.trim().is_empty())
        .cloned()
        .collect();
    lines.sort();
    lines
}

//! Every row of the table, and what must hold after any sequence of inputs.

use proptest::prelude::*;

use super::*;
use crate::{backoff::AT_ONCE, error::ErrorKind};

fn lost() -> Error {
    Error::new(Stage::Live, "box", ErrorKind::Silent(Duration::from_secs(60)))
}

fn fatal() -> Error {
    let refused = transport::ErrorKind::HostKeyChanged;
    let error = transport::Error::new(refused, transport::Stage::Handshake, "box", "changed");
    Error::new(Stage::Dialing, "box", ErrorKind::Ssh(error))
}

fn end(cause: Error, line: Line) -> Input {
    Input::Ended(End {
        cause,
        line,
        at: stdx::clock::monotonic(),
        lived: Duration::ZERO,
        jitter: 1.0,
    })
}

/// The end of a link that had been live for this long.
fn end_after(lived: Duration) -> Input {
    Input::Ended(End {
        cause: lost(),
        line: Line::Gone,
        at: stdx::clock::monotonic(),
        lived,
        jitter: 1.0,
    })
}

fn doing(stage: Stage, questions: u32) -> Input {
    let doing = Doing::new(stage);
    Input::Doing(Doing { questions, ..doing })
}

const RTT: Duration = Duration::from_millis(7);

/// Goes through inputs from the start and gives the last state's name and all effects.
fn run(inputs: &[Input]) -> (String, Vec<Effect>) {
    let mut machine = Machine::new();
    let mut all = Vec::new();
    for input in inputs {
        let (next, effects) = machine.step(input.clone());
        machine = next;
        all.extend(effects);
    }
    (name(&machine.state), all)
}

fn name(state: &LinkState) -> String {
    match state {
        LinkState::Waiting { attempts, .. } => format!("waiting {attempts}"),
        LinkState::Failed(_) => "failed".into(),
        LinkState::Live { health, .. } => format!("live {health:?}"),
        other => other.to_string(),
    }
}

/// Inputs from the start, the name of the last state, and all effects.
type Row<'a> = (&'a [Input], &'a str, &'a [Effect]);

fn check(rows: &[Row<'_>]) {
    for (inputs, state, effects) in rows {
        assert_eq!(run(inputs), ((*state).to_owned(), effects.to_vec()), "{inputs:?}");
    }
}

const FIRST: Effect = Effect::Arm(Duration::from_millis(250));
const AGAIN: Effect = Effect::Arm(Duration::from_millis(500));
const ATTACHED: Input = Input::Attached { rtt: RTT };

#[test]
fn the_way_to_a_live_link() {
    use Effect::Attempt;
    use Input::{Network, Retry, Woke};
    let (slept, now) = (Effect::Prove(Doubt::Slept), Effect::Prove(Doubt::Now));
    check(&[
        (&[Retry], "connecting: resolve", &[Attempt]),
        (
            &[Retry, doing(Stage::Dialing, 0), Retry],
            "connecting: connect",
            &[Attempt],
        ),
        (
            &[Retry, doing(Stage::Dialing, 1), Woke, Retry],
            "waiting for an answer",
            &[Attempt],
        ),
        (
            &[Retry, doing(Stage::Dialing, 1), doing(Stage::Dialing, 0)],
            "connecting: connect",
            &[Attempt],
        ),
        (&[Retry, ATTACHED], "live Good", &[Attempt]),
        (
            &[Retry, ATTACHED, Input::Silence(Health::Quiet)],
            "live Quiet",
            &[Attempt],
        ),
        (
            &[
                Retry,
                ATTACHED,
                Input::Silence(Health::Stalled),
                Input::Pong { rtt: RTT },
            ],
            "live Good",
            &[Attempt],
        ),
        (
            &[Retry, ATTACHED, Woke, Retry],
            "live Good",
            &[Attempt, slept, now],
        ),
        (
            &[
                Retry,
                ATTACHED,
                Network(NetworkChange::Moved),
                Network(NetworkChange::Elsewhere),
            ],
            "live Good",
            &[Attempt, now, now],
        ),
    ]);
}

#[test]
fn who_has_answered_is_not_asked_again_because_the_network_changed() {
    use Effect::{Abandon, Attempt, HangUp};
    use Input::{Network, Retry, Woke};
    let asked = [
        Retry,
        doing(Stage::Dialing, 1),
        doing(Stage::Authenticating, 0),
        Woke,
        Network(NetworkChange::Moved),
    ];
    check(&[(&asked, "connecting: log in", &[Attempt])]);
    // The next attempt has asked nobody yet.
    let mut again = asked.to_vec();
    again.extend([end(lost(), Line::Gone), Retry, Network(NetworkChange::Moved)]);
    let (state, effects) = run(&again);
    assert_eq!(state, "connecting: resolve");
    assert_eq!(effects[effects.len() - 3..], [Abandon, HangUp, Attempt]);
}

#[test]
fn losses_waits_and_failures() {
    use Effect::{Attempt, Disarm, HangUp};
    use Input::{Retry, Timer, Woke};
    let (gone, kept) = (|| end(lost(), Line::Gone), || end(lost(), Line::Kept));
    let died = || end(fatal(), Line::Kept);
    check(&[
        (&[Retry, gone()], "waiting 1", &[Attempt, HangUp, FIRST]),
        (
            &[Retry, kept(), Timer, gone()],
            "waiting 2",
            &[Attempt, FIRST, Attempt, HangUp, AGAIN],
        ),
        (
            &[Retry, ATTACHED, kept(), Retry],
            "connecting: resolve",
            &[Attempt, FIRST, Disarm, Attempt],
        ),
        (&[Retry, died()], "failed", &[Attempt, HangUp]),
        (
            &[Retry, died(), Woke, Timer, ATTACHED, gone()],
            "failed",
            &[Attempt, HangUp],
        ),
        (
            &[Retry, died(), Retry],
            "connecting: resolve",
            &[Attempt, HangUp, Attempt],
        ),
    ]);
}

#[test]
fn waking_up_and_stopping() {
    use Effect::{Abandon, Attempt, Disarm, HangUp};
    use Input::{Network, Retry, Stop, Timer, Woke};
    let gone = || end(lost(), Line::Gone);
    check(&[
        (
            &[Retry, gone(), Woke],
            "connecting: resolve",
            &[Attempt, HangUp, FIRST, Disarm, Attempt],
        ),
        (
            &[Retry, Woke],
            "connecting: resolve",
            &[Attempt, Abandon, HangUp, Attempt],
        ),
        (
            &[Retry, Network(NetworkChange::Elsewhere)],
            "connecting: resolve",
            &[Attempt],
        ),
        (
            &[Retry, doing(Stage::Probing, 0), Network(NetworkChange::Moved)],
            "connecting: probe",
            &[Attempt],
        ),
        (
            &[Retry, doing(Stage::Probing, 0), Woke],
            "connecting: resolve",
            &[Attempt, Abandon, HangUp, Attempt],
        ),
        (
            &[Retry, gone(), Network(NetworkChange::Elsewhere)],
            "connecting: resolve",
            &[Attempt, HangUp, FIRST, Disarm, Attempt],
        ),
        (&[Woke, Timer, Stop], "offline", &[]),
        (&[Retry, Stop, ATTACHED], "offline", &[Attempt, Abandon, HangUp]),
        (
            &[Retry, gone(), Stop, Timer],
            "offline",
            &[Attempt, HangUp, FIRST, Disarm, HangUp],
        ),
        (&[Retry, ATTACHED, Stop], "offline", &[Attempt, HangUp]),
    ]);
}

#[test]
fn the_tenth_drop_is_as_quick_as_the_first() {
    let mut inputs = vec![Input::Retry];
    for _ in 0..10 {
        inputs.extend([ATTACHED, end_after(STEADY), Input::Timer]);
    }
    assert_eq!(waits(&inputs), [AT_ONCE; 10]);
}

#[test]
fn only_the_first_try_after_a_loss_comes_at_once_and_a_link_that_comes_and_goes_waits() {
    let again = || end(lost(), Line::Gone);
    let drop_then_fail = [
        Input::Retry,
        ATTACHED,
        end_after(STEADY),
        Input::Timer,
        again(),
        Input::Timer,
        again(),
    ];
    let ms = Duration::from_millis;
    assert_eq!(waits(&drop_then_fail), [AT_ONCE, ms(500), ms(1000)]);
    let flapping = [
        Input::Retry,
        ATTACHED,
        end_after(STEADY / 2),
        Input::Timer,
        ATTACHED,
        end_after(STEADY / 2),
    ];
    assert_eq!(waits(&flapping), [ms(250), ms(250)]);
}

/// Gives the waits that inputs lead to.
fn waits(inputs: &[Input]) -> Vec<Duration> {
    let (_, effects) = run(inputs);
    let wait = |effect: &Effect| match effect {
        Effect::Arm(wait) => Some(*wait),
        _ => None,
    };
    effects.iter().filter_map(wait).collect()
}

#[test]
fn waking_up_and_another_way_out_start_the_schedule_anew() {
    let after = |change: Input| {
        let mut inputs = vec![Input::Retry];
        for _ in 0..6 {
            inputs.extend([end(lost(), Line::Gone), Input::Timer]);
        }
        inputs.extend([end(lost(), Line::Gone), change, end(lost(), Line::Gone)]);
        run(&inputs).0
    };
    assert_eq!(after(Input::Woke), "waiting 1");
    assert_eq!(after(Input::Network(NetworkChange::Moved)), "waiting 1");
    // A container that starts over and over must not make a host that is down be dialled ever faster.
    assert_eq!(after(Input::Network(NetworkChange::Elsewhere)), "waiting 8");
}

#[test]
fn a_host_that_had_no_patience_for_an_answer_is_not_dialled_again_by_itself() {
    use Effect::{Attempt, HangUp};
    let given_up = Input::Doing(Doing {
        unanswered: true,
        ..Doing::new(Stage::Authenticating)
    });
    let gone = || end(lost(), Line::Gone);
    let asked = [Input::Retry, doing(Stage::Authenticating, 1), given_up, gone()];
    check(&[(&asked, "failed", &[Attempt, HangUp])]);
    let mut again = asked.to_vec();
    again.extend([Input::Woke, Input::Network(NetworkChange::Moved), Input::Timer]);
    assert_eq!(run(&again).0, "failed");
    again.extend([Input::Retry, ATTACHED, gone()]);
    assert_eq!(run(&again).0, "waiting 1");
}

/// The state of a machine, put there by the shortest way, and the names of what it may go to.
fn states() -> Vec<(&'static str, Vec<Input>)> {
    vec![
        ("offline", vec![]),
        ("connecting: resolve", vec![Input::Retry]),
        (
            "waiting for an answer",
            vec![Input::Retry, doing(Stage::Dialing, 1)],
        ),
        ("live Good", vec![Input::Retry, ATTACHED]),
        ("waiting 1", vec![Input::Retry, end(lost(), Line::Gone)]),
        ("failed", vec![Input::Retry, end(fatal(), Line::Gone)]),
    ]
}

/// Gives every kind of input with a name. A new kind does not compile until it has its row.
fn inputs() -> Vec<(&'static str, Input)> {
    let all = vec![
        Input::Retry,
        Input::Stop,
        Input::Woke,
        Input::Network(NetworkChange::Moved),
        Input::Network(NetworkChange::Elsewhere),
        doing(Stage::Probing, 0),
        doing(Stage::Dialing, 1),
        ATTACHED,
        Input::Pong { rtt: RTT },
        Input::Silence(Health::Stalled),
        end(lost(), Line::Kept),
        end(lost(), Line::Gone),
        end(fatal(), Line::Kept),
        Input::Timer,
    ];
    let name = |input: &Input| match input {
        Input::Retry => "retry",
        Input::Stop => "stop",
        Input::Woke => "woke",
        Input::Network(NetworkChange::Moved) => "moved",
        Input::Network(NetworkChange::Elsewhere) => "elsewhere",
        Input::Doing(Doing { questions: 0, .. }) => "doing",
        Input::Doing(_) => "asks",
        Input::Attached { .. } => "attached",
        Input::Pong { .. } => "pong",
        Input::Silence(_) => "silence",
        Input::Ended(End { cause, .. }) if cause.needs_person(true) => "dies",
        Input::Ended(End { line: Line::Kept, .. }) => "kept",
        Input::Ended(_) => "gone",
        Input::Timer => "timer",
    };
    all.into_iter().map(|input| (name(&input), input)).collect()
}

/// Every state with every input: where it leads and what is done. A pair that is not listed changes nothing.
const TABLE: &str = "
offline | retry | connecting: resolve | Attempt
connecting: resolve | stop | offline | Abandon HangUp
connecting: resolve | woke | connecting: resolve | Abandon HangUp Attempt
connecting: resolve | moved | connecting: resolve | Abandon HangUp Attempt
connecting: resolve | doing | connecting: probe |
connecting: resolve | asks | waiting for an answer |
connecting: resolve | attached | live Good |
connecting: resolve | kept | waiting 1 | Arm(250ms)
connecting: resolve | gone | waiting 1 | HangUp Arm(250ms)
connecting: resolve | dies | failed | HangUp
waiting for an answer | stop | offline | Abandon HangUp
waiting for an answer | doing | connecting: probe |
waiting for an answer | attached | live Good |
waiting for an answer | kept | waiting 1 | Arm(250ms)
waiting for an answer | gone | waiting 1 | HangUp Arm(250ms)
waiting for an answer | dies | failed | HangUp
live Good | retry | live Good | Prove(Now)
live Good | stop | offline | HangUp
live Good | woke | live Good | Prove(Slept)
live Good | moved | live Good | Prove(Now)
live Good | elsewhere | live Good | Prove(Now)
live Good | silence | live Stalled |
live Good | kept | waiting 1 | Arm(250ms)
live Good | gone | waiting 1 | HangUp Arm(250ms)
live Good | dies | failed | HangUp
waiting 1 | retry | connecting: resolve | Disarm Attempt
waiting 1 | stop | offline | Disarm HangUp
waiting 1 | woke | connecting: resolve | Disarm Attempt
waiting 1 | moved | connecting: resolve | Disarm Attempt
waiting 1 | elsewhere | connecting: resolve | Disarm Attempt
waiting 1 | timer | connecting: resolve | Attempt
failed | retry | connecting: resolve | Attempt
failed | stop | offline |
";

#[test]
fn every_state_takes_every_input() {
    let mut found = String::from("\n");
    for (state, way) in states() {
        for (input, what) in inputs() {
            let before = way.len();
            let effects_before = run(&way).1.len();
            let mut inputs = way.clone();
            inputs.push(what);
            assert_eq!((run(&way).0.as_str(), inputs.len()), (state, before + 1));
            let (next, effects) = run(&inputs);
            let effects: Vec<_> = effects[effects_before..]
                .iter()
                .map(|effect| format!("{effect:?}"))
                .collect();
            if next != state || !effects.is_empty() {
                let row = format!("{state} | {input} | {next} | {}", effects.join(" "));
                found.push_str(row.trim_end());
                found.push('\n');
            }
        }
    }
    assert_eq!(found, TABLE);
}

fn input() -> impl Strategy<Value = Input> {
    prop_oneof![
        Just(Input::Retry),
        Just(Input::Stop),
        Just(Input::Woke),
        Just(Input::Network(NetworkChange::Moved)),
        Just(Input::Network(NetworkChange::Elsewhere)),
        Just(Input::Timer),
        Just(Input::Attached { rtt: RTT }),
        Just(Input::Pong { rtt: RTT }),
        Just(Input::Silence(Health::Quiet)),
        Just(Input::Silence(Health::Stalled)),
        (0_u32..2).prop_map(|questions| doing(Stage::Dialing, questions)),
        Just(doing(Stage::Attaching, 0)),
        (any::<bool>(), any::<bool>()).prop_map(|(kept, dies)| {
            let line = if kept { Line::Kept } else { Line::Gone };
            end(if dies { fatal() } else { lost() }, line)
        }),
    ]
}

/// What the supervisor would have running.
#[derive(Default)]
struct World {
    attempt: bool,
    timer: bool,
}

impl World {
    /// An attempt and a timer give one result each; a result of nothing does not come.
    fn allows(&self, machine: &Machine, input: &Input) -> bool {
        match input {
            Input::Attached { .. } | Input::Doing(_) => self.attempt,
            Input::Ended(_) => self.attempt || machine.state.is_live(),
            Input::Timer => self.timer,
            _ => true,
        }
    }

    fn follow(&mut self, input: &Input, effects: &[Effect]) {
        match input {
            Input::Attached { .. } | Input::Ended(_) => self.attempt = false,
            Input::Timer => self.timer = false,
            _ => {}
        }
        for effect in effects {
            match effect {
                Effect::Attempt => {
                    assert!(!self.attempt, "two attempts at once");
                    self.attempt = true;
                }
                Effect::Abandon => self.attempt = false,
                Effect::Arm(_) => self.timer = true,
                Effect::Disarm => self.timer = false,
                Effect::HangUp | Effect::Prove(_) => {}
            }
        }
    }
}

proptest! {
    #[test]
    fn what_must_always_hold(inputs in prop::collection::vec(input(), 0..60)) {
        let (mut machine, mut world) = (Machine::new(), World::default());
        for input in inputs {
            if !world.allows(&machine, &input) {
                continue;
            }
            let before = machine.state.clone();
            let (next, effects) = machine.step(input.clone());
            world.follow(&input, &effects);
            machine = next;
            let after = &machine.state;
            if after.is_live() && !before.is_live() {
                let is_attached = matches!(input, Input::Attached { .. });
                prop_assert!(is_attached, "live without a connected stream");
            }
            if matches!(before, LinkState::Failed(_)) && !matches!(after, LinkState::Failed(_)) {
                let is_asked = matches!(input, Input::Retry | Input::Stop);
                prop_assert!(is_asked, "{input:?} left a failure");
            }
            let under_way = matches!(after, LinkState::Connecting(_) | LinkState::Prompting);
            let waiting = matches!(after, LinkState::Waiting { .. });
            prop_assert_eq!(world.attempt, under_way, "an attempt runs exactly while under way: {}", after);
            prop_assert_eq!(world.timer, waiting, "a timer runs exactly while waiting: {}", after);
        }
    }
}

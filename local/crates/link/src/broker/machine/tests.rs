//! Scripts: `input => effects`.

use std::fmt::Write as _;

use super::*;
use crate::broker::policy::tests::{options, request};

/// A machine and the requests that its host has parked.
struct Bench {
    machine: Machine,
    parked: BTreeMap<u64, BrokerRequest>,
}

impl Bench {
    fn new() -> Self {
        let options = BrokerOptions {
            max_requests: 6,
            ..options()
        };
        Self {
            machine: Machine::new(options),
            parked: BTreeMap::new(),
        }
    }

    fn request(&mut self, number: u64) -> &mut BrokerRequest {
        self.parked.entry(number).or_insert_with(|| request(number))
    }

    fn input(&mut self, text: &str) -> Input {
        let words: Vec<&str> = text.split(' ').collect();
        let number = |index: usize| words[index].parse::<u64>().unwrap();
        let failed = |word: &str| match word {
            "gone" => Failed::Gone,
            "conflict" => Failed::Conflict,
            "lost" => Failed::Lost,
            other => panic!("{other}"),
        };
        match words[0] {
            "opened" => Input::Opened,
            "closed" => Input::Closed,
            "offered" => Input::Offered(number(1)),
            "withdrawn" => Input::Withdrawn(number(1)),
            "fetched" => {
                let request = self.request(number(1));
                if let Some(received) = words.get(2) {
                    request.received = received.parse().unwrap();
                }
                Input::Fetched {
                    number: number(1),
                    now_millis: request.parked_at,
                    result: Ok(Box::new(request.clone())),
                }
            }
            "unfetched" => Input::Fetched {
                number: number(1),
                now_millis: 0,
                result: Err(failed(words[2])),
            },
            "delivered" => Input::Delivered {
                number: number(1),
                round: number(2),
                result: Ok((number(3), words.get(4) == Some(&"whole"))),
            },
            "undelivered" => Input::Delivered {
                number: number(1),
                round: number(2),
                result: Err(failed(words[3])),
            },
            other => panic!("{other}"),
        }
    }

    fn run(&mut self, script: &str) {
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (text, want) = line.split_once("=>").unwrap();
            let input = self.input(text.trim());
            let effects = self.machine.step(input);
            assert_eq!(shown(&effects), want.trim(), "{line}");
        }
    }
}

fn shown(effects: &[Effect]) -> String {
    let mut text = String::new();
    for effect in effects {
        let separator = if text.is_empty() { "" } else { "; " };
        text.push_str(separator);
        let written = match effect {
            Effect::Fetch { number, after } if after.is_zero() => write!(text, "fetch {number}"),
            Effect::Fetch { number, .. } => write!(text, "fetch {number} later"),
            Effect::Ask { request, .. } => write!(text, "ask {}", request.request),
            Effect::Refuse { number, refusal } => write!(text, "refuse {number} {:?}", refusal.kind),
            Effect::Confirm { number, to } => write!(text, "confirm {number} {to}"),
            Effect::Deliver { number, round, from } => write!(text, "deliver {number} #{round} from {from}"),
            Effect::Drop(number) => write!(text, "drop {number}"),
        };
        written.unwrap();
    }
    text
}

#[test]
fn an_answer_is_delivered_once_and_in_parts() {
    let mut bench = Bench::new();
    bench.run(
        "opened =>
         offered 1 => fetch 1
         offered 1 =>
         fetched 1 => ask 1; deliver 1 #1 from 0
         delivered 1 1 100 => confirm 1 100; deliver 1 #2 from 100
         delivered 1 1 50 =>
         delivered 1 2 170 whole => drop 1
         delivered 1 2 170 whole =>",
    );
    let state = bench.machine.state();
    assert_eq!((state.answered, state.answering, state.budget_left), (1, 0, 5));
}

#[test]
fn a_drop_of_the_link_never_asks_the_vendor_again() {
    let mut bench = Bench::new();
    bench.run(
        "opened =>
         offered 1 => fetch 1
         fetched 1 => ask 1; deliver 1 #1 from 0
         closed =>
         undelivered 1 1 lost =>
         opened => fetch 1
         offered 1 =>
         fetched 1 70 => confirm 1 70; deliver 1 #2 from 70
         undelivered 1 2 lost => fetch 1 later
         closed =>
         opened => fetch 1
         fetched 1 90 => confirm 1 90; deliver 1 #3 from 90
         undelivered 1 2 gone =>
         delivered 1 3 120 whole => drop 1",
    );
    assert_eq!(bench.machine.state().budget_left, 5);
}

#[test]
fn a_void_attempt_and_another_daemons_request_of_the_same_number_count_as_new() {
    let mut bench = Bench::new();
    bench.run(
        "opened =>
         offered 1 => fetch 1
         fetched 1 => ask 1; deliver 1 #1 from 0
         closed =>
         opened => fetch 1",
    );
    bench.request(1).attempt = 2;
    bench.run(
        "fetched 1 0 => drop 1; ask 1; deliver 1 #2 from 0
         closed =>
         opened => fetch 1",
    );
    assert_eq!(bench.machine.state().budget_left, 4, "both were made");
    bench.parked.remove(&1);
    bench.run("fetched 1 => drop 1; ask 1; deliver 1 #3 from 0");
    assert_eq!(bench.machine.state().budget_left, 3);
}

#[test]
fn an_answer_that_somebody_else_began_is_left_alone() {
    let mut bench = Bench::new();
    bench.run(
        "opened =>
         offered 1 => fetch 1
         fetched 1 40 => drop 1
         offered 2 => fetch 2
         unfetched 2 conflict => drop 2
         offered 3 => fetch 3
         unfetched 3 gone => drop 3
         offered 4 => fetch 4
         unfetched 4 lost => fetch 4 later
         fetched 4 => ask 4; deliver 4 #1 from 0
         undelivered 4 1 conflict => fetch 4 later
         unfetched 4 conflict => drop 4",
    );
    assert_eq!(bench.machine.state().answering, 0);
}

#[test]
fn four_at_a_time() {
    let mut bench = Bench::new();
    bench.run(
        "opened =>
         offered 1 => fetch 1
         offered 2 => fetch 2
         offered 3 => fetch 3
         offered 4 => fetch 4
         offered 5 =>
         offered 6 =>
         withdrawn 5 =>
         fetched 2 => ask 2; deliver 2 #1 from 0
         withdrawn 2 => drop 2; fetch 6",
    );
    let state = bench.machine.state();
    assert_eq!((state.answering, state.waiting), (4, 0));
    // Those that were never fetched are announced again; the host may have given them to another one meanwhile.
    bench.run("fetched 6 => ask 6; deliver 6 #1 from 0\nclosed =>\nopened => fetch 6");
    assert_eq!(bench.machine.state().answering, 1);
}

#[test]
fn what_is_refused_is_said_and_costs_nothing() {
    let mut bench = Bench::new();
    bench.request(1).url = "http://elsewhere.example/".to_owned();
    bench.run(
        "opened =>
         offered 1 => fetch 1
         fetched 1 => refuse 1 NotAllowed; deliver 1 #1 from 0
         delivered 1 1 99 whole => drop 1",
    );
    let state = bench.machine.state();
    assert_eq!((state.refused, state.answered, state.budget_left), (1, 0, 6));
    assert!(state.refusal.unwrap().message.contains("elsewhere.example"));
}

#[test]
fn nothing_is_begun_while_the_link_is_down() {
    let mut bench = Bench::new();
    bench.run(
        "offered 1 =>
         closed =>
         opened =>
         offered 1 => fetch 1
         closed =>
         unfetched 1 lost =>
         fetched 1 =>",
    );
    assert_eq!(bench.machine.state().answering, 0);
}

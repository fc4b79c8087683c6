use std::time::Duration;

use link::LinkState;
use protocol::{Amount, Event, TurnEvent, TurnId, UsageView};

use super::*;
use crate::testing::{Harness, failure, live};

fn measured(width: u16) -> Harness {
    let assistant = TurnEvent::Assistant {
        turn: TurnId(1),
        item: 1,
        text: "Done.".to_owned(),
        reasoning: String::new(),
        calls: Vec::new(),
        usage: Some(UsageView {
            input: 32_000,
            cached: 30_000,
            output: 100,
        }),
        cost: Some(Amount {
            currency: "USD".to_owned(),
            micros: 21_900,
        }),
    };
    Harness::new(width, 24)
        .turn(1, "work")
        .agent(Event::Turn(assistant))
        .after(12_300)
}

#[test]
fn narrow_screens_drop_whole_groups() {
    let lines: Vec<String> = [140, 100, 80, 60, 40, 20, 8]
        .map(|width| format!("{width:3} |{}", measured(width).status()))
        .to_vec();
    insta::assert_snapshot!("widths", lines.join("\n"));
}

#[test]
fn every_state_of_the_link_is_said_in_words() {
    let now = stdx::clock::monotonic();
    let lost = |attempts| LinkState::Waiting {
        next_try: now + Duration::from_secs(3600),
        cause: failure(),
        attempts,
    };
    let health = |health| LinkState::Live {
        rtt: Duration::from_millis(5),
        health,
    };
    let states = [
        LinkState::Offline,
        LinkState::Connecting(link::Stage::Dialing),
        LinkState::Connecting(link::Stage::Installing {
            done: 3 << 20,
            total: 8 << 20,
        }),
        LinkState::Prompting,
        live(),
        health(link::Health::Quiet),
        health(link::Health::Stalled),
        lost(1),
        lost(4),
    ];
    let mut text = String::new();
    for state in states {
        let mut harness = Harness::new(90, 10);
        harness.model.screen.now = now;
        let screen = harness.link(state).screen();
        // The transcript above is the same for all.
        let rows: Vec<&str> = screen
            .lines()
            .skip(3)
            .skip_while(|line| line.is_empty())
            .collect();
        text.push_str(&rows.join("\n"));
        text.push_str("\n\n");
    }
    insta::assert_snapshot!("link_states", text);
}

#[test]
fn requests_that_are_made_here_are_counted() {
    let check = |state: BrokerState, want: &str| {
        let line = Harness::new(140, 10).broker(state).status();
        assert!(line.contains(want), "{line}");
    };
    let fresh = BrokerState {
        budget_left: 5,
        ..BrokerState::default()
    };
    check(fresh.clone(), "keys here · box");
    let busy = BrokerState {
        answering: 2,
        waiting: 1,
        ..fresh.clone()
    };
    check(busy, "keys here · 2 answering · 1 queued · box");
    let spent = BrokerState {
        budget_left: 0,
        refused: 1,
        ..fresh
    };
    check(spent, "keys here · 1 refused · budget spent · box");
}

#[test]
fn a_turn_that_waits_for_credentials_says_so_and_a_repeat_is_told_once() {
    let turn = TurnId(1);
    let waiting = TurnEvent::Waiting {
        turn,
        what: protocol::snapshot::Wait::Credentials,
    };
    let harness = Harness::new(100, 20).turn(1, "work").agent(Event::Turn(waiting));
    assert!(harness.status().contains("waiting for credentials"));
    assert_eq!(moves_in(&harness.model), Some(Duration::from_secs(1)));
    let again = TurnEvent::AskedAgain {
        turn,
        reason: "gone".to_owned(),
    };
    let harness = harness
        .agent(Event::Turn(TurnEvent::WentOn { turn }))
        .agent(Event::Turn(again));
    assert!(harness.status().contains("working"));
    let screen = harness.screen();
    assert_eq!(screen.matches("was asked once more").count(), 1, "{screen}");
}

#[test]
fn a_refusal_stays_in_the_transcript() {
    let refused = BrokerState {
        refused: 1,
        budget_left: 5,
        refusal: Some(link::Refusal {
            kind: link::RefusalKind::NotAllowed,
            message: "the host wants to ask http://elsewhere".to_owned(),
            hint: "add it".to_owned(),
        }),
        ..BrokerState::default()
    };
    let screen = Harness::new(140, 20)
        .broker(refused.clone())
        .broker(refused)
        .screen();
    assert_eq!(screen.matches("http://elsewhere. add it.").count(), 1, "{screen}");
}

#[test]
fn nothing_moves_when_nothing_happens() {
    assert_eq!(moves_in(&Harness::new(80, 24).model), None);
    assert_eq!(moves_in(&Harness::new(80, 24).turn(1, "work").model), Some(SPIN));
    let warned = Harness::new(80, 24).keys("<ctrl+c>");
    assert_eq!(moves_in(&warned.model), Some(Duration::from_secs(2)));
    assert_eq!(moves_in(&warned.after(2000).model), None);
}

#[test]
fn amounts_are_written_as_people_do() {
    let check = |currency: &str, micros, expected: &str| {
        let currency = currency.to_owned();
        assert_eq!(amount(&Amount { currency, micros }), expected);
    };
    check("USD", 0, "$0");
    check("USD", 1_200, "$0.0012");
    check("USD", 21_900, "$0.02");
    check("CNY", 12_345_678, "¥12.34");
    check("XAU", 2_000_000, "2.00 XAU");
    assert_eq!(cost(&CostView::default()), None);
}

#[test]
fn spans_and_paths_stay_short() {
    assert_eq!(span_words(Duration::from_millis(59_999)), "59 s");
    assert_eq!(span_words(Duration::from_secs(61)), "1 min 01 s");
    assert_eq!(span_words(Duration::from_secs(7_260)), "2 h 01 min");
    assert_eq!(folder("/srv/app"), "/srv/app");
    let long = "/home/somebody/projects/customers/big/service";
    assert_eq!(folder(long), "…/projects/customers/big/service");
    assert_eq!(seconds_up(Duration::from_millis(2_001)), 3);
}

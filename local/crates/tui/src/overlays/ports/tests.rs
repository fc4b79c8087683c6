//! Keys in, screen and wishes out.

use link::RuleState;
use protocol::PortProcess;

use super::*;
use crate::{
    effects::Effect,
    msg::{Done, Msg},
    testing::Harness,
};

fn rule(id: &str, text: &str, state: RuleState, error: Option<&str>) -> RuleSnapshot {
    let spec: link::ForwardSpec = text.parse().unwrap();
    RuleSnapshot {
        id: id.parse().unwrap(),
        bound: spec.bind.clone(),
        spec,
        state,
        open: 2,
        total: 17,
        failed: 0,
        gave_up: 0,
        up: 0,
        down: 0,
        last_error: error.map(|message| link::LastForwardError {
            message: message.to_owned(),
            at: 0,
        }),
    }
}

fn port(number: u16, name: &str) -> ListeningPort {
    ListeningPort {
        port: number,
        host: "127.0.0.1".to_owned(),
        public: false,
        process: Some(PortProcess {
            pid: 4711,
            name: name.to_owned(),
        }),
    }
}

fn news(said: Option<Said>) -> PortsNews {
    let refused = RuleState::Refused {
        why: "the administrator of box does not allow it".to_owned(),
    };
    PortsNews {
        forwards: vec![
            rule(
                "#1",
                "L:8080:db:5432",
                RuleState::Ready { via: None },
                Some("db:5432 refused"),
            ),
            rule("#2", "R:4000:127.0.0.1:3000", refused, None),
            rule("#3", "D:1080", RuleState::Offline, None),
        ],
        ports: Ok(Some(vec![port(3000, "node"), port(5432, "postgres\u{1b}[2J")])),
        said,
    }
}

/// Opens the dialog and lets the first look come back.
fn opened(width: u16, height: u16) -> Harness {
    let harness = Harness::new(width, height).keys("/ports<enter>");
    let at = harness.model.screen.now;
    assert!(matches!(asked(&harness), PortsAsk::Look));
    harness.msg(Msg::Done(Done::Ports(news(None), at)))
}

/// Gives what was asked last.
fn asked(harness: &Harness) -> PortsAsk {
    let asks = harness.effects.iter().rev();
    let mut asks = asks.filter_map(|effect| match effect {
        Effect::Ports(ask, ..) => Some(ask.clone()),
        _ => None,
    });
    asks.next().unwrap()
}

#[test]
fn forwards_and_ports_are_listed() {
    let looking = Harness::new(80, 12).keys("<f2>");
    insta::assert_snapshot!("looking", looking.screen());
    insta::assert_snapshot!("all", opened(90, 24).screen());
    insta::assert_snapshot!("narrow", opened(40, 12).screen());
}

#[test]
fn keys_forward_end_and_type_a_rule() {
    let harness = opened(90, 24).keys("<down><down><down><enter>");
    assert_eq!(asked(&harness), PortsAsk::Add("3000".to_owned()));
    let harness = harness.keys("<home>d");
    assert_eq!(asked(&harness), PortsAsk::Remove("#1".parse().unwrap()));
    // Enter on a forward does nothing, and d on a port neither.
    let count = harness.effects.len();
    let harness = harness.keys("<enter><end>d<delete>");
    assert_eq!(harness.effects.len(), count);
    let harness = harness.keys("aR:9000:localhost:90");
    insta::assert_snapshot!("typing", harness.screen());
    let harness = harness.keys("<enter>");
    assert_eq!(asked(&harness), PortsAsk::Add("R:9000:localhost:90".to_owned()));
    // Esc leaves the line first, then the dialog.
    let harness = harness.keys("ax<esc><esc>");
    assert!(harness.model.overlays.is_empty());
}

#[test]
fn a_refusal_is_shown_with_what_would_do() {
    let harness = opened(90, 24);
    let at = harness.model.screen.now;
    let said = Said::Refused {
        message: "could not listen on 127.0.0.1:3000, where node (process 7) listens".to_owned(),
        hint: Some("port 3001 is free".to_owned()),
        instead: Some("L:127.0.0.1:3001:127.0.0.1:3000".to_owned()),
    };
    let harness = harness.msg(Msg::Done(Done::Ports(news(Some(said)), at)));
    insta::assert_snapshot!("refused", harness.screen());
    let harness = harness.keys("<enter>");
    assert_eq!(
        asked(&harness),
        PortsAsk::Add("L:127.0.0.1:3001:127.0.0.1:3000".to_owned())
    );
}

#[test]
fn it_is_looked_again_only_while_the_dialog_is_open() {
    let harness = opened(90, 24);
    let at = harness.model.screen.now;
    let looks = |harness: &Harness| {
        let effects = harness.effects.iter();
        effects
            .filter(|effect| matches!(effect, Effect::Ports(..)))
            .count()
    };
    assert_eq!(looks(&harness), 2);
    let harness = harness.keys("<esc>").msg(Msg::Done(Done::Ports(news(None), at)));
    assert_eq!(looks(&harness), 2);
    // A look of a dialog that was closed does not double those of the next one.
    let harness = harness
        .after(10)
        .keys("<f2>")
        .msg(Msg::Done(Done::Ports(news(None), at)));
    assert_eq!(looks(&harness), 3);
}

#[test]
fn without_a_host_there_are_no_ports() {
    let options = crate::testing::options();
    let harness = Harness::with(&options, None, crate::testing::live(), (80, 12))
        .open()
        .keys("<f2>");
    assert!(harness.model.overlays.is_empty());
    assert!(harness.screen().contains("no host"), "{}", harness.screen());
}

#[test]
fn every_size_can_be_drawn() {
    for width in 1..40 {
        for height in 1..12 {
            let harness = opened(90, 24).resize(width, height).keys("<end>ax");
            harness.screen();
        }
    }
}

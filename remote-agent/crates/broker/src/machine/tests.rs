//! Scripts: lines of `what happens => what comes of it`. `take` prints all that the turn learns, `serving` what a broker is
//! to serve, `wait` lets seconds pass.

use std::{collections::HashMap, fmt::Write as _, time::Duration};

use protocol::{
    BrokerId, SessionId,
    broker::{AnswerEnd, AnswerFrame, AnswerHead, PlainHeaders},
    limits,
};
use uuid::Uuid;

use super::{Ask, Fed, Machine, News, ParkError, Refusal, Ticket};

#[derive(Default)]
struct Script {
    machine: Machine,
    now: Duration,
    /// The newest delivery of each broker.
    tickets: HashMap<String, Ticket>,
}

fn broker(name: &str) -> BrokerId {
    BrokerId(Uuid::from_u128(u128::from(name.as_bytes()[0])))
}

fn ask() -> Ask {
    Ask {
        session: SessionId(Uuid::nil()),
        provider: "p".to_owned(),
        key_env: None,
        url: "https://a.example".to_owned(),
        headers: PlainHeaders::default(),
        body: "{}".to_owned(),
        attempt: 1,
    }
}

fn frame(word: &str) -> Vec<u8> {
    let head = AnswerHead {
        status: 200,
        headers: Vec::new(),
    };
    match word {
        "head" => AnswerFrame::Head(head).encode(),
        "end" => AnswerFrame::End(AnswerEnd::default()).encode(),
        "nonsense" => vec![9; 5],
        text => AnswerFrame::Data(text.as_bytes().to_vec()).encode(),
    }
}

fn refusal(refusal: &Refusal) -> String {
    let text = format!("{refusal:?}");
    let name = text.split(['(', ' ']).next().unwrap_or_default().to_lowercase();
    match refusal {
        Refusal::Gap { received, .. } => format!("gap after {received}"),
        _ => name,
    }
}

impl Script {
    fn run(&mut self, line: &str) -> String {
        let words: Vec<&str> = line.split_whitespace().collect();
        self.machine.settle(self.now);
        let out = self.act(&words);
        self.machine.settle(self.now);
        out
    }

    fn act(&mut self, words: &[&str]) -> String {
        let now = self.now;
        let number = |word: &str| word.parse::<u64>().unwrap();
        let machine = &mut self.machine;
        match words {
            ["park"] => machine.park(ask(), 0).unwrap().to_string(),
            ["withdraw", request] => {
                machine.withdraw(number(request));
                String::new()
            }
            ["wait", seconds] => {
                self.now += Duration::from_secs(number(seconds));
                String::new()
            }
            ["arrive", name, dead @ ..] => {
                let dead: Vec<BrokerId> = dead.iter().map(|name| broker(name)).collect();
                machine.arrive(broker(name), &dead, now).unwrap();
                String::new()
            }
            ["leave", name] => {
                machine.leave(broker(name), now);
                String::new()
            }
            ["serving", name] => {
                let serving = machine.serving(broker(name));
                serving.iter().map(u64::to_string).collect::<Vec<_>>().join(" ")
            }
            ["fetch", request, name] => match machine.fetch(number(request), broker(name), now) {
                Ok(request) => format!("attempt {} at {}", request.attempt, request.received),
                Err(error) => refusal(&error),
            },
            ["put", request, name, offset] => {
                match machine.deliver(number(request), broker(name), number(offset), now) {
                    Ok(Ok(ticket)) => {
                        self.tickets.insert((*name).to_owned(), ticket);
                        "ok".to_owned()
                    }
                    Ok(Err(receipt)) => format!("has {} complete {}", receipt.received, receipt.complete),
                    Err(error) => refusal(&error),
                }
            }
            ["send", name, frames @ ..] => {
                let bytes = frames.iter().flat_map(|word| frame(word)).collect::<Vec<_>>();
                self.send(name, &bytes)
            }
            ["close", name] => {
                let ticket = self.tickets.remove(*name).unwrap();
                let out = match machine.receipt(&ticket) {
                    Ok(receipt) => format!("has {} complete {}", receipt.received, receipt.complete),
                    Err(error) => refusal(&error),
                };
                machine.end_delivery(ticket.broker, now);
                out
            }
            ["take", request] => self.take(number(request)),
            ["deadline"] => {
                let at = machine.next_deadline().map(|at| (at - now).as_secs());
                at.map_or_else(String::new, |seconds| seconds.to_string())
            }
            other => panic!("unknown line {other:?}"),
        }
    }

    fn take(&mut self, request: u64) -> String {
        let mut out = String::new();
        while let Some(news) = self.machine.take(request) {
            let _ = match news {
                News::Head(head) => write!(out, " head {}", head.status),
                News::Data(bytes) => write!(out, " {}", String::from_utf8_lossy(&bytes)),
                News::End(_) => write!(out, " end"),
                News::Fault(_) => write!(out, " fault"),
                News::Waiting => write!(out, " waits"),
                News::WentOn => write!(out, " goes-on"),
                News::Void => write!(out, " void"),
            };
        }
        out.trim().to_owned()
    }

    fn send(&mut self, name: &str, bytes: &[u8]) -> String {
        let ticket = self.tickets.get_mut(name).unwrap();
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.machine.feed(ticket, rest) {
                Ok(Fed::Taken(count)) => rest = &rest[count..],
                Ok(Fed::Full) => return format!("full with {} left", rest.len()),
                Err(error) => return refusal(&error),
            }
        }
        "ok".to_owned()
    }
}

fn check(script: &str) -> Script {
    let mut run = Script::default();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (input, want) = line.split_once("=>").unwrap();
        assert_eq!(run.run(input), want.trim(), "after {input:?}");
    }
    run
}

#[test]
fn one_present_broker_serves_a_request_from_offer_to_end() {
    check(
        "
        arrive a =>
        arrive b =>
        park => 1
        serving a => 1
        serving b =>
        fetch 1 a => attempt 1 at 0
        put 1 a 0 => ok
        send a head hel =>ok
        take 1 => head 200 hel
        send a lo end => ok
        serving a =>
        take 1 => lo end
        close a => has 54 complete true
        fetch 1 a => over
        put 1 a 54 => has 54 complete true
        put 1 b 0 => over
        park => 2
        ",
    );
}

#[test]
fn an_answer_goes_on_where_it_was_and_what_comes_twice_counts_once() {
    check(
        "
        arrive a =>
        park => 1
        put 1 a 0 => notfetched
        fetch 1 a => attempt 1 at 0
        put 1 a 1 => gap after 0
        put 1 a 0 => ok
        send a head one => ok
        close a => has 40 complete false
        leave a =>
        arrive a =>
        serving a => 1
        fetch 1 a => attempt 1 at 40
        put 1 a 41 => gap after 40
        put 1 a 0 => ok
        send a head one two end => ok
        take 1 => head 200 onetwo end
        ",
    );
}

#[test]
fn a_newer_delivery_ends_the_older_one() {
    let mut run = check(
        "
        arrive a =>
        park => 1
        fetch 1 a => attempt 1 at 0
        put 1 a 0 => ok
        send a head => ok
        ",
    );
    let old = run.tickets["a"];
    assert_eq!(run.run("put 1 a 32"), "ok");
    run.tickets.insert("o".to_owned(), old);
    assert_eq!(run.run("send o late"), "replaced");
    assert_eq!(run.run("send a new end"), "ok");
    assert_eq!(run.run("take 1"), "head 200 new end");
}

#[test]
fn a_claim_stays_while_its_holder_is_away_and_moves_after_two_minutes() {
    check(
        "
        arrive a =>
        arrive b =>
        park => 1
        fetch 1 a => attempt 1 at 0
        put 1 a 0 => ok
        send a head one => ok
        take 1 => head 200 one
        leave a =>
        wait 119 =>
        serving b =>
        fetch 1 b => taken
        close a => has 40 complete false
        wait 119 =>
        serving b =>
        deadline => 1
        wait 1 =>
        serving b => 1
        put 1 a 40 => notfetched
        take 1 => waits void goes-on
        fetch 1 b => attempt 2 at 0
        put 1 a 40 => taken
        put 1 b 0 => ok
        send b head two end => ok
        take 1 => head 200 two end
        ",
    );
}

#[test]
fn a_holder_that_comes_back_late_goes_on_if_nobody_else_was_there() {
    check(
        "
        arrive a =>
        park => 1
        fetch 1 a => attempt 1 at 0
        put 1 a 0 => ok
        send a head one => ok
        close a => has 40 complete false
        leave a =>
        wait 1000 =>
        deadline =>
        arrive a =>
        fetch 1 a => attempt 1 at 40
        put 1 a 40 => ok
        send a end => ok
        take 1 => head 200 one waits goes-on end
        ",
    );
}

#[test]
fn what_a_dead_broker_had_is_free_at_once() {
    check(
        "
        arrive a =>
        park => 1
        park => 2
        park => 3
        fetch 1 a => attempt 1 at 0
        put 1 a 0 => ok
        send a head one => ok
        fetch 2 a => attempt 1 at 0
        arrive b a =>
        serving b => 1 2 3
        send a late => replaced
        take 1 => void
        take 2 => void
        take 3 =>
        fetch 1 b => attempt 2 at 0
        fetch 2 b => attempt 2 at 0
        fetch 3 b => attempt 1 at 0
        leave a =>
        serving b => 1 2 3
        ",
    );
}

#[test]
fn an_offer_that_nobody_fetches_goes_round() {
    check(
        "
        arrive a =>
        park => 1
        deadline =>
        arrive b =>
        deadline => 30
        wait 29 =>
        serving a => 1
        wait 1 =>
        serving a =>
        serving b => 1
        wait 30 =>
        serving a => 1
        leave a =>
        serving b => 1
        fetch 1 a => attempt 1 at 0
        serving b =>
        take 1 =>
        ",
    );
}

#[test]
fn nobody_there_is_told_after_a_second_and_taken_back() {
    check(
        "
        park => 1
        take 1 =>
        deadline => 1
        wait 1 =>
        take 1 => waits
        deadline =>
        wait 100000 =>
        take 1 =>
        arrive a =>
        take 1 => goes-on
        fetch 1 a => attempt 1 at 0
        leave a =>
        arrive a =>
        wait 10 =>
        take 1 =>
        ",
    );
}

#[test]
fn a_withdrawn_request_is_over_for_everybody() {
    check(
        "
        arrive a =>
        park => 1
        fetch 1 a => attempt 1 at 0
        put 1 a 0 => ok
        send a head => ok
        withdraw 1 =>
        serving a =>
        send a more => over
        close a => over
        fetch 1 a => over
        put 1 a 0 => over
        ",
    );
}

#[test]
fn a_turn_that_needs_no_more_of_a_whole_answer_leaves_it_whole() {
    check(
        "
        arrive a =>
        park => 1
        fetch 1 a => attempt 1 at 0
        put 1 a 0 => ok
        send a head one end => ok
        withdraw 1 =>
        close a => has 47 complete true
        put 1 a 47 => has 47 complete true
        ",
    );
}

#[test]
fn nonsense_ends_its_own_request_and_no_other() {
    check(
        "
        arrive a =>
        park => 1
        park => 2
        fetch 1 a => attempt 1 at 0
        fetch 2 a => attempt 1 at 0
        put 1 a 0 => ok
        send a head one nonsense => nonsense
        take 1 => head 200 one fault
        fetch 1 a => over
        serving a => 2
        put 2 a 0 => ok
        send a head two end => ok
        take 2 => head 200 two end
        ",
    );
}

#[test]
fn no_more_is_taken_than_may_wait() {
    let mut run = check(
        "
        arrive a =>
        park => 1
        fetch 1 a => attempt 1 at 0
        put 1 a 0 => ok
        send a head => ok
        ",
    );
    let body = vec![b'x'; 3 * limits::BROKER_AHEAD];
    let bytes = AnswerFrame::Data(body.clone()).encode();
    let (mut rest, mut got, mut most) = (bytes.as_slice(), 0, 0);
    while got < body.len() {
        let mut ticket = run.tickets["a"];
        while let Ok(Fed::Taken(count)) = run.machine.feed(&mut ticket, rest)
            && count > 0
        {
            rest = &rest[count..];
            if rest.is_empty() {
                break;
            }
        }
        run.tickets.insert("a".to_owned(), ticket);
        let mut waiting = 0;
        while let Some(news) = run.machine.take(1) {
            if let News::Data(bytes) = news {
                waiting += bytes.len();
            }
        }
        assert!(waiting > 0, "nothing moves");
        most = most.max(waiting);
        got += waiting;
    }
    assert_eq!(got, body.len());
    assert!(most <= limits::BROKER_AHEAD, "{most}");
}

#[test]
fn limits_are_kept() {
    let mut machine = Machine::default();
    let long = Ask {
        body: "x".repeat(limits::BROKER_BODY + 1),
        ..ask()
    };
    assert!(matches!(machine.park(long, 0), Err(ParkError::TooLong { .. })));
    for _ in 0..limits::BROKER_PARKED {
        machine.park(ask(), 0).unwrap();
    }
    assert!(matches!(machine.park(ask(), 0), Err(ParkError::Full { .. })));
    machine.withdraw(1);
    assert_eq!(machine.park(ask(), 0).unwrap(), limits::BROKER_PARKED as u64 + 1);

    let now = Duration::ZERO;
    let brokers = || (0..limits::BROKERS as u128).map(|n| BrokerId(Uuid::from_u128(n)));
    for broker in brokers() {
        machine.arrive(broker, &[], now).unwrap();
    }
    let one_more = BrokerId(Uuid::from_u128(1000));
    assert!(matches!(
        machine.arrive(one_more, &[], now),
        Err(Refusal::TooManyBrokers(_))
    ));
    // Those that left and hold nothing are forgotten.
    for broker in brokers().skip(1) {
        machine.leave(broker, now);
    }
    machine.settle(now);
    machine.arrive(one_more, &[], now).unwrap();
}

//! Requests to models that a client with the key answers, over the wire: a broker whose connection is cut anywhere, that
//! dies, is slow, or talks nonsense.

use std::time::Duration;

use broker::{Ask, Desk, News, Parked};
use bytes::Bytes;
use client::{Agent, BrokerEvents, Error, SessionView};
use protocol::{
    AnswerReceipt, BrokerEvent, BrokerId, BrokerRequest, Command, Credentials, ErrorCode, Event, Item,
    OpenSession, Outcome, Phase, Preset, SessionEvent, SessionId, Snapshot, TurnCommand, TurnEvent, Wait,
    broker::{AnswerEnd, AnswerFrame, AnswerHead, PlainHeaders},
    limits,
};
use scripted_model::{Reply, Scenario, Spelling, wire_bytes};
use serde_json::json;

use crate::rig::{DEADLINE, Pipes, Rig, command, is_end, submit, until, view_until};

/// A broker of the tests: the client's calls, and an id.
struct Broker {
    agent: Agent,
    id: BrokerId,
    events: BrokerEvents,
}

async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, what).await.unwrap()
}

impl Broker {
    async fn arrive(agent: &Agent, instead_of: &[BrokerId]) -> Self {
        let id = BrokerId::fresh();
        let events = agent.broker_events(id, instead_of).await.unwrap();
        Self {
            agent: agent.clone(),
            id,
            events,
        }
    }

    async fn event(&mut self) -> BrokerEvent {
        soon(self.events.next()).await.unwrap().unwrap()
    }

    /// Waits for an offer and fetches it.
    async fn fetch(&mut self) -> BrokerRequest {
        loop {
            if let BrokerEvent::Offered { request } = self.event().await {
                return self.agent.broker_request(self.id, request).await.unwrap();
            }
        }
    }

    /// Delivers a whole answer. A turn that has all it needs may be done before the last frame.
    async fn serve(&self, request: u64, bytes: &[u8]) {
        match self.put(request, 0, bytes).await {
            Ok(receipt) => assert!(receipt.complete),
            Err(error) => assert_eq!(code(&error), ErrorCode::NotFound),
        }
    }

    async fn put(&self, request: u64, offset: u64, bytes: &[u8]) -> Result<AnswerReceipt, Error> {
        let mut answer = self.agent.broker_answer(self.id, request, offset).await?;
        // That nobody reads further is said by the receipt.
        drop(soon(answer.send(Bytes::copy_from_slice(bytes))).await);
        soon(answer.finish()).await
    }
}

/// The frames of a whole answer.
fn answer(reply: &Reply) -> Vec<u8> {
    let mut bytes = head().encode();
    for piece in wire_bytes(reply, &Spelling::default()).chunks(700) {
        bytes.extend(AnswerFrame::Data(piece.to_vec()).encode());
    }
    bytes.extend(AnswerFrame::End(AnswerEnd::default()).encode());
    bytes
}

fn head() -> AnswerFrame {
    AnswerFrame::Head(AnswerHead {
        status: 200,
        headers: vec![("content-type".to_owned(), "text/event-stream".to_owned())],
    })
}

fn ask() -> Ask {
    Ask {
        session: SessionId::fresh(),
        provider: "p".to_owned(),
        key_env: None,
        url: "https://a.example".to_owned(),
        headers: PlainHeaders::default(),
        body: "{}".to_owned(),
        attempt: 1,
    }
}

/// Opens a session whose models are asked through a broker.
async fn brokered(rig: &Rig, agent: &Agent, preset: Preset) -> SessionView {
    let request = OpenSession {
        credentials: Some(Credentials::Broker),
        ..rig.open_request(preset)
    };
    agent.open_session(&request).await.unwrap();
    SessionView::open(agent.session(request.session)).await.unwrap()
}

fn texts(snapshot: &Snapshot) -> Vec<&str> {
    let mut texts = Vec::new();
    for item in &snapshot.items {
        if let Item::Assistant { text, .. } = item {
            texts.push(text.as_str());
        }
    }
    texts
}

fn code(error: &Error) -> ErrorCode {
    match error {
        Error::Agent(body) => body.code,
        other => panic!("{other:?}"),
    }
}

/// Small, and enough to spread cuts: xorshift64 (Marsaglia 2003).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end.max(1)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_whose_every_delivery_is_cut_somewhere_is_the_same_byte_for_byte() {
    let rig = Rig::new(Scenario::new()).await;
    let (front, laptop) = (Pipes::new(&rig), Pipes::new(&rig));
    let mut view = brokered(&rig, &front.agent(), Preset::ReadOnly).await;
    let mut broker = Broker::arrive(&laptop.agent(), &[]).await;
    let seed = stdx::clock::unix_millis() | 1;
    eprintln!("seed {seed}");
    let mut chance = Chance(seed);
    let text: String = (0..1_500).map(|n| format!("{n} 汉字 ")).collect();
    let bytes = answer(&Reply::new().say(text.clone()));

    view.client().command(&submit("go")).await.unwrap();
    let request = broker.fetch().await;
    assert_eq!((request.attempt, request.received, request.request), (1, 0, 1));
    assert!(request.url.starts_with(&rig.model.base_url()), "{}", request.url);
    assert!(request.body.contains("\"go\""), "{}", request.body);
    let (mut cuts, mut received, mut most) = (0, 0, 0);
    while received < bytes.len() as u64 {
        // Some of what has come already comes again.
        let offset = received - chance.below(received.min(3_000) + 1);
        let to = (received + 1 + chance.below(40_000)).min(bytes.len() as u64);
        let piece = &bytes[usize::try_from(offset).unwrap()..usize::try_from(to).unwrap()];
        let mut put = laptop_put(&broker, request.request, offset).await;
        soon(put.send(Bytes::copy_from_slice(piece))).await.unwrap();
        if to == bytes.len() as u64 {
            // A turn that has all it needs may be done before the last frame.
            match soon(put.finish()).await {
                Ok(receipt) => assert!(receipt.complete),
                Err(error) => assert_eq!(code(&error), ErrorCode::NotFound),
            }
            break;
        }
        if chance.below(3) > 0 {
            // Some of it comes through first.
            let some = received + 1 + chance.below(to - received);
            until("a piece comes", || {
                let known = rig.desk.fetch(request.request, broker.id);
                known.is_ok_and(|known| known.received >= some)
            })
            .await;
        }
        if chance.below(2) == 0 {
            laptop.cut();
        }
        drop(put);
        cuts += 1;
        // What came is kept; what is on its way of older deliveries may come too.
        most = to.max(most);
        let next = soon(broker.agent.broker_request(broker.id, request.request))
            .await
            .unwrap();
        assert!(
            (received..=most).contains(&next.received),
            "{} of {most}",
            next.received
        );
        assert_eq!((next.attempt, &next.body), (1, &request.body));
        received = next.received;
    }
    view_until(&mut view, is_end).await;
    assert!(texts(view.snapshot()) == [text.as_str()], "seed {seed}");
    assert!(cuts > 3, "seed {seed}: {cuts} cuts");
    assert_eq!(view.snapshot().asked_again, 0);
    assert_eq!(rig.model.requests().len(), 0, "the host asked nobody");
}

async fn laptop_put(broker: &Broker, request: u64, offset: u64) -> client::BrokerAnswer {
    soon(broker.agent.broker_answer(broker.id, request, offset))
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_dies_in_a_tool_call_has_it_asked_again_and_the_tool_runs_once() {
    let rig = Rig::new(Scenario::new()).await;
    let pipes = Pipes::new(&rig);
    let agent = pipes.agent();
    let mut view = brokered(&rig, &agent, Preset::DangerFullAccess).await;
    let mut first = Broker::arrive(&agent, &[]).await;
    view.client().command(&submit("go")).await.unwrap();
    let request = first.fetch().await;
    let run = json!({"command": "echo ran >> ran.txt"});
    let bytes = answer(&Reply::new().say("I run it.").call("bash", &run));
    // All but the last bytes: the call itself has come, and must not run.
    let receipt = first
        .put(request.request, 0, &bytes[..bytes.len() - 30])
        .await
        .unwrap();
    assert!(!receipt.complete);

    let mut second = Broker::arrive(&agent, &[first.id]).await;
    let again = second.fetch().await;
    assert_eq!(
        (again.request, again.attempt, again.received),
        (request.request, 2, 0)
    );
    assert_eq!(again.body, request.body);
    let withdrawn = BrokerEvent::Withdrawn {
        request: request.request,
    };
    assert_eq!(first.event().await, withdrawn);
    let late = first.put(request.request, 0, b"x").await.unwrap_err();
    assert_eq!(code(&late), ErrorCode::Conflict);
    second.serve(again.request, &bytes).await;
    let after = second.fetch().await;
    assert_eq!((after.request, after.attempt), (2, 1));
    let done = answer(&Reply::new().say("Done."));
    second.serve(after.request, &done).await;

    view_until(&mut view, is_end).await;
    let ran = std::fs::read_to_string(rig.dir.path().join("work/ran.txt")).unwrap();
    assert_eq!(ran, "ran\n");
    assert_eq!(texts(view.snapshot()), ["I run it.", "Done."]);
    assert_eq!(view.snapshot().asked_again, 1);
    let history = view.client().history(0, 1_000).await.unwrap().events;
    let told = history
        .iter()
        .filter(|envelope| matches!(envelope.event, Event::Turn(TurnEvent::AskedAgain { .. })));
    assert_eq!(told.count(), 1);
}

/// Follows until the state is as wanted.
async fn state_until(view: &mut SessionView, wanted: impl Fn(&Snapshot) -> bool) {
    let wait = async {
        while !wanted(view.snapshot()) {
            view.next().await.unwrap();
        }
    };
    soon(wait).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_without_a_broker_waits_says_so_and_can_be_stopped() {
    let rig = Rig::new(Scenario::new()).await;
    let agent = Pipes::new(&rig).agent();
    let mut view = brokered(&rig, &agent, Preset::ReadOnly).await;
    assert_eq!(view.snapshot().session.credentials, Credentials::Broker);
    view.client().command(&submit("go")).await.unwrap();
    state_until(&mut view, |state| state.waiting == Some(Wait::Credentials)).await;
    // Who comes now sees it too.
    assert_eq!(
        view.client().snapshot().await.unwrap().waiting,
        Some(Wait::Credentials)
    );

    let mut broker = Broker::arrive(&agent, &[]).await;
    let request = broker.fetch().await.request;
    state_until(&mut view, |state| state.waiting.is_none()).await;
    assert!(matches!(view.snapshot().phase, Phase::Running { .. }));
    let turn = view.snapshot().phase.turn().unwrap();
    let cancel = command(Command::Turn(TurnCommand::Cancel { turn }));
    view.client().command(&cancel).await.unwrap();
    view_until(&mut view, is_end).await;
    assert_eq!(broker.event().await, BrokerEvent::Withdrawn { request });
    let over = agent.broker_request(broker.id, request).await.unwrap_err();
    assert_eq!(code(&over), ErrorCode::NotFound);
    let late = broker
        .put(request, 0, &answer(&Reply::new().say("late")))
        .await
        .unwrap_err();
    assert_eq!(code(&late), ErrorCode::NotFound);
    assert!(texts(view.snapshot()).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_vendor_answers_is_judged_as_if_it_had_been_asked_from_here() {
    let rig = Rig::new(Scenario::new()).await;
    let agent = Pipes::new(&rig).agent();
    let mut view = brokered(&rig, &agent, Preset::ReadOnly).await;
    let mut broker = Broker::arrive(&agent, &[]).await;
    view.client().command(&submit("go")).await.unwrap();
    let status = |status: u16, headers: &[(&str, &str)], body: &str| {
        let headers = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        [
            AnswerFrame::Head(AnswerHead { status, headers }).encode(),
            AnswerFrame::Data(body.as_bytes().to_vec()).encode(),
            AnswerFrame::End(AnswerEnd::default()).encode(),
        ]
        .concat()
    };
    // A busy vendor costs an attempt; the next one is a request of its own.
    let first = broker.fetch().await;
    let busy = status(429, &[("retry-after", "0")], "{}");
    assert!(broker.put(first.request, 0, &busy).await.unwrap().complete);
    let second = broker.fetch().await;
    assert_eq!((second.request, second.attempt), (2, 2));
    let refused = status(401, &[], "{\"error\":{\"message\":\"no such key\"}}");
    assert!(broker.put(second.request, 0, &refused).await.unwrap().complete);
    view_until(&mut view, is_end).await;
    let Some(Item::TurnEnd {
        outcome: Outcome::Failed { kind, message, .. },
        ..
    }) = view.snapshot().items.back()
    else {
        panic!("{:?}", view.snapshot().items);
    };
    assert_eq!(kind, "model_access");
    assert!(message.contains("no such key"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_change_with_a_resume_and_are_remembered() {
    let rig = Rig::new(Scenario::new().say("from here").repeated()).await;
    let agent = Pipes::new(&rig).agent();
    let mut view = brokered(&rig, &agent, Preset::ReadOnly).await;
    let resume = |credentials| OpenSession {
        session: view.snapshot().session.session,
        workspace: None,
        model: None,
        preset: None,
        credentials,
    };
    let (to_host, as_it_was, unknown) = (
        resume(Some(Credentials::Host)),
        resume(None),
        resume(Some(Credentials::Unknown)),
    );
    agent.open_session(&as_it_was).await.unwrap();
    assert_eq!(
        view.client().snapshot().await.unwrap().session.credentials,
        Credentials::Broker
    );
    let error = agent.open_session(&unknown).await.unwrap_err();
    assert_eq!(code(&error), ErrorCode::BadRequest);
    agent.open_session(&to_host).await.unwrap();
    view.client().command(&submit("go")).await.unwrap();
    view_until(&mut view, is_end).await;
    assert_eq!(texts(view.snapshot()), ["from here"]);
    assert_eq!(view.snapshot().session.credentials, Credentials::Host);
    let history = view.client().history(0, 1_000).await.unwrap().events;
    let changes: Vec<_> = history
        .iter()
        .filter_map(|envelope| match envelope.event {
            Event::Session(SessionEvent::CredentialsChanged { credentials }) => Some(credentials),
            _ => None,
        })
        .collect();
    assert_eq!(changes, [Credentials::Broker, Credentials::Host]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_broker_gets_wrong_is_named_and_harms_no_other_request() {
    let rig = Rig::new(Scenario::new()).await;
    let agent = Pipes::new(&rig).agent();
    let (mut one, mut other) = (park(&rig.desk), park(&rig.desk));
    let mut broker = Broker::arrive(&agent, &[]).await;
    let stranger = Broker::arrive(&agent, &[]).await;
    let (first, second) = (broker.fetch().await.request, broker.fetch().await.request);

    let refused = |result: Result<AnswerReceipt, Error>| code(&result.unwrap_err());
    assert_eq!(refused(broker.put(99, 0, b"").await), ErrorCode::NotFound);
    assert_eq!(refused(stranger.put(first, 0, b"").await), ErrorCode::Conflict);
    let gap = broker.put(first, 5, b"x").await.unwrap_err();
    assert_eq!(code(&gap), ErrorCode::Conflict);
    assert!(gap.to_string().contains("0 bytes"), "{gap}");
    let taken = agent.broker_request(stranger.id, first).await.unwrap_err();
    assert_eq!(code(&taken), ErrorCode::Conflict);
    let nonsense = broker.put(first, 0, &[9; 64]).await.unwrap_err();
    assert_eq!(code(&nonsense), ErrorCode::BadRequest);
    assert!(matches!(soon(one.next()).await, News::Fault(_)));

    let bytes = [
        head(),
        AnswerFrame::Data(b"fine".to_vec()),
        AnswerFrame::End(AnswerEnd::default()),
    ]
    .map(|frame| frame.encode())
    .concat();
    assert!(broker.put(second, 0, &bytes).await.unwrap().complete);
    assert!(matches!(soon(other.next()).await, News::Head(_)));
    assert_eq!(soon(other.next()).await, News::Data(b"fine".to_vec()));
    assert!(matches!(soon(other.next()).await, News::End(_)));
}

fn park(desk: &Desk) -> Parked {
    desk.park(ask()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_is_behind_holds_up_the_broker_and_loses_nothing() {
    let rig = Rig::new(Scenario::new()).await;
    let agent = Pipes::new(&rig).agent();
    let mut parked = park(&rig.desk);
    let mut broker = Broker::arrive(&agent, &[]).await;
    let request = broker.fetch().await.request;
    let body: Vec<u8> = (0..32 * 1024 * 1024_u32).map(|n| (n % 251) as u8).collect();
    let mut bytes = head().encode();
    bytes.extend(AnswerFrame::Data(body.clone()).encode());
    bytes.extend(AnswerFrame::End(AnswerEnd::default()).encode());

    let mut put = laptop_put(&broker, request, 0).await;
    let mut sent = 0;
    // It stands still somewhere; a slow machine may stop sooner, which proves less and harms nothing.
    while let Some(piece) = bytes.get(sent..(sent + 64 * 1024).min(bytes.len()))
        && !piece.is_empty()
        && let Ok(taken) = tokio::time::timeout(
            Duration::from_millis(500),
            put.send(Bytes::copy_from_slice(piece)),
        )
        .await
    {
        taken.unwrap();
        sent += piece.len();
    }
    assert!(sent < bytes.len() / 2, "all of {sent} bytes went somewhere");
    let known = agent.broker_request(broker.id, request).await.unwrap().received;
    assert!(known <= limits::BROKER_AHEAD as u64 + 1024 * 1024, "{known}");

    let mut got = Vec::new();
    let taking = async {
        loop {
            match parked.next().await {
                News::Data(bytes) => got.extend(bytes),
                News::End(_) => return,
                _ => {}
            }
        }
    };
    let rest = bytes[sent..].to_vec();
    let sending = async {
        for piece in rest.chunks(64 * 1024) {
            put.send(Bytes::copy_from_slice(piece)).await.unwrap();
        }
        put.finish().await.unwrap()
    };
    let (receipt, ()) = soon(async { tokio::join!(sending, taking) }).await;
    assert!(receipt.complete);
    assert!(got == body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_holds_no_credentials_and_is_over_with_its_answer() {
    let rig = Rig::new(Scenario::new()).await;
    let agent = Pipes::new(&rig).agent();
    let mut view = brokered(&rig, &agent, Preset::ReadOnly).await;
    let mut broker = Broker::arrive(&agent, &[]).await;
    view.client().command(&submit("go")).await.unwrap();
    let request = broker.fetch().await;
    for (name, _) in request.headers.iter() {
        assert!(!protocol::broker::carries_credentials(name), "{name}");
    }
    let bytes = answer(&Reply::new().say("ok"));
    broker.serve(request.request, &bytes).await;
    view_until(&mut view, is_end).await;
    let over = agent
        .broker_request(broker.id, request.request)
        .await
        .unwrap_err();
    assert_eq!(code(&over), ErrorCode::NotFound);
}

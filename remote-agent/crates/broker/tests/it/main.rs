//! The desk as tasks use it.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::time::Duration;

use broker::{AnswerEnd, AnswerHead, Ask, Desk, News, PlainHeaders, Refusal, SessionId};
use protocol::{BrokerEvent, BrokerId, broker::AnswerFrame, limits};

/// Long enough for a loaded machine; a test that waits longer hangs for a reason.
const DEADLINE: Duration = Duration::from_secs(60);

fn ask() -> Ask {
    Ask {
        session: SessionId::fresh(),
        provider: "p".to_owned(),
        key_env: Some("KEY".to_owned()),
        url: "https://a.example/v1".to_owned(),
        headers: PlainHeaders::default(),
        body: "{}".to_owned(),
        attempt: 1,
    }
}

async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, what).await.unwrap()
}

fn head() -> AnswerFrame {
    AnswerFrame::Head(AnswerHead {
        status: 200,
        headers: Vec::new(),
    })
}

#[tokio::test]
async fn who_waits_is_woken_by_what_happens() {
    let (desk, broker) = (Desk::new(), BrokerId::fresh());
    let mut announcements = desk.announce(broker, &[]).unwrap();
    let (parked, told) = tokio::join!(async { desk.park(ask()).unwrap() }, soon(announcements.next()));
    let mut parked = parked;
    let BrokerEvent::Offered { request } = told else {
        panic!("{told:?}");
    };
    assert_eq!(
        desk.fetch(request, broker).unwrap().key_env.as_deref(),
        Some("KEY")
    );
    let mut delivery = desk.deliver(request, broker, 0).unwrap();
    let (news, ()) = tokio::join!(soon(parked.next()), async {
        delivery.push(&head().encode()).await.unwrap();
    });
    assert!(matches!(news, News::Head(_)));
    drop(parked);
    let told = soon(announcements.next()).await;
    assert_eq!(told, BrokerEvent::Withdrawn { request });
    assert_eq!(delivery.push(b"x").await, Err(Refusal::Over(request)));
}

#[tokio::test]
async fn an_answered_request_is_not_said_to_be_withdrawn() {
    let (desk, broker) = (Desk::new(), BrokerId::fresh());
    let mut announcements = desk.announce(broker, &[]).unwrap();
    for _ in 0..2 {
        let mut parked = desk.park(ask()).unwrap();
        // The second one comes right after the first: nothing was said in between.
        let told = soon(announcements.next()).await;
        let BrokerEvent::Offered { request } = told else {
            panic!("{told:?}");
        };
        desk.fetch(request, broker).unwrap();
        let mut delivery = desk.deliver(request, broker, 0).unwrap();
        let end = AnswerFrame::End(AnswerEnd::default());
        delivery
            .push(&[head().encode(), end.encode()].concat())
            .await
            .unwrap();
        assert!(matches!(soon(parked.next()).await, News::Head(_)));
        assert!(matches!(soon(parked.next()).await, News::End(_)));
        assert!(delivery.receipt().unwrap().complete);
    }
}

#[tokio::test]
async fn a_delivery_waits_for_a_turn_that_is_behind() {
    let (desk, broker) = (Desk::new(), BrokerId::fresh());
    let mut parked = desk.park(ask()).unwrap();
    desk.fetch(1, broker).unwrap();
    let mut delivery = desk.deliver(1, broker, 0).unwrap();
    delivery.push(&head().encode()).await.unwrap();
    assert!(matches!(soon(parked.next()).await, News::Head(_)));
    let body: Vec<u8> = (0..4 * limits::BROKER_AHEAD)
        .map(|n| u8::try_from(n % 251).unwrap())
        .collect();
    let bytes = AnswerFrame::Data(body.clone()).encode();
    let mut sending = std::pin::pin!(delivery.push(&bytes));
    // Polled as often as it wants to be, it does not end while nobody takes anything.
    for _ in 0..100 {
        let once = std::future::poll_fn(|cx| std::task::Poll::Ready(sending.as_mut().poll(cx).is_ready()));
        assert!(!once.await);
        tokio::task::yield_now().await;
    }
    let mut got = Vec::new();
    let taking = async {
        while got.len() < body.len() {
            match parked.next().await {
                News::Data(bytes) => got.extend(bytes),
                // Nobody is announced here.
                News::Waiting | News::WentOn => {}
                other => panic!("{other:?}"),
            }
        }
    };
    let (sent, ()) = soon(async { tokio::join!(sending, taking) }).await;
    sent.unwrap();
    assert!(got == body);
}

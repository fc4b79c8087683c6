//! Frames as server-sent events.
//!
//! Nothing is queued here: the next frame is asked for when the connection has room for it, so a reader that stands
//! still holds up its own subscription only, and finds merged text and events from disk when it goes on.

use std::{convert::Infallible, time::Duration};

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use controller::Subscription;
use futures_util::{StreamExt as _, stream};
use http::{HeaderName, HeaderValue, header};
use protocol::{Frame, Snapshot};

/// A comment: it says that the agent lives, and is no event.
pub(crate) const KEEP_ALIVE: Bytes = Bytes::from_static(b": keep-alive\n\n");

/// The head of every event stream.
pub(crate) const HEADERS: [(HeaderName, HeaderValue); 2] = [
    (
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream"),
    ),
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
];

/// Makes the answer that follows a subscription, with a snapshot in front where there is one.
pub(crate) fn response(
    first: Option<Snapshot>,
    subscription: Subscription,
    keep_alive: Duration,
) -> Response {
    // The comment goes out at once, so that the client has the head of the answer before anything happens.
    let first = first.map(|snapshot| encode(&Frame::Snapshot(Box::new(snapshot))));
    let head = stream::iter([Some(KEEP_ALIVE), first].into_iter().flatten());
    let rest = stream::unfold(subscription, move |mut subscription| async move {
        let bytes = match tokio::time::timeout(keep_alive, subscription.next()).await {
            Ok(frame) => encode(&frame?),
            Err(_) => KEEP_ALIVE,
        };
        Some((bytes, subscription))
    });
    let body = Body::from_stream(head.chain(rest).map(Ok::<_, Infallible>));
    (HEADERS, body).into_response()
}

/// Writes a frame as one event: its tag, its number if it is durable, and itself as one line of JSON.
fn encode(frame: &Frame) -> Bytes {
    let (tag, id) = match frame {
        Frame::Event(envelope) => ("event", Some(envelope.n)),
        Frame::Delta(_) => ("delta", None),
        Frame::Snapshot(snapshot) => ("snapshot", Some(snapshot.at)),
        Frame::Unknown => ("unknown", None),
    };
    let mut out = id
        .map(|id| format!("id: {id}\n"))
        .unwrap_or_default()
        .into_bytes();
    out.extend_from_slice(format!("event: {tag}\ndata: ").as_bytes());
    // JSON escapes line ends, so it is one line. Wire types always encode; should one not, the reader sees a hole and
    // asks again rather than going on without knowing.
    if let Err(error) = serde_json::to_writer(&mut out, frame) {
        tracing::error!(%error, "a frame does not encode");
        return KEEP_ALIVE;
    }
    out.extend_from_slice(b"\n\n");
    out.into()
}

#[cfg(test)]
mod tests {
    use protocol::{Delta, DeltaTarget, Event, EventEnvelope, SessionId, TurnEvent, TurnId};

    use super::*;

    fn check(frame: &Frame, expected: &str) {
        assert_eq!(String::from_utf8(encode(frame).to_vec()).unwrap(), expected);
    }

    #[test]
    fn a_durable_event_has_its_number_and_text_stays_on_one_line() {
        let event = Event::Turn(TurnEvent::Started { turn: TurnId(2) });
        check(
            &Frame::Event(EventEnvelope { n: 7, at: 1, event }),
            "id: 7\nevent: event\ndata: {\"frame\":\"event\",\"n\":7,\"at\":1,\"event\":{\"topic\":\"turn\",\
             \"type\":\"started\",\"turn\":2}}\n\n",
        );
        let delta = Delta {
            target: DeltaTarget::Text { item: 1 },
            offset: 0,
            text: "a\r\nb\nid: 9\n\n".into(),
        };
        check(
            &Frame::Delta(delta),
            "event: delta\ndata: {\"frame\":\"delta\",\"target\":{\"kind\":\"text\",\"item\":1},\"offset\":0,\
             \"text\":\"a\\r\\nb\\nid: 9\\n\\n\"}\n\n",
        );
    }

    #[test]
    fn a_snapshot_has_the_number_that_it_is_valid_at() {
        let mut snapshot = Snapshot::empty(SessionId::fresh());
        snapshot.at = 12;
        let text = encode(&Frame::Snapshot(Box::new(snapshot)));
        assert!(text.starts_with(b"id: 12\nevent: snapshot\ndata: {\"frame\":\"snapshot\",\"at\":12,"));
    }
}

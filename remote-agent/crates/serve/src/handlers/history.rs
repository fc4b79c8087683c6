//! Pages of past events.

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use protocol::{ErrorCode, EventEnvelope, limits};
use serde::Deserialize;

use crate::{
    body::{Parameters, SessionInPath},
    error::{Failure, JSON},
    router::Shared,
};

/// Bytes after which a page ends, so that no page outgrows what a client reads.
const PAGE_BYTES: usize = 16 * 1024 * 1024;

/// Which page.
#[derive(Debug, Deserialize)]
pub(crate) struct Page {
    /// The last event before it.
    #[serde(default)]
    after: u64,
    /// Events on it at most.
    #[serde(default = "whole_page")]
    limit: usize,
}

fn whole_page() -> usize {
    limits::HISTORY_PAGE
}

/// `GET /v1/sessions/{id}/history?after=N&limit=M`: up to M events after number N.
pub(crate) async fn page(
    State(shared): State<Shared>,
    SessionInPath(id): SessionInPath,
    Parameters(Page { after, limit }): Parameters<Page>,
) -> Result<Response, Failure> {
    let session = shared.manager.get(id).await?;
    let page = session.history(after, limit.min(limits::HISTORY_PAGE)).await?;
    let body = encode(&page.events, page.newest, PAGE_BYTES).map_err(|error| {
        let message = format!("the history of session {id} does not encode: {error}");
        Failure::new(ErrorCode::Internal, message)
    })?;
    Ok(([JSON], body).into_response())
}

/// Writes a `HistoryPage`, leaving out events once it is `max` bytes long; the first event always fits.
fn encode(events: &[EventEnvelope], newest: u64, max: usize) -> serde_json::Result<Vec<u8>> {
    let mut out = br#"{"events":["#.to_vec();
    for (index, event) in events.iter().enumerate() {
        if index > 0 {
            if out.len() > max {
                break;
            }
            out.push(b',');
        }
        serde_json::to_writer(&mut out, event)?;
    }
    out.extend_from_slice(format!("],\"newest\":{newest}}}").as_bytes());
    Ok(out)
}

#[cfg(test)]
mod tests {
    use protocol::{Event, HistoryPage, TurnEvent, TurnId};

    use super::*;

    #[test]
    fn a_page_is_what_the_wire_type_says_and_ends_early_when_it_is_long() {
        let events: Vec<_> = (1..=5)
            .map(|n| EventEnvelope {
                n,
                at: 0,
                event: Event::Turn(TurnEvent::Started { turn: TurnId(n) }),
            })
            .collect();
        let page = |events: &[EventEnvelope], max| {
            let body = encode(events, 9, max).unwrap();
            serde_json::from_slice::<HistoryPage>(&body).unwrap()
        };
        let whole = HistoryPage {
            events: events.clone(),
            newest: 9,
        };
        assert_eq!(page(&events, 1 << 20), whole);
        assert_eq!(page(&events, 100).events, events[..2]);
        assert_eq!(page(&events, 0).events, events[..1]);
        assert!(page(&[], 0).events.is_empty());
    }
}

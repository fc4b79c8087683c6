//! The history of a session before its snapshot.

use client::{Error, SessionClient};
use protocol::{Item, Snapshot, limits};

/// Fetches the first `count` items of a session, page by page, oldest first.
///
/// Items are folded from events, as the snapshot was; those of turns that have ended are set aside after each page,
/// so that the fold never drops one.
pub(crate) async fn fetch(client: SessionClient, count: u64) -> Result<Vec<Item>, Error> {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let mut fold = Snapshot::empty(client.id());
    let mut items = Vec::new();
    // A page could add more items than a snapshot holds only if each event added several; half a page is safe for
    // messages with many calls.
    let limit = limits::HISTORY_PAGE / 2;
    while items.len() < count {
        let page = client.history(fold.at, limit).await?;
        for envelope in &page.events {
            // History has no holes; one would only mean that less is shown.
            if fold.apply(envelope).is_err() {
                return Ok(items);
            }
        }
        let is_last = page.events.is_empty() || fold.at >= page.newest;
        set_aside(&mut fold, &mut items, is_last);
        if is_last {
            break;
        }
    }
    items.truncate(count);
    Ok(items)
}

/// Moves what cannot change any more out of the fold.
fn set_aside(fold: &mut Snapshot, items: &mut Vec<Item>, everything: bool) {
    let running = fold.phase.turn();
    let queued = fold.queue.iter().min().copied();
    let oldest = running.into_iter().chain(queued).min();
    let settled = fold
        .items
        .iter()
        .take_while(|item| everything || oldest.is_none_or(|turn| item.turn() < Some(turn)))
        .count();
    items.extend(fold.items.drain(..settled));
}

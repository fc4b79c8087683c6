//! The follower alone.

use client::{Counts, Follower, Step};
use protocol::{ApplyError, Delta, DeltaTarget, Frame};

use crate::fake::{empty, envelope};

fn text(item: u64, offset: u64, text: &str) -> Frame {
    Frame::Delta(Delta {
        target: DeltaTarget::Text { item },
        offset,
        text: text.into(),
    })
}

#[test]
fn counts_what_came_what_was_dropped_and_what_was_missing() {
    let mut follower = Follower::new(empty());
    let event = |n| Frame::Event(envelope(n));
    assert_eq!(follower.apply(&event(1)), Step::Changed);
    assert_eq!(follower.apply(&event(1)), Step::Known);
    assert_eq!(
        follower.apply(&event(3)),
        Step::Behind(ApplyError::Gap { expected: 2, got: 3 })
    );
    assert_eq!(follower.apply(&event(2)), Step::Changed);
    assert_eq!(follower.apply(&text(7, 0, "ab")), Step::Changed);
    assert_eq!(follower.apply(&text(7, 1, "b")), Step::Known);
    assert_eq!(
        follower.apply(&text(7, 5, "x")),
        Step::Behind(ApplyError::TextGap { known: 2, got: 5 })
    );
    assert_eq!(follower.apply(&Frame::Unknown), Step::Known);
    let mut later = follower.snapshot().clone();
    later.at = 12;
    assert_eq!(follower.apply(&Frame::Snapshot(Box::new(later))), Step::Changed);
    let expected = Counts {
        received: 2,
        duplicates: 1,
        gaps: 2,
        deltas: 1,
        in_snapshots: 10,
    };
    assert_eq!(follower.counts(), expected);
    assert_eq!(follower.at(), 12);
}

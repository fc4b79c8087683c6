//! Followers: late, slow, many.

use protocol::{Frame, Preset, Snapshot};
use scripted_model::{Reply, Scenario};

use crate::rig::{Rig, is_end, submit, until};

/// Folds frames into a snapshot, as a front end does.
fn fold(snapshot: &mut Snapshot, frames: &[Frame]) {
    for frame in frames {
        match frame {
            Frame::Event(event) => drop(snapshot.apply(event).unwrap()),
            Frame::Delta(delta) => drop(snapshot.apply_delta(delta).unwrap()),
            Frame::Snapshot(whole) => *snapshot = (**whole).clone(),
            Frame::Unknown => panic!("unknown frame"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_joins_in_mid_answer_sees_all_of_it_once() {
    let words: Vec<String> = (0..200).map(|n| format!("word{n} ")).collect();
    let text = words.concat();
    let (first, second) = text.split_at(700);
    let scenario = Scenario::new().reply(Reply::new().say(first).gate("middle").say(second));
    let rig = Rig::new(scenario).await;
    let (session_id, session) = rig.open(Preset::WorkspaceWrite).await;
    let mut early = session.subscribe(0);
    submit(&session, "go").await;
    let gate = rig.model.gate("middle");
    gate.reached(1).await;
    // The model has said the first part; wait until the session has it.
    let mut early_view = Snapshot::empty(session_id);
    let said = |view: &Snapshot| {
        view.items
            .iter()
            .any(|item| matches!(item, protocol::Item::Assistant { text, .. } if text == first))
    };
    while !said(&early_view) {
        let frame = early.next().await.unwrap();
        fold(&mut early_view, &[frame]);
    }
    // One joins by a snapshot, one from an old number, one from the beginning.
    let mut late_view = session.snapshot().await.unwrap();
    assert!(said(&late_view), "a snapshot holds the answer so far");
    let mut late = session.subscribe(late_view.at);
    let mut other_view = Snapshot::empty(session_id);
    let mut other = session.subscribe(0);
    gate.open();
    fold(&mut early_view, &until(&mut early, is_end).await);
    fold(&mut late_view, &until(&mut late, is_end).await);
    fold(&mut other_view, &until(&mut other, is_end).await);
    let fresh = session.snapshot().await.unwrap();
    assert_eq!(early_view, fresh);
    assert_eq!(late_view, fresh);
    assert_eq!(other_view, fresh);
    let last = fresh.items.iter().rev().find_map(|item| match item {
        protocol::Item::Assistant { text, .. } => Some(text.clone()),
        _ => None,
    });
    assert_eq!(last, Some(text));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_far_behind_reads_from_disk_without_holes() {
    let rig = Rig::new(Scenario::new().say("x").repeated()).await;
    let (_, session) = rig.open(Preset::WorkspaceWrite).await;
    let mut events = session.subscribe(0);
    for _ in 0..150 {
        submit(&session, "go").await;
        until(&mut events, is_end).await;
    }
    assert!(session.newest() > 600, "more than the ring holds");
    let mut late = session.subscribe(0);
    let mut next = 1;
    while next <= session.newest() {
        match late.next().await.unwrap() {
            Frame::Event(event) => {
                assert_eq!(event.n, next);
                next += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    let page = session.history(10, 5).await.unwrap();
    assert_eq!(
        page.events.iter().map(|event| event.n).collect::<Vec<_>>(),
        [11, 12, 13, 14, 15]
    );
    assert_eq!(page.newest, session.newest());
}

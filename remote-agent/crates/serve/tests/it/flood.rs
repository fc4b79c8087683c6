//! Followers that stand still hold up nobody.

use protocol::{
    Answer, Command, Event, EventEnvelope, Frame, Phase, Preset, PromptCommand, PromptEvent, limits::http2,
};
use scripted_model::{Reply, Scenario};

use crate::rig::{DEADLINE, Pipes, Rig, command, is_end, submit, until};

/// Waits, on the agent's side, until an event fits.
async fn wait_for(events: &mut controller::Subscription, fits: impl Fn(&Event) -> bool) -> u64 {
    let wait = async {
        loop {
            match events.next().await.unwrap() {
                Frame::Event(EventEnvelope { n, event, .. }) if fits(&event) => return n,
                _ => {}
            }
        }
    };
    tokio::time::timeout(DEADLINE, wait).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn with_64_event_streams_of_a_flooding_session_held_still_an_approval_completes() {
    approve_while_streams_are_held().await;
}

/// Lets an approval through while no event stream is read, checks the order of things, and gives how long the answer
/// took to be on disk and acknowledged (for the bench; no test asserts a time).
pub(crate) async fn approve_while_streams_are_held() -> std::time::Duration {
    // More than a stream's window, so that every stream that is not read is full.
    let word = "x".repeat(8 * 1024) + " ";
    let flood = word.repeat(2 * http2::STREAM_WINDOW as usize / word.len());
    let call = serde_json::json!({"path": "a.txt", "content": "x"});
    let scenario = Scenario::new()
        .reply(Reply::new().say(flood).call("write_file", &call))
        .say("Done.");
    let rig = Rig::new(scenario).await;
    let pipes = Pipes::new(&rig);
    let agent = pipes.agent();
    let request = rig.open_request(Preset::ReadOnly);
    agent.open_session(&request).await.unwrap();
    let session = agent.session(request.session);
    let handle = rig.manager.get(request.session).await.unwrap();
    let mut inside = handle.subscribe(0);
    let mut held = Vec::new();
    for _ in 0..http2::EVENT_STREAMS {
        held.push(session.events(0).await.unwrap());
    }

    session.command(&submit("write it")).await.unwrap();
    wait_for(&mut inside, |event| {
        matches!(event, Event::Prompt(PromptEvent::Opened { .. }))
    })
    .await;
    let full = u64::from(http2::EVENT_STREAMS) * u64::from(http2::STREAM_WINDOW);
    until("filling every window", || pipes.received() >= full).await;

    // None of the 64 was read, and the same connection carries the question and the answer.
    let snapshot = session.snapshot().await.unwrap();
    assert!(matches!(snapshot.phase, Phase::Waiting { .. }));
    let answer = PromptCommand::Answer {
        prompt: snapshot.prompts[0].id,
        answer: Answer::AllowOnce,
    };
    let start = stdx::clock::monotonic();
    let receipt = session.command(&command(Command::Prompt(answer))).await.unwrap();
    let took = start.elapsed();
    let ended = wait_for(&mut inside, is_end).await;
    assert!(receipt.at < ended);
    assert!(rig.dir.path().join("work/a.txt").exists());
    assert_eq!(pipes.connects(), 1);
    assert!(
        held.iter().all(|stream| stream.last() == 0),
        "none was read before this"
    );

    // And whoever goes on reading has missed nothing.
    for stream in held.iter_mut().take(3) {
        while stream.last() < ended {
            assert!(stream.next().await.unwrap().is_some());
        }
    }
    took
}

//! A reader of a forward that stands still for a minute: it stops nothing but itself.

use std::time::Duration;

use client::SessionView;
use link::AgentLink;
use protocol::{
    Answer, Command, CommandId, CommandRequest, OpenSession, Phase, PromptCommand, SessionId, TurnCommand,
};
use scripted_model::{Reply, Scenario};
use serde_json::json;
use stdx::task::Scope;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use crate::{
    rig::{DEADLINE, HostOptions, Rig},
    screen_faults::laptop,
};

/// How long the reader stands still: a promise of the design, not a guess.
const STILL: Duration = Duration::from_secs(60);
/// What the service sends: numbers, so that a hole or a repetition shows.
const NUMBER: usize = 8;

async fn within<T>(part: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, part).await.unwrap()
}

/// A service that counts without end for whoever says `c`, and says back what others say.
async fn service(scope: &Scope) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let inner = scope.clone();
    scope.spawn(async move {
        while let Some(Ok((mut stream, _))) = inner.token().run_until_cancelled(listener.accept()).await {
            inner.spawn(async move {
                let mut first = [0];
                stream.read_exact(&mut first).await.unwrap_or_default();
                if first != *b"c" {
                    drop(stream.write_all(&first).await);
                    let (mut from, mut to) = stream.split();
                    drop(tokio::io::copy(&mut from, &mut to).await);
                    return;
                }
                let mut number = 0_u64;
                loop {
                    let piece: Vec<u8> = (number..number + 4096).flat_map(u64::to_be_bytes).collect();
                    number += 4096;
                    if stream.write_all(&piece).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    port
}

/// One turn whose tool a person has to allow.
async fn a_turn_with_an_approval(rig: &Rig, view: &mut SessionView, k: usize) {
    let call = json!({ "command": format!("echo call-{k} >> effects") });
    rig.model.push(Reply::new().call("bash", &call));
    rig.model.push(Reply::new().say(format!("Done {k}.")));
    let session = view.client().clone();
    let text = format!("do {k}");
    let submit = TurnCommand::Submit { text, max_steps: 0 };
    command(&session, Command::Turn(submit)).await;
    let (mut begun, mut allowed) = (false, false);
    while !(begun && allowed && view.snapshot().phase == Phase::Idle) {
        drop(within(view.next()).await.unwrap());
        begun |= view.snapshot().phase != Phase::Idle;
        if let Some(prompt) = view.snapshot().prompts.first().filter(|_| !allowed) {
            allowed = true;
            let answer = PromptCommand::Answer {
                prompt: prompt.id,
                answer: Answer::AllowOnce,
            };
            command(&session, Command::Prompt(answer)).await;
        }
    }
}

async fn command(session: &client::SessionClient, command: Command) {
    let request = CommandRequest {
        id: CommandId::fresh(),
        command,
    };
    within(session.command(&request)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_held_still_for_a_minute_stops_nothing_but_itself() {
    let rig = Rig::new(Scenario::default(), HostOptions::installed()).await;
    let scope = Scope::root("laptop");
    let AgentLink::Remote(link) = laptop::link(laptop::options(&rig, "held"), &scope) else {
        unreachable!("a host");
    };
    let request = OpenSession {
        session: SessionId::fresh(),
        workspace: Some(rig.work().display().to_string()),
        model: None,
        preset: Some(protocol::Preset::ReadOnly),
        credentials: None,
    };
    within(link.agent().open_session(&request)).await.unwrap();
    let mut view = within(SessionView::open(link.agent().session(request.session)))
        .await
        .unwrap();
    let target = service(&scope).await;
    let rule = link::read_rule(&format!("L:0:127.0.0.1:{target}")).unwrap();
    within(link.forwards().add(rule)).await.unwrap();
    let forward::Endpoint::Tcp { port, .. } = link.forwards().list()[0].bound.clone() else {
        unreachable!("a port");
    };
    let mut still = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    still.write_all(b"c").await.unwrap();
    let mut read = vec![0; NUMBER * 1000];
    within(still.read_exact(&mut read)).await.unwrap();

    let by_agent = forward::RuleState::Ready {
        via: Some(forward::Way::Agent),
    };
    assert_eq!(link.forwards().list()[0].state, by_agent);
    let begun = stdx::clock::monotonic();
    let mut rounds = 0;
    while begun.elapsed() < STILL {
        a_turn_with_an_approval(&rig, &mut view, rounds).await;
        let mut other = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let mut heard = [0; 5];
        within(other.write_all(b"hello")).await.unwrap();
        within(other.read_exact(&mut heard)).await.unwrap();
        assert_eq!(&heard, b"hello");
        let busy = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        flows(busy).await;
        rounds += 1;
    }
    assert!(rounds > 0 && link.states().borrow().is_live());
    let effects = std::fs::read_to_string(rig.work().join("effects")).unwrap();
    assert_eq!(effects.lines().count(), rounds, "{effects}");

    // It goes on where it was, and nothing is missing.
    read.resize(NUMBER * 2_000_000, 0);
    within(still.read_exact(&mut read[NUMBER * 1000..]))
        .await
        .unwrap();
    for (at, number) in read.chunks_exact(NUMBER).enumerate() {
        assert_eq!(number, (at as u64).to_be_bytes(), "number {at}");
    }
    link.close().await;
    scope.close(Duration::from_secs(5)).await;
}

/// Reads a few megabytes beside the one that stands still.
async fn flows(mut busy: TcpStream) {
    within(busy.write_all(b"c")).await.unwrap();
    let mut bytes = vec![0; 4 * 1024 * 1024];
    within(busy.read_exact(&mut bytes)).await.unwrap();
}

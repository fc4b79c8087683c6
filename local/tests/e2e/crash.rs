//! A daemon killed with SIGKILL at each write of a fixed scenario, by a tracer: nothing acknowledged is lost, nothing
//! runs twice, and the session goes on.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
};

use client::{Agent, Error, SessionView};
use protocol::{
    Answer, Command, CommandId, CommandRequest, ErrorCode, EventEnvelope, Item, Outcome, Phase, Preset,
    PromptCommand, Receipt, SessionCommand, SessionId, Snapshot, TurnCommand, TurnId,
};
use scripted_model::{Reply, Scenario};
use serde_json::{Value, json};
use tokio::process::Child;

use crate::{
    rig::DEADLINE,
    serving::{Machine, records},
};

/// Records of a new session.
const BIRTH: usize = 2;
/// The text that is submitted after the crash, and what the model says to it.
const AFTER: (&str, &str) = ("after the crash", "Everything is in order.");

/// A system call on the session's log at which the daemon is killed, before it is carried out.
#[derive(Debug, Clone, Copy)]
struct Kill {
    call: &'static str,
    /// Counted per thread, from 1.
    when: usize,
}

impl Kill {
    fn tracer(self, log: &Path) -> Vec<String> {
        let Self { call, when } = self;
        tracer(
            log,
            Path::new("/dev/null"),
            &[&format!("inject={call}:signal=SIGKILL:when={when}")],
        )
    }
}

fn tracer(log: &Path, output: &Path, expressions: &[&str]) -> Vec<String> {
    let (log, output) = (log.display().to_string(), output.display().to_string());
    let mut words = vec!["strace", "-f", "-qq", "-o", &output, "-P", &log];
    words.extend(["-e", "trace=write,fdatasync", "-e", "signal=none"]);
    for expression in expressions {
        words.extend(["-e", expression]);
    }
    words.into_iter().map(str::to_owned).collect()
}

fn append(name: &str) -> Value {
    json!({"command": format!("echo {name} >> effects")})
}

/// What the model says. Each tool call leaves its own line in the file `effects`.
fn scenario() -> Scenario {
    let story = "once upon a time ".repeat(600);
    Scenario::new()
        .reply(
            Reply::new()
                .say(story)
                .call("bash", &append("a"))
                .call("bash", &append("b"))
                .call("read_file", &json!({"path": "effects"})),
        )
        .reply(Reply::new().say("One more.").call("bash", &append("c")))
        .say("The first is done.")
        .reply(Reply::new().call("bash", &append("d")).call("bash", &append("e")))
        .say("The second is done.")
        .reply(
            Reply::new()
                .say("A long story begins")
                .gate("held")
                .say(" and ends."),
        )
        .say("The fourth is done.")
        .reply(Reply::new().say(AFTER.1).when(AFTER.0))
}

/// A client that works through the scenario and notes what it was promised.
struct Client {
    agent: Agent,
    session: SessionId,
    view: Option<SessionView>,
    sent: Vec<(CommandRequest, Option<Receipt>)>,
}

impl Client {
    fn new(machine: &Machine, session: SessionId) -> Self {
        Self {
            agent: machine.agent(1),
            session,
            view: None,
            sent: Vec::new(),
        }
    }

    /// Opens the session and plays the scenario as far as it goes.
    async fn play(&mut self, machine: &Machine) -> Result<(), Error> {
        self.agent.open_session(&machine.open(self.session)).await?;
        let client = self.agent.session(self.session);
        self.view = Some(SessionView::from_snapshot(client, Snapshot::empty(self.session)));
        // The tracer counts per thread, and the two records of the birth are written by another one than the rest: the
        // first two commands stand in their place in its count.
        for _ in 0..BIRTH {
            self.set_preset(Preset::WorkspaceWrite).await?;
        }
        self.submit("first").await?;
        self.until(idle).await?;
        self.set_preset(Preset::ReadOnly).await?;
        self.submit("second").await?;
        for answer in [Answer::AllowOnce, Answer::Deny] {
            let asked = self.until(|view| !view.prompts.is_empty()).await?;
            let prompt = asked.prompts[0].id;
            let answered = Command::Prompt(PromptCommand::Answer { prompt, answer });
            let at = self.send(answered).await?.at;
            self.until(move |view| view.at >= at).await?;
        }
        self.until(idle).await?;
        let third = self.submit("third").await?;
        self.submit("fourth").await?;
        self.until(|view| said(view, "A long story begins")).await?;
        let cancel = TurnCommand::Cancel {
            turn: third.turn.unwrap(),
        };
        self.send(Command::Turn(cancel)).await?;
        self.until(|view| said(view, "The fourth is done.") && idle(view))
            .await?;
        Ok(())
    }

    async fn submit(&mut self, text: &str) -> Result<Receipt, Error> {
        let submit = TurnCommand::Submit {
            text: text.to_owned(),
            max_steps: 0,
        };
        let receipt = self.send(Command::Turn(submit)).await?;
        let at = receipt.at;
        self.until(move |view| view.at >= at).await?;
        Ok(receipt)
    }

    async fn set_preset(&mut self, preset: Preset) -> Result<Receipt, Error> {
        self.send(Command::Session(SessionCommand::SetPreset { preset }))
            .await
    }

    async fn send(&mut self, command: Command) -> Result<Receipt, Error> {
        let request = CommandRequest {
            id: CommandId::fresh(),
            command,
        };
        self.sent.push((request.clone(), None));
        let receipt = self.agent.session(self.session).command(&request).await?;
        self.sent.last_mut().unwrap().1 = Some(receipt.clone());
        Ok(receipt)
    }

    /// Follows the session until its state fits.
    async fn until(&mut self, fits: impl Fn(&Snapshot) -> bool) -> Result<Snapshot, Error> {
        let view = self.view.as_mut().unwrap();
        while !fits(view.snapshot()) {
            let update = tokio::time::timeout(DEADLINE, view.next()).await;
            drop(update.unwrap_or_else(|_| panic!("nothing came: {:#?}", view.snapshot()))?);
        }
        Ok(view.snapshot().clone())
    }
}

fn idle(view: &Snapshot) -> bool {
    view.phase == Phase::Idle && view.queue.is_empty()
}

fn said(view: &Snapshot, wanted: &str) -> bool {
    view.items
        .iter()
        .any(|item| matches!(item, Item::Assistant { text, .. } if text.starts_with(wanted)))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_killed_at_any_write_keeps_its_word() {
    let (kills, records) = points().await;
    assert!((38..=60).contains(&records), "{records} records");
    let (next, reached) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let worker = async || {
        while let Some(kill) = kills.get(next.fetch_add(1, Ordering::SeqCst)) {
            if crash(*kill).await {
                reached.fetch_add(1, Ordering::SeqCst);
            }
        }
    };
    // Three machines at a time.
    tokio::join!(worker(), worker(), worker());
    // Timers may add a record or take one away, and syncs may move to another thread; most points are always met.
    let (reached, all) = (reached.into_inner(), kills.len());
    assert!(reached * 10 >= all * 8, "only {reached} of {all} kills came");
}

/// Plays the scenario undisturbed, and gives each write and each sync of the log as a point to kill at.
async fn points() -> (Vec<Kill>, usize) {
    let machine = Machine::new(scenario()).await;
    let session = SessionId::fresh();
    let calls = machine.file("calls");
    let mut daemon = machine.serve(&tracer(&machine.log(session), &calls, &[])).await;
    let mut client = Client::new(&machine, session);
    client.play(&machine).await.unwrap();
    let effects = fs::read_to_string(machine.work().join("effects")).unwrap();
    assert_eq!(effects, "a\nb\nc\nd\n");
    assert_eq!(machine.model.refusals(), Vec::<String>::new());
    crate::rig::kill(machine.daemon_pid().unwrap());
    daemon.wait().await.unwrap();
    let traced = fs::read_to_string(calls).unwrap();
    let count = |call: &str| traced.matches(&format!("{call}(")).count();
    let records = records(&machine.log(session)).len();
    assert_eq!(count("write"), records, "one write for each record:\n{traced}");
    let points = |call, count| (1..=count).map(move |when| Kill { call, when });
    let kills = points("write", records - BIRTH).chain(points("fdatasync", count("fdatasync")));
    (kills.collect(), records)
}

/// Lets a daemon die at one point and checks everything about the session. Says whether it died.
async fn crash(kill: Kill) -> bool {
    let machine = Machine::new(scenario()).await;
    let session = SessionId::fresh();
    let log = machine.log(session);
    let mut daemon = machine.serve(&kill.tracer(&log)).await;
    let mut client = Client::new(&machine, session);
    let played = client.play(&machine).await;
    // The last point may strike only after the client has heard everything.
    let alive = machine.daemon_pid().filter(|_| played.is_ok());
    let died = alive.is_none();
    if let Some(pid) = alive {
        crate::rig::kill(pid);
    }
    ended(&mut daemon).await;
    let before = records(&log);
    check_promises(&client, &before);
    machine.model.gate("held").open();
    let mut second = machine.serve(&[]).await;
    let context = format!("{kill:?}: {played:?}\n{}", machine.errors());
    take_up_again(&machine, client, &before)
        .await
        .unwrap_or_else(|error| panic!("{error}\n{context}"));
    check_log(&records(&log), &before, &context);
    check_effects(&machine, &records(&log), &context);
    assert_eq!(machine.model.refusals(), Vec::<String>::new(), "{context}");
    second.start_kill().unwrap();
    ended(&mut second).await;
    died
}

async fn ended(process: &mut Child) {
    let ended = tokio::time::timeout(DEADLINE, process.wait()).await;
    ended
        .unwrap_or_else(|_| panic!("the daemon did not end"))
        .unwrap();
}

/// What a client was told is on disk.
fn check_promises(client: &Client, log: &[Value]) {
    for (request, receipt) in &client.sent {
        let Some(receipt) = receipt else { continue };
        let record = &log[usize::try_from(receipt.at).unwrap() - 1];
        assert_eq!(record["n"], receipt.at);
        assert_eq!(record["data"]["by"]["id"], request.id.to_string(), "{record}");
    }
    if let Some(view) = &client.view {
        let seen = view.snapshot().at;
        assert!(seen <= log.len() as u64, "event {seen} of {} was seen", log.len());
    }
}

/// Opens the session again, repeats every command, and asks for something new.
async fn take_up_again(machine: &Machine, old: Client, before: &[Value]) -> Result<(), Error> {
    let mut client = Client::new(machine, old.session);
    client.agent.open_session(&machine.open(client.session)).await?;
    let handle = client.agent.session(client.session);
    let recovered = handle.snapshot().await?;
    check_partial_text(before, &recovered);
    client.view = Some(SessionView::from_snapshot(handle.clone(), recovered));
    for (request, receipt) in old.sent {
        match (handle.command(&request).await, receipt) {
            (Ok(again), Some(receipt)) => assert_eq!(again, receipt),
            // The last one has no receipt: it may have arrived or not.
            (Ok(again), None) => assert_eq!(again.id, request.id),
            // Its question was withdrawn with the turn.
            (Err(Error::Agent(body)), None) => {
                assert_eq!(body.code, ErrorCode::Conflict);
                assert!(matches!(request.command, Command::Prompt(_)), "{request:?}");
            }
            (Err(error), _) => return Err(error),
        }
    }
    let receipt = client.submit(AFTER.0).await?;
    settle(&mut client).await?;
    let now = client.view.as_ref().unwrap().snapshot();
    let turn = receipt.turn.unwrap();
    assert_eq!(outcome(now, turn), Some(&Outcome::Completed), "{now:#?}");
    assert!(said(now, AFTER.1), "{now:#?}");
    let mut view = Snapshot::empty(client.session);
    for event in history(&client).await? {
        let n = event.n;
        assert_eq!(view.apply(&event), Ok(protocol::Applied::Changed), "event {n}");
    }
    assert_eq!(
        &view, now,
        "a screen that followed equals one that reads everything"
    );
    Ok(())
}

/// Refuses every question until nothing runs.
async fn settle(client: &mut Client) -> Result<(), Error> {
    loop {
        let now = client
            .until(|view| idle(view) || !view.prompts.is_empty())
            .await?;
        let Some(prompt) = now.prompts.first().map(|prompt| prompt.id) else {
            return Ok(());
        };
        let answer = Answer::Deny;
        let at = client
            .send(Command::Prompt(PromptCommand::Answer { prompt, answer }))
            .await?
            .at;
        client.until(move |view| view.at >= at).await?;
    }
}

async fn history(client: &Client) -> Result<Vec<EventEnvelope>, Error> {
    let handle = client.agent.session(client.session);
    let mut events: Vec<EventEnvelope> = Vec::new();
    loop {
        let after = events.last().map_or(0, |event| event.n);
        let page = handle.history(after, 1000).await?;
        events.extend(page.events);
        if events.last().map_or(0, |event| event.n) == page.newest {
            return Ok(events);
        }
    }
}

fn outcome(view: &Snapshot, wanted: TurnId) -> Option<&Outcome> {
    view.items.iter().find_map(|item| match item {
        Item::TurnEnd { turn, outcome, .. } if *turn == wanted => Some(outcome),
        _ => None,
    })
}

/// Text that was streamed and recorded is in the state after the crash.
fn check_partial_text(before: &[Value], view: &Snapshot) {
    let mut partial: BTreeMap<u64, String> = BTreeMap::new();
    for record in before {
        let (item, data) = (record["data"]["item"].as_u64().unwrap_or(0), &record["data"]);
        match record["kind"].as_str().unwrap() {
            "turn.partial" => partial
                .entry(item)
                .or_default()
                .push_str(data["text"].as_str().unwrap()),
            "turn.assistant" | "turn.discarded" => drop(partial.remove(&item)),
            _ => {}
        }
    }
    for (wanted, said) in partial {
        let kept = view.items.iter().find_map(|item| match item {
            Item::Assistant { id, text, .. } if *id == wanted => Some(text),
            _ => None,
        });
        assert_eq!(kept, Some(&said));
    }
}

/// The log goes on where it stood, without holes, and every call has exactly one result.
fn check_log(after: &[Value], before: &[Value], context: &str) {
    assert_eq!(&after[..before.len()], before, "{context}");
    let numbers: Vec<u64> = after.iter().map(|record| record["n"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=after.len() as u64).collect::<Vec<_>>(), "{context}");
    let count = |kind: &str| after.iter().filter(|record| record["kind"] == kind).count();
    assert_eq!(count("turn.submitted"), count("turn.ended"), "{context}");
    assert_eq!(
        count("prompt.opened"),
        count("prompt.answered") + count("prompt.withdrawn"),
        "{context}"
    );
    let started = |records: &[Value], call: &str| {
        let of = |record: &&Value| record["kind"] == "call.started" && record["data"]["call"] == call;
        records.iter().filter(of).count()
    };
    for (call, _) in calls(after) {
        let results = results(after, &call);
        assert_eq!(results.len(), 1, "{call}: {results:?}\n{context}");
        assert!(started(after, &call) <= 1, "{call} was started twice\n{context}");
        let was_open =
            calls(before).iter().any(|(known, _)| *known == call) && self::results(before, &call).is_empty();
        if was_open {
            let expected = if started(before, &call) == 1 {
                "unknown"
            } else {
                "cancelled"
            };
            assert_eq!(results[0], expected, "{call}\n{context}");
        }
    }
}

/// What calls left behind fits what the log says of them, and nothing ran twice.
fn check_effects(machine: &Machine, log: &[Value], context: &str) {
    let effects = fs::read_to_string(machine.work().join("effects")).unwrap_or_default();
    for (call, arguments) in calls(log) {
        let Some(name) = ["a", "b", "c", "d", "e"]
            .into_iter()
            .find(|name| arguments.contains(&format!("echo {name} ")))
        else {
            continue;
        };
        let times = effects.lines().filter(|line| *line == name).count();
        let expected = match results(log, &call)[0].as_str() {
            "ok" => 1..=1,
            "unknown" => 0..=1,
            _ => 0..=0,
        };
        assert!(
            expected.contains(&times),
            "{name} ran {times} times: {effects}\n{context}"
        );
    }
}

/// Gives the calls that the model asked for: id and arguments.
fn calls(log: &[Value]) -> Vec<(String, String)> {
    let messages = log.iter().filter(|record| record["kind"] == "turn.assistant");
    let calls = messages.flat_map(|record| {
        record["data"]["message"]["calls"]
            .as_array()
            .into_iter()
            .flatten()
    });
    calls
        .map(|call| {
            (
                call["id"].as_str().unwrap().to_owned(),
                call["arguments"].to_string(),
            )
        })
        .collect()
}

/// Gives the outcomes recorded for a call.
fn results(log: &[Value], call: &str) -> Vec<String> {
    let of = |record: &&Value| record["kind"] == "call.finished" && record["data"]["result"]["call"] == call;
    let outcome = |record: &Value| record["data"]["result"]["outcome"].as_str().unwrap().to_owned();
    log.iter().filter(of).map(outcome).collect()
}

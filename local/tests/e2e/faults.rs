//! Broken links, lost answers and killed processes: nothing is lost, nothing happens twice, and it is said.

use std::{
    collections::BTreeMap,
    fs,
    hash::{BuildHasher as _, RandomState},
    io::Write as _,
    path::Path,
};

use protocol::{Command, CommandId, CommandRequest, SessionId, TurnCommand};
use scripted_model::{Reply, Scenario};
use serde_json::{Value, json};
use transport::testing::Choices;

use crate::{
    rig::{DEADLINE, HostOptions, Rig, Streaming, eventually, kill, numbers, session_of},
    serving::{Machine, records},
};

/// How often the link breaks.
const BREAKS: usize = 20;

/// Takes the seed of a run that is to be repeated, else a fresh one, and prints it.
#[expect(
    clippy::disallowed_methods,
    reason = "a test binary is its own composition root"
)]
pub(crate) fn choices() -> Choices {
    let given = std::env::var("REASONIX_TEST_SEED").ok();
    let seed = given.map_or_else(|| RandomState::new().hash_one(0), |seed| seed.parse().unwrap());
    let shown = format!("REASONIX_TEST_SEED={seed}\n");
    std::io::stderr().write_all(shown.as_bytes()).unwrap();
    Choices::seeded(seed)
}

/// A run whose lines are collected while something else is waited for.
pub(crate) struct Followed {
    run: Streaming,
    lines: Vec<Value>,
}

impl Followed {
    pub(crate) fn new(run: Streaming) -> Self {
        let lines = Vec::new();
        Self { run, lines }
    }

    /// Reads lines until something else is done.
    pub(crate) async fn reading_until<T>(&mut self, what: &str, other: impl Future<Output = T>) -> T {
        let deadline = tokio::time::sleep(DEADLINE);
        tokio::pin!(other, deadline);
        loop {
            tokio::select! {
                biased;
                done = &mut other => return done,
                () = &mut deadline => panic!("never came: {what}\n{}", self.run.stderr()),
                line = self.run.next() => match line {
                    Some(line) => self.lines.push(line),
                    None => panic!("ended before {what}: {:?}\n{}", self.lines.last(), self.run.stderr()),
                },
            }
        }
    }

    /// Gives the lines that were read.
    pub(crate) fn lines(&self) -> &[Value] {
        &self.lines
    }

    async fn read(&mut self) {
        let line = self.run.next().await;
        self.lines
            .push(line.unwrap_or_else(|| panic!("ended: {}", self.run.stderr())));
    }

    /// Reads so many more lines, or fewer when something else is done and no line is there.
    async fn read_at_most(&mut self, count: u64, other: impl Future<Output = ()>) {
        tokio::pin!(other);
        for _ in 0..count {
            tokio::select! {
                biased;
                () = self.read() => {}
                () = &mut other => return,
            }
        }
    }

    /// Reads lines until one fits, if none did.
    pub(crate) async fn read_until(&mut self, fits: impl Fn(&Value) -> bool) {
        while !self.lines.iter().any(&fits) {
            self.read().await;
        }
    }

    /// Reads lines until some of an answer was streamed.
    pub(crate) async fn read_some_text(&mut self) {
        self.read_until(|line| line["frame"] == "delta").await;
    }

    /// Reads lines until standard error has said something so often.
    pub(crate) async fn reading_until_said(&mut self, text: &str, times: usize) {
        let deadline = tokio::time::Instant::now() + DEADLINE;
        while self.run.stderr().matches(text).count() < times {
            assert!(
                tokio::time::Instant::now() < deadline,
                "{text}\n{}",
                self.run.stderr()
            );
            let poll = tokio::time::sleep(std::time::Duration::from_millis(20));
            self.reading_until(text, poll).await;
        }
    }

    /// Kills the client, and gives what it had printed.
    pub(crate) async fn kill(mut self) -> Vec<Value> {
        self.run.child.start_kill().unwrap();
        self.finish().await.0
    }

    pub(crate) async fn finish(mut self) -> (Vec<Value>, Option<i32>, String) {
        let (rest, status, stderr) = self.run.finish().await;
        self.lines.extend(rest);
        (self.lines, status.code(), stderr)
    }
}

/// Waits until the proxy has accepted more connections than these.
async fn more_connections(rig: &Rig, than: u64) {
    eventually("another connection", || rig.proxy.connections() > than).await;
}

pub(crate) fn streaming(rig: &Rig, args: &[&str]) -> Followed {
    let mut words = vec!["run", "--remote", "box", "--output-format", "stream-json"];
    words.extend(args);
    Followed::new(rig.start(&words))
}

pub(crate) fn attach(rig: &Rig, session: SessionId) -> Followed {
    let session = session.to_string();
    Followed::new(rig.start(&[
        "attach",
        "--remote",
        "box",
        "--output-format",
        "stream-json",
        &session,
    ]))
}

/// A reply that is held in its middle and calls a tool whose every run leaves a line.
pub(crate) fn held(gate: &str, name: &str) -> Reply {
    Reply::new()
        .say(format!("{name} begins. {}", "and on it goes ".repeat(15)))
        .gate(gate)
        .say("until it is over. ".repeat(20))
        .call("bash", &json!({"command": format!("echo {name} >> effects")}))
}

pub(crate) fn effects(work: &Path) -> Vec<String> {
    let text = fs::read_to_string(work.join("effects")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// What a client printed equals the host's log line by line, and its text equals what was streamed.
pub(crate) fn check_equals_log(rig: &Rig, lines: &[Value]) {
    let log = records(&rig.session_log(&rig.host(), session_of(lines)));
    let printed: Vec<(u64, String)> = lines
        .iter()
        .filter(|line| line["frame"] == "event")
        .map(|line| (line["n"].as_u64().unwrap(), kind(&line["event"])))
        .collect();
    let logged: Vec<(u64, String)> = log
        .iter()
        .map(|record| {
            (
                record["n"].as_u64().unwrap(),
                record["kind"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    assert_eq!(printed, logged);
    let mut at = 0;
    for line in lines {
        match line["frame"].as_str() {
            Some("event") => at = line["n"].as_u64().unwrap(),
            Some("snapshot") => assert_eq!(line["at"], at, "a snapshot hides events"),
            _ => {}
        }
    }
    check_text(lines);
}

/// Gives the name that the log has for an event.
fn kind(event: &Value) -> String {
    let (topic, name) = (event["topic"].as_str().unwrap(), event["type"].as_str().unwrap());
    match (topic, name) {
        ("tool", name) => format!("call.{name}"),
        ("session", "prefix_made") => "session.prefix".to_owned(),
        ("session", "command_ignored") => "session.ignored".to_owned(),
        _ => format!("{topic}.{name}"),
    }
}

/// Puts each message together from its pieces and compares it with the whole.
fn check_text(lines: &[Value]) {
    let mut said: BTreeMap<u64, String> = BTreeMap::new();
    let add = |said: &mut String, piece: &Value| {
        let (offset, text) = (piece["offset"].as_u64().unwrap(), piece["text"].as_str().unwrap());
        let known = said.len().checked_sub(usize::try_from(offset).unwrap());
        let known = known.unwrap_or_else(|| panic!("text is missing before {piece}"));
        said.push_str(text.get(known..).unwrap_or_default());
    };
    for line in lines {
        let event = &line["event"];
        let item = event["item"].as_u64().unwrap_or(0);
        if line["frame"] == "delta" && line["target"]["kind"] == "text" {
            let item = line["target"]["item"].as_u64().unwrap();
            add(said.entry(item).or_default(), line);
        } else if event["topic"] == "turn" && event["type"] == "partial" {
            add(said.entry(item).or_default(), event);
        } else if event["topic"] == "turn" && event["type"] == "assistant" {
            let whole = event["text"].as_str().unwrap();
            let pieces = said.remove(&item).unwrap_or_default();
            assert!(
                whole.starts_with(&pieces),
                "{pieces:?} is no beginning of {whole:?}"
            );
        }
    }
    assert!(said.is_empty(), "{said:?}");
}

fn name(round: usize) -> String {
    format!("round-{round}")
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_breaks_lose_nothing_and_double_nothing() {
    let mut choices = choices();
    let rounds = (0..BREAKS).map(|round| held(&name(round), &name(round)));
    let scenario = rounds.fold(Scenario::new().delay_ms(4), Scenario::reply);
    let last = Reply::new().gate(name(BREAKS)).say("All rounds are over.");
    let rig = Rig::new(scenario.reply(last), HostOptions::installed()).await;
    let mut run = streaming(&rig, &["go"]);
    let mut broken = 0;
    for round in 0..BREAKS {
        let gate = rig.model.gate(&name(round));
        run.reading_until("the next round", gate.reached(1)).await;
        gate.open();
        run.reading_until("a connection", more_connections(&rig, broken))
            .await;
        let in_handshake = choices.below(4) == 0;
        if !in_handshake {
            let next = rig.model.gate(&name(round + 1));
            run.read_at_most(1 + choices.below(12), next.reached(1)).await;
        }
        broken = rig.proxy.connections();
        match choices.below(10) {
            0 | 1 if !in_handshake => {
                rig.proxy.black_hole(true);
                run.reading_until("a new attempt", more_connections(&rig, broken))
                    .await;
                rig.proxy.restore();
            }
            2..=5 => rig.proxy.half_close(),
            _ => rig.proxy.cut(),
        }
    }
    rig.model.gate(&name(BREAKS)).open();
    let (lines, code, stderr) = run.finish().await;
    assert_eq!(code, Some(0), "{stderr}\n{:#?}", lines.last());
    check_equals_log(&rig, &lines);
    let result = lines.last().unwrap();
    assert_eq!(result["result"], "All rounds are over.");
    let last = numbers(&lines).last().copied();
    assert_eq!(result["events"]["received"].as_u64(), last, "{result}");
    assert_eq!(effects(&rig.work()), (0..BREAKS).map(name).collect::<Vec<_>>());
    assert_eq!(rig.model.requests().len(), BREAKS + 1);
    assert_eq!(rig.model.refusals(), Vec::<String>::new());
    assert!(rig.proxy.connections() > BREAKS as u64);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_peer_and_a_killed_session_are_noticed_and_said() {
    let scenario = Scenario::new().reply(held("held", "only")).say("Over.");
    let rig = Rig::new(scenario, HostOptions::installed()).await;
    let mut run = streaming(&rig, &["go"]);
    run.reading_until("the turn", rig.model.gate("held").reached(1))
        .await;
    run.read_some_text().await;
    rig.proxy.black_hole(true);
    run.reading_until_said("trying again", 1).await;
    rig.proxy.restore();
    run.reading_until_said("connected again", 1).await;

    for session in children(rig.sshd.pid().unwrap()) {
        kill(session);
    }
    run.reading_until_said("trying again", 2).await;
    run.reading_until_said("connected again", 2).await;
    rig.model.gate("held").open();
    let (lines, code, stderr) = run.finish().await;
    assert_eq!(code, Some(0), "{stderr}");
    check_equals_log(&rig, &lines);
    assert_eq!(effects(&rig.work()), ["only"]);
}

/// Gives the children of a process.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name in parentheses may have spaces; the state and the parent's id follow.
        let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        rest.split(' ').nth(1) == Some(&parent.to_string())
    })
    .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_stays_away_ends_the_run_but_not_the_turn() {
    let scenario = Scenario::new().reply(held("held", "only")).say("Over.");
    let rig = Rig::new(scenario, HostOptions::installed()).await;
    let mut run = streaming(&rig, &["--give-up-after", "3s", "go"]);
    run.reading_until("the turn", rig.model.gate("held").reached(1))
        .await;
    run.read_some_text().await;
    rig.proxy.black_hole(true);
    let (lines, code, stderr) = run.finish().await;
    assert_eq!(code, Some(3), "{stderr}");
    let session = session_of(&lines);
    let way_back = format!("reasonix attach --remote box {session}");
    assert!(
        stderr.contains("box stayed away") && stderr.contains(&way_back),
        "{stderr}"
    );
    rig.proxy.restore();
    rig.model.gate("held").open();
    let (lines, code, stderr) = attach(&rig, session).finish().await;
    assert_eq!(code, Some(0), "{stderr}");
    check_equals_log(&rig, &lines);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_client_finds_everything_when_it_comes_back() {
    let scenario = Scenario::new()
        .reply(held("first", "first"))
        .reply(held("second", "second"))
        .say("Both are done.");
    let rig = Rig::new(scenario, HostOptions::installed()).await;
    let mut run = streaming(&rig, &["go"]);
    run.reading_until("the turn", rig.model.gate("first").reached(1))
        .await;
    run.read_some_text().await;
    run.run.child.start_kill().unwrap();
    let (before, code, _) = run.finish().await;
    assert_eq!(code, None, "it was killed");
    rig.model.gate("first").open();
    let session = session_of(&before);

    // While the turn runs.
    let mut early = attach(&rig, session);
    early
        .reading_until("the turn", rig.model.gate("second").reached(1))
        .await;
    rig.model.gate("second").open();
    let (lines, code, stderr) = early.finish().await;
    assert_eq!(code, Some(0), "{stderr}");
    check_equals_log(&rig, &lines);
    assert_eq!(lines.last().unwrap()["result"], "Both are done.");

    // After it has ended.
    let (lines, code, stderr) = attach(&rig, session).finish().await;
    assert_eq!(code, Some(0), "{stderr}");
    check_equals_log(&rig, &lines);
    assert_eq!(lines.last().unwrap()["result"], "Both are done.");
    let text = rig
        .run(&["attach", "--remote", "box", &session.to_string()])
        .await;
    assert_eq!(text.code, Some(0), "{}", text.stderr);
    let shown = ["> go\n", "first begins.", "second begins.", "Both are done."];
    assert!(
        shown.iter().all(|part| text.stdout.contains(part)),
        "{}",
        text.stdout
    );
    assert!(text.stderr.contains("nothing is running"), "{}", text.stderr);

    // And it can be gone on with.
    rig.model.push(Reply::new().say("There is more."));
    let more = streaming(&rig, &["--resume", &session.to_string(), "and now?"]);
    let (lines, code, stderr) = more.finish().await;
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(
        lines[0]["frame"], "snapshot",
        "what was before is not left out silently"
    );
    let next = lines[0]["at"].as_u64().unwrap() + 1;
    assert_eq!(numbers(&lines).first(), Some(&next));
    assert_eq!(effects(&rig.work()), ["first", "second"]);
    assert_eq!(rig.model.requests().len(), 4);
    assert_eq!(rig.model.refusals(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_submit_whose_answer_was_lost_runs_once() {
    let scenario = Scenario::new()
        .call("bash", &json!({"command": "echo once >> effects"}))
        .say("Done.");
    let machine = Machine::new(scenario).await;
    let mut daemon = machine.serve(&[]).await;
    let session = SessionId::fresh();
    let (agent, loss) = machine.lossy_agent(3);
    agent.open_session(&machine.open(session)).await.unwrap();
    let request = CommandRequest {
        id: CommandId::fresh(),
        command: Command::Turn(TurnCommand::Submit {
            text: "go".to_owned(),
            max_steps: 0,
        }),
    };
    loss.swallow();
    let handle = agent.session(session);
    let lose = async {
        let log = machine.log(session);
        let done = |record: &Value| record["kind"] == "turn.ended";
        eventually("the turn", || records(&log).iter().any(done)).await;
        loss.end();
    };
    let (receipt, ()) = tokio::join!(handle.command(&request), lose);
    let receipt = receipt.unwrap();
    assert_eq!(receipt.id, request.id);
    assert_eq!(handle.command(&request).await.unwrap(), receipt, "and once more");
    let log = records(&machine.log(session));
    let submitted: Vec<&Value> = log
        .iter()
        .filter(|record| record["kind"] == "turn.submitted")
        .collect();
    assert_eq!(submitted.len(), 1);
    assert_eq!(submitted[0]["n"], receipt.at);
    assert_eq!(effects(&machine.work()), ["once"]);
    assert_eq!(machine.model.requests().len(), 2);
    daemon.start_kill().unwrap();
    daemon.wait().await.unwrap();
}

/// A terminal with nobody at it until something is typed.
struct Terminal {
    master: fs::File,
    slave: fs::File,
}

impl Terminal {
    fn open() -> Self {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let mut options = fs::OpenOptions::new();
        let slave = options.read(true).write(true).open(name).unwrap();
        let master = fs::File::from(master);
        Self { master, slave }
    }

    /// Starts a command with the terminal as standard input and standard error.
    fn start(&self, rig: &Rig, args: &[&str]) -> Followed {
        let mut command = rig.command(args);
        command.stdin(self.slave.try_clone().unwrap());
        Followed::new(Streaming::on_terminal(command, self.slave.try_clone().unwrap()))
    }

    fn enter(&mut self, line: &str) {
        self.master.write_all(format!("{line}\n").as_bytes()).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_outlives_its_client_and_anybody_may_answer_it() {
    let scenario = Scenario::new()
        .call("write_file", &json!({"path": "made.txt", "content": "made"}))
        .say("Written.");
    let rig = Rig::new(scenario, HostOptions::installed()).await;
    let asked = |line: &Value| line["event"]["topic"] == "prompt" && line["event"]["type"] == "opened";
    let terminal = Terminal::open();
    let run = [
        "run",
        "--remote",
        "box",
        "--permission-mode",
        "read-only",
        "--output-format",
        "stream-json",
        "write it",
    ];
    let mut first = terminal.start(&rig, &run);
    let lines = first.run.until(asked).await;
    let session = session_of(&lines).to_string();
    first.run.child.start_kill().unwrap();
    drop(first.finish().await);

    let args = [
        "attach",
        "--remote",
        "box",
        "--output-format",
        "stream-json",
        &session,
    ];
    let (watching, mut answering) = (Terminal::open(), Terminal::open());
    let (mut watcher, mut answerer) = (watching.start(&rig, &args), answering.start(&rig, &args));
    watcher.lines.extend(watcher.run.until(asked).await);
    answerer.lines.extend(answerer.run.until(asked).await);
    assert!(!rig.work().join("made.txt").exists(), "it waits");
    answering.enter("y");
    let (seen, code, _) = watcher.finish().await;
    assert_eq!(code, Some(0), "{seen:#?}");
    let (own, code, _) = answerer.finish().await;
    assert_eq!(code, Some(0), "{own:#?}");
    let answers = |lines: &[Value]| -> Vec<Value> {
        let answered = |line: &&Value| line["event"]["type"] == "answered";
        lines.iter().filter(answered).cloned().collect()
    };
    assert_eq!(answers(&own).len(), 1);
    assert_eq!(answers(&own), answers(&seen));
    assert_eq!(answers(&own)[0]["event"]["answer"], "allow_once");
    assert_eq!(fs::read_to_string(rig.work().join("made.txt")).unwrap(), "made");
    check_equals_log(&rig, &seen);
    check_equals_log(&rig, &own);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_daemon_is_started_again_and_the_turn_is_shown_as_interrupted() {
    // So much that it does not only stand in memory.
    let long = Reply::new().say("So it begins. ".repeat(400)).gate("held");
    let scenario = Scenario::new().reply(long);
    let rig = Rig::new(scenario, HostOptions::installed()).await;
    let mut run = streaming(&rig, &["go"]);
    run.reading_until("the turn", rig.model.gate("held").reached(1))
        .await;
    run.read_until(|line| line["event"]["type"] == "partial").await;
    let session = session_of(&run.lines).to_string();
    let said = tempfile::NamedTempFile::new().unwrap();
    let mut attach = rig.command(&["attach", "--remote", "box", &session]);
    attach.stdout(said.reopen().unwrap());
    let attached = attach.spawn().unwrap();
    let said = || fs::read_to_string(said.path()).unwrap();
    run.reading_until("the second client", async {
        eventually("the text", || said().contains("So it begins.")).await;
    })
    .await;
    let old = rig.daemon_pid().unwrap();
    kill(old);
    let (lines, code, stderr) = run.finish().await;
    assert_eq!(code, Some(1), "{stderr}\n{lines:#?}");
    let result = lines.last().unwrap();
    assert_eq!(result["outcome"]["outcome"], "interrupted", "{result}");
    assert!(stderr.contains("trying again"), "{stderr}");
    let attached = tokio::time::timeout(DEADLINE, attached.wait_with_output()).await;
    let attached = attached.unwrap().unwrap();
    let complained = String::from_utf8_lossy(&attached.stderr);
    assert_eq!(attached.status.code(), Some(1), "{complained}");
    assert!(
        complained.contains("interrupted: the agent ended in mid-turn"),
        "{complained}"
    );
    assert_eq!(said().matches("So it begins.").count(), 400, "{}", said());
    assert!(rig.daemon_pid().is_some_and(|new| new != old));

    rig.model.gate("held").open();
    rig.model.push(Reply::new().say("Taken up again."));
    let more = rig
        .run(&["run", "--remote", "box", "--resume", &session, "go on"])
        .await;
    assert_eq!(more.code, Some(0), "{}", more.stderr);
    assert!(more.stdout.contains("Taken up again."), "{}", more.stdout);
    assert_eq!(rig.model.refusals(), Vec::<String>::new());
}

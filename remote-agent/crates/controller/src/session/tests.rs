//! Scripts: lines of input, and the printed effects that they must cause.

mod credentials;

use std::{collections::HashMap, fmt::Write as _};

use agent_loop::{Approval, Inquiry, TurnEvent};
use conversation::{
    AssistantMessage, CallId, CallOutcome, Finish, ItemId, Question, QuestionOption, ToolCall, ToolMessage,
    TurnId, TurnOutcome, Usage,
};
use permission::Grant;
use protocol::{
    Answer, Command, CommandId, Credentials, Preset, PromptCommand, PromptId, Reply, SessionCommand,
    TurnCommand,
};
use session_store::{
    Record, Replayed, Stored,
    record::{CallRecord, PromptRecord, SessionRecord, TurnRecord},
    recover, replay,
};
use uuid::Uuid;

use super::{Effect, Input, Session, Timer};

/// A session under test, with everything it has appended.
struct Script {
    session: Session,
    log: Vec<Stored>,
    names: HashMap<String, CommandId>,
}

impl Script {
    fn new() -> Self {
        let opened = SessionRecord::Opened {
            id: Uuid::nil().to_string(),
            request: "r".to_owned(),
            workspace: "/w".to_owned(),
            model: "m".to_owned(),
            preset: "workspace-write".to_owned(),
            context_window: None,
            parent: None,
        };
        let log = vec![Stored {
            n: 1,
            at: 0,
            record: Record::Session(opened),
        }];
        Self {
            session: Session::new(replay(&log), false),
            log,
            names: HashMap::new(),
        }
    }

    /// Runs one line and gives its effects, one a line.
    fn run(&mut self, line: &str) -> String {
        let input = self.parse(line);
        let mut out = String::new();
        for effect in self.session.step(input) {
            if let Effect::Append(record) = &effect {
                let n = self.log.len() as u64 + 1;
                self.log.push(Stored {
                    n,
                    at: 0,
                    record: record.clone(),
                });
            }
            let _ = writeln!(out, "{}", self.print(&effect));
        }
        out
    }

    /// A daemon that takes the session up after a crash.
    fn crash(&mut self) -> Vec<String> {
        let state = replay(&self.log);
        let records = recover(&state);
        let printed = records
            .iter()
            .map(|record| self.print(&Effect::Append(record.clone())))
            .collect();
        for record in &records {
            self.log.push(Stored {
                n: self.log.len() as u64 + 1,
                at: 0,
                record: record.clone(),
            });
        }
        self.session = Session::new(replay(&self.log), !records.is_empty());
        printed
    }

    fn parse(&mut self, line: &str) -> Input {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["submit", name, text] => {
                let text = (*text).to_owned();
                self.command(name, Command::Turn(TurnCommand::Submit { text, max_steps: 0 }))
            }
            ["cancel", name, turn] => {
                let turn = protocol::TurnId(number(turn));
                self.command(name, Command::Turn(TurnCommand::Cancel { turn }))
            }
            ["answer", name, prompt, answer] => {
                let answer = match *answer {
                    "once" => Answer::AllowOnce,
                    "session" => Answer::AllowSession,
                    "nobody" => Answer::Nobody,
                    "replied" => Answer::Replied,
                    _ => Answer::Deny,
                };
                let prompt = PromptId(number(prompt));
                self.command(name, Command::Prompt(PromptCommand::Answer { prompt, answer }))
            }
            ["reply", name, prompt, replies @ ..] => {
                let replies = replies.iter().map(|labels| reply(labels)).collect();
                let prompt = PromptId(number(prompt));
                self.command(name, Command::Prompt(PromptCommand::Reply { prompt, replies }))
            }
            ["preset", name, preset] => {
                let preset: Preset = preset.parse().unwrap();
                self.command(name, Command::Session(SessionCommand::SetPreset { preset }))
            }
            ["close", name] => self.command(name, Command::Session(SessionCommand::Close)),
            ["lost", turn] => Input::TurnLost(TurnId(number(turn)), "why".to_owned()),
            ["timer"] => Input::Timer(Timer::Checkpoint),
            ["credentials", name] => Input::Credentials(Credentials::named(name)),
            ["opened"] => Input::Opened,
            ["shutdown"] => Input::ShutDown,
            ["inquire", turn, call] => Input::Inquiry(TurnId(number(turn)), inquiry(call)),
            ["ask", turn, call] => Input::Ask(TurnId(number(turn)), approval(call)),
            [verb, turn, rest @ ..] => Input::Turn(TurnId(number(turn)), report(verb, rest)),
            other => panic!("unknown line {other:?}"),
        }
    }

    /// Commands of the same name have the same id; the body is the command itself.
    fn command(&mut self, name: &str, command: Command) -> Input {
        let next = CommandId(Uuid::from_u128(self.names.len() as u128 + 1));
        let id = *self.names.entry(name.to_owned()).or_insert(next);
        Input::Command {
            id,
            body: format!("{command:?}"),
            command,
        }
    }

    fn print(&self, effect: &Effect) -> String {
        match effect {
            Effect::Append(record) => print_record(record),
            Effect::Sync => "sync".to_owned(),
            Effect::Reply(Ok(receipt)) => format!("reply {}", receipt.at),
            Effect::Reply(Err(error)) => format!("refuse {:?}", error.code),
            Effect::Show(delta) => format!("show {}+{}", delta.offset, delta.text),
            Effect::StartTurn(plan) => format!(
                "start turn {} with {} messages, item {}",
                plan.turn,
                plan.messages.len(),
                plan.next_item
            ),
            Effect::CancelTurn(turn) => format!("stop turn {turn}"),
            Effect::Answer(prompt, verdict) => format!("answer {prompt} {verdict:?}"),
            Effect::Respond(prompt, response) => {
                format!("respond {prompt} {}", print_response(response.as_ref()))
            }
            Effect::SetPolicy(posture) => {
                format!("policy {} {}", posture.preset, posture.grants.list().len())
            }
            Effect::UseCredentials(credentials) => format!("use {}", credentials.name()),
            Effect::Arm(timer, after) => format!("arm {timer:?} {}", after.as_secs()),
        }
    }
}

fn number(word: &str) -> u64 {
    word.parse().unwrap()
}

fn approval(call: &str) -> Approval {
    Approval {
        call: CallId(call.to_owned()),
        tool: "bash".to_owned(),
        subject: "rm x".to_owned(),
        reason: "r".to_owned(),
        scope: Grant::Command("rm x".to_owned()),
    }
}

/// Two questions: one with a single answer from its options, one with several or own words.
fn inquiry(call: &str) -> Inquiry {
    let question = |header: &str, free: bool| Question {
        header: header.to_owned(),
        text: format!("{header}?"),
        options: ["a", "b"]
            .map(|label| QuestionOption {
                label: label.to_owned(),
                description: String::new(),
            })
            .into(),
        multi_select: free,
        free_text: free,
    };
    Inquiry {
        call: CallId(call.to_owned()),
        tool: "ask".to_owned(),
        questions: vec![question("One", false), question("Many", true)],
    }
}

/// Reads labels with commas between them; what begins with a quotation mark is own words, a dash is nothing.
fn reply(word: &str) -> Reply {
    match word.strip_prefix('"') {
        Some(words) => Reply::words(words),
        None if word == "-" => Reply::default(),
        None => Reply {
            chosen: word.split(',').map(str::to_owned).collect(),
            text: None,
        },
    }
}

fn print_response(response: Option<&conversation::Response>) -> String {
    let one = |reply: &conversation::Reply| {
        let words = reply.text.iter().map(|text| format!("\"{text}"));
        let parts: Vec<_> = reply.chosen.iter().cloned().chain(words).collect();
        if parts.is_empty() {
            "-".to_owned()
        } else {
            parts.join(",")
        }
    };
    match response {
        Some(conversation::Response::Replied(replies)) => {
            replies.iter().map(one).collect::<Vec<_>>().join(" ")
        }
        Some(other) => format!("{other:?}"),
        None => "Withdrawn".to_owned(),
    }
}

fn report(verb: &str, words: &[&str]) -> TurnEvent {
    let call = |word: &str| CallId(word.to_owned());
    match (verb, words) {
        ("text", [item, text]) => TurnEvent::Text {
            item: ItemId(number(item)),
            text: (*text).to_owned(),
        },
        ("discard", [item]) => TurnEvent::Discarded {
            item: ItemId(number(item)),
            reason: "r".to_owned(),
        },
        ("say", [item, rest @ ..]) => TurnEvent::Assistant {
            item: ItemId(number(item)),
            message: message(rest),
        },
        ("wait", []) => TurnEvent::Waiting,
        ("go-on", []) => TurnEvent::WentOn,
        ("again", []) => TurnEvent::AskedAgain {
            reason: "r".to_owned(),
        },
        ("start", [id]) => TurnEvent::CallStarted { call: call(id) },
        ("output", [id, text]) => TurnEvent::Output {
            call: call(id),
            text: (*text).to_owned(),
        },
        ("result", [id]) => {
            let content = "done".to_owned();
            TurnEvent::CallFinished(ToolMessage {
                call: call(id),
                outcome: CallOutcome::Ok,
                content,
            })
        }
        ("end", []) => TurnEvent::Ended {
            outcome: TurnOutcome::Completed,
            usage: Usage::default(),
        },
        other => panic!("unknown report {other:?}"),
    }
}

fn message(words: &[&str]) -> AssistantMessage {
    let (calls, text): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| word.starts_with("call_"));
    let call = |id: &&str| ToolCall {
        id: CallId((*id).to_owned()),
        name: "bash".to_owned(),
        arguments: "{}".to_owned(),
        malformed: None,
    };
    AssistantMessage {
        text: text.join(" "),
        calls: calls.iter().map(call).collect(),
        finish: Finish::Stop,
        ..AssistantMessage::default()
    }
}

fn print_record(record: &Record) -> String {
    match record {
        Record::Turn(TurnRecord::Submitted { turn, .. }) => format!("+submitted {turn}"),
        Record::Turn(TurnRecord::Started { turn }) => format!("+started {turn}"),
        Record::Turn(TurnRecord::Partial { offset, text, .. }) => format!("+partial {offset}+{text}"),
        Record::Turn(TurnRecord::Discarded { item, .. }) => format!("+discarded {item}"),
        Record::Turn(TurnRecord::Assistant { item, .. }) => format!("+assistant {item}"),
        Record::Turn(TurnRecord::CancelRequested { turn, .. }) => format!("+cancel {turn}"),
        Record::Turn(TurnRecord::Ended { turn, outcome, .. }) => {
            let outcome = format!("{outcome:?}");
            format!("+ended {turn} {}", outcome.split('(').next().unwrap_or_default())
        }
        Record::Call(CallRecord::Started { call, .. }) => format!("+call {call}"),
        Record::Call(CallRecord::Finished { result, .. }) => {
            format!("+result {} {:?}", result.call, result.outcome)
        }
        Record::Prompt(PromptRecord::Opened { prompt, .. }) => format!("+asked {prompt}"),
        Record::Prompt(PromptRecord::Answered { prompt, answer, .. }) => {
            format!("+answered {prompt} {answer}")
        }
        Record::Prompt(PromptRecord::Withdrawn { prompt, .. }) => format!("+withdrawn {prompt}"),
        Record::Turn(TurnRecord::Waiting { what, .. }) => format!("+waiting {what}"),
        Record::Turn(TurnRecord::WentOn { .. }) => "+went on".to_owned(),
        Record::Turn(TurnRecord::AskedAgain { .. }) => "+asked again".to_owned(),
        Record::Session(SessionRecord::CredentialsChanged { credentials }) => {
            format!("+credentials {credentials}")
        }
        Record::Session(SessionRecord::PresetChanged { preset, .. }) => format!("+preset {preset}"),
        Record::Session(SessionRecord::Ignored { .. }) => "+ignored".to_owned(),
        Record::Session(SessionRecord::Closed { .. }) => "+closed".to_owned(),
        other => format!("+{other:?}"),
    }
}

/// Runs lines of `input => effects; effects`, an empty right side meaning no effect.
fn check(script: &str) -> Script {
    let mut run = Script::new();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (input, want) = line.split_once("=>").unwrap();
        let got = run.run(input).trim().replace('\n', "; ");
        assert_eq!(got, want.trim(), "after {input:?}");
    }
    // Whatever happened, the state equals the fold of the log.
    assert_eq!(run.session.state(), &fold(&run.log));
    run
}

fn fold(log: &[Stored]) -> Replayed {
    replay(log)
}

#[test]
fn a_turn_with_a_tool() {
    let run = check(
        "submit a fix => +submitted 1; sync; reply 2; +started 1; start turn 1 with 1 messages, item 1
         text 1 1 Let => show 0+Let; arm Checkpoint 2
         text 1 1 me => show 3+me
         timer => +partial 0+Letme
         text 1 1 see => show 5+see; arm Checkpoint 2
         say 1 1 Letmesee call_1_0 => +assistant 1
         start 1 call_1_0 => +call call_1_0
         output 1 call_1_0 ab => show 0+ab
         output 1 call_1_0 c => show 2+c
         result 1 call_1_0 => +result call_1_0 Ok
         say 1 2 done => +assistant 2
         end 1 => +ended 1 Completed; sync",
    );
    assert_eq!(run.session.state().transcript.len(), 4);
    assert_eq!(run.session.state().counters.items, 2);
}

#[test]
fn a_repeated_command_gets_its_receipt_and_does_nothing() {
    check(
        "submit a fix => +submitted 1; sync; reply 2; +started 1; start turn 1 with 1 messages, item 1
         submit a fix => reply 2
         submit a other => refuse Conflict
         cancel b 1 => +cancel 1; sync; reply 4; stop turn 1
         end 1 => +ended 1 Completed; sync
         submit c next => +submitted 2; sync; reply 6; +started 2; start turn 2 with 2 messages, item 1
         cancel b 1 => reply 4
         cancel d 1 => +ignored; sync; reply 8",
    );
}

#[test]
fn submits_wait_for_the_running_turn_and_can_be_cancelled_while_they_wait() {
    check(
        "submit a one => +submitted 1; sync; reply 2; +started 1; start turn 1 with 1 messages, item 1
         submit b two => +submitted 2; sync; reply 4
         submit c three => +submitted 3; sync; reply 5
         cancel d 2 => +cancel 2; sync; reply 6; +ended 2 Cancelled
         end 1 => +ended 1 Completed; sync; +started 3; start turn 3 with 2 messages, item 1",
    );
}

#[test]
fn the_first_answer_wins() {
    check(
        "submit a fix => +submitted 1; sync; reply 2; +started 1; start turn 1 with 1 messages, item 1
         say 1 1 call_1_0 => +assistant 1
         ask 1 call_1_0 => +asked 1; sync
         answer b 1 session => +answered 1 allow_session; sync; reply 6; policy workspace-write 1; answer 1 Allowed
         answer b 1 session => reply 6
         answer c 1 deny => refuse Conflict
         answer d 7 deny => refuse NotFound",
    );
}

#[test]
fn questions_of_the_model_are_answered_once_and_in_their_own_terms() {
    let run = check(
        "submit a fix => +submitted 1; sync; reply 2; +started 1; start turn 1 with 1 messages, item 1
         say 1 1 call_1_0 call_1_1 => +assistant 1
         inquire 1 call_1_0 => +asked 1; sync
         answer r 1 replied => refuse BadRequest
         reply b 1 c => refuse BadRequest
         reply b 1 a,b => refuse BadRequest
         reply b 1 \"own => refuse BadRequest
         reply b 1 a a,a => refuse BadRequest
         reply b 1 a b a => refuse BadRequest
         reply c 1 b a,b => +answered 1 replied; sync; reply 6; respond 1 b a,b
         reply c 1 b a,b => reply 6
         reply d 1 a => refuse Conflict
         answer e 1 deny => refuse Conflict
         reply f 9 a => refuse NotFound
         inquire 1 call_1_1 => +asked 2; sync
         reply g 2 - \"own => +answered 2 replied; sync; reply 8; respond 2 - \"own",
    );
    assert!(run.session.state().phase.prompts.is_empty());
}

#[test]
fn an_answer_without_replies_chooses_nothing() {
    check(
        "submit a fix => +submitted 1; sync; reply 2; +started 1; start turn 1 with 1 messages, item 1
         say 1 1 call_1_0 => +assistant 1
         inquire 1 call_1_0 => +asked 1; sync
         answer b 1 session => +answered 1 deny; sync; reply 6; respond 1 Declined
         inquire 1 call_1_0 => +asked 2; sync
         answer c 2 nobody => +answered 2 nobody; sync; reply 8; respond 2 Nobody
         inquire 1 call_1_0 => +asked 3; sync
         reply d 3 => +answered 3 replied; sync; reply 10; respond 3 - -
         ask 1 call_1_0 => +asked 4; sync
         reply e 4 a => refuse BadRequest
         answer f 4 replied => refuse BadRequest
         answer g 4 nobody => +answered 4 nobody; sync; reply 12; answer 4 Refused",
    );
}

#[test]
fn questions_of_the_model_end_with_their_turn() {
    let script =
        "submit a fix => +submitted 1; sync; reply 2; +started 1; start turn 1 with 1 messages, item 1
         say 1 1 call_1_0 => +assistant 1
         inquire 1 call_1_0 => +asked 1; sync";
    let cancelled = format!(
        "{script}
         cancel b 1 => +cancel 1; sync; reply 6; +withdrawn 1; respond 1 Withdrawn; stop turn 1
         inquire 1 call_1_0 => +asked 2; sync; +withdrawn 2; respond 2 Withdrawn
         reply c 1 a => refuse Conflict"
    );
    check(&cancelled);
    let mut crashed = check(script);
    assert_eq!(
        crashed.crash(),
        [
            "+result call_1_0 Cancelled",
            "+withdrawn 1",
            "+ended 1 Interrupted"
        ]
    );
}

#[test]
fn cancelling_withdraws_questions_also_those_that_come_late() {
    check(
        "submit a fix => +submitted 1; sync; reply 2; +started 1; start turn 1 with 1 messages, item 1
         say 1 1 call_1_0 call_1_1 => +assistant 1
         ask 1 call_1_0 => +asked 1; sync
         cancel b 1 => +cancel 1; sync; reply 6; +withdrawn 1; answer 1 Withdrawn; stop turn 1
         ask 1 call_1_1 => +asked 2; sync; +withdrawn 2; answer 2 Withdrawn
         lost 1 => +result call_1_0 Cancelled; +result call_1_1 Cancelled; +ended 1 Cancelled; sync
         text 1 2 late => ",
    );
}

#[test]
fn a_retried_answer_is_taken_back_only_if_it_was_shown() {
    check(
        "submit a fix => +submitted 1; sync; reply 2; +started 1; start turn 1 with 1 messages, item 1
         discard 1 1 => 
         text 1 2 half => show 0+half; arm Checkpoint 2
         discard 1 2 => +discarded 2
         text 1 3 whole => show 0+whole; arm Checkpoint 2
         say 1 3 whole => +assistant 3",
    );
}

#[test]
fn long_text_becomes_durable_without_waiting_for_the_timer() {
    let mut run = Script::new();
    run.run("submit a fix");
    let long = "x".repeat(super::streaming::CHECKPOINT_BYTES);
    let got = run.run(&format!("text 1 1 {long}"));
    assert_eq!(got, format!("show 0+{long}\n+partial 0+{long}\n"));
}

#[test]
fn a_lost_turn_keeps_partial_text_and_pairs_every_call() {
    let run = check(
        "submit a fix => +submitted 1; sync; reply 2; +started 1; start turn 1 with 1 messages, item 1
         say 1 1 call_1_0 call_1_1 => +assistant 1
         start 1 call_1_0 => +call call_1_0
         lost 1 => +result call_1_0 Interrupted; +result call_1_1 Cancelled; +ended 1 Failed; sync
         submit b again => +submitted 2; sync; reply 9; +started 2; start turn 2 with 5 messages, item 2
         text 2 2 par => show 0+par; arm Checkpoint 2
         shutdown => +partial 0+par; +ended 2 Interrupted; sync",
    );
    assert_eq!(run.session.state().transcript.len(), 6);
}

#[test]
fn after_a_crash_nothing_runs_by_itself_and_the_next_submit_goes_on() {
    let mut run = check(
        "submit a fix => +submitted 1; sync; reply 2; +started 1; start turn 1 with 1 messages, item 1
         submit b wait => +submitted 2; sync; reply 4
         say 1 1 call_1_0 call_1_1 => +assistant 1
         start 1 call_1_0 => +call call_1_0",
    );
    let recovered = run.crash();
    assert_eq!(
        recovered,
        [
            "+result call_1_0 Unknown",
            "+result call_1_1 Cancelled",
            "+ended 1 Interrupted"
        ]
    );
    assert_eq!(run.run("opened"), "");
    assert_eq!(
        run.run("submit a fix"),
        "reply 2\n",
        "a repeated command finds its receipt in the log"
    );
    assert_eq!(
        run.run("submit c go").replace('\n', "; "),
        "+submitted 3; sync; reply 10; +started 2; start turn 2 with 5 messages, item 2; "
    );
}

#[test]
fn a_submit_that_never_started_starts_when_the_session_is_opened_again() {
    let mut run = Script::new();
    let submitted = run.run("submit a fix");
    assert!(submitted.starts_with("+submitted 1\nsync\nreply 2\n"));
    run.log.truncate(2); // the daemon died between the receipt and the start
    assert!(run.crash().is_empty());
    assert_eq!(
        run.run("opened"),
        "+started 1\nstart turn 1 with 1 messages, item 1\n"
    );
}

#[test]
fn closing_stops_everything_and_takes_nothing_more() {
    check(
        "submit a fix => +submitted 1; sync; reply 2; +started 1; start turn 1 with 1 messages, item 1
         submit b wait => +submitted 2; sync; reply 4
         preset c read-only => +preset read-only; sync; reply 5; policy read-only 0
         close d => +closed; sync; reply 6; stop turn 1
         close d => reply 6
         submit e more => refuse Conflict
         end 1 => +ended 1 Completed; sync",
    );
}

#[test]
fn the_queue_has_a_limit() {
    let mut run = Script::new();
    run.run("submit first x");
    for n in 0..protocol::limits::QUEUE {
        assert!(run.run(&format!("submit q{n} x")).contains("reply"));
    }
    assert_eq!(run.run("submit last x"), "refuse Busy\n");
}

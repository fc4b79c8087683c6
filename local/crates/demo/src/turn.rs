//! The turn: follows its events, cuts the connection in the middle of the last answer, and follows on.

use std::time::Duration;

use client::{Counts, SessionView, Update};
use link::{Link, LinkState};
use protocol::{Command, CommandId, CommandRequest, Item, Outcome, Snapshot, TurnCommand, TurnId};

use crate::{
    error::DemoError,
    host::Host,
    ledger::Ledger,
    line::Topic,
    narrator::Narrator,
    options::Audience,
    outage::{Change, Outage, Times},
    scenario,
    summary::Stage,
};

/// How long a stream that failed rests before it is asked for again.
const REST: Duration = Duration::from_millis(20);

/// A turn that completed.
pub(crate) struct Done {
    /// What was applied.
    pub(crate) ledger: Ledger,
    /// What the client counted.
    pub(crate) counts: Counts,
    /// How long the turn took.
    pub(crate) took: Duration,
    /// How long the outage took.
    pub(crate) outage: Times,
}

/// Gives the parts of a turn for the summary.
pub(crate) fn stages(done: &Done) -> [Stage; 3] {
    let Times { noticed, back } = done.outage;
    [
        Stage::new(
            "turn",
            done.took,
            "from the request to the end, the outage included",
        ),
        Stage::new("cut", noticed, "from the cut to its being noticed"),
        Stage::new("reconnected", back, "from the cut to the agent's answering again"),
    ]
}

/// Asks for the work and follows it to its end. `view` has seen nothing yet.
pub(crate) async fn play(
    host: &Host,
    link: &Link,
    view: SessionView,
    narrator: &mut Narrator<'_>,
) -> Result<Done, DemoError> {
    let begun = stdx::clock::monotonic();
    narrator.say(Topic::You, scenario::REQUEST);
    let turn = submit(&view).await?;
    let done = follow(host, link, view, turn, narrator).await?;
    Ok(Done {
        took: begun.elapsed(),
        ..done
    })
}

/// Follows a turn that is asked for elsewhere to its end, and cuts the connection on the way.
pub(crate) async fn follow(
    host: &Host,
    link: &Link,
    view: SessionView,
    turn: TurnId,
    narrator: &mut Narrator<'_>,
) -> Result<Done, DemoError> {
    let begun = stdx::clock::monotonic();
    let mut follow = Follow {
        host,
        link,
        view,
        turn,
        ledger: Ledger::default(),
        outage: Outage::Ahead,
        narrator,
    };
    let outage = follow.run().await?;
    Ok(Done {
        took: begun.elapsed(),
        outage,
        counts: follow.view.counts(),
        ledger: follow.ledger,
    })
}

async fn submit(view: &SessionView) -> Result<TurnId, DemoError> {
    let request = CommandRequest {
        id: CommandId::fresh(),
        command: Command::Turn(TurnCommand::Submit {
            text: scenario::REQUEST.to_owned(),
            max_steps: 0,
        }),
    };
    let sent = view.client().command(&request).await;
    let receipt = sent.map_err(|source| DemoError::Agent {
        doing: "send the request",
        source,
    })?;
    receipt
        .turn
        .ok_or_else(|| DemoError::Turn("its receipt names no turn".to_owned()))
}

struct Follow<'a, 'b> {
    host: &'a Host,
    link: &'a Link,
    view: SessionView,
    turn: TurnId,
    ledger: Ledger,
    outage: Outage,
    narrator: &'a mut Narrator<'b>,
}

impl Follow<'_, '_> {
    async fn run(&mut self) -> Result<Times, DemoError> {
        loop {
            let is_over = is_completed(self.view.snapshot(), self.turn, self.host.audience)?;
            match &self.outage {
                Outage::Over(times) if is_over => {
                    let times = *times;
                    check_answer(self.view.snapshot())?;
                    return Ok(times);
                }
                Outage::Ahead if is_over => {
                    return Err(DemoError::Turn(
                        "it ended before the connection was cut".to_owned(),
                    ));
                }
                _ => {}
            }
            tokio::select! {
                biased;
                change = self.outage.change(self.host) => self.changed(change),
                update = next(&mut self.view, self.link) => self.apply(&update?),
            }
        }
    }

    fn apply(&mut self, update: &Update) {
        let state = self.view.snapshot();
        self.ledger.note(update, state.at);
        self.narrator.session(state);
        if matches!(self.outage, Outage::Ahead) && newest_text(state).len() >= scenario::CUT_AFTER {
            self.narrator
                .say(Topic::Cut, "--- the SSH connection is cut, in mid-sentence ---");
            self.outage = Outage::begin(self.host, self.link);
        }
    }

    fn changed(&mut self, change: Change) {
        match change {
            Change::Noticed(after) => {
                // The model goes on while nobody here can hear it.
                self.host.model.gate(scenario::GATE).open();
                let text = format!(
                    "noticed after {:.2} s; the agent goes on, the link dials again",
                    after.as_secs_f32()
                );
                self.narrator.say(Topic::Cut, &text);
            }
            Change::Back(times) => {
                let (back, at) = (times.back.as_secs_f32(), self.view.snapshot().at);
                let text = format!("--- connected again after {back:.2} s; goes on after event {at} ---");
                self.narrator.say(Topic::Back, &text);
            }
        }
    }
}

/// Waits for the next update, over as many streams as it takes.
async fn next(view: &mut SessionView, link: &Link) -> Result<Update, DemoError> {
    loop {
        match view.next().await {
            Ok(Update::Closed) => return Err(DemoError::Turn("the session was closed".to_owned())),
            Ok(update) => return Ok(update),
            Err(error) if error.is_retryable() => {
                if let LinkState::Failed(cause) = &*link.states().borrow() {
                    return Err(DemoError::Link(cause.clone()));
                }
                tokio::time::sleep(REST).await;
            }
            Err(source) => {
                return Err(DemoError::Agent {
                    doing: "follow the session",
                    source,
                });
            }
        }
    }
}

/// Says whether the turn completed; any other end is an error, and any question that nobody is there to answer.
fn is_completed(state: &Snapshot, turn: TurnId, audience: Audience) -> Result<bool, DemoError> {
    if let (Audience::Readers, Some(prompt)) = (audience, state.prompts.first()) {
        let what = format!(
            "it asks for permission to run {} {:?}",
            prompt.tool, prompt.subject
        );
        return Err(DemoError::Turn(what));
    }
    let outcome = state.items.iter().rev().find_map(|item| match item {
        Item::TurnEnd {
            turn: of, outcome, ..
        } if *of == turn => Some(outcome),
        _ => None,
    });
    match outcome {
        None => Ok(false),
        Some(Outcome::Completed) => Ok(true),
        Some(Outcome::Failed { message, .. }) => Err(DemoError::Turn(message.clone())),
        Some(Outcome::Paused { reason }) => Err(DemoError::Turn(reason.clone())),
        Some(other) => Err(DemoError::Turn(format!("it ended as {other:?}"))),
    }
}

/// Compares the last answer with the script, byte by byte.
fn check_answer(state: &Snapshot) -> Result<(), DemoError> {
    let (got, wanted) = (newest_text(state), scenario::explanation());
    if got == wanted {
        return Ok(());
    }
    let same = got
        .bytes()
        .zip(wanted.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    Err(DemoError::Answer { at: same })
}

/// Gives the text of the newest message, so far.
fn newest_text(state: &Snapshot) -> &str {
    let text = state.items.iter().rev().find_map(|item| match item {
        Item::Assistant { text, .. } => Some(text.as_str()),
        _ => None,
    });
    text.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use protocol::{OpenPrompt, PromptId, SessionId};

    use super::*;

    const TURN: TurnId = TurnId(1);

    fn state(items: impl IntoIterator<Item = Item>) -> Snapshot {
        Snapshot {
            items: items.into_iter().collect(),
            ..Snapshot::empty(SessionId::fresh())
        }
    }

    fn ended(outcome: Outcome) -> Snapshot {
        let (turn, usage) = (TURN, protocol::UsageView::default());
        state([Item::TurnEnd { turn, outcome, usage }])
    }

    #[test]
    fn only_a_completed_turn_is_an_end_and_everything_else_is_said() {
        assert!(!is_completed(&state([]), TURN, Audience::Readers).unwrap());
        assert!(is_completed(&ended(Outcome::Completed), TURN, Audience::Readers).unwrap());
        assert!(!is_completed(&ended(Outcome::Completed), TurnId(2), Audience::Readers).unwrap());
        for outcome in [Outcome::Cancelled, Outcome::Interrupted, Outcome::Unknown] {
            is_completed(&ended(outcome), TURN, Audience::Readers).unwrap_err();
        }
        let failed = Outcome::Failed {
            kind: "model_refused".to_owned(),
            message: "no reply left".to_owned(),
            hint: None,
        };
        let error = is_completed(&ended(failed), TURN, Audience::Readers).unwrap_err();
        assert_eq!(error.to_string(), "the turn did not complete: no reply left");
        let mut asks = state([]);
        asks.prompts.push(OpenPrompt {
            id: PromptId(1),
            turn: TURN,
            call: "c".to_owned(),
            tool: "bash".to_owned(),
            subject: "rm x".to_owned(),
            reason: String::new(),
            scope: None,
            kind: protocol::PromptKind::default(),
        });
        let error = is_completed(&asks, TURN, Audience::Readers)
            .unwrap_err()
            .to_string();
        assert!(error.contains("bash") && error.contains("rm x"), "{error}");
        assert!(
            !is_completed(&asks, TURN, Audience::Person).unwrap(),
            "a person answers"
        );
    }

    #[test]
    fn an_answer_with_a_hole_is_noticed() {
        let answer = |text: String| {
            state([Item::Assistant {
                turn: TURN,
                id: 5,
                text,
                reasoning: String::new(),
                complete: true,
                recorded: 0,
            }])
        };
        let whole = scenario::explanation();
        check_answer(&answer(whole.clone())).unwrap();
        let mut hole = whole.clone();
        hole.replace_range(30..40, "");
        let error = check_answer(&answer(hole)).unwrap_err();
        assert!(
            matches!(error, DemoError::Answer { at } if (30..40).contains(&at)),
            "{error}"
        );
        check_answer(&answer(whole + "!")).unwrap_err();
    }
}

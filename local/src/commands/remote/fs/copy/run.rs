//! Carries out copies one after the other over a connection that may be lost, and says what became of them.

use std::time::Duration;

use files::{Cancel, Error, Outcome};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

use super::super::{
    open,
    show::{self, Bar},
    way::Reached,
};
use crate::{
    exit::Exit,
    invocation::Invocation,
    report::{Failure, SCHEMA},
    terminal,
};

/// How often in a row a lost connection is opened again without a byte arriving in between.
const TRIES: u32 = 4;
/// The wait before the first of these; it doubles.
const WAIT: Duration = Duration::from_secs(1);
/// What an interrupted copy leaves.
const GOES_ON: &str = "what is there of large files stays; the same command goes on from it";
/// Files and trees that were named one by one and are copied at the same time.
const AT_ONCE: usize = 16;
/// Failures that are told one by one on a terminal.
const TOLD: usize = 20;

/// One file or tree to copy.
pub(super) trait Copy {
    /// Copies it.
    async fn run(&self, reached: &Reached, bar: &Bar, cancel: &Cancel) -> Result<Outcome, Error>;
}

/// All there is to do with one host.
pub(super) struct Job<'a, C> {
    pub(super) invocation: &'a Invocation,
    pub(super) cancel: &'a Cancel,
    pub(super) copies: Vec<C>,
    pub(super) json: bool,
}

/// What all copies did together.
#[derive(Default)]
struct Total {
    outcome: Outcome,
    took: Duration,
}

impl<C: Copy> Job<'_, C> {
    /// Copies all of it and says how it went. The connection is closed at the end.
    pub(super) async fn run(self, mut reached: Reached) -> Result<Exit, Failure> {
        let (bar, started) = (Bar::new(), stdx::clock::monotonic());
        let mut total = Total::default();
        let result = bar.during(self.all(&mut reached, &bar, &mut total.outcome)).await;
        total.took = started.elapsed();
        let name = reached.name.clone();
        reached.close().await;
        match result {
            // Nobody else says it.
            Err(failure) if self.copies.len() > 1 || total.outcome.files > 0 => {
                show::say(&total.text(&name));
                Err(failure)
            }
            Err(failure) => Err(failure),
            Ok(()) => Ok(total.say(&name, self.json)),
        }
    }

    async fn all(&self, reached: &mut Reached, bar: &Bar, all: &mut Outcome) -> Result<(), Failure> {
        let mut left: Vec<usize> = (0..self.copies.len()).collect();
        let mut tries = 0;
        loop {
            let before = bar.bytes();
            let Some(error) = self.pass(reached, bar, &mut left, all).await? else {
                return Ok(());
            };
            if bar.bytes() > before {
                tries = 0;
            }
            if tries == TRIES {
                return Err(reached.failure(&error).hint(GOES_ON));
            }
            self.again(reached, &error, tries).await?;
            tries += 1;
        }
    }

    /// Copies what is left, several at a time, until all is done or the connection is lost, which it gives.
    async fn pass(
        &self,
        reached: &Reached,
        bar: &Bar,
        left: &mut Vec<usize>,
        all: &mut Outcome,
    ) -> Result<Option<Error>, Failure> {
        let numbers = left.clone();
        let mut under_way = stream::iter(&numbers)
            .map(async |&number| match self.copies.get(number) {
                Some(copy) => (number, copy.run(reached, bar, self.cancel).await),
                None => (number, Ok(Outcome::default())),
            })
            .buffer_unordered(AT_ONCE);
        while let Some((number, result)) = under_way.next().await {
            match result {
                Ok(outcome) => add(all, outcome),
                Err(error) if error.is_lost() => return Ok(Some(error)),
                // One that is alone says it itself.
                Err(error) if self.copies.len() == 1 => return Err(reached.failure(&error)),
                Err(error) => all.failed.push(error),
            }
            left.retain(|&other| other != number);
        }
        Ok(None)
    }

    /// Opens a lost connection again.
    async fn again(&self, reached: &mut Reached, error: &Error, tries: u32) -> Result<(), Failure> {
        show::say(&format!(
            "{}: the connection was lost ({error}); trying again",
            reached.name
        ));
        let mut wait = WAIT * 2_u32.saturating_pow(tries);
        loop {
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => {
                    let failure = Failure::new(Exit::Interrupted, "interrupted while the host was away");
                    return Err(failure.hint(GOES_ON));
                }
                () = tokio::time::sleep(wait) => {}
            }
            match open(self.invocation, &reached.name, self.cancel).await {
                Ok(opened) => {
                    std::mem::replace(reached, opened).close().await;
                    return Ok(());
                }
                Err(failure) if failure.exit == Exit::Unreachable && wait < WAIT * 2_u32.pow(TRIES - 1) => {
                    wait *= 2;
                }
                Err(failure) => return Err(failure.hint(GOES_ON)),
            }
        }
    }
}

fn add(all: &mut Outcome, one: Outcome) {
    all.files += one.files;
    all.folders += one.folders;
    all.links += one.links;
    all.bytes += one.bytes;
    all.resumed += one.resumed;
    all.notes.extend(one.notes);
    all.failed.extend(one.failed);
    all.cancelled |= one.cancelled;
}

impl Total {
    /// Says how it went.
    fn say(&self, host: &str, json: bool) -> Exit {
        let outcome = &self.outcome;
        for note in &outcome.notes {
            show::say(&format!("{}: {}", show::name(&note.path), note.text));
        }
        for error in outcome.failed.iter().take(TOLD) {
            show::say(&format!("error: {}", crate::report::chain(error)));
        }
        if outcome.failed.len() > TOLD {
            show::say(&format!(
                "error: {} more could not be copied",
                outcome.failed.len() - TOLD
            ));
        }
        if json {
            terminal::line(&self.json(host).to_string());
        }
        show::say(&self.text(host));
        if outcome.cancelled {
            show::say(&format!("hint: {GOES_ON}"));
            Exit::Interrupted
        } else if outcome.failed.is_empty() {
            Exit::Success
        } else {
            Exit::Failed
        }
    }

    fn text(&self, host: &str) -> String {
        let outcome = &self.outcome;
        let count = |number: u64, one: &str| match number {
            1 => format!("1 {one}"),
            _ => format!("{number} {one}s"),
        };
        let mut parts = vec![count(outcome.files, "file")];
        for (number, one) in [(outcome.folders, "folder"), (outcome.links, "link")] {
            if number > 0 {
                parts.push(count(number, one));
            }
        }
        let carried = show::size(outcome.bytes);
        let mut text = format!(
            "{host}: {}, {carried} in {:.1} s",
            parts.join(", "),
            self.took.as_secs_f64()
        );
        if outcome.resumed > 0 {
            text.push_str(&format!(
                ", {} were there from before",
                show::size(outcome.resumed)
            ));
        }
        if outcome.cancelled {
            text.push_str("; interrupted");
        }
        text
    }

    fn json(&self, host: &str) -> Value {
        let outcome = &self.outcome;
        let failed = outcome.failed.iter().map(|error| {
            let mut object = serde_json::Map::new();
            show::put_name(&mut object, "path", error.path());
            object.insert("message".to_owned(), json!(crate::report::chain(error)));
            object.insert("hint".to_owned(), json!(error.hint()));
            Value::Object(object)
        });
        let notes = outcome.notes.iter().map(|note| {
            let mut object = serde_json::Map::new();
            show::put_name(&mut object, "path", &note.path);
            object.insert("text".to_owned(), json!(note.text));
            Value::Object(object)
        });
        json!({
            "host": host,
            "files": outcome.files,
            "folders": outcome.folders,
            "links": outcome.links,
            "bytes": outcome.bytes,
            "resumed": outcome.resumed,
            "seconds": self.took.as_secs_f64(),
            "cancelled": outcome.cancelled,
            "notes": notes.collect::<Vec<_>>(),
            "failed": failed.collect::<Vec<_>>(),
            "schema": SCHEMA,
        })
    }
}

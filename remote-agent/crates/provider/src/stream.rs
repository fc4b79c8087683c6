//! One request from the first attempt to the last item.

use std::{collections::VecDeque, fmt, hash::BuildHasher as _, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream, stream::BoxStream};
use stdx::bounded;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    Cause, Error, Policy, Request, StreamItem,
    exchange::{Arrival, Asker, Exchange},
    protocol::{Decoder, Protocol, Remaining},
    retry::Budget,
    sse,
};

/// How long usage and end mark may take after the model has finished.
const TRAILER: Duration = Duration::from_secs(5);
/// The same where the answer comes over a link that may be away for a moment.
const LONG_TRAILER: Duration = Duration::from_secs(60);
/// The longest answer that is accepted as one JSON body.
const MAX_WHOLE: usize = 16 * 1024 * 1024;

/// The items of one answer; it ends after [`StreamItem::Finish`] or after one error.
pub type ItemStream = BoxStream<'static, Result<StreamItem, Error>>;

/// An endpoint of a vendor.
pub trait Provider: Send + Sync + fmt::Debug {
    /// Gives the provider's name in the configuration.
    fn name(&self) -> &str;

    /// Asks the model. The request is written at once and never again; nothing is sent before the stream is polled.
    ///
    /// Cancelling the token ends the stream with [`Cause::Cancelled`]; dropping the stream ends the request too.
    fn stream(&self, request: &Request<'_>, cancel: &CancellationToken) -> ItemStream;
}

/// A provider made of a wire format and an endpoint.
#[derive(Debug)]
pub(crate) struct Adapter {
    protocol: Arc<dyn Protocol>,
    asker: Arc<dyn Asker>,
    retry: Policy,
}

impl Adapter {
    pub(crate) fn new(protocol: Box<dyn Protocol>, asker: impl Asker + 'static, retry: Policy) -> Self {
        Self {
            protocol: Arc::from(protocol),
            asker: Arc::new(asker),
            retry,
        }
    }
}

impl Provider for Adapter {
    fn name(&self) -> &str {
        self.asker.judge().name()
    }

    fn stream(&self, request: &Request<'_>, cancel: &CancellationToken) -> ItemStream {
        let run = Run {
            protocol: Arc::clone(&self.protocol),
            asker: Arc::clone(&self.asker),
            body: self.protocol.encode(request),
            budget: Budget::new(self.retry),
            phase: Phase::Send,
            ready: VecDeque::new(),
        };
        let cancel = cancel.clone();
        stream::unfold(run, move |mut run| {
            let cancel = cancel.clone();
            async move { run.next(&cancel).await.map(|item| (item, run)) }
        })
        .boxed()
    }
}

/// A request under way.
struct Run {
    protocol: Arc<dyn Protocol>,
    asker: Arc<dyn Asker>,
    /// The frozen request: every attempt sends these bytes.
    body: Bytes,
    budget: Budget,
    phase: Phase,
    ready: VecDeque<StreamItem>,
}

enum Phase {
    Wait(Duration),
    Send,
    /// No head has come.
    Ask(Box<dyn Exchange>),
    Read(Box<Reading>),
    Done,
}

impl Run {
    async fn next(&mut self, cancel: &CancellationToken) -> Option<Result<StreamItem, Error>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(Ok(item));
            }
            if matches!(self.phase, Phase::Done) {
                return None;
            }
            let step = tokio::select! {
                biased;
                () = cancel.cancelled() => Err(Cause::Cancelled),
                step = self.advance() => step,
            };
            if let Err(cause) = step
                && let Some(error) = self.fail(cause)
            {
                return Some(Err(error));
            }
        }
    }

    /// Does the next thing that takes time.
    async fn advance(&mut self) -> Result<(), Cause> {
        match &mut self.phase {
            Phase::Wait(wait) => {
                tokio::time::sleep(*wait).await;
                self.phase = Phase::Send;
            }
            Phase::Send => {
                tracing::debug!(
                    provider = self.asker.judge().name(),
                    attempt = self.budget.attempt(),
                    "asking the model"
                );
                let exchange = self.asker.begin(self.body.clone(), self.budget.attempt());
                self.phase = Phase::Ask(exchange);
            }
            Phase::Ask(exchange) => match exchange.next().await? {
                Arrival::Head { content_type } => self.begin_reading(content_type),
                Arrival::Piece(_) | Arrival::End => {
                    return Err(Cause::Malformed("it has no head".to_owned()));
                }
                notice => self.ready.extend(told(notice)),
            },
            Phase::Read(reading) => match reading.step().await? {
                Step::Items(items, end) => {
                    self.ready.extend(items);
                    if end == End::Reached {
                        self.phase = Phase::Done;
                    }
                }
                Step::Notice(notice) => {
                    if let Arrival::Void(_) = notice {
                        self.ready.clear();
                        self.ask_again();
                    }
                    self.ready.extend(told(notice));
                }
            },
            Phase::Done => {}
        }
        Ok(())
    }

    fn begin_reading(&mut self, content_type: Option<String>) {
        if let Phase::Ask(exchange) = std::mem::replace(&mut self.phase, Phase::Done) {
            let reading = Reading {
                exchange,
                content_type,
                shape: Shape::Unknown,
                decoder: self.protocol.decoder(),
                clock: Clock::new(self.asker.idle_timeout()),
            };
            self.phase = Phase::Read(Box::new(reading));
        }
    }

    /// Goes back to waiting for a head: the exchange itself asks again.
    fn ask_again(&mut self) {
        if let Phase::Read(reading) = std::mem::replace(&mut self.phase, Phase::Done) {
            self.phase = Phase::Ask(reading.exchange);
        }
    }

    /// Turns a failure into another attempt, or gives it back.
    fn fail(&mut self, cause: Cause) -> Option<Error> {
        self.ready.clear();
        let cause = match cause {
            Cause::Inside { message, again } => Cause::Inside {
                message: self.asker.judge().redact(&message),
                again,
            },
            Cause::NotAStream {
                content_type,
                excerpt,
            } => Cause::NotAStream {
                content_type,
                excerpt: self.asker.judge().redact(&excerpt),
            },
            other => other,
        };
        let Some(wait) = self.budget.spend(&cause, chance()) else {
            self.phase = Phase::Done;
            return Some(Error::new(self.asker.judge().name(), cause));
        };
        tracing::debug!(provider = self.asker.judge().name(), %cause, ?wait, "trying again");
        self.phase = Phase::Wait(wait);
        let attempt = self.budget.attempt();
        self.ready.push_back(StreamItem::Retrying {
            attempt,
            wait,
            cause: cause.to_string(),
        });
        None
    }
}

/// Draws a number. The standard library seeds its hash tables from the system, which is chance enough to spread waits.
fn chance() -> u8 {
    std::hash::RandomState::new().hash_one(0_u8).to_le_bytes()[0]
}

/// Whether an answer has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Ahead,
    Reached,
}

/// What reading brought.
enum Step {
    Items(Vec<StreamItem>, End),
    /// Something about the attempt as a whole.
    Notice(Arrival),
}

/// Gives what the caller is told of an attempt as a whole.
fn told(notice: Arrival) -> Option<StreamItem> {
    match notice {
        Arrival::Waiting => Some(StreamItem::Waiting),
        Arrival::WentOn => Some(StreamItem::WentOn),
        Arrival::Void(reason) => Some(StreamItem::AskedAgain { reason }),
        Arrival::Head { .. } | Arrival::Piece(_) | Arrival::End => None,
    }
}

/// An answer that is coming in.
struct Reading {
    exchange: Box<dyn Exchange>,
    content_type: Option<String>,
    shape: Shape,
    decoder: Box<dyn Decoder>,
    clock: Clock,
}

/// How long it may bring nothing.
struct Clock {
    /// `None` where somebody else counts it.
    idle: Option<Duration>,
    deadline: Option<Instant>,
}

impl Clock {
    fn new(idle: Option<Duration>) -> Self {
        let deadline = idle.map(|idle| Instant::now() + idle);
        Self { idle, deadline }
    }

    fn restart(&mut self) {
        self.deadline = self.idle.map(|idle| Instant::now() + idle);
    }

    /// The model has finished.
    fn expect_trailer(&mut self) {
        let limit = self.idle.map_or(LONG_TRAILER, |idle| idle.min(TRAILER));
        self.deadline = Some(Instant::now() + limit);
    }

    /// Runs something until the deadline; `None` when that passed.
    async fn limit<T>(&self, run: impl Future<Output = T>) -> Option<T> {
        match self.deadline {
            Some(deadline) => tokio::time::timeout_at(deadline, run).await.ok(),
            None => Some(run.await),
        }
    }
}

/// What the body turned out to be. The content type does not decide it: vendors and gateways label streams as JSON and
/// errors as streams.
enum Shape {
    Unknown,
    Events(sse::Parser),
    Json(Vec<u8>),
}

impl Reading {
    /// Reads the next piece of the body and decodes it.
    async fn step(&mut self) -> Result<Step, Cause> {
        let piece = match self.clock.limit(self.exchange.next()).await {
            Some(Ok(Arrival::Piece(piece))) => Some(piece),
            Some(Ok(Arrival::End)) => None,
            Some(Ok(notice)) => return Ok(Step::Notice(notice)),
            // The model had finished: what is missing is only the usage.
            Some(Err(_)) | None if self.decoder.remaining() == Remaining::Trailer => None,
            Some(Err(cause)) => return Err(cause),
            None => {
                return Err(Cause::Stalled {
                    limit: self.clock.idle.unwrap_or_default(),
                });
            }
        };
        let mut items = Vec::new();
        let Some(piece) = piece else {
            self.finish(&mut items)?;
            return Ok(Step::Items(items, End::Reached));
        };
        self.take(&piece, &mut items)?;
        if self.decoder.remaining() == Remaining::Nothing {
            items.extend(self.decoder.end()?);
            return Ok(Step::Items(items, End::Reached));
        }
        Ok(Step::Items(items, End::Ahead))
    }

    fn take(&mut self, piece: &[u8], items: &mut Vec<StreamItem>) -> Result<(), Cause> {
        if let Shape::Unknown = self.shape {
            match piece.iter().find(|byte| !byte.is_ascii_whitespace()) {
                None => return Ok(()),
                Some(b'{' | b'[') => self.shape = Shape::Json(Vec::new()),
                Some(b'<') => return Err(self.not_a_stream(piece)),
                Some(_) => self.shape = Shape::Events(sse::Parser::default()),
            }
        }
        match &mut self.shape {
            Shape::Unknown => {}
            Shape::Json(body) => {
                body.extend_from_slice(piece);
                if body.len() > MAX_WHOLE {
                    return Err(Cause::Malformed("it is too long".to_owned()));
                }
                self.clock.restart();
            }
            Shape::Events(parser) => {
                let before = parser.field_bytes();
                let events = parser.push(piece).map_err(|sse::TooLong| too_long())?;
                let progress = parser.field_bytes() > before;
                let was = self.decoder.remaining();
                for event in events {
                    items.extend(self.decoder.event(&event)?);
                    if self.decoder.remaining() == Remaining::Nothing {
                        return Ok(());
                    }
                }
                match (was, self.decoder.remaining()) {
                    (Remaining::Content, Remaining::Content) if progress => {
                        self.clock.restart();
                    }
                    (Remaining::Content, Remaining::Trailer) => {
                        self.clock.expect_trailer();
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Ends the body and gives what had to wait for that.
    fn finish(&mut self, items: &mut Vec<StreamItem>) -> Result<(), Cause> {
        match &mut self.shape {
            Shape::Unknown => return Err(Cause::Empty),
            Shape::Json(body) => items.extend(self.decoder.whole(body)?),
            Shape::Events(parser) => {
                if let Some(event) = parser.finish() {
                    // What was cut in the middle of its last event does not parse; the cut is the better explanation.
                    match self.decoder.event(&event) {
                        Ok(more) => items.extend(more),
                        Err(Cause::Malformed(_)) => {}
                        Err(other) => return Err(other),
                    }
                }
            }
        }
        items.extend(self.decoder.end()?);
        Ok(())
    }

    fn not_a_stream(&self, piece: &[u8]) -> Cause {
        let content_type = self.content_type.clone().unwrap_or_else(|| "a page".to_owned());
        Cause::NotAStream {
            content_type,
            excerpt: bounded::one_line(&String::from_utf8_lossy(piece), 120),
        }
    }
}

fn too_long() -> Cause {
    Cause::Malformed(format!(
        "an event is longer than {} MiB",
        sse::MAX_EVENT / 1024 / 1024
    ))
}

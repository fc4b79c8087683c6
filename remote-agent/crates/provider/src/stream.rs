//! One request from the first attempt to the last item.

use std::{collections::VecDeque, fmt, hash::BuildHasher as _, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream, stream::BoxStream};
use reqwest::Response;
use stdx::bounded;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    Cause, Error, Policy, Request, StreamItem,
    http::Http,
    protocol::{Decoder, Protocol, Remaining},
    retry::Budget,
    sse,
};

/// How long usage and end mark may take after the model has finished.
const TRAILER: Duration = Duration::from_secs(5);
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
    http: Arc<Http>,
    retry: Policy,
}

impl Adapter {
    pub(crate) fn new(protocol: Box<dyn Protocol>, http: Http, retry: Policy) -> Self {
        Self {
            protocol: Arc::from(protocol),
            http: Arc::new(http),
            retry,
        }
    }
}

impl Provider for Adapter {
    fn name(&self) -> &str {
        self.http.name()
    }

    fn stream(&self, request: &Request<'_>, cancel: &CancellationToken) -> ItemStream {
        let run = Run {
            protocol: Arc::clone(&self.protocol),
            http: Arc::clone(&self.http),
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
    http: Arc<Http>,
    /// The frozen request: every attempt sends these bytes.
    body: Bytes,
    budget: Budget,
    phase: Phase,
    ready: VecDeque<StreamItem>,
}

enum Phase {
    Wait(Duration),
    Send,
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
                    provider = self.http.name(),
                    attempt = self.budget.attempt(),
                    "asking the model"
                );
                let response = self.http.post(self.body.clone()).await?;
                let reading = Reading::new(response, self.protocol.decoder(), self.http.idle_timeout());
                self.phase = Phase::Read(Box::new(reading));
            }
            Phase::Read(reading) => {
                let (items, end) = reading.step().await?;
                self.ready.extend(items);
                if end == End::Reached {
                    self.phase = Phase::Done;
                }
            }
            Phase::Done => {}
        }
        Ok(())
    }

    /// Turns a failure into another attempt, or gives it back.
    fn fail(&mut self, cause: Cause) -> Option<Error> {
        self.ready.clear();
        let cause = match cause {
            Cause::Inside { message, again } => Cause::Inside {
                message: self.http.redact(&message),
                again,
            },
            Cause::NotAStream {
                content_type,
                excerpt,
            } => Cause::NotAStream {
                content_type,
                excerpt: self.http.redact(&excerpt),
            },
            other => other,
        };
        let Some(wait) = self.budget.spend(&cause, chance()) else {
            self.phase = Phase::Done;
            return Some(Error::new(self.http.name(), cause));
        };
        tracing::debug!(provider = self.http.name(), %cause, ?wait, "trying again");
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

/// An answer that is coming in.
struct Reading {
    response: Response,
    shape: Shape,
    decoder: Box<dyn Decoder>,
    idle: Duration,
    deadline: Instant,
}

/// What the body turned out to be. The content type does not decide it: vendors and gateways label streams as JSON and
/// errors as streams.
enum Shape {
    Unknown,
    Events(sse::Parser),
    Json(Vec<u8>),
}

impl Reading {
    fn new(response: Response, decoder: Box<dyn Decoder>, idle: Duration) -> Self {
        Self {
            response,
            shape: Shape::Unknown,
            decoder,
            idle,
            deadline: Instant::now() + idle,
        }
    }

    /// Reads the next piece of the body and decodes it.
    async fn step(&mut self) -> Result<(Vec<StreamItem>, End), Cause> {
        let piece = match tokio::time::timeout_at(self.deadline, self.response.chunk()).await {
            Ok(Ok(piece)) => piece,
            // The model had finished: what is missing is only the usage.
            Ok(Err(_)) | Err(_) if self.decoder.remaining() == Remaining::Trailer => None,
            Ok(Err(error)) => return Err(Cause::Cut(Some(error.without_url()))),
            Err(_elapsed) => return Err(Cause::Stalled { limit: self.idle }),
        };
        let mut items = Vec::new();
        let Some(piece) = piece else {
            self.finish(&mut items)?;
            return Ok((items, End::Reached));
        };
        self.take(&piece, &mut items)?;
        if self.decoder.remaining() == Remaining::Nothing {
            items.extend(self.decoder.end()?);
            return Ok((items, End::Reached));
        }
        Ok((items, End::Ahead))
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
                self.deadline = Instant::now() + self.idle;
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
                        self.deadline = Instant::now() + self.idle;
                    }
                    (Remaining::Content, Remaining::Trailer) => {
                        self.deadline = Instant::now() + self.idle.min(TRAILER);
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
        let content_type = self.response.headers().get(reqwest::header::CONTENT_TYPE);
        let content_type = content_type
            .and_then(|value| value.to_str().ok())
            .unwrap_or("a page")
            .to_owned();
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

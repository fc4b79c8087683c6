//! Asking an endpoint through who has its key.
//!
//! The request is parked at the desk; a broker fetches it, adds the key, asks, and delivers the answer. No key is here, so
//! none is looked for. Nothing here is timed: whoever asks the vendor counts its silence and says so, and a broker that is
//! away may stay away.

use std::{sync::Arc, time::Duration};

use broker::{AnswerEnd, AnswerError, AnswerErrorKind, Ask, Desk, News, Parked, PlainHeaders, SessionId};
use bytes::Bytes;
use futures_util::{FutureExt as _, future::BoxFuture};

use crate::{
    Cause, Error, Options,
    error::Again,
    exchange::{Arrival, Asker, Exchange},
    http,
    judge::{self, Judge},
    protocol::Protocol,
};

/// Why an answer that had begun is void, in words.
const WENT_AWAY: &str = "the machine with the key went away before its answer was whole; asking again";

/// An endpoint that is asked through a broker.
#[derive(Debug)]
pub(crate) struct Brokered {
    judge: Arc<Judge>,
    desk: Desk,
    /// A request without its body.
    blank: Ask,
}

impl Brokered {
    /// Checks the options. A key among them is dropped, and so are header fields that may be credentials.
    pub(crate) fn new(
        options: &Options,
        protocol: &dyn Protocol,
        desk: Desk,
        session: SessionId,
    ) -> Result<Self, Error> {
        let failed = |cause| Error::new(&options.name, cause);
        let endpoint = http::endpoint(options, protocol.path()).map_err(failed)?;
        if endpoint.has_user() {
            let text = format!("the URL of {endpoint} holds a user name, which is a credential");
            return Err(failed(Cause::Config(text)));
        }
        let blank = Ask {
            session,
            provider: options.name.clone(),
            key_env: options.key_env.clone(),
            url: endpoint.as_str().to_owned(),
            headers: plain_headers(options),
            body: String::new(),
            attempt: 1,
        };
        Ok(Self {
            judge: Arc::new(Judge::new(options, protocol.name())),
            desk,
            blank,
        })
    }
}

fn plain_headers(options: &Options) -> PlainHeaders {
    let fixed = [
        ("content-type", "application/json"),
        ("accept", "text/event-stream"),
    ];
    let configured = options.headers.iter();
    let configured = configured.map(|(name, value)| (name.as_str(), value.expose()));
    let mut headers = PlainHeaders::default();
    for (name, value) in fixed.into_iter().chain(configured) {
        // The broker has its own configuration for those.
        if let Err(error) = headers.add(name, value) {
            tracing::debug!(provider = options.name, %error, "left out of a request that a broker answers");
        }
    }
    headers
}

impl Asker for Brokered {
    fn judge(&self) -> &Judge {
        &self.judge
    }

    fn idle_timeout(&self) -> Option<Duration> {
        None
    }

    fn begin(&self, body: Bytes, attempt: u32) -> Box<dyn Exchange> {
        let ask = Ask {
            // Formats are JSON in UTF-8.
            body: String::from_utf8_lossy(&body).into_owned(),
            attempt,
            ..self.blank.clone()
        };
        Box::new(Attempt {
            judge: Arc::clone(&self.judge),
            stage: Stage::Park(self.desk.clone(), Box::new(ask)),
            refusal: None,
        })
    }
}

/// An attempt.
struct Attempt {
    judge: Arc<Judge>,
    stage: Stage,
    /// The vendor's refusal, when its answer is one.
    refusal: Option<Refusal>,
}

enum Stage {
    Park(Desk, Box<Ask>),
    Follow(Parked),
    Over,
}

/// A refusal that is coming in.
struct Refusal {
    status: u16,
    retry_after: Option<Duration>,
    body: Vec<u8>,
}

impl Exchange for Attempt {
    fn next(&mut self) -> BoxFuture<'_, Result<Arrival, Cause>> {
        async {
            let arrival = self.arrive().await;
            if matches!(arrival, Err(_) | Ok(Arrival::End)) {
                self.stage = Stage::Over;
            }
            arrival
        }
        .boxed()
    }
}

impl Attempt {
    async fn arrive(&mut self) -> Result<Arrival, Cause> {
        loop {
            let news = match &mut self.stage {
                Stage::Park(desk, ask) => {
                    let parked = desk.park(Ask::clone(ask));
                    self.stage = Stage::Follow(parked.map_err(|error| Cause::Config(error.to_string()))?);
                    continue;
                }
                Stage::Follow(parked) => parked.next().await,
                Stage::Over => return Ok(Arrival::End),
            };
            if let Some(arrival) = self.on_news(news)? {
                return Ok(arrival);
            }
        }
    }

    fn on_news(&mut self, news: News) -> Result<Option<Arrival>, Cause> {
        match (news, &mut self.refusal) {
            (News::Waiting, _) => Ok(Some(Arrival::Waiting)),
            (News::WentOn, _) => Ok(Some(Arrival::WentOn)),
            (News::Void, refusal) => {
                *refusal = None;
                Ok(Some(Arrival::Void(WENT_AWAY.to_owned())))
            }
            (News::Head(head), _) if (200..300).contains(&head.status) => Ok(Some(Arrival::Head {
                content_type: head.header("content-type").map(str::to_owned),
            })),
            (News::Head(head), refusal) => {
                *refusal = Some(Refusal {
                    status: head.status,
                    retry_after: judge::wanted_wait(|name| head.header(name)),
                    body: Vec::new(),
                });
                Ok(None)
            }
            (News::Data(bytes), None) => Ok(Some(Arrival::Piece(bytes.into()))),
            (News::Data(bytes), Some(refusal)) => {
                let room = judge::ERROR_BODY.saturating_sub(refusal.body.len());
                refusal.body.extend(bytes.into_iter().take(room));
                Ok(None)
            }
            // A refusal that breaks off still says what it says.
            (News::End(_), Some(refusal)) => {
                Err(self
                    .judge
                    .status(refusal.status, refusal.retry_after, &refusal.body))
            }
            (News::End(AnswerEnd { error: None }), None) => Ok(Some(Arrival::End)),
            (News::End(AnswerEnd { error: Some(error) }), None) => Err(self.broken(&error)),
            (News::Fault(why), _) => Err(Cause::Malformed(format!(
                "what came from the machine with the key makes no sense: {why}"
            ))),
        }
    }

    /// Says what the end of an answer means that is not whole.
    fn broken(&self, error: &AnswerError) -> Cause {
        use AnswerErrorKind::{Budget, Connect, Cut, Expired, NotAllowed, Refused, Stalled, Unknown};
        let again = match error.kind {
            Cut | Stalled | Connect => Again::Maybe,
            Refused | Budget | Expired | NotAllowed | Unknown => Again::No,
        };
        Cause::Brokered {
            message: self.judge.redact(&error.message),
            hint: error.hint.as_deref().map(|hint| self.judge.redact(hint)),
            again,
        }
    }
}

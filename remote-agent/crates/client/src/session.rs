//! Requests about one session.

use http::{StatusCode, header};
use protocol::{CommandRequest, HistoryPage, Receipt, SessionId, Snapshot};

use crate::{
    agent::Agent,
    call::Call,
    error::Error,
    events::{EventStream, Opened},
};

/// A handle to one session of an agent.
#[derive(Debug, Clone)]
pub struct SessionClient {
    agent: Agent,
    session: SessionId,
}

impl SessionClient {
    pub(crate) fn new(agent: Agent, session: SessionId) -> Self {
        Self { agent, session }
    }

    /// Gives the session's id.
    #[must_use]
    pub fn id(&self) -> SessionId {
        self.session
    }

    /// Gives the agent.
    #[must_use]
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Asks for the whole state.
    ///
    /// # Errors
    /// As for every request.
    pub async fn snapshot(&self) -> Result<Snapshot, Error> {
        let call = Call::get(format!("the state of {}", self.named()), self.path("snapshot"));
        self.agent.call(&call).await
    }

    /// Sends a command. When the connection fails before the receipt came, the same command with the same id is sent
    /// again; the agent runs it once.
    ///
    /// # Errors
    /// As for every request. After [`Error::Connection`] it is not known whether the command arrived; sending it
    /// again with the same id is always safe.
    pub async fn command(&self, request: &CommandRequest) -> Result<Receipt, Error> {
        let what = format!("a receipt for command {}", request.id);
        let call = Call::post(what, self.path("commands"), request)?;
        let receipt: Receipt = self.agent.call(&call).await?;
        if receipt.id == request.id {
            Ok(receipt)
        } else {
            Err(Error::protocol(
                call.what,
                &format!("it is for command {}", receipt.id),
            ))
        }
    }

    /// Asks for up to `limit` events after number `after`, from disk. A page may be shorter than the limit; it is the
    /// last when its last event is [`HistoryPage::newest`].
    ///
    /// # Errors
    /// As for every request.
    pub async fn history(&self, after: u64, limit: usize) -> Result<HistoryPage, Error> {
        let path = self.path(&format!("history?after={after}&limit={limit}"));
        self.agent
            .call(&Call::get(format!("the history of {}", self.named()), path))
            .await
    }

    /// Follows the events after number `after`. One attempt: a follower decides itself when to try again.
    ///
    /// # Errors
    /// [`Error::TooManyStreams`], [`Error::Stalled`] when the agent does not begin to answer, or as for every request.
    pub async fn events(&self, after: u64) -> Result<EventStream, Error> {
        let permit = self.agent.event_stream_permit()?;
        let what = format!("the events of {}", self.named());
        let call = Call::get(&what, self.path(&format!("events?after={after}")));
        let silence = self.agent.options().stream_silence;
        let stalled = |_| Error::Stalled {
            what: what.clone(),
            after: silence,
        };
        let connection = self.agent.connection().await?;
        let request = call.request("text/event-stream")?;
        let response = tokio::time::timeout(silence, connection.send(&what, request))
            .await
            .map_err(stalled)??;
        let status = response.status();
        if status != StatusCode::OK {
            let body = call.collect(&connection, response.into_body()).await?;
            return Err(call.refusal(status, &body));
        }
        let kind = response.headers().get(header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if !kind.starts_with("text/event-stream") {
            return Err(Error::protocol(
                what,
                &format!("its type is {kind:?}, not text/event-stream"),
            ));
        }
        Ok(EventStream::new(Opened {
            what,
            agent: self.agent.clone(),
            connection,
            permit,
            body: response.into_body(),
            after,
            silence,
        }))
    }

    fn named(&self) -> String {
        format!("session {}", self.session)
    }

    fn path(&self, rest: &str) -> String {
        format!("/v1/sessions/{}/{rest}", self.session)
    }
}

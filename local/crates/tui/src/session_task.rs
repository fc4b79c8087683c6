//! The task that follows one session: opens or resumes it when the link is live, and again after every break, until
//! it is cancelled because another session is shown.
//!
//! It is the only owner of the [`SessionView`]. What it sends is what changed, so that the screen's work for a frame
//! does not grow with the transcript. The channel is bounded: a slow screen makes the agent's stream wait.

use std::time::Duration;

use client::{Error, SessionClient, SessionView, Update};
use link::AgentLink;
use protocol::{OpenSession, SessionId};
use tokio::sync::mpsc;

use crate::msg::{Msg, SessionMsg, SessionNews};

/// The wait between two tries that fail although the link is live.
const AGAIN: Duration = Duration::from_millis(250);

/// The session that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// How it is opened or resumed.
    pub(crate) open: OpenSession,
    /// Whether it is to be made; else it exists.
    is_new: bool,
}

impl Wanted {
    /// Asks for a new session. A workspace that is not given is the link's, or the home folder there.
    pub(crate) fn new_session(open: OpenSession) -> Self {
        Self { open, is_new: true }
    }

    /// Asks for a session that exists.
    pub(crate) fn existing(session: SessionId) -> Self {
        let open = OpenSession {
            session,
            workspace: None,
            model: None,
            preset: None,
            credentials: None,
        };
        Self { open, is_new: false }
    }

    pub(crate) fn session(&self) -> SessionId {
        self.open.session
    }

    /// Completes the request for a new session with what the link knows.
    fn request(&self, link: &AgentLink) -> OpenSession {
        let mut open = self.open.clone();
        if self.is_new && open.workspace.is_none() {
            let known = match link {
                AgentLink::Remote(link) => link.ready().and_then(|ready| ready.workspace),
                AgentLink::Local(_) => None,
            };
            open.workspace = Some(known.unwrap_or_else(|| "~".to_owned()));
        }
        open
    }
}

/// Follows a session until nobody listens or it cannot go on.
pub(crate) async fn follow(link: AgentLink, wanted: Wanted, news: mpsc::Sender<Msg>) {
    let follower = Follower { link, wanted, news };
    if let Err(error) = follower.run().await {
        // Nobody listens any more only when the screen is gone.
        let _gone = follower.tell(SessionNews::Failed(error)).await;
    }
}

struct Follower {
    link: AgentLink,
    wanted: Wanted,
    news: mpsc::Sender<Msg>,
}

impl Follower {
    /// Opens and follows. Ends well when the session was closed or nobody listens.
    async fn run(&self) -> Result<(), Error> {
        let client = self.link.agent().session(self.wanted.session());
        // The request stays the same over all tries, or the agent would take it for another one.
        let mut request: Option<OpenSession> = None;
        let mut view: Option<SessionView> = None;
        loop {
            self.live().await;
            let request = request.get_or_insert_with(|| self.wanted.request(&self.link));
            let ended = match &mut view {
                Some(view) => self.pass_on(view).await,
                None => match self.open(&client, request).await {
                    Ok(opened) => {
                        let snapshot = Box::new(opened.snapshot().clone());
                        view = Some(opened);
                        self.tell(SessionNews::Replaced(snapshot)).await.map(Ok)
                    }
                    Err(error) => Some(Err(error)),
                },
            };
            match ended {
                None => return Ok(()),
                Some(Ok(())) => {}
                Some(Err(error)) if error.is_retryable() => {
                    if self.tell(SessionNews::Interrupted(error)).await.is_none() {
                        return Ok(());
                    }
                    tokio::time::sleep(AGAIN).await;
                }
                Some(Err(error)) => return Err(error),
            }
        }
    }

    async fn open(&self, client: &SessionClient, request: &OpenSession) -> Result<SessionView, Error> {
        if !self.wanted.is_new {
            let (_info, snapshot) = self.link.agent().enter(request).await?;
            return Ok(SessionView::from_snapshot(client.clone(), snapshot));
        }
        self.link.open_session(request).await?;
        SessionView::open(client.clone()).await
    }

    /// Passes on what happens. Gives why the stream ended, or nothing when there is no more to do.
    async fn pass_on(&self, view: &mut SessionView) -> Option<Result<(), Error>> {
        loop {
            let news = match view.next().await {
                Ok(Update::Frame(frame)) => SessionNews::Frame(Box::new(frame)),
                Ok(Update::Refreshed) => SessionNews::Replaced(Box::new(view.snapshot().clone())),
                Ok(Update::Closed) => {
                    self.tell(SessionNews::Closed).await?;
                    return None;
                }
                Err(error) => return Some(Err(error)),
            };
            self.tell(news).await?;
        }
    }

    /// Waits for the link to be live.
    async fn live(&self) {
        let mut states = self.link.states();
        if !states.borrow().is_live() && states.wait_for(link::LinkState::is_live).await.is_err() {
            // The link is closed for good; whoever closed it also cancels this task.
            std::future::pending::<()>().await;
        }
    }

    /// Tells the screen; `None` when it is gone.
    async fn tell(&self, news: SessionNews) -> Option<()> {
        let session = self.wanted.session();
        self.news
            .send(Msg::Session(SessionMsg { session, news }))
            .await
            .ok()
    }
}

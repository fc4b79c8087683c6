//! The throwaway host with a link to it: what the plain run and a screen both start with and end with.

use std::{sync::Arc, time::Duration};

use link::{Link, LinkOptions, Prompter};
use protocol::{OpenSession, SessionId};
use stdx::task::Scope;

use crate::{
    companion::Companion, daemon, error::DemoError, host::Host, options::DemoOptions, repository, scenario,
};

/// How long the tasks of the link have to end.
const GRACE: Duration = Duration::from_secs(1);

/// A throwaway host and the link to it.
///
/// [`DemoHost::close`] ends and removes everything. Dropping it instead removes the folder, and the agent that was
/// started ends by itself after 60 s.
pub struct DemoHost {
    pub(crate) host: Host,
    link: Link,
    scope: Scope,
    session: SessionId,
}

impl DemoHost {
    /// Makes the host and starts a link to it; `prompter` answers what the link asks.
    ///
    /// # Errors
    /// [`DemoError::Prepare`].
    pub async fn open(options: &DemoOptions, prompter: Arc<dyn Prompter>) -> Result<Self, DemoError> {
        let scope = Scope::root("demo");
        let host = Host::start(options, &scope).await?;
        let link_options = LinkOptions {
            prompter,
            ..host.link_options(options)
        };
        let link = Link::open(link_options, &scope);
        Ok(Self {
            host,
            link,
            scope,
            session: SessionId::fresh(),
        })
    }

    /// Gives the link.
    #[must_use]
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Gives the request that opens the demo's session, the same each time.
    #[must_use]
    pub fn session(&self) -> OpenSession {
        OpenSession {
            session: self.session,
            workspace: Some(format!("~/{}", repository::FOLDER)),
            model: None,
            preset: None,
            credentials: None,
        }
    }

    /// Gives the task, as a person would type it.
    #[must_use]
    pub fn task() -> &'static str {
        scenario::REQUEST
    }

    /// Starts to follow the demo's session beside a front end, to cut its connection and to count.
    #[must_use]
    pub fn companion(&self) -> Companion<'_> {
        Companion::new(self)
    }

    /// Ends everything that was started and removes the folder. Every step is tried, and the first that fails is told.
    ///
    /// # Errors
    /// [`DemoError::LeftBehind`].
    pub async fn close(self) -> Result<(), DemoError> {
        let Self {
            host, link, scope, ..
        } = self;
        let folder = host.folder().display().to_string();
        let stopped = daemon::stop(&link, host.folder()).await;
        let ((), removed) = tokio::join!(link.close(), host.close());
        scope.close(GRACE).await;
        let removed = removed.map_err(|error| format!("the folder {folder} stays: {error}"));
        stopped.and(removed).map_err(DemoError::LeftBehind)
    }
}

//! `reasonix attach`: follow a session that runs, and answer its questions.

use std::{path::Path, time::Duration};

use link::AgentLink;
use protocol::{OpenSession, SessionId};

use crate::{
    args::AttachArgs,
    connect::Connected,
    exit::Exit,
    headless::{self, Job},
    invocation::Invocation,
    report::Failure,
};

/// Follows a session until its turn ends.
pub(crate) async fn run(invocation: &Invocation, args: AttachArgs) -> Result<Exit, Failure> {
    let connected = Connected::open(invocation, args.remote.as_deref(), Path::new("/"), Vec::new()).await?;
    let outcome = async {
        connected.forward(&args.forwards).await?;
        let session = find(&connected.link, &args.session).await?;
        let job = Job {
            open: OpenSession {
                session,
                workspace: None,
                model: None,
                preset: None,
            },
            preset: None,
            task: None,
            format: args.output_format,
            give_up_after: Duration::from_secs(600),
            way_back: way_back(args.remote.as_deref(), session),
        };
        headless::run(&connected.link, job).await
    };
    let outcome = outcome.await;
    connected.close().await;
    outcome
}

/// Finds the one session whose id is, or begins with, what was typed.
pub(crate) async fn find(link: &AgentLink, wanted: &str) -> Result<SessionId, Failure> {
    if let Ok(session) = wanted.parse() {
        return Ok(session);
    }
    let list = link.agent().sessions().await?;
    let ids: Vec<SessionId> = list.sessions.iter().map(|info| info.session).collect();
    let found: Vec<SessionId> = ids
        .into_iter()
        .filter(|id| !wanted.is_empty() && id.to_string().starts_with(wanted))
        .collect();
    match found.as_slice() {
        [session] => Ok(*session),
        [] => Err(
            Failure::new(Exit::Usage, format!("no session begins with {wanted:?}"))
                .hint("`reasonix sessions` lists them"),
        ),
        several => {
            let several: Vec<String> = several.iter().map(ToString::to_string).collect();
            Err(Failure::new(
                Exit::Usage,
                format!("several sessions begin with {wanted:?}: {}", several.join(", ")),
            ))
        }
    }
}

/// Gives the command that comes back to a session.
pub(crate) fn way_back(remote: Option<&str>, session: SessionId) -> String {
    match remote.map(crate::host::HostRef::parse) {
        Some(Ok(host)) => format!("reasonix attach --remote {} {session}", host.host),
        _ => format!("reasonix run --resume {session} \"go on\""),
    }
}

//! `reasonix attach`: follow a session that runs, and answer its questions.

use std::{path::Path, sync::Arc, time::Duration};

use link::{AgentLink, Patience, Prompter};
use protocol::{OpenSession, SessionId};
use tui::Opening;

use crate::{
    args::{AttachArgs, OutputFormat},
    ask::{self, Handover},
    connect::Connected,
    exit::Exit,
    forwards::Asked,
    headless::{self, Job},
    invocation::Invocation,
    report::Failure,
    screen::{self, Door, Wanted},
};

/// Follows a session until its turn ends.
pub(crate) async fn run(invocation: &Invocation, args: AttachArgs) -> Result<Exit, Failure> {
    let forwards = Asked::read(&args.forwards)?;
    let connected = Connected::open(invocation, args.remote.as_deref(), Path::new("/"), Vec::new()).await?;
    let outcome = async {
        connected.stay_in_text(invocation, "attach", forwards).await;
        let session = find(&connected.link, &args.session).await?;
        let job = Job {
            open: OpenSession {
                session,
                workspace: None,
                model: None,
                preset: None,
                credentials: None,
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

/// Says whether the screen is opened: on a terminal, unless text or JSON is wanted.
pub(super) fn opens_screen(invocation: &Invocation, args: &AttachArgs) -> bool {
    args.output_format == OutputFormat::Text && !args.plain && screen::is_possible(invocation)
}

/// Opens the screen on a session. A whole id needs no network; the beginning of one is looked up first.
pub(super) async fn on_screen(invocation: &Invocation, args: AttachArgs) -> Result<Exit, Failure> {
    let forwards = Asked::read(&args.forwards)?;
    let (asking, questions) = tui::questions();
    let whole: Option<SessionId> = args.session.parse().ok();
    let terminal = Arc::new(Handover::new(ask::prompter()));
    let prompter: Arc<dyn Prompter> = terminal.clone();
    let root = Path::new("/");
    let connected = match &args.remote {
        Some(host) => Connected::for_screen(invocation, host, Arc::clone(&prompter))?,
        None => Connected::open(invocation, None, root, Vec::new()).await?,
    };
    let session = match whole {
        Some(session) => session,
        None => match looked_up(&connected, &args.session).await {
            Ok(session) => session,
            Err(failure) => {
                connected.close().await;
                return Err(failure);
            }
        },
    };
    terminal.hand_over(asking);
    let wanted = Wanted {
        remote: args.remote,
        opening: Opening::Resume(session),
        draft: String::new(),
        forwards,
    };
    let door = Door {
        connected,
        prompter,
        questions,
    };
    door.show(invocation, wanted).await
}

async fn looked_up(connected: &Connected, wanted: &str) -> Result<SessionId, Failure> {
    connected.link.wait_live(Patience::FirstTry).await?;
    find(&connected.link, wanted).await
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
            Failure::new(Exit::Usage, format!("no session begins with {wanted:?}")).hint(match link.host() {
                Some(host) => format!("`reasonix sessions --remote {host}` lists them"),
                None => "`reasonix sessions` lists them".to_owned(),
            }),
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
    format!("{} {session}", screen::way_back(remote))
}

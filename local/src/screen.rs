//! The doors of the screen: what it needs is put together here, and what it ends with becomes an exit code.

use std::{
    io::{self, IsTerminal as _},
    path::Path,
    sync::Arc,
};

use link::Prompter;
use tui::{Appearance, Ending, Opening, Questions, TuiOptions, Why};

use crate::{
    ask::visible,
    broker,
    connect::Connected,
    exit::Exit,
    forwards::Asked,
    host::{HostPlan, HostRef},
    invocation::Invocation,
    logging,
    report::{self, Failure},
    terminal,
};

/// What a door wants to be shown.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    /// The host and the workspace there; `None` is this machine.
    pub(crate) remote: Option<String>,
    /// The session to show first.
    pub(crate) opening: Opening,
    /// What stands in the composer.
    pub(crate) draft: String,
    /// Forwards that were asked for on the command line.
    pub(crate) forwards: Asked,
}

/// Says why there can be no screen here, and what to use in its place.
pub(crate) fn check(invocation: &Invocation) -> Result<(), Failure> {
    let instead = "`reasonix run \"task\"` works without, and `reasonix --help` lists everything else";
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        let message = "the screen needs a terminal as standard input and standard output";
        return Err(Failure::new(Exit::Usage, message).hint(instead));
    }
    match invocation.variable("TERM").unwrap_or_default() {
        "" => Err(Failure::new(
            Exit::Usage,
            "TERM is not set, so nobody knows what this terminal can show",
        )
        .hint(format!("set TERM to the terminal's kind; {instead}"))),
        "dumb" => {
            Err(Failure::new(Exit::Usage, "TERM is dumb: this terminal cannot show a screen").hint(instead))
        }
        _ => Ok(()),
    }
}

/// Says whether there can be a screen here.
pub(crate) fn is_possible(invocation: &Invocation) -> bool {
    check(invocation).is_ok()
}

/// Sends what is logged to a file: the screen belongs to the person. A file that cannot be opened costs the log only.
pub(crate) fn log_to_file(invocation: &Invocation) {
    let file = invocation.home.join("logs").join("screen.log");
    let filter = invocation.variable("REASONIX_LOG");
    if let Err(error) = logging::to_file(&file, invocation.verbose, filter) {
        terminal::error(&format!("no log is written: {}: {error}", file.display()));
    }
}

/// Opens an agent and shows its sessions. On a host, the screen is there before the first byte is sent.
pub(crate) async fn open(invocation: &Invocation, project: &Path, wanted: Wanted) -> Result<Exit, Failure> {
    if let Some(host) = &wanted.remote {
        // A screen that says that everything is ready would be wrong.
        let loaded = settings::load(&invocation.sources(None, &[]))?;
        let plan = HostPlan::new(&HostRef::parse(host)?, &loaded)?;
        broker::need_key(&plan, None, invocation, &loaded)?;
    }
    let (prompter, questions) = tui::questions();
    let connected = match &wanted.remote {
        Some(host) => Connected::for_screen(invocation, host, Arc::clone(&prompter))?,
        None => Connected::open(invocation, None, project, Vec::new()).await?,
    };
    let door = Door {
        connected,
        prompter,
        questions,
    };
    door.show(invocation, wanted).await
}

/// An agent on its way, and how its questions reach the screen.
pub(crate) struct Door {
    /// The agent.
    pub(crate) connected: Connected,
    /// Who asks.
    pub(crate) prompter: Arc<dyn Prompter>,
    /// The screen's end of it.
    pub(crate) questions: Questions,
}

impl Door {
    /// Shows the screen until the person leaves, and closes everything.
    pub(crate) async fn show(self, invocation: &Invocation, wanted: Wanted) -> Result<Exit, Failure> {
        let Self {
            connected,
            prompter,
            questions,
        } = self;
        let outcome = async {
            let options = options(invocation, &wanted);
            let screen = tui::run(connected.link.clone(), questions, options, connected.scope());
            let mut screen = std::pin::pin!(screen);
            // Beside the screen, which is what asks a person about a forward.
            let staying = connected.stay(invocation, "screen", wanted.forwards.clone(), &prompter);
            let ended = tokio::select! {
                biased;
                ended = &mut screen => ended,
                () = staying => screen.await,
            };
            ended.map_err(|error| Failure::new(Exit::Failed, report::chain(&error)))
        };
        let outcome = outcome.await;
        connected.close().await;
        ended(outcome?, wanted.remote.as_deref())
    }
}

fn options(invocation: &Invocation, wanted: &Wanted) -> TuiOptions {
    let has_colours = invocation.variable("NO_COLOR").unwrap_or_default().is_empty();
    TuiOptions {
        opening: wanted.opening.clone(),
        draft: wanted.draft.clone(),
        history_file: Some(invocation.home.join("history")),
        version: remote_agent::identity::VERSION.to_owned(),
        introduction: String::new(),
        appearance: if has_colours {
            Appearance::Auto
        } else {
            Appearance::Plain
        },
        way_back: way_back(wanted.remote.as_deref()),
        mouse: true,
    }
}

/// Gives the command that comes back to a session whose id is appended.
pub(crate) fn way_back(remote: Option<&str>) -> String {
    match remote.map(crate::host::HostRef::parse) {
        Some(Ok(host)) => format!("reasonix attach --remote {}", host.host),
        _ => "reasonix attach".to_owned(),
    }
}

/// Leaves on the normal screen what is worth keeping, and gives the exit code.
fn ended(ending: Ending, remote: Option<&str>) -> Result<Exit, Failure> {
    for line in &ending.tail {
        terminal::line(&visible(line));
    }
    if ending.undelivered > 0 {
        terminal::error(&format!(
            "{} message(s) could not be delivered and are lost",
            ending.undelivered
        ));
    }
    if let Some(session) = ending.session {
        let goes_on = match (ending.is_working, remote) {
            (true, Some(_)) => "; its turn goes on there",
            _ => "",
        };
        terminal::error(&format!(
            "session {session}{goes_on}; come back with: {} {session}",
            way_back(remote)
        ));
    }
    match ending.why {
        Why::Quit => Ok(Exit::Success),
        Why::Signal => Ok(Exit::Interrupted),
        Why::Failed(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_back_names_the_host_without_its_workspace() {
        assert_eq!(way_back(None), "reasonix attach");
        assert_eq!(way_back(Some("box:~/w")), "reasonix attach --remote box");
        assert_eq!(
            way_back(Some("me@h:2222:/w")),
            "reasonix attach --remote me@h:2222"
        );
    }

    #[test]
    fn an_ending_has_an_exit_code() {
        let ending = |why| Ending {
            session: None,
            is_working: false,
            undelivered: 0,
            why,
            tail: Vec::new(),
        };
        assert_eq!(ended(ending(Why::Quit), None), Ok(Exit::Success));
        assert_eq!(ended(ending(Why::Signal), None), Ok(Exit::Interrupted));
    }
}

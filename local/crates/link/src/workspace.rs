//! A workspace that is missing on the host: it is made if a person says so, and never otherwise.

use std::time::Duration;

use bootstrap::{Ask, SshRemote, Workspace, Write};
use stdx::bounded::one_line;
use transport::{CaptureLimits, Connection, Prompter};

/// Makes a folder and those above it. Its name comes as the whole standard input, since a name may hold line ends; the
/// dot keeps those at its end.
const MAKE: &str = r#"exec /bin/sh -c 'folder=$(cat; echo .); exec mkdir -p -- "${folder%.}"'"#;

/// How long making a folder may take.
const DEADLINE: Duration = Duration::from_secs(30);

/// How many characters of the host's words are passed on.
const WORDS: usize = 300;

/// Asks whether a folder that is missing shall be made, and makes it. Says whether it is there now.
pub(crate) async fn offer(connection: &Connection, prompter: &dyn Prompter, folder: &str) -> bool {
    let host = connection.host();
    let question = format!("The workspace {folder} does not exist on {host}. Make it?");
    if !prompter.confirm(&question).await {
        return false;
    }
    match make(connection, folder).await {
        Ok(()) => true,
        Err(why) => {
            prompter.notice(&format!("{folder} could not be made on {host}: {why}"));
            false
        }
    }
}

/// As [`offer`], for a folder of which the agent said that it cannot be used: whether it is missing is looked up first.
pub(crate) async fn offer_if_missing(connection: &Connection, prompter: &dyn Prompter, folder: &str) -> bool {
    let ask = Ask {
        workspace: Some(folder),
        home: None,
        write: Write::Forbidden,
    };
    match bootstrap::probe(&SshRemote::new(connection.clone()), &ask).await {
        Ok(probe) => match probe.workspace {
            Some(Workspace::Missing(path)) => offer(connection, prompter, &path).await,
            _ => false,
        },
        Err(error) => {
            // What the agent said is the news; under `MaxSessions 1` there may be no room for a look.
            tracing::debug!(%error, "the workspace was not looked at");
            false
        }
    }
}

async fn make(connection: &Connection, folder: &str) -> Result<(), String> {
    let made = connection
        .exec_capture(MAKE, folder.as_bytes(), CaptureLimits::default(), DEADLINE)
        .await
        .map_err(|error| error.to_string())?;
    if made.status.success() {
        return Ok(());
    }
    Err(one_line(&String::from_utf8_lossy(&made.stderr), WORDS))
}

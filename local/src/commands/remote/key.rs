//! `reasonix remote key HOST NAME`: stores a provider key in the host's own `.env`. The value travels on standard
//! input only.

use std::{path::Path, time::Duration};

use stdx::Secret;
use transport::CaptureLimits;

use crate::{
    args::RemoteKeyArgs, connect::Connected, exit::Exit, invocation::Invocation, report::Failure, terminal,
};

/// How long the host may take.
const DEADLINE: Duration = Duration::from_secs(30);

/// Stores a key on a host.
pub(crate) async fn run(invocation: &Invocation, args: RemoteKeyArgs) -> Result<Exit, Failure> {
    crate::commands::key::check_name(&args.name)?;
    let name = args.name.clone();
    let key = stdx::task::blocking(move || crate::commands::key::read(&name)).await?;
    let connected = Connected::open(invocation, Some(&args.host), Path::new("/"), Vec::new()).await?;
    let outcome = store(&connected, &args, &key).await;
    connected.close().await;
    outcome
}

async fn store(connected: &Connected, args: &RemoteKeyArgs, key: &Secret) -> Result<Exit, Failure> {
    let failed = |why: String| {
        Failure::new(
            Exit::Failed,
            format!("could not store {} on {}: {why}", args.name, args.host),
        )
    };
    let link = connected
        .ssh()
        .ok_or_else(|| failed("it is no host".to_owned()))?;
    let (Some(ready), Some(connection)) = (link.ready(), link.connection()) else {
        return Err(failed("the link is down".to_owned()));
    };
    // The fixed command runs under any login shell; names with quotes cannot occur in it.
    let command = "exec /bin/sh -c 'IFS= read -r program; IFS= read -r home; if [ -n \"$home\" ]; then export REASONIX_HOME=\"$home\"; fi; \
                   IFS= read -r name; exec \"$program\" key \"$name\"'";
    let input = format!(
        "{}\n{}\n{}\n{}\n",
        ready.program,
        ready.home.unwrap_or_default(),
        args.name,
        key.expose()
    );
    let output = connection
        .exec_capture(command, input.as_bytes(), CaptureLimits::default(), DEADLINE)
        .await;
    let output = output.map_err(|error| failed(crate::report::chain(&error)))?;
    if output.status.success() {
        terminal::line(&format!("{} is stored on {}", args.name, args.host));
        return Ok(Exit::Success);
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(failed(stdx::bounded::one_line(&crate::ask::visible(&said), 500)))
}

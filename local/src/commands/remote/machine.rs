//! `reasonix remote trust HOST --machine`: whichever machine answers next under a name is accepted.

use serde_json::json;
use transport::Endpoint;

use crate::{
    exit::Exit,
    invocation::Invocation,
    report::{Failure, SCHEMA},
    terminal,
};

/// Forgets which machine answered. Nothing is asked of the host.
pub(super) async fn forget(
    invocation: &Invocation,
    host: &str,
    endpoint: Endpoint,
    json: bool,
) -> Result<Exit, Failure> {
    let folder = invocation.home.join("hosts");
    let shown = folder.display().to_string();
    let forgot = stdx::task::blocking(move || link::forget_machine(&folder, &endpoint))
        .await
        .map_err(|error| {
            let message = format!("could not forget which machine {host} is, in {shown}: {error}");
            Failure::new(Exit::Failed, message)
        })?;
    if json {
        terminal::line(&json!({"host": host, "machine_forgotten": forgot, "schema": SCHEMA}).to_string());
    } else if forgot {
        terminal::line(&format!(
            "whichever machine answers next as {host} is accepted; its host key is checked as before"
        ));
    } else {
        terminal::line(&format!("no machine is remembered for {host}"));
    }
    Ok(Exit::Success)
}

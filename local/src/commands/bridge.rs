//! `reasonix bridge`: standard input and output to the daemon's socket, for hosts that forbid forwarding.

use remote_agent::bridge::{self, BridgeOutcome};

use crate::{args::BridgeArgs, exit::Exit, invocation::Invocation, report::Failure};

/// Copies until the connection ends.
pub(crate) async fn run(invocation: &Invocation, args: BridgeArgs) -> Result<Exit, Failure> {
    let socket = args.socket.unwrap_or_else(|| invocation.run_dir().socket());
    match bridge::run(&socket, &args.fence, tokio::io::stdin(), tokio::io::stdout()).await {
        Ok(BridgeOutcome::Finished) => Ok(Exit::Success),
        Ok(BridgeOutcome::NoDaemon | BridgeOutcome::Denied) => Ok(Exit::Failed),
        Err(error) => Err(Failure::new(
            Exit::Failed,
            format!("could not write to standard output: {error}"),
        )),
    }
}

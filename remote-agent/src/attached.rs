//! `reasonix serve --stdio`: an agent that lives on one connection, for hosts on which none can stay.
//!
//! Everything a session was told is on disk. When the connection ends, running turns are recorded as interrupted and the
//! agent ends; the next connection begins another one, which takes the sessions up again. The end of a connection that
//! nobody announces is noticed by silence, soon enough that the next agent can wait for the leases of this one.

use std::time::Duration;

use stdx::task::Scope;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};

use crate::{Agent, bridge};

/// How long a client may be silent.
const SILENCE: serve::Silence = serve::Silence {
    ping_every: Duration::from_secs(5),
    pong_within: Duration::from_secs(15),
};
/// How long such an agent waits for the lease of a session that the one of the connection before still holds: longer than
/// that one takes to notice the silence and to end its turns.
pub const LEASE_PATIENCE: Duration = Duration::from_secs(45);
/// How long the end of the last answer may take to be written.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Bytes between the connection and the agent.
const PIPE: usize = 256 * 1024;

/// Says `FENCE connected FENCE` if there is a fence, then serves the wire until the connection ends, its client falls
/// silent, or `stop` resolves. Closes the agent.
pub async fn serve(
    agent: &Agent,
    fence: Option<&str>,
    input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
    stop: impl Future<Output = ()>,
) {
    let scope = Scope::root("attached");
    let (ours, theirs) = tokio::io::duplex(PIPE);
    let served = serve::serve_stream_until(theirs, agent.router(), SILENCE, scope.child("stream"));
    let copied = async {
        if let Some(fence) = fence {
            // The line starts on its own, whatever start-up files printed before it.
            output
                .write_all(format!("\n{fence} connected {fence}\n").as_bytes())
                .await?;
            output.flush().await?;
        }
        bridge::copy(ours, input, output).await
    };
    tokio::pin!(copied);
    let is_served = tokio::select! {
        biased;
        () = stop => false,
        result = &mut copied => {
            tracing::debug!(?result, "the connection ended");
            false
        }
        () = served => true,
    };
    if is_served {
        // What was answered last may still be on its way, or nobody takes it any more.
        drop(tokio::time::timeout(LAST_WORDS, copied).await);
    }
    agent.close().await;
    scope.close(Duration::ZERO).await;
}

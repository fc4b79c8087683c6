//! The files of this machine, as SFTP. Every stream is a session of its own.

use std::path::PathBuf;

use sftp::server::{self, Options};
use stdx::task::Scope;

use super::Ends;

/// Files and folders that one session may have open.
const HANDLES: usize = 256;

/// Serves in a task of its own, with the rights of this process: who reaches the agent's socket is this very user.
pub(super) fn serve(home: PathBuf, ends: Ends, scope: &Scope) {
    let Ends { incoming, outgoing } = ends;
    let options = Options {
        home,
        handles: HANDLES,
    };
    let (end, unread) = (scope.token().clone(), outgoing.unread());
    // Owned by the scope.
    drop(scope.spawn(async move {
        let served = tokio::select! {
            biased;
            () = end.cancelled() => Ok(()),
            () = unread.cancelled() => Ok(()),
            served = server::serve(incoming, outgoing, options) => served,
        };
        if let Err(error) = served {
            tracing::debug!(%error, "a session for files broke");
        }
    }));
}

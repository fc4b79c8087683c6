//! Files on a disk that may not answer, as a network file system whose server is away. Nothing waits for it for ever.

use std::{io, time::Duration};

/// Runs `work`, which blocks on files, beside the runtime's threads.
///
/// # Errors
/// `TimedOut` where it takes longer than `limit`. Its thread stays until the disk answers: the kernel lets nobody call
/// it off.
pub(crate) async fn within<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let done = tokio::time::timeout(limit, stdx::task::blocking(work)).await;
    done.map_err(|_| {
        let message = format!("the disk did not answer within {} s", limit.as_secs_f32());
        io::Error::new(io::ErrorKind::TimedOut, message)
    })
}

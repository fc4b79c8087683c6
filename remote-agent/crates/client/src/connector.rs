//! Where bytes come from.

use std::io;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};

/// A two-way stream of bytes.
pub trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

/// Makes connections to one agent.
///
/// It is asked for a stream whenever a request needs one and the last has ended, one at a time. It may take as long
/// as it likes (a supervised link waits until it is up again); giving up is its own decision.
pub trait Connector: Send + Sync + 'static {
    /// Opens a byte stream whose other end speaks the protocol.
    fn connect(&self) -> BoxFuture<'_, io::Result<Box<dyn ByteStream>>>;
}

impl<F> Connector for F
where
    F: Fn() -> BoxFuture<'static, io::Result<Box<dyn ByteStream>>> + Send + Sync + 'static,
{
    fn connect(&self) -> BoxFuture<'_, io::Result<Box<dyn ByteStream>>> {
        self()
    }
}

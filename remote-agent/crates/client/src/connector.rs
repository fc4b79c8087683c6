//! Where bytes come from.

use std::{fmt, io};

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

    /// Waits until requests may go over the stream that was given last, or until it is cut. Only a hello does not wait
    /// for it: whoever has to know who is there before anything acts asks for one first.
    fn admitted(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

impl fmt::Debug for dyn Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connector")
    }
}

impl<F> Connector for F
where
    F: Fn() -> BoxFuture<'static, io::Result<Box<dyn ByteStream>>> + Send + Sync + 'static,
{
    fn connect(&self) -> BoxFuture<'_, io::Result<Box<dyn ByteStream>>> {
        self()
    }
}

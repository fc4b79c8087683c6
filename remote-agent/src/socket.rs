//! Reaching a daemon on this machine through its unix socket.

use std::{io, path::PathBuf};

use client::{ByteStream, Connector};
use futures_util::future::BoxFuture;
use tokio::net::UnixStream;

/// Connects to a unix socket.
#[derive(Debug, Clone)]
pub struct UnixConnector {
    path: PathBuf,
}

impl UnixConnector {
    /// Names the socket.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }
}

impl Connector for UnixConnector {
    fn connect(&self) -> BoxFuture<'_, io::Result<Box<dyn ByteStream>>> {
        Box::pin(async {
            let stream = UnixStream::connect(&self.path).await?;
            Ok(Box::new(stream) as Box<dyn ByteStream>)
        })
    }
}

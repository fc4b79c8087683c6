//! Reaching a daemon on this machine through its unix socket.

use std::{
    io,
    path::{Path, PathBuf},
};

use client::{ByteStream, Connector};
use futures_util::future::BoxFuture;
use tokio::net::UnixStream;

/// Connects to a socket on which a process of this user listens.
///
/// The names of run directories can be guessed: another user may have made one first and pretend to be the daemon.
///
/// # Errors
/// [`io::ErrorKind::PermissionDenied`] when somebody else listens, else whatever connecting fails with.
pub(crate) async fn connect(path: &Path) -> io::Result<UnixStream> {
    let stream = UnixStream::connect(path).await?;
    if stream.peer_cred()?.uid() == rustix::process::getuid().as_raw() {
        Ok(stream)
    } else {
        let why = format!("{} belongs to another user", path.display());
        Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
    }
}

/// Connects to a unix socket of this user.
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
            let stream = connect(&self.path).await?;
            Ok(Box::new(stream) as Box<dyn ByteStream>)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_of_this_user_is_used() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let _listener = tokio::net::UnixListener::bind(&path).unwrap();
        connect(&path).await.unwrap();
    }

    #[tokio::test]
    async fn a_socket_of_another_user_is_not() {
        // Only root can make one.
        if !rustix::process::getuid().is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::chown(dir.path(), Some(65534), None).unwrap();
        let path = dir.path().join("s");
        let script = format!(
            "use IO::Socket::UNIX; $> = 65534; my $s = IO::Socket::UNIX->new(Local => '{}', Listen => 1) or die; sleep 60",
            path.display()
        );
        let mut other = stdx::process::command("/usr/bin/perl")
            .arg("-e")
            .arg(script)
            .spawn()
            .unwrap();
        let deadline = stdx::clock::monotonic() + std::time::Duration::from_secs(30);
        let error = loop {
            match connect(&path).await {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => break error,
                Ok(_) => panic!("the socket of another user was used"),
                Err(_) => assert!(stdx::clock::monotonic() < deadline, "nobody listens"),
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        };
        assert!(error.to_string().contains("another user"), "{error}");
        other.kill().await.unwrap();
    }
}

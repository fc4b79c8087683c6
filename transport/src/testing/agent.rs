//! An own instance of OpenSSH's `ssh-agent`.

use std::{io, path::Path, path::PathBuf, process::Stdio};

use tokio::process::Child;

use super::{keys::missing, wait_until};

/// A running agent; it is killed when dropped.
#[derive(Debug)]
pub struct KeyAgent {
    socket: PathBuf,
    _child: Child,
}

impl KeyAgent {
    /// Starts an agent whose socket is in `folder`.
    ///
    /// # Errors
    /// The program is missing or does not come up.
    pub async fn start(folder: &Path) -> io::Result<Self> {
        let socket = folder.join("agent.sock");
        let mut command = stdx::process::command("ssh-agent");
        command
            .arg("-D")
            .arg("-a")
            .arg(&socket)
            .env("PATH", "/usr/bin:/bin");
        let child = command
            .spawn()
            .map_err(|error| missing("ssh-agent", "openssh-client", &error))?;
        wait_until("ssh-agent to listen", || async {
            tokio::net::UnixStream::connect(&socket).await.ok()
        })
        .await?;
        Ok(Self {
            socket,
            _child: child,
        })
    }

    /// Adds a key file without a passphrase.
    ///
    /// # Errors
    /// `ssh-add` fails.
    pub async fn add(&self, key_file: &Path) -> io::Result<()> {
        let mut command = stdx::process::command("ssh-add");
        command
            .arg("-q")
            .arg(key_file)
            .env("PATH", "/usr/bin:/bin")
            .env("SSH_AUTH_SOCK", &self.socket);
        command.stderr(Stdio::piped());
        let output = command
            .output()
            .await
            .map_err(|error| missing("ssh-add", "openssh-client", &error))?;
        if output.status.success() {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "ssh-add failed: {}",
            String::from_utf8_lossy(&output.stderr)
        )))
    }

    /// Gives the socket.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }
}

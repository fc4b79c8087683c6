//! An own instance of OpenSSH's `sshd` on a free loopback port.

use std::{
    io,
    net::SocketAddr,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Stdio,
};

use tokio::process::Child;

use super::{KeyKind, KeyPair, keys::missing, wait_until};

pub(super) const SSHD: &str = "/usr/sbin/sshd";

/// What the instance is like. It serves the account that runs it.
#[derive(Clone, Debug)]
pub struct SshdOptions {
    /// Its host keys, made freshly.
    pub host_keys: Vec<KeyKind>,
    /// Keys that may log in, as in `authorized_keys`.
    pub authorized_keys: Vec<String>,
    /// Lines for its configuration, such as `MaxSessions 1`.
    pub config: Vec<String>,
    /// The home that commands see instead of the account's.
    pub home: Option<PathBuf>,
    /// A forced command that gets the asked one in `SSH_ORIGINAL_COMMAND`; see [`login_shell_wrapper`].
    pub forced_command: Option<String>,
    /// Another name of the program; with PAM it is the name of the service.
    pub program: Option<PathBuf>,
}

impl Default for SshdOptions {
    fn default() -> Self {
        Self {
            host_keys: vec![KeyKind::Ed25519],
            authorized_keys: Vec::new(),
            config: Vec::new(),
            home: None,
            forced_command: None,
            program: None,
        }
    }
}

/// A running instance; killed by its process id when dropped.
#[derive(Debug)]
pub struct RealSshd {
    address: SocketAddr,
    folder: tempfile::TempDir,
    host_keys: Vec<String>,
    child: Child,
}

/// Gives the text of a program for [`SshdOptions::forced_command`] that stands in for another login shell.
///
/// It goes to `home`, makes it `HOME`, runs `noise` (start-up text, for instance) and hands the asked command to `shell`.
#[must_use]
pub fn login_shell_wrapper(home: &Path, shell: &str, noise: &str) -> String {
    let home = home.display();
    format!(
        "#!/bin/sh\ncd '{home}' || exit 99\nexport HOME='{home}' SHELL='{shell}'\n{noise}\ntest -n \"$SSH_ORIGINAL_COMMAND\" || exec {shell}\nexec {shell} -c \"$SSH_ORIGINAL_COMMAND\"\n"
    )
}

impl RealSshd {
    /// Starts an instance and waits until it listens.
    ///
    /// # Errors
    /// `sshd` is missing (the message names the package) or rejects its configuration (the message has its log).
    pub async fn start(options: SshdOptions) -> io::Result<Self> {
        if !Path::new(SSHD).exists() {
            let error = io::Error::new(io::ErrorKind::NotFound, "no such file");
            return Err(missing(SSHD, "openssh-server", &error));
        }
        if rustix::process::getuid().is_root() {
            // Its privilege separation wants this folder; the package makes it only when its service starts.
            std::fs::create_dir_all("/run/sshd")?;
        }
        let folder = tempfile::Builder::new().prefix("sshd-").tempdir()?;
        // Another account than ours reads the authorised keys, too.
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o711))?;
        let mut host_keys = Vec::new();
        for (index, kind) in options.host_keys.iter().enumerate() {
            host_keys
                .push(KeyPair::keygen(&folder.path().join(format!("host_key_{index}")), *kind, "").await?);
        }
        write_authorized_keys(folder.path(), &options)?;
        let mut last = String::new();
        for _ in 0..10 {
            let port = free_port().await?;
            std::fs::write(
                folder.path().join("sshd_config"),
                config(folder.path(), port, &options),
            )?;
            match launch(folder.path(), options.program.as_deref()).await? {
                Ok(child) => {
                    let address = SocketAddr::from(([127, 0, 0, 1], port));
                    return Ok(Self {
                        address,
                        folder,
                        host_keys,
                        child,
                    });
                }
                // Somebody else may have taken the port in between.
                Err(log) if log.contains("Address already in use") => last = log,
                Err(log) => return Err(io::Error::other(format!("sshd did not start: {log}"))),
            }
        }
        Err(io::Error::other(format!("sshd found no free port: {last}")))
    }

    /// Gives the address to connect to.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Gives its public host keys, in the order of [`SshdOptions::host_keys`].
    #[must_use]
    pub fn host_keys(&self) -> &[String] {
        &self.host_keys
    }

    /// Gives the lines for a known-hosts file.
    #[must_use]
    pub fn known_hosts(&self) -> String {
        let name = crate::known_hosts::listed_name(&self.address.ip().to_string(), self.address.port());
        self.host_keys
            .iter()
            .map(|key| format!("{name} {key}\n"))
            .collect()
    }

    /// Gives its log so far (LogLevel VERBOSE).
    #[must_use]
    pub fn log(&self) -> String {
        read_log(self.folder.path())
    }

    /// Gives the process id of the listening process.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }
}

impl Drop for RealSshd {
    fn drop(&mut self) {
        // It may be dead already; its sessions end with their connections.
        drop(self.child.start_kill());
    }
}

fn write_authorized_keys(folder: &Path, options: &SshdOptions) -> io::Result<()> {
    let mut prefix = String::new();
    let wrapper = match (&options.forced_command, &options.home) {
        (Some(text), _) => Some(text.clone()),
        (None, Some(home)) => Some(login_shell_wrapper(home, "/bin/sh", "")),
        (None, None) => None,
    };
    if let Some(text) = wrapper {
        let file = folder.join("forced_command");
        std::fs::write(&file, text)?;
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755))?;
        prefix = format!("command=\"{}\" ", file.display());
    }
    let lines: String = options
        .authorized_keys
        .iter()
        .map(|key| format!("{prefix}{key}\n"))
        .collect();
    std::fs::write(folder.join("authorized_keys"), lines)
}

fn config(folder: &Path, port: u16, options: &SshdOptions) -> String {
    // The first value of a keyword counts, so the caller's lines come first.
    let mut text: String = options.config.iter().map(|line| format!("{line}\n")).collect();
    let folder = folder.display();
    text.extend((0..options.host_keys.len()).map(|index| format!("HostKey {folder}/host_key_{index}\n")));
    text.extend(
        options
            .home
            .iter()
            .map(|home| format!("SetEnv HOME={}\n", home.display())),
    );
    // A subsystem may be named only once.
    let names_sftp = options
        .config
        .iter()
        .any(|line| line.starts_with("Subsystem sftp"));
    let sftp = if names_sftp {
        ""
    } else {
        "Subsystem sftp /usr/lib/openssh/sftp-server\n"
    };
    text + &format!(
        "ListenAddress 127.0.0.1:{port}\nAuthorizedKeysFile {folder}/authorized_keys\nPidFile none\nStrictModes no\n\
         UsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\nLogLevel VERBOSE\n\
         UseDNS no\nMaxStartups 200:30:400\nPrintMotd no\nPrintLastLog no\n{sftp}"
    )
}

async fn free_port() -> io::Result<u16> {
    Ok(tokio::net::TcpListener::bind("127.0.0.1:0")
        .await?
        .local_addr()?
        .port())
}

fn read_log(folder: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(folder.join("log")).unwrap_or_default()).into_owned()
}

/// Starts sshd; the inner error is its log when it ended instead of listening.
async fn launch(folder: &Path, program: Option<&Path>) -> io::Result<Result<Child, String>> {
    let log = std::fs::File::create(folder.join("log"))?;
    let mut command = stdx::process::command(program.unwrap_or(Path::new(SSHD)));
    command
        .arg("-D")
        .arg("-e")
        .arg("-f")
        .arg(folder.join("sshd_config"));
    command.env("PATH", "/usr/bin:/bin").stderr(Stdio::from(log));
    let mut child = command.spawn()?;
    let mut ended = false;
    wait_until("sshd to listen", || {
        let log = read_log(folder);
        ended = !log.contains("Server listening on") && matches!(child.try_wait(), Ok(Some(_)));
        let ready = ended || log.contains("Server listening on");
        async move { ready.then_some(()) }
    })
    .await?;
    Ok(if ended { Err(read_log(folder)) } else { Ok(child) })
}

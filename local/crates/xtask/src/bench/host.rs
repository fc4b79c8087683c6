//! The ground of the measurements: a laptop's home, a host's home, an own sshd between namespaces, and both clients.

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};

use super::model::Model;
use super::process::{OnTerminal, Watched, kill_all, running_from};
use crate::system;
use faultnet::{Lab, SERVER_ADDRESS};

/// The port of sshd in its own namespace.
const PORT: &str = "22";

/// A laptop and a host with a network between them.
#[derive(Debug)]
pub(super) struct Ground {
    pub(super) lab: Lab,
    pub(super) program: PathBuf,
    folder: Folder,
    sshd: Sshd,
}

/// A folder in the temporary directory, removed when dropped.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn create(name: &str) -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("rx-bench-{}-{name}", std::process::id()));
        fs::DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .with_context(|| format!("could not create {}", path.display()))?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left is in the temporary directory.
        drop(fs::remove_dir_all(&self.0));
    }
}

/// The listening process; killed when dropped.
#[derive(Debug)]
struct Sshd(Child);

impl Drop for Sshd {
    fn drop(&mut self) {
        // It may have ended; it is our child.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Ground {
    /// Builds everything; `program` is the static binary.
    pub(super) fn build(program: PathBuf) -> anyhow::Result<Self> {
        ensure!(
            program.is_file(),
            "{} is missing: `cargo xtask dist` makes it",
            program.display()
        );
        let lab = Lab::build(0)?;
        let folder = Folder::create("link")?;
        for name in ["laptop/.reasonix", "host/.reasonix", "host/work", "ssh"] {
            fs::create_dir_all(folder.path().join(name))?;
        }
        for key in ["key", "host_key"] {
            keygen(&folder.path().join("ssh").join(key))?;
        }
        let model = lab.server.within(Model::start)??;
        let sshd = start_sshd(&lab, folder.path())?;
        let ground = Self {
            lab,
            program,
            folder,
            sshd: Sshd(sshd),
        };
        ground.configure(&model)?;
        ground.wait_for_sshd()?;
        Ok(ground)
    }

    pub(super) fn laptop(&self) -> PathBuf {
        self.folder.path().join("laptop")
    }

    pub(super) fn host(&self) -> PathBuf {
        self.folder.path().join("host")
    }

    /// Gives a path for a file of the measurement itself.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn sshd_pid(&self) -> u32 {
        self.sshd.0.id()
    }

    /// Lists the programs that run from the host's home: the daemon.
    pub(super) fn daemons(&self) -> Vec<u32> {
        running_from(&self.host())
    }

    /// Makes the host one that never saw this program, and the laptop one that never saw the host.
    pub(super) fn forget(&self) -> anyhow::Result<()> {
        kill_all(&self.daemons());
        self.remove_run_dirs();
        for kept in [self.host(), self.laptop()] {
            for entry in fs::read_dir(kept.join(".reasonix"))?.flatten() {
                let name = entry.file_name();
                if name != "config.toml" && name != "known_hosts" {
                    let path = entry.path();
                    let removed = if path.is_dir() {
                        fs::remove_dir_all(&path)
                    } else {
                        fs::remove_file(&path)
                    };
                    removed.with_context(|| format!("could not remove {}", path.display()))?;
                }
            }
        }
        Ok(())
    }

    /// Starts our program as a person on the laptop does.
    pub(super) fn ours(&self, arguments: &[&str]) -> anyhow::Result<Watched> {
        let mut command = clean(system::command(&self.program), &self.laptop());
        command.args(arguments);
        Watched::start(command, Some(&self.lab.client))
    }

    /// Starts our program on a terminal.
    pub(super) fn on_terminal(&self, arguments: &[&str]) -> anyhow::Result<OnTerminal> {
        let mut command = clean(system::command("setsid"), &self.laptop());
        command
            .args(["--ctty", "--wait"])
            .arg(&self.program)
            .args(arguments);
        OnTerminal::start(command, &self.lab.client)
    }

    /// Starts OpenSSH's client, with `before` before the host's name.
    pub(super) fn ssh(&self, before: &[&str], after: &[&str]) -> anyhow::Result<Watched> {
        let mut command = self.openssh("ssh", "-p");
        command
            .args(before)
            .arg(format!("root@{SERVER_ADDRESS}"))
            .args(after);
        Watched::start(command, Some(&self.lab.client))
    }

    /// Starts `scp` of a file to the host's home.
    pub(super) fn scp(&self, file: &Path) -> anyhow::Result<Watched> {
        let mut command = self.openssh("scp", "-P");
        let to = self.host().join("copied");
        command
            .arg(file)
            .arg(format!("root@{SERVER_ADDRESS}:{}", to.display()));
        Watched::start(command, Some(&self.lab.client))
    }

    /// Starts OpenSSH's `sftp`, which does what stands in the file `batch`.
    pub(super) fn sftp(&self, batch: &Path) -> anyhow::Result<Watched> {
        let mut command = self.openssh("sftp", "-P");
        command.arg("-b").arg(batch).arg(format!("root@{SERVER_ADDRESS}"));
        Watched::start(command, Some(&self.lab.client))
    }

    fn openssh(&self, program: &str, port: &str) -> Command {
        let ssh = self.folder.path().join("ssh");
        let mut command = clean(system::command(program), &self.laptop());
        command
            .args([port, PORT, "-i"])
            .arg(ssh.join("key"))
            .args(["-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes"])
            .args(["-o", "StrictHostKeyChecking=yes", "-o"])
            .arg(format!(
                "UserKnownHostsFile={}",
                ssh.join("known_hosts").display()
            ));
        command
    }

    fn configure(&self, model: &Model) -> anyhow::Result<()> {
        let ssh = self.folder.path().join("ssh");
        let public = fs::read_to_string(ssh.join("host_key.pub"))?;
        let known = format!("{SERVER_ADDRESS} {public}");
        fs::write(ssh.join("known_hosts"), &known)?;
        fs::write(self.laptop().join(".reasonix/known_hosts"), &known)?;
        let settings = settings(&model.base_url());
        private(&self.host().join(".reasonix/config.toml"), &settings)?;
        let host = format!(
            "[[remote.hosts]]\nname = \"box\"\nhost = \"{SERVER_ADDRESS}\"\nuser = \"root\"\nidentity_file = \"{}\"\nworkspace = \"{}\"\n",
            ssh.join("key").display(),
            self.host().join("work").display(),
        );
        private(&self.laptop().join(".reasonix/config.toml"), &(settings + &host))
    }

    /// Removes what daemons that were killed leave in the temporary directory.
    fn remove_run_dirs(&self) {
        let home = self.host().join(".reasonix").display().to_string();
        for entry in fs::read_dir("/tmp").into_iter().flatten().flatten() {
            let is_ours = entry.file_name().to_string_lossy().starts_with("reasonix-")
                && fs::read_to_string(entry.path().join("identity.json"))
                    .is_ok_and(|text| text.contains(&home));
            if is_ours {
                // What cannot be removed is small.
                drop(fs::remove_dir_all(entry.path()));
            }
        }
    }

    fn wait_for_sshd(&self) -> anyhow::Result<()> {
        let log = self.folder.path().join("ssh/log");
        let deadline = system::now() + Duration::from_secs(10);
        while system::now() < deadline {
            if fs::read_to_string(&log).is_ok_and(|text| text.contains("Server listening")) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let said = fs::read_to_string(&log).unwrap_or_default();
        anyhow::bail!("sshd does not listen: {said}")
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        // sshd's own sessions end with their connections; the daemons are meant to outlive everything.
        kill_all(&self.daemons());
        self.remove_run_dirs();
    }
}

/// Gives a configuration whose model is at `base_url`.
pub(super) fn settings(base_url: &str) -> String {
    format!(
        "default_model = \"scripted\"\n[[providers]]\nname = \"scripted\"\nbase_url = \"{base_url}\"\nmodel = \"m\"\n[sandbox]\nbash = \"off\"\n[serve]\nidle_exit = \"1h\"\n"
    )
}

/// Writes a file that only its owner may read.
pub(super) fn private(path: &Path, text: &str) -> anyhow::Result<()> {
    use std::io::Write as _;
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options
        .open(path)
        .with_context(|| format!("could not write {}", path.display()))?;
    Ok(file.write_all(text.as_bytes())?)
}

/// Leaves a process only what every shell gives it.
pub(super) fn clean(mut command: Command, home: &Path) -> Command {
    command
        .env_clear()
        .env("HOME", home)
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("LANG", "C.UTF-8")
        .env("SHELL", "/bin/bash")
        .current_dir(home);
    command
}

fn keygen(path: &Path) -> anyhow::Result<()> {
    let mut command = system::command("ssh-keygen");
    command.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(path);
    system::capture(command).map(drop)
}

fn start_sshd(lab: &Lab, folder: &Path) -> anyhow::Result<Child> {
    let program =
        system::find_program("sshd").context("sshd is missing: it is in the package openssh-server")?;
    // Its privilege separation wants this folder; the package makes it only when its service starts.
    fs::create_dir_all("/run/sshd").context("could not create /run/sshd")?;
    let ssh = folder.join("ssh");
    fs::copy(ssh.join("key.pub"), ssh.join("authorized_keys"))?;
    let (ssh, home) = (ssh.display(), folder.join("host"));
    let config = format!(
        "ListenAddress {SERVER_ADDRESS}:{PORT}\nHostKey {ssh}/host_key\nAuthorizedKeysFile {ssh}/authorized_keys\n\
         SetEnv HOME={}\nPidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n\
         KbdInteractiveAuthentication no\nPermitRootLogin yes\nUseDNS no\nMaxStartups 200:30:400\nPrintMotd no\n\
         PrintLastLog no\nSubsystem sftp internal-sftp\n",
        home.display()
    );
    let file = folder.join("ssh/sshd_config");
    fs::write(&file, config)?;
    let log = fs::File::create(folder.join("ssh/log"))?;
    let mut command = system::command(program);
    command
        .args(["-D", "-e", "-f"])
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log);
    lab.server.spawn(&mut command)
}

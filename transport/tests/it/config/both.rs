//! One configuration, two resolvers.

use std::path::{Path, PathBuf};

use transport::{Error, Proxy, ResolveOptions, Resolved, Source, Target, resolve};

use crate::support::current_user;

/// A folder for configurations, and the account that the tests run as: OpenSSH takes the home from the account
/// database, whatever `HOME` says.
pub(super) struct Account {
    folder: tempfile::TempDir,
    home: PathBuf,
    user: String,
}

/// What both say.
pub(super) struct Answer {
    pub(super) theirs: Result<Resolved, Error>,
    pub(super) ours: Result<Resolved, Error>,
}

impl Account {
    pub(super) fn new() -> Self {
        let user = current_user();
        let accounts = std::fs::read_to_string("/etc/passwd").unwrap();
        let own = accounts
            .lines()
            .find(|line| line.split(':').next() == Some(&user))
            .unwrap();
        Self {
            folder: tempfile::tempdir().unwrap(),
            home: own.split(':').nth(5).unwrap().into(),
            user,
        }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file, with the folder, the user, the home and a long word in it.
    pub(super) fn write(&self, name: &str, text: &str) {
        let text = text
            .replace("@DIR@", self.folder.path().to_str().unwrap())
            .replace("@ME@", &self.user)
            .replace("@HOME@", self.home.to_str().unwrap())
            .replace("@LONG@", &"x".repeat(9000));
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(super) fn options(&self, ssh: Option<&str>) -> ResolveOptions {
        let home = self.home.to_str().unwrap();
        let environment = [
            ("HOME", home),
            ("PATH", "/usr/bin:/bin"),
            ("MY_AGENT", "/my/agent"),
            ("MY_SECRET", "s"),
            ("MY_OWN", "own"),
            ("OTHER", "other"),
        ];
        ResolveOptions {
            shown_as: None,
            home: self.home.clone(),
            local_user: self.user.clone(),
            ssh_program: ssh.map(PathBuf::from),
            config_file: Some(self.path("config")),
            agent_socket: Some(Path::new("/run/agent.sock").to_owned()),
            environment: environment
                .map(|(name, value)| (name.into(), value.into()))
                .to_vec(),
            overrides: Vec::new(),
        }
    }

    /// Asks OpenSSH and the own parser.
    pub(super) async fn ask(&self, target: &str) -> Answer {
        let target: Target = target.parse().unwrap();
        let theirs = resolve(&target, &self.options(Some("/usr/bin/ssh"))).await;
        let ours = resolve(&target, &self.options(None)).await;
        if let (Ok(theirs), Ok(ours)) = (&theirs, &ours) {
            assert_eq!((theirs.source, ours.source), (Source::OpenSsh, Source::OwnParser));
        }
        Answer {
            theirs: theirs.map(without_source),
            ours: ours.map(without_source),
        }
    }
}

/// Forgets who resolved it: the one field in which the two differ.
fn without_source(mut resolved: Resolved) -> Resolved {
    resolved.source = Source::OwnParser;
    resolved.proxy = resolved.proxy.map(|proxy| match proxy {
        Proxy::Jump(hop) => Proxy::Jump(Box::new(without_source(*hop))),
        command @ Proxy::Command { .. } => command,
    });
    resolved
}

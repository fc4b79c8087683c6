//! The throwaway host: a folder as its home, an embedded SSH server, a proxy that can cut, and the scripted model.

use std::{
    fs, io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use bootstrap::{ArtifactSource, Install, Target};
use link::{DenyAll, InstallOptions, LinkOptions, Timings};
use scripted_model::ScriptedModel;
use stdx::task::Scope;
use tempfile::TempDir;
use tokio::net::TcpListener;
use transport::{
    ConnectOptions, Endpoint, Identity, Resolved, Source, Trust, UnknownKeys,
    testing::{FaultProxy, KeyKind, KeyPair, TestServer, TestServerOptions},
};

use crate::{
    error::DemoError,
    options::{Audience, DemoOptions},
    repository, scenario,
};

/// The host's name in messages.
const NAME: &str = "demo-host";
/// The laptop's files in the throwaway folder.
const KEY: &str = "client-key";
const KNOWN_HOSTS: &str = "known_hosts";
/// An address at which nobody listens (tcpmux, RFC 1078).
const NOWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1);
/// Long enough for a person to see that the host is away, and what the screen says about it.
const ABSENCE: Duration = Duration::from_millis(2500);
/// The host's folder for temporary files, beside its home.
const TEMPORARY: &str = "tmp";

/// Everything that stands in for a machine somewhere else.
pub(crate) struct Host {
    folder: TempDir,
    /// The folder with symbolic links resolved.
    path: PathBuf,
    server: TestServer,
    /// Between the two sides.
    pub(crate) proxy: FaultProxy,
    /// What the agent on the host talks to.
    pub(crate) model: ScriptedModel,
    /// For whom it is.
    pub(crate) audience: Audience,
}

impl Host {
    /// Makes the folder and starts what listens.
    pub(crate) async fn start(options: &DemoOptions, scope: &Scope) -> Result<Self, DemoError> {
        let temporary = options.temporary.clone();
        let (folder, path, key) = stdx::task::blocking(move || prepare(&temporary)).await?;
        let model = start_model(scope).await?;
        let config = path.join("home/.reasonix/config.toml");
        let text = config_text(&model.base_url(), options.audience);
        write(&config, text).await?;
        let server = start_server(&path, &key, &options.search_path).await?;
        let proxy = FaultProxy::start(server.address())
            .await
            .map_err(|error| failed("the proxy", error))?;
        // The server's key, listed under the address that is dialled: the check is the real one.
        let listed = server.known_hosts();
        let host_key = listed.split_once(' ').map_or("", |(_, key)| key);
        let line = format!("[127.0.0.1]:{} {host_key}", proxy.address().port());
        write(&path.join(KNOWN_HOSTS), line).await?;
        Ok(Self {
            folder,
            path,
            server,
            proxy,
            model,
            audience: options.audience,
        })
    }

    /// Gives the throwaway folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.path
    }

    /// Gives the address of the SSH server, as the laptop sees it.
    pub(crate) fn address(&self) -> String {
        self.proxy.address().to_string()
    }

    /// Gives what a link needs: nothing in it tells this host from a real one.
    pub(crate) fn link_options(&self, options: &DemoOptions) -> LinkOptions {
        let address = self.proxy.address();
        let resolved = Resolved {
            alias: NAME.to_owned(),
            endpoint: Endpoint {
                host_name: address.ip().to_string(),
                port: address.port(),
                user: "demo".to_owned(),
            },
            identity: Identity {
                files: vec![self.path.join(KEY)],
                certificates: Vec::new(),
                only_files: true,
                agent: None,
            },
            trust: Trust {
                known_hosts: vec![self.path.join(KNOWN_HOSTS)],
                key_alias: None,
                unknown_keys: UnknownKeys::Refuse,
                revoked: Vec::new(),
                learn_announced: None,
            },
            proxy: None,
            network: transport::Network::default(),
            methods: transport::Methods::default(),
            set_env: Vec::new(),
            source: Source::OwnParser,
        };
        LinkOptions {
            host: link::Host::Resolved(resolved),
            install: InstallOptions {
                install: Install::Auto,
                source: ArtifactSource {
                    own_executable: options.program.clone(),
                    own_target: Target::own(),
                    dist: Vec::new(),
                    version: options.version.clone(),
                },
                home: None,
                workspace: Some(format!("~/{}", repository::FOLDER)),
            },
            ssh: ConnectOptions::default(),
            prompter: Arc::new(DenyAll),
            timings: Timings::default(),
            state_dir: None,
            network: link::NetworkWatch::Off,
            broker: None,
        }
    }

    /// Cuts the connection; new ones are refused until [`Host::return_again`].
    pub(crate) fn vanish(&self) {
        self.proxy.retarget(NOWHERE);
        self.proxy.cut();
    }

    /// Lets the host be reached again.
    pub(crate) fn return_again(&self) {
        self.proxy.retarget(self.server.address());
    }

    /// Gives how long it stays away after a cut.
    pub(crate) fn absence(&self) -> Duration {
        match self.audience {
            Audience::Readers => Duration::ZERO,
            Audience::Person => ABSENCE,
        }
    }

    /// Ends everything that listens and removes the folder.
    pub(crate) async fn close(self) -> io::Result<()> {
        let Self {
            folder,
            server,
            proxy,
            model,
            ..
        } = self;
        tokio::join!(proxy.close(), server.close(), model.stop());
        stdx::task::blocking(move || folder.close()).await
    }
}

fn prepare(temporary: &Path) -> Result<(TempDir, PathBuf, KeyPair), DemoError> {
    let what = || format!("a folder in {}", temporary.display());
    let made = tempfile::Builder::new()
        .prefix("reasonix-demo-")
        .tempdir_in(temporary);
    let folder = made.map_err(|error| failed(what(), error))?;
    let path = folder
        .path()
        .canonicalize()
        .map_err(|error| failed(what(), error))?;
    let home = path.join("home");
    let fill = || {
        fs::create_dir(&home)?;
        fs::set_permissions(&home, fs::Permissions::from_mode(0o700))?;
        fs::create_dir(home.join(".reasonix"))?;
        fs::create_dir(path.join(TEMPORARY))?;
        repository::write(&home)
    };
    fill().map_err(|error| failed("the host's home", error))?;
    let key = KeyPair::generate(KeyKind::Ed25519).map_err(|error| failed("a key", error))?;
    key.write(&path.join(KEY))
        .map_err(|error| failed("a key", error))?;
    Ok((folder, path, key))
}

async fn start_model(scope: &Scope) -> Result<ScriptedModel, DemoError> {
    let what = "the scripted model";
    let listener = TcpListener::bind(("127.0.0.1", 0))
        .await
        .map_err(|error| failed(what, error))?;
    ScriptedModel::start_on(listener, scenario::scenario(), scope)
        .map_err(|error| failed(what, io::Error::other(error)))
}

async fn start_server(path: &Path, key: &KeyPair, search_path: &str) -> Result<TestServer, DemoError> {
    let home = path.join("home");
    let options = TestServerOptions {
        authorized_keys: vec![key.public()],
        // Nothing of this process's own environment: the host is another machine.
        environment: vec![
            ("HOME".to_owned(), home.to_string_lossy().into_owned()),
            ("PATH".to_owned(), search_path.to_owned()),
            ("SHELL".to_owned(), "/bin/sh".to_owned()),
            (
                "TMPDIR".to_owned(),
                path.join(TEMPORARY).to_string_lossy().into_owned(),
            ),
            ("USER".to_owned(), "demo".to_owned()),
        ],
        ..TestServerOptions::new(home)
    };
    TestServer::start(options)
        .await
        .map_err(|error| failed("the SSH server", error))
}

fn config_text(base_url: &str, audience: Audience) -> String {
    let permissions = match audience {
        Audience::Readers => "",
        Audience::Person => "[permissions]\nask = [\"Edit\"]\n\n",
    };
    format!(
        "# The configuration of a throwaway host.\n\
         default_model = \"demo\"\n\n\
         [serve]\n\
         # Covers a demo that was killed and could not stop its agent.\n\
         idle_exit = \"60s\"\n\n\
         [sandbox]\n\
         # Commands are confined on a real host; this one is gone in a few seconds.\n\
         bash = \"off\"\n\n\
         {permissions}\
         [[providers]]\n\
         name = \"demo\"\n\
         kind = \"openai\"\n\
         base_url = \"{base_url}\"\n\
         model = \"{}\"\n",
        scenario::MODEL
    )
}

async fn write(file: &Path, text: String) -> Result<(), DemoError> {
    let path = file.to_owned();
    let written = stdx::task::blocking(move || fs::write(path, text)).await;
    written.map_err(|error| failed(file.display().to_string(), error))
}

fn failed(what: impl Into<String>, source: io::Error) -> DemoError {
    DemoError::Prepare {
        what: what.into(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn started() -> (Host, TempDir, DemoOptions) {
        let temporary = tempfile::tempdir().unwrap();
        let options = DemoOptions::new("/nowhere".into(), "0", temporary.path().to_owned());
        let host = Host::start(&options, &Scope::root("test")).await.unwrap();
        (host, temporary, options)
    }

    #[tokio::test]
    async fn a_key_that_is_not_listed_is_refused_and_the_listed_one_logs_in() {
        let (host, temporary, options) = started().await;
        let connect = async || {
            let link::Host::Resolved(resolved) = host.link_options(&options).host else {
                panic!("not resolved");
            };
            let prompter: Arc<dyn link::Prompter> = Arc::new(DenyAll);
            let scope = Scope::root("client");
            transport::Connection::connect(&resolved, &ConnectOptions::default(), &prompter, &scope).await
        };
        let connection = connect().await.unwrap();
        let output = connection
            .exec_capture(
                "cd ~/sums && pwd && env",
                b"",
                transport::CaptureLimits::default(),
                std::time::Duration::from_secs(20),
            )
            .await
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let home = host.folder().join("home");
        assert!(text.starts_with(&format!("{}/sums\n", home.display())), "{text}");
        assert!(
            !text.contains("CARGO"),
            "the environment of this process stays here: {text}"
        );

        let other = KeyPair::generate(KeyKind::Ed25519).unwrap().public();
        let line = format!("[127.0.0.1]:{} {other}\n", host.proxy.address().port());
        fs::write(host.folder().join(KNOWN_HOSTS), line).unwrap();
        let error = connect().await.unwrap_err();
        assert_eq!(error.kind(), transport::ErrorKind::HostKeyChanged, "{error}");

        host.close().await.unwrap();
        assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn a_folder_that_cannot_be_made_is_named() {
        let options = DemoOptions::new("/nowhere".into(), "0", "/nowhere/at all".into());
        let error = Host::start(&options, &Scope::root("test")).await.err().unwrap();
        assert_eq!(
            error.to_string(),
            "could not prepare the throwaway host: a folder in /nowhere/at all"
        );
        assert!(error.hint().unwrap().contains("TMPDIR"));
    }
}

//! From what the user typed to everything needed for a connection, as OpenSSH would resolve it.

mod build;
mod files;
mod lookup;
mod openssh;
mod run;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

pub use files::configured_aliases;
pub(crate) use files::home_of;

use crate::{Error, ErrorKind, Stage, Target};

/// How deep jump hosts may be nested; more is taken for a loop.
const MAX_JUMPS: u32 = 8;

/// What resolving needs to know about this machine. This crate reads no environment itself.
#[derive(Clone, Debug)]
pub struct ResolveOptions {
    /// What messages call the host, where that is neither its address nor its alias.
    pub shown_as: Option<String>,
    /// The home directory.
    pub home: PathBuf,
    /// The user who runs this program.
    pub local_user: String,
    /// OpenSSH's `ssh`, whose `-G` is authoritative. `None`: the own parser reads the files.
    pub ssh_program: Option<PathBuf>,
    /// Read this file instead of the user's and the system's (`ssh -F`).
    pub config_file: Option<PathBuf>,
    /// The socket of the user's key agent (`SSH_AUTH_SOCK`).
    pub agent_socket: Option<PathBuf>,
    /// Variables for `${NAME}`, for `ssh -G` and for proxy commands. Secrets do not belong here.
    pub environment: Vec<(String, String)>,
    /// Settings that beat every file, in OpenSSH's words: `("IdentityFile", "/k")`.
    pub overrides: Vec<(String, String)>,
}

/// Everything needed for a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// What messages call the host: as typed, or [`ResolveOptions::shown_as`].
    pub alias: String,
    /// Where to connect to.
    pub endpoint: Endpoint,
    /// With what to log in.
    pub identity: Identity,
    /// What is known about the host.
    pub trust: Trust,
    /// What stands between.
    pub proxy: Option<Proxy>,
    /// How it is reached where nothing stands between.
    pub network: Network,
    /// Which ways to log in are allowed.
    pub methods: Methods,
    /// `SetEnv` (and `SendEnv`, filled from the environment), for sessions that a person sees. Not for agents.
    pub set_env: Vec<(String, String)>,
    /// Where the values come from.
    pub source: Source,
}

/// The network address of a host and the account on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// `HostName`.
    pub host_name: String,
    /// `Port`.
    pub port: u16,
    /// `User`.
    pub user: String,
}

/// How a connection is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// `AddressFamily`.
    pub family: AddressFamily,
    /// `BindAddress`: where connections come from, as written.
    pub bind_address: Option<String>,
    /// `BindInterface`: the interface that connections leave by; [`Network::bind_address`] goes before it.
    pub bind_interface: Option<String>,
    /// `ConnectTimeout`.
    pub connect_timeout: Option<Duration>,
}

/// `AddressFamily`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressFamily {
    /// `any`: whatever the name has.
    #[default]
    Any,
    /// `inet`: IPv4 only.
    Inet,
    /// `inet6`: IPv6 only.
    Inet6,
}

/// Which ways to log in are allowed, and in which order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Methods {
    /// The allowed ones, first tried first: `publickey`, `keyboard-interactive`, `password` (`PreferredAuthentications`
    /// without what `PubkeyAuthentication`, `KbdInteractiveAuthentication` and `PasswordAuthentication` forbid).
    pub order: Vec<String>,
    /// `NumberOfPasswordPrompts`.
    pub password_prompts: u32,
}

impl Default for Methods {
    fn default() -> Self {
        Self {
            order: USUAL_METHODS.map(str::to_owned).to_vec(),
            password_prompts: 3,
        }
    }
}

/// OpenSSH's order, without what this crate does not have.
const USUAL_METHODS: [&str; 3] = ["publickey", "keyboard-interactive", "password"];

/// Keys to offer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// `IdentityFile`, expanded; may name files that do not exist.
    pub files: Vec<PathBuf>,
    /// `CertificateFile`, expanded. `FILE-cert.pub` beside a key file counts without being named here.
    pub certificates: Vec<PathBuf>,
    /// `IdentitiesOnly`: offer no agent key beside those files.
    pub only_files: bool,
    /// The socket of the agent (`IdentityAgent`, else the user's), if any.
    pub agent: Option<PathBuf>,
}

/// Where host keys are looked up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// `UserKnownHostsFile` and `GlobalKnownHostsFile`. They are only read.
    pub known_hosts: Vec<PathBuf>,
    /// `HostKeyAlias`.
    pub key_alias: Option<String>,
    /// `StrictHostKeyChecking`.
    pub unknown_keys: UnknownKeys,
    /// `RevokedHostKeys`: files of keys that are never accepted.
    pub revoked: Vec<PathBuf>,
    /// `UpdateHostKeys`: whether keys that the host announces are learned. `None` where nothing is said.
    pub learn_announced: Option<bool>,
}

/// What to do about a key that nobody vouched for. A changed or revoked key is refused in every case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownKeys {
    /// `yes`: refuse.
    Refuse,
    /// `ask`: ask the person.
    #[default]
    Ask,
    /// `accept-new`, `no`: trust and remember the first key of a host.
    Accept,
}

/// What stands between this machine and the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proxy {
    /// `ProxyJump`: through this host.
    Jump(Box<Resolved>),
    /// `ProxyCommand`, expanded: through the standard input and output of a shell command.
    Command {
        /// The command line.
        line: String,
        /// Its environment.
        environment: Vec<(String, String)>,
    },
}

/// Where the values of a [`Resolved`] come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// `ssh -G`.
    OpenSsh,
    /// The own parser.
    OwnParser,
}

/// Resolves a host as OpenSSH would.
///
/// # Errors
/// [`ErrorKind::Config`] with file and line where the configuration is wrong.
pub async fn resolve(target: &Target, options: &ResolveOptions) -> Result<Resolved, Error> {
    resolve_nested(target, options, 0).await
}

async fn resolve_nested(target: &Target, options: &ResolveOptions, depth: u32) -> Result<Resolved, Error> {
    if depth > MAX_JUMPS {
        return Err(config_error(target, "the jump hosts lead in a circle")
            .with_hint("see ProxyJump in the OpenSSH configuration"));
    }
    let dump = match &options.ssh_program {
        Some(program) => openssh::ask(program, target, options).await?,
        None => None,
    };
    let (pairs, source) = match dump {
        Some(pairs) => (pairs, Source::OpenSsh),
        None => (files::pairs(target, options).await?, Source::OwnParser),
    };
    let (mut resolved, mut jumps) = build::build(target, &pairs, options, source)?;
    if let Some(last) = jumps.pop() {
        // As in ssh(1), what was asked for is meant for the destination and not for the hosts before it. Of `-J a,b`, b is
        // reached through a, whatever b's own configuration says.
        let before: Vec<String> = jumps.iter().map(hop_text).collect();
        let over = ("ProxyJump".to_owned(), before.join(","));
        let of_hop = ResolveOptions {
            shown_as: None,
            overrides: if before.is_empty() { Vec::new() } else { vec![over] },
            ..options.clone()
        };
        let hop = Box::pin(resolve_nested(&last, &of_hop, depth + 1)).await?;
        resolved.proxy = Some(Proxy::Jump(Box::new(hop)));
    }
    Ok(resolved)
}

/// Writes a jump host as `ProxyJump` takes it.
fn hop_text(hop: &Target) -> String {
    let user = hop
        .user
        .as_ref()
        .map(|user| format!("{user}@"))
        .unwrap_or_default();
    let port = hop.port.map(|port| format!(":{port}")).unwrap_or_default();
    if hop.host.contains(':') {
        format!("{user}[{}]{port}", hop.host)
    } else {
        format!("{user}{}{port}", hop.host)
    }
}

fn config_error(target: &Target, message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Config, Stage::Config, target.to_string(), message)
}

/// The key files that are tried where none is named (ssh_config(5), IdentityFile).
const USUAL_KEYS: [&str; 5] = ["id_rsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk"];

/// Says whether a key file has one of the names that are tried where none is named.
pub(crate) fn is_usual_key(file: &Path) -> bool {
    let name = file.file_name().and_then(std::ffi::OsStr::to_str);
    name.is_some_and(|name| USUAL_KEYS.contains(&name))
        && file.parent().is_some_and(|folder| folder.ends_with(".ssh"))
}

//! From what the user typed to everything needed for a connection, as OpenSSH would resolve it.

mod files;

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

pub use files::configured_aliases;

use crate::{
    Error, ErrorKind, Stage, Target,
    known_hosts::glob,
    ssh_config::{
        Pairs, Query, parse_dump, parse_file,
        tokens::{Set, Tokens},
    },
};

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
        Some(program) => ask_openssh(program, target, options).await?,
        None => None,
    };
    let (pairs, source) = match dump {
        Some(pairs) => (pairs, Source::OpenSsh),
        None => {
            let (target, options) = (target.clone(), options.clone());
            (
                stdx::task::blocking(move || read_files(&target, &options)).await?,
                Source::OwnParser,
            )
        }
    };
    let (mut resolved, jumps) = build(target, &pairs, options, source)?;
    // As in ssh(1), what was asked for is meant for the destination and not for the hosts before it.
    let of_hop = ResolveOptions {
        shown_as: None,
        overrides: Vec::new(),
        ..options.clone()
    };
    let mut chain: Option<Resolved> = None;
    for jump in &jumps {
        let mut hop = Box::pin(resolve_nested(jump, &of_hop, depth + 1)).await?;
        if let Some(before) = chain.take() {
            // `-J a,b`: b is reached through a, whatever b's own configuration says.
            hop.proxy = Some(Proxy::Jump(Box::new(before)));
        }
        chain = Some(hop);
    }
    if let Some(hop) = chain {
        resolved.proxy = Some(Proxy::Jump(Box::new(hop)));
    }
    Ok(resolved)
}

/// Runs `ssh -G`. `Ok(None)` when the program cannot be started.
async fn ask_openssh(
    program: &Path,
    target: &Target,
    options: &ResolveOptions,
) -> Result<Option<Pairs>, Error> {
    let mut command = stdx::process::command(program);
    command
        .arg("-G")
        .envs(options.environment.iter().cloned())
        .env("HOME", &options.home);
    if let Some(file) = &options.config_file {
        command.arg("-F").arg(file);
    }
    for (keyword, value) in &options.overrides {
        command.arg("-o").arg(format!("{keyword}={value}"));
    }
    if let Some(port) = target.port {
        command.arg("-p").arg(port.to_string());
    }
    if let Some(user) = &target.user {
        command.arg("-l").arg(user);
    }
    command
        .arg("--")
        .arg(&target.host)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let output = match tokio::time::timeout(Duration::from_secs(15), command.output()).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Ok(Err(error)) => {
            return Err(
                config_error(target, format!("could not run {}", program.display())).with_source(error),
            );
        }
        Err(_) => {
            return Err(config_error(target, "ssh -G did not answer within 15 s")
                .with_hint("a 'Match exec' line may hang"));
        }
    };
    if output.status.success() {
        return Ok(Some(parse_dump(&String::from_utf8_lossy(&output.stdout))));
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let reason: Vec<_> = stderr
        .lines()
        .filter(|line| !line.trim().is_empty())
        .take(3)
        .collect();
    Err(config_error(
        target,
        format!(
            "ssh -G failed: {}",
            stdx::bounded::one_line(&reason.join("; "), 600)
        ),
    ))
}

/// Reads the configuration files with the own parser. Blocks.
fn read_files(target: &Target, options: &ResolveOptions) -> Result<Pairs, Error> {
    let mut pairs = Pairs::default();
    for (keyword, value) in &options.overrides {
        pairs.push(keyword, vec![value.clone()]);
    }
    let files = match &options.config_file {
        Some(file) => vec![(file.clone(), options.home.join(".ssh"))],
        None => vec![
            (options.home.join(".ssh/config"), options.home.join(".ssh")),
            (PathBuf::from("/etc/ssh/ssh_config"), PathBuf::from("/etc/ssh")),
        ],
    };
    for (file, folder) in files {
        let text = match std::fs::read(&file) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(_) if options.config_file.is_none() => continue,
            Err(error) => {
                return Err(
                    config_error(target, format!("could not read {}", file.display())).with_source(error)
                );
            }
        };
        let query = Query {
            target,
            local_user: &options.local_user,
        };
        parse_file(
            &text,
            &file,
            query,
            &|pattern| included(pattern, &folder, &options.home),
            &mut pairs,
        )?;
    }
    Ok(pairs)
}

/// Finds the files of an `Include` argument: relative to the folder of its kind of configuration, sorted by name.
fn included(pattern: &str, folder: &Path, home: &Path) -> Vec<(PathBuf, String)> {
    let pattern = match pattern.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => folder.join(pattern),
    };
    let mut found = vec![PathBuf::from("/")];
    for part in pattern.components().skip(1) {
        let name = part.as_os_str().to_string_lossy();
        if !name.contains(['*', '?']) {
            found.iter_mut().for_each(|path| path.push(part));
            continue;
        }
        let mut next = Vec::new();
        for entry in found
            .iter()
            .filter_map(|path| std::fs::read_dir(path).ok())
            .flatten()
            .flatten()
        {
            let file_name = entry.file_name();
            let text = file_name.to_string_lossy();
            if glob(name.as_bytes(), text.as_bytes()) && (name.starts_with('.') || !text.starts_with('.')) {
                next.push(entry.path());
            }
        }
        next.sort();
        found = next;
    }
    found
        .into_iter()
        .filter_map(|path| {
            Some((
                path.clone(),
                String::from_utf8_lossy(&std::fs::read(&path).ok()?).into_owned(),
            ))
        })
        .collect()
}

fn config_error(target: &Target, message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Config, Stage::Config, target.to_string(), message)
}

/// Turns pairs into a [`Resolved`] and the jump hosts that are still to be resolved.
fn build(
    target: &Target,
    pairs: &Pairs,
    options: &ResolveOptions,
    source: Source,
) -> Result<(Resolved, Vec<Target>), Error> {
    let bad =
        |keyword: &'static str| move |message: String| config_error(target, format!("{keyword}: {message}"));
    let port = match (target.port, pairs.first("port")) {
        (Some(port), _) => port,
        (None, None) => 22,
        (None, Some(text)) => text
            .parse()
            .map_err(|_| bad("Port")(format!("{text} is no port number")))?,
    };
    let user = target
        .user
        .clone()
        .or_else(|| pairs.first("user"))
        .unwrap_or_else(|| options.local_user.clone());
    let home = options.home.to_string_lossy();
    let jump = pairs
        .first("proxyjump")
        .filter(|value| !value.eq_ignore_ascii_case("none"))
        .unwrap_or_default();
    let key_alias = pairs.first("hostkeyalias");
    let mut tokens = Tokens {
        home: &home,
        local_user: &options.local_user,
        typed: &target.host,
        host_name: &target.host,
        port,
        user: &user,
        key_alias: key_alias.as_deref().unwrap_or(&target.host),
        jump: &jump,
        environment: &options.environment,
    };
    let host_name = match pairs.first("hostname") {
        // `ssh -G` prints it expanded; a percent sign that is left belongs to an IPv6 zone.
        Some(name) if source == Source::OpenSsh => name,
        Some(name) => tokens.expand(&name, Set::HostName).map_err(bad("HostName"))?,
        None => target.host.clone(),
    };
    tokens.host_name = &host_name;
    let (proxy, jumps) = proxy(pairs, &jump, &tokens, options).map_err(bad("ProxyJump or ProxyCommand"))?;
    let resolved = Resolved {
        alias: options.shown_as.clone().unwrap_or_else(|| target.to_string()),
        identity: identity(pairs, &tokens, options).map_err(bad("IdentityFile or IdentityAgent"))?,
        trust: trust(pairs, &tokens).map_err(bad("UserKnownHostsFile"))?,
        proxy,
        network: network(pairs),
        methods: methods(pairs),
        set_env: Vec::new(),
        source,
        endpoint: Endpoint {
            host_name: host_name.clone(),
            port,
            user: user.clone(),
        },
    };
    Ok((resolved, jumps))
}

fn network(pairs: &Pairs) -> Network {
    Network {
        family: match pairs.first("addressfamily").as_deref() {
            Some("inet") => AddressFamily::Inet,
            Some("inet6") => AddressFamily::Inet6,
            _ => AddressFamily::Any,
        },
        bind_address: pairs.first("bindaddress"),
        connect_timeout: pairs
            .first("connecttimeout")
            .and_then(|text| text.parse().ok())
            .map(Duration::from_secs),
    }
}

fn methods(pairs: &Pairs) -> Methods {
    let default = Methods::default();
    let forbidden = |keyword: &str| {
        pairs
            .first(keyword)
            .is_some_and(|value| value.eq_ignore_ascii_case("no"))
    };
    let order = pairs
        .first("preferredauthentications")
        .map_or(default.order, |list| {
            list.split(',').map(|name| name.trim().to_owned()).collect()
        });
    let allowed = |name: &String| match name.as_str() {
        "publickey" => !forbidden("pubkeyauthentication"),
        "keyboard-interactive" => !forbidden("kbdinteractiveauthentication"),
        "password" => !forbidden("passwordauthentication"),
        _ => false,
    };
    Methods {
        order: order.into_iter().filter(allowed).collect(),
        password_prompts: pairs
            .first("numberofpasswordprompts")
            .and_then(|text| text.parse().ok())
            .unwrap_or(default.password_prompts),
    }
}

/// The key files that are tried where none is named (ssh_config(5), IdentityFile).
const USUAL_KEYS: [&str; 5] = ["id_rsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk"];

/// Says whether a key file has one of the names that are tried where none is named.
pub(crate) fn is_usual_key(file: &Path) -> bool {
    let name = file.file_name().and_then(std::ffi::OsStr::to_str);
    name.is_some_and(|name| USUAL_KEYS.contains(&name))
        && file.parent().is_some_and(|folder| folder.ends_with(".ssh"))
}

fn identity(pairs: &Pairs, tokens: &Tokens<'_>, options: &ResolveOptions) -> Result<Identity, String> {
    let mut names: Vec<String> = pairs.every("identityfile").collect();
    if names.is_empty() {
        names = USUAL_KEYS.map(|name| format!("~/.ssh/{name}")).to_vec();
    }
    names.retain(|name| !name.eq_ignore_ascii_case("none"));
    let agent = match pairs.first("identityagent") {
        None => options.agent_socket.clone(),
        Some(value) if value.eq_ignore_ascii_case("none") => None,
        Some(value) if value == "SSH_AUTH_SOCK" => options.agent_socket.clone(),
        Some(value) => match value.strip_prefix('$').filter(|rest| !rest.starts_with('{')) {
            Some(name) => options
                .environment
                .iter()
                .find(|(key, _)| key == name)
                .map(|(_, path)| PathBuf::from(path)),
            None => Some(tokens.path(&value)?),
        },
    };
    Ok(Identity {
        files: names
            .iter()
            .map(|name| tokens.path(name))
            .collect::<Result<_, _>>()?,
        certificates: pairs
            .every("certificatefile")
            .map(|name| tokens.path(&name))
            .collect::<Result<_, _>>()?,
        only_files: is_yes(pairs.first("identitiesonly")),
        agent,
    })
}

fn trust(pairs: &Pairs, tokens: &Tokens<'_>) -> Result<Trust, String> {
    let list = |keyword: &str, default: &[&str]| match pairs.args(keyword) {
        Some(args) => args.to_vec(),
        None => default.iter().map(|&name| name.to_owned()).collect(),
    };
    let mut names = list(
        "userknownhostsfile",
        &["~/.ssh/known_hosts", "~/.ssh/known_hosts2"],
    );
    names.extend(list(
        "globalknownhostsfile",
        &["/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"],
    ));
    names.retain(|name| !name.eq_ignore_ascii_case("none") && !name.is_empty());
    Ok(Trust {
        known_hosts: names
            .iter()
            .map(|name| tokens.path(name))
            .collect::<Result<_, _>>()?,
        key_alias: pairs.first("hostkeyalias"),
        unknown_keys: match pairs
            .first("stricthostkeychecking")
            .unwrap_or_default()
            .to_ascii_lowercase()
            .as_str()
        {
            "yes" | "true" => UnknownKeys::Refuse,
            "accept-new" | "no" | "off" | "false" => UnknownKeys::Accept,
            _ => UnknownKeys::Ask,
        },
        revoked: pairs
            .first("revokedhostkeys")
            .filter(|name| !name.eq_ignore_ascii_case("none"))
            .map(|name| tokens.path(&name))
            .transpose()?
            .into_iter()
            .collect(),
        learn_announced: pairs
            .first("updatehostkeys")
            .map(|value| !value.eq_ignore_ascii_case("no") && !value.eq_ignore_ascii_case("false")),
    })
}

/// `ProxyJump` goes before `ProxyCommand`; `ssh -G` prints only the one that counts.
fn proxy(
    pairs: &Pairs,
    jump: &str,
    tokens: &Tokens<'_>,
    options: &ResolveOptions,
) -> Result<(Option<Proxy>, Vec<Target>), String> {
    if !jump.is_empty() {
        let hops: Result<Vec<Target>, _> = jump.split(',').map(|hop| hop.trim().parse()).collect();
        return Ok((None, hops.map_err(|error: Error| error.to_string())?));
    }
    match pairs.first("proxycommand") {
        Some(line) if !line.eq_ignore_ascii_case("none") && !line.is_empty() => {
            let line = tokens.expand(&line, Set::Command)?;
            Ok((
                Some(Proxy::Command {
                    line,
                    environment: options.environment.clone(),
                }),
                Vec::new(),
            ))
        }
        _ => Ok((None, Vec::new())),
    }
}

fn is_yes(value: Option<String>) -> bool {
    value.is_some_and(|value| value.eq_ignore_ascii_case("yes") || value.eq_ignore_ascii_case("true"))
}

//! From keyword-value pairs to a [`Resolved`] (pure, but for the homes of other users).

use std::{path::PathBuf, time::Duration};

use super::{
    Endpoint, Identity, Methods, Network, Proxy, ResolveOptions, Resolved, Source, Trust, USUAL_KEYS,
    UnknownKeys, config_error,
};
use crate::{
    Error, Target,
    known_hosts::glob,
    ssh_config::{
        Pairs, canonical, jumps, keywords,
        tokens::{Set, Tokens},
    },
};

/// The known-hosts file that OpenSSH writes (ssh_config(5), UserKnownHostsFile).
const USER_HOSTS: &str = "~/.ssh/known_hosts";

/// Turns pairs into a [`Resolved`] and the jump hosts that are still to be resolved.
pub(super) fn build(
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
        (None, Some(text)) => {
            keywords::port(&text).ok_or_else(|| bad("Port")(format!("{text} is no port number")))?
        }
    };
    let user = target
        .user
        .clone()
        .or_else(|| pairs.first("user"))
        .unwrap_or_else(|| options.local_user.clone());
    let host_name = pairs.first("hostname").unwrap_or_else(|| target.host.clone());
    let hops = match pairs.first("proxyjump") {
        Some(jump) => jumps(&jump).map_err(bad("ProxyJump"))?,
        None => Vec::new(),
    };
    let home = options.home.to_string_lossy();
    let key_alias = pairs.first("hostkeyalias");
    let tokens = Tokens {
        home: &home,
        local_user: &options.local_user,
        typed: &target.host,
        host_name: &host_name,
        port,
        user: &user,
        key_alias: key_alias.as_deref().unwrap_or(&target.host),
        jump: hops.last().map_or("", |hop| &hop.host),
        environment: &options.environment,
    };
    let values = Values {
        pairs,
        tokens: &tokens,
        options,
        source,
    };
    let resolved = Resolved {
        alias: options.shown_as.clone().unwrap_or_else(|| target.to_string()),
        identity: values
            .identity()
            .map_err(bad("IdentityFile, CertificateFile or IdentityAgent"))?,
        trust: values
            .trust()
            .map_err(bad("UserKnownHostsFile, GlobalKnownHostsFile or RevokedHostKeys"))?,
        proxy: if hops.is_empty() {
            values.command().map_err(bad("ProxyCommand"))?
        } else {
            None
        },
        network: network(pairs),
        methods: methods(pairs),
        set_env: values.variables(),
        source,
        endpoint: Endpoint {
            host_name: host_name.clone(),
            port,
            user: user.clone(),
        },
    };
    Ok((resolved, hops))
}

fn network(pairs: &Pairs) -> Network {
    Network {
        family: canonical::family(pairs),
        bind_address: pairs.first("bindaddress"),
        bind_interface: pairs.first("bindinterface"),
        connect_timeout: pairs
            .first("connecttimeout")
            .and_then(|text| keywords::seconds(&text))
            .filter(|&seconds| seconds > 0)
            .map(Duration::from_secs),
    }
}

/// `BatchMode` forbids what asks a person, as in OpenSSH.
fn methods(pairs: &Pairs) -> Methods {
    let default = Methods::default();
    let order = pairs
        .first("preferredauthentications")
        .map_or(default.order, |list| {
            list.split(',').map(|name| name.trim().to_owned()).collect()
        });
    let asks = !is(pairs, "batchmode", &YES);
    let allowed = |name: &String| match name.as_str() {
        "publickey" => !is(pairs, "pubkeyauthentication", &NO),
        "keyboard-interactive" => asks && !is(pairs, "kbdinteractiveauthentication", &NO),
        "password" => asks && !is(pairs, "passwordauthentication", &NO),
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

const YES: [&str; 2] = ["yes", "true"];
const NO: [&str; 3] = ["no", "false", "off"];

/// Says whether a keyword has one of these values.
fn is(pairs: &Pairs, keyword: &str, values: &[&str]) -> bool {
    pairs
        .first(keyword)
        .is_some_and(|value| values.iter().any(|known| value.eq_ignore_ascii_case(known)))
}

fn is_none(value: &str) -> bool {
    value.eq_ignore_ascii_case("none")
}

/// Values whose tokens have to be expanded.
struct Values<'a> {
    pairs: &'a Pairs,
    tokens: &'a Tokens<'a>,
    options: &'a ResolveOptions,
    source: Source,
}

impl Values<'_> {
    fn identity(&self) -> Result<Identity, String> {
        let mut names: Vec<String> = self.pairs.every("identityfile").collect();
        if names.is_empty() {
            names = USUAL_KEYS.map(|name| format!("~/.ssh/{name}")).to_vec();
        }
        // Kinds of keys that this crate does not have; OpenSSH lists them where no file is named.
        names.retain(|name| !is_none(name) && name != "~/.ssh/id_xmss" && name != "~/.ssh/id_dsa");
        Ok(Identity {
            files: self.paths(&names)?,
            certificates: self.paths(
                &self
                    .pairs
                    .every("certificatefile")
                    .filter(|name| !is_none(name))
                    .collect::<Vec<_>>(),
            )?,
            only_files: is(self.pairs, "identitiesonly", &YES),
            agent: self.agent()?,
        })
    }

    fn paths(&self, names: &[String]) -> Result<Vec<PathBuf>, String> {
        let mut paths: Vec<PathBuf> = Vec::new();
        for name in names {
            let path = self.tokens.path(name)?;
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        Ok(paths)
    }

    fn agent(&self) -> Result<Option<PathBuf>, String> {
        let variable = |name: &str| {
            let found = self.options.environment.iter().find(|(key, _)| key == name);
            found.map(|(_, path)| PathBuf::from(path))
        };
        Ok(match self.pairs.first("identityagent") {
            None => self.options.agent_socket.clone(),
            Some(value) if is_none(&value) => None,
            Some(value) if value == "SSH_AUTH_SOCK" => self.options.agent_socket.clone(),
            Some(value) => match value.strip_prefix('$').filter(|rest| !rest.starts_with('{')) {
                Some("SSH_AUTH_SOCK") => self.options.agent_socket.clone(),
                Some(name) => variable(name),
                None => Some(self.expanded_by_openssh(&value)?),
            },
        })
    }

    /// Expands a value that `ssh -G` prints expanded, but for old versions: what is absolute is taken as it is.
    fn expanded_by_openssh(&self, value: &str) -> Result<PathBuf, String> {
        if self.source == Source::OpenSsh && value.starts_with('/') {
            return Ok(PathBuf::from(value));
        }
        self.tokens.path(value)
    }

    fn trust(&self) -> Result<Trust, String> {
        let mut known_hosts: Vec<PathBuf> = Vec::new();
        for name in self.list("userknownhostsfile", &[USER_HOSTS, "~/.ssh/known_hosts2"]) {
            known_hosts.push(self.expanded_by_openssh(&name)?);
        }
        let system = ["/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"];
        for name in self.list("globalknownhostsfile", &system) {
            known_hosts.push(self.tokens.tilde(&name)?.into());
        }
        let unknown_keys = if is(self.pairs, "stricthostkeychecking", &YES) {
            UnknownKeys::Refuse
        } else if is(
            self.pairs,
            "stricthostkeychecking",
            &["accept-new", "no", "off", "false"],
        ) {
            UnknownKeys::Accept
        } else if is(self.pairs, "batchmode", &YES) {
            UnknownKeys::Refuse
        } else {
            UnknownKeys::Ask
        };
        let revoked = self.pairs.first("revokedhostkeys").filter(|name| !is_none(name));
        Ok(Trust {
            known_hosts,
            key_alias: self.pairs.first("hostkeyalias"),
            unknown_keys,
            revoked: revoked
                .map(|name| self.tokens.path(&name))
                .transpose()?
                .into_iter()
                .collect(),
            learn_announced: Some(self.learns()),
        })
    }

    /// `UpdateHostKeys`; by default, keys are learned where OpenSSH would write them into its own file.
    fn learns(&self) -> bool {
        if self.pairs.args("updatehostkeys").is_some() {
            return !is(self.pairs, "updatehostkeys", &NO);
        }
        let files = self.pairs.args("userknownhostsfile").unwrap_or_default();
        let usual = files.is_empty() || files == [USER_HOSTS];
        usual && !is(self.pairs, "verifyhostkeydns", &["yes", "true", "ask"])
    }

    /// Gives a list of files; `none` is empty.
    fn list(&self, keyword: &str, default: &[&str]) -> Vec<String> {
        let Some(args) = self.pairs.args(keyword) else {
            return default.iter().map(|&name| name.to_owned()).collect();
        };
        let mut files: Vec<String> = Vec::new();
        for arg in args {
            let begins = arg.starts_with(['/', '~', '%', '$']);
            match files.last_mut() {
                // `ssh -G` prints a path with a blank as two.
                Some(before) if self.source == Source::OpenSsh && !begins => {
                    before.push(' ');
                    before.push_str(arg);
                }
                _ => files.push(arg.clone()),
            }
        }
        files.retain(|name| !is_none(name) && !name.is_empty());
        files
    }

    fn command(&self) -> Result<Option<Proxy>, String> {
        let Some(line) = self
            .pairs
            .first("proxycommand")
            .filter(|line| !is_none(line) && !line.is_empty())
        else {
            return Ok(None);
        };
        if is(self.pairs, "proxyusefdpass", &YES) {
            return Err("a command that hands over its connection (ProxyUseFdpass) cannot be used; name one that carries the bytes, and set ProxyUseFdpass to no".to_owned());
        }
        if line == "-" {
            return Err("'-' (this program's own input and output) cannot be used".to_owned());
        }
        Ok(Some(Proxy::Command {
            line: self.tokens.expand(&line, Set::Command)?,
            environment: self.options.environment.clone(),
        }))
    }

    /// `SendEnv` filled from the environment, then `SetEnv`, whose values win.
    fn variables(&self) -> Vec<(String, String)> {
        let patterns: Vec<String> = self.pairs.every("sendenv").collect();
        let sent = |name: &String| {
            patterns
                .iter()
                .any(|pattern| glob(pattern.as_bytes(), name.as_bytes()))
        };
        let mut set: Vec<(String, String)> = Vec::new();
        for variable in self.pairs.every("setenv") {
            if let Some((name, value)) = variable.split_once('=')
                && !set.iter().any(|(known, _)| known == name)
            {
                set.push((name.to_owned(), value.to_owned()));
            }
        }
        let environment = self.options.environment.iter();
        let mut all: Vec<(String, String)> = environment
            .filter(|(name, _)| sent(name) && !set.iter().any(|(known, _)| known == name))
            .cloned()
            .collect();
        all.extend(set);
        all
    }
}

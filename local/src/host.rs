//! `HOST[:WORKSPACE]`: a configured name, an alias of ssh_config or `user@host:port`, and a folder there.

use std::path::PathBuf;

use link::{Host, InstallOptions, LinkOptions, Prompter, Timings};
use settings::{
    Loaded,
    schema::{Install, RemoteHost},
};
use transport::{ConnectOptions, ResolveOptions, Target};

use crate::{broker, exit::Exit, invocation::Invocation, report::Failure, stored_secrets::Stored};

/// A host and a workspace as typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostRef {
    /// The host.
    pub(crate) host: String,
    /// The workspace, if one was typed.
    pub(crate) workspace: Option<String>,
}

impl HostRef {
    /// Splits what was typed. Digits after the host are a port; anything else is a workspace.
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        let bad = |why: &str| {
            Failure::new(Exit::Usage, format!("{text:?} names no host: {why}"))
                .hint("write HOST, HOST:WORKSPACE or user@host:port:WORKSPACE")
        };
        // A bracketed address holds colons of its own; a bracket behind a colon belongs to the workspace.
        let colon = text.find(':').unwrap_or(text.len());
        let after_address = match (text.find('['), text.find(']')) {
            (Some(start), Some(end)) if start < colon => end + 1,
            _ => colon,
        };
        let (host, rest) = text.split_at(after_address);
        if host.is_empty() {
            return Err(bad("the host is empty"));
        }
        let Some(rest) = rest.strip_prefix(':') else {
            return if rest.is_empty() {
                Ok(Self {
                    host: host.to_owned(),
                    workspace: None,
                })
            } else {
                Err(bad("only ':' may follow ']'"))
            };
        };
        let (first, more) = rest
            .split_once(':')
            .map_or((rest, None), |(first, more)| (first, Some(more)));
        if !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit()) {
            let workspace = more.filter(|folder| !folder.is_empty()).map(str::to_owned);
            return Ok(Self {
                host: format!("{host}:{first}"),
                workspace,
            });
        }
        if rest.is_empty() {
            return Err(bad("the workspace is empty"));
        }
        Ok(Self {
            host: host.to_owned(),
            workspace: Some(rest.to_owned()),
        })
    }
}

/// A host that can be dialled.
#[derive(Debug, Clone)]
pub(crate) struct HostPlan {
    /// What a person calls it.
    pub(crate) name: String,
    /// The workspace: typed, else configured.
    pub(crate) workspace: Option<String>,
    pub(crate) configured: Option<RemoteHost>,
    target: Target,
}

impl HostPlan {
    /// Looks a host up in the settings; what is not there is left to SSH.
    pub(crate) fn new(wanted: &HostRef, loaded: &Loaded) -> Result<Self, Failure> {
        let configured = loaded
            .settings
            .remote
            .hosts
            .iter()
            .find(|host| host.name == wanted.host)
            .cloned();
        let target = match &configured {
            Some(host) => target_of(host),
            None => wanted.host.parse().map_err(|error: transport::Error| {
                Failure::new(Exit::Usage, error.to_string()).maybe_hint(error.hint().map(str::to_owned))
            })?,
        };
        let workspace = wanted
            .workspace
            .clone()
            .or_else(|| configured.as_ref().and_then(|host| host.workspace.clone()))
            .map(from_home);
        Ok(Self {
            name: wanted.host.clone(),
            workspace,
            configured,
            target,
        })
    }

    /// Takes a host as it is, or would be, configured.
    pub(crate) fn of(host: RemoteHost) -> Self {
        Self {
            name: host.name.clone(),
            workspace: host.workspace.clone().map(from_home),
            target: target_of(&host),
            configured: Some(host),
        }
    }

    /// Gives the workspace, or says that one is needed.
    pub(crate) fn need_workspace(&self) -> Result<String, Failure> {
        self.workspace.clone().ok_or_else(|| {
            Failure::new(
                Exit::Usage,
                format!("no workspace is named for host {}", self.name),
            )
            .hint(format!(
                "name a folder there, as in `--remote {}:~/project`, or set `workspace` of the host in config.toml",
                self.name
            ))
        })
    }

    /// Gives what a link needs.
    pub(crate) fn link_options(
        &self,
        invocation: &Invocation,
        loaded: &Loaded,
        prompter: std::sync::Arc<dyn Prompter>,
    ) -> Result<LinkOptions, Failure> {
        let agent = self.configured.as_ref().map(|host| &host.agent);
        let defaults = Timings::default();
        let timings = Timings {
            ping_interval: agent.map_or(defaults.ping_interval, |agent| agent.keepalive),
            dead_after: agent.map_or(defaults.dead_after, |agent| agent.dead_after),
            ..defaults
        };
        let install = match agent.map(|agent| agent.install) {
            Some(Install::Upload) => bootstrap::Install::Upload,
            Some(Install::Never) => bootstrap::Install::Never,
            _ => bootstrap::Install::Auto,
        };
        let prompter = match &self.configured {
            Some(host) => Stored::before(prompter, host, invocation.home.join(".env")),
            None => prompter,
        };
        Ok(LinkOptions {
            host: Host::Named {
                target: self.target.clone(),
                resolve: self.resolve_options(invocation),
            },
            install: InstallOptions {
                install,
                source: artifact_source(invocation)?,
                home: None,
                workspace: self.workspace.clone(),
            },
            ssh: ssh_options(invocation, loaded),
            prompter,
            timings,
            state_dir: Some(invocation.home.join("hosts")),
            network: link::NetworkWatch::On,
            broker: broker::options(self.configured.as_ref(), invocation, loaded)?,
        })
    }

    /// Says whether tools there may use the SSH agent here.
    pub(crate) fn forwards_agent(&self) -> bool {
        let login = self.configured.as_ref().map(|host| &host.login);
        login.is_some_and(|login| login.forward_agent)
    }

    /// Gives what SSH is asked for.
    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// Gives what resolving the host needs to know about this machine.
    pub(crate) fn resolve_options(&self, invocation: &Invocation) -> ResolveOptions {
        let login = self.configured.as_ref().map(|host| &host.login);
        let use_config = login.is_none_or(|login| login.use_ssh_config);
        let set = |key: &str, value: Option<&String>| value.map(|value| (key.to_owned(), value.clone()));
        let overrides = [
            set(
                "IdentityFile",
                login.and_then(|login| login.identity_file.as_ref()),
            ),
            set("ProxyJump", login.and_then(|login| login.proxy_jump.as_ref())),
            set(
                "ProxyCommand",
                login.and_then(|login| login.proxy_command.as_ref()),
            ),
        ];
        ResolveOptions {
            shown_as: Some(self.name.clone()),
            home: invocation.user_home.to_path_buf(),
            local_user: invocation.local_user(),
            ssh_program: if use_config {
                invocation.find_program("ssh")
            } else {
                None
            },
            config_file: if use_config {
                invocation.ssh_config()
            } else {
                Some(PathBuf::from("/dev/null"))
            },
            agent_socket: invocation.variable("SSH_AUTH_SOCK").map(PathBuf::from),
            environment: invocation.plain_environment(),
            overrides: overrides.into_iter().flatten().collect(),
        }
    }
}

fn target_of(host: &RemoteHost) -> Target {
    Target {
        user: host.user.clone(),
        host: host.host.clone().unwrap_or_else(|| host.name.clone()),
        port: host.port,
    }
}

/// Gives the file of host keys that this program writes.
pub(crate) fn own_known_hosts(invocation: &Invocation, loaded: &Loaded) -> PathBuf {
    let own = loaded.settings.remote.known_hosts.as_ref();
    own.map_or_else(|| invocation.home.join("known_hosts"), PathBuf::from)
}

/// Gives what an SSH connection needs beside the resolved host.
pub(crate) fn ssh_options(invocation: &Invocation, loaded: &Loaded) -> ConnectOptions {
    ConnectOptions {
        known_hosts: Some(own_known_hosts(invocation, loaded)),
        ..ConnectOptions::default()
    }
}

/// Lets a relative workspace begin in the home, as scp(1) does.
pub(crate) fn from_home(workspace: String) -> String {
    if workspace.starts_with(['/', '~']) {
        workspace
    } else {
        format!("~/{workspace}")
    }
}

/// Says where programs for hosts come from: this very file, or a folder of builds.
pub(crate) fn artifact_source(invocation: &Invocation) -> Result<bootstrap::ArtifactSource, Failure> {
    let own_executable = std::env::current_exe().map_err(|error| {
        Failure::new(
            Exit::Bootstrap,
            format!("could not find this program's own file: {error}"),
        )
    })?;
    let given = invocation.variable("REASONIX_DIST").map(PathBuf::from);
    Ok(bootstrap::ArtifactSource {
        own_executable,
        own_target: bootstrap::Target::own(),
        dist: given.into_iter().chain([invocation.home.join("dist")]).collect(),
        version: remote_agent::identity::VERSION.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_workspace_begins_in_the_home() {
        for (typed, meant) in [
            ("/w", "/w"),
            ("~", "~"),
            ("~/w", "~/w"),
            ("w/x", "~/w/x"),
            ("-w", "~/-w"),
        ] {
            assert_eq!(from_home(typed.to_owned()), meant);
        }
    }

    #[test]
    fn splits_host_port_and_workspace() {
        let check = |text: &str, host: &str, workspace: Option<&str>| {
            let want = HostRef {
                host: host.to_owned(),
                workspace: workspace.map(str::to_owned),
            };
            assert_eq!(HostRef::parse(text).unwrap(), want, "{text}");
        };
        check("dev", "dev", None);
        check("dev:~/work", "dev", Some("~/work"));
        check("dev:/a:b", "dev", Some("/a:b"));
        check("dev:/a[b]:c]", "dev", Some("/a[b]:c]"));
        check("[::1]:/a[b]", "[::1]", Some("/a[b]"));
        check("me@host:2222", "me@host:2222", None);
        check("me@host:2222:/w", "me@host:2222", Some("/w"));
        check("[::1]", "[::1]", None);
        check("me@[::1]:22:/w w", "me@[::1]:22", Some("/w w"));
        check("dev:目录", "dev", Some("目录"));
        for bad in ["", ":x", "dev:", "[::1]x"] {
            assert_eq!(HostRef::parse(bad).unwrap_err().exit, Exit::Usage, "{bad}");
        }
    }
}

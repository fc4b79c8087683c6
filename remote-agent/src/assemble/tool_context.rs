//! What tools are given.

use std::{sync::Arc, time::Duration};

use protocol::{ErrorBody, ErrorCode};
use sandbox::{Mode, Network, Policy, Sandbox, SandboxOptions};
use settings::{Settings, schema::Confinement};
use stdx::{AbsPath, task::Scope};
use tools::{FileAccess, NoCopies, Observed, ShellContext, ShellState, ToolContext, WriteScope};

use super::Host;

/// Builds the context of a session's tools. The preset narrows or widens it for each call.
pub(super) fn build(
    workspace: &AbsPath,
    settings: &Settings,
    host: &Host,
    scope: &Scope,
) -> Result<ToolContext, ErrorBody> {
    let mut roots = vec![workspace.clone()];
    for folder in &settings.sandbox.allow_write {
        roots.push(absolute("sandbox.allow_write", folder, workspace)?);
    }
    let mut hidden = host.secrets.clone();
    for path in &settings.sandbox.forbid_read {
        hidden.push(absolute("sandbox.forbid_read", path, workspace)?);
    }
    let confined = settings.sandbox.bash == Confinement::Enforce;
    let mode = if confined {
        Mode::WorkspaceWrite
    } else {
        Mode::Unconfined
    };
    let policy = Policy {
        write_roots: roots.iter().skip(1).cloned().collect(),
        write_deny: vec![host.home.clone()],
        read_deny: hidden.clone(),
        network: if settings.sandbox.network {
            Network::Allowed
        } else {
            Network::Denied
        },
        ..Policy::new(mode, workspace.clone())
    };
    let sandbox = Sandbox::new(SandboxOptions {
        backend: host.backend.clone(),
        shell: host.shell.clone(),
        temp_parent: host.temp.clone(),
        scope: scope.clone(),
    })
    .guarded(host.guard.clone());
    let seconds = settings.tools.bash_timeout_seconds;
    Ok(ToolContext {
        workspace: workspace.clone(),
        files: FileAccess {
            write: WriteScope::Roots(roots),
            // Settings and programs of ours are not part of a project, even where it is the user's whole home.
            protected: vec![host.home.clone()],
            forbid_read: hidden,
        },
        observed: Arc::new(Observed::default()),
        copies: Arc::new(NoCopies),
        shell: ShellContext {
            sandbox: Arc::new(sandbox),
            policy,
            environment: host.environment.clone(),
            state: Arc::new(ShellState::new(host.temp.clone())),
            time_limit: (seconds > 0).then(|| Duration::from_secs(seconds)),
            key_agent: host.key_agent.clone(),
        },
        response: None,
        live: None,
        token: scope.token().clone(),
    })
}

/// Says what the model should know about the host and the workspace. Stable for a session.
pub(super) fn about(workspace: &AbsPath, host: &Host) -> context::Environment {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let shell = host
        .shell
        .program()
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let git = workspace.join(".git").exists();
    context::Environment {
        os: format!(
            "{} {} {}",
            std::env::consts::OS,
            release.trim(),
            std::env::consts::ARCH
        ),
        shell: shell.unwrap_or_else(|| "sh".to_owned()),
        workspace: workspace.to_string(),
        facts: vec![if git {
            "Version control: git".to_owned()
        } else {
            "Version control: none found".to_owned()
        }],
        permissions:
            "The permission preset may change during the session; a result that begins with `blocked:` says \
                      what is not allowed now."
                .to_owned(),
    }
}

fn absolute(key: &str, path: &str, workspace: &AbsPath) -> Result<AbsPath, ErrorBody> {
    if path.trim().is_empty() {
        let error = ErrorBody::new(ErrorCode::Configuration, format!("{key} has an empty path"));
        return Err(error.hint("name a folder, or remove the entry"));
    }
    Ok(workspace.resolve(path))
}

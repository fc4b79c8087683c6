//! `reasonix run`: one task, here or on a host.

use std::{
    io::{IsTerminal as _, Read as _},
    path::PathBuf,
    time::Duration,
};

use protocol::{OpenSession, Preset, SessionId};

use crate::{
    args::{PermissionMode, RunArgs},
    connect::Connected,
    exit::Exit,
    headless::{self, Job, Task},
    invocation::Invocation,
    report::Failure,
};

/// Runs a task and gives the turn's exit code.
pub(crate) async fn run(invocation: &Invocation, args: RunArgs) -> Result<Exit, Failure> {
    let text = task(args.task.clone()).await?;
    let give_up_after = duration("--give-up-after", &args.give_up_after)?;
    let folder = folder(args.dir.clone())?;
    let connected = Connected::open(invocation, args.remote.as_deref(), &folder, Vec::new()).await?;
    let outcome = async {
        let open = open(&connected, &args, &folder).await?;
        let way_back = super::attach::way_back(args.remote.as_deref(), open.session);
        let task = Some(Task {
            text,
            max_steps: args.max_steps,
        });
        let job = Job {
            open,
            task,
            format: args.output_format,
            give_up_after,
            way_back,
        };
        headless::run(&connected.link, job).await
    };
    let outcome = outcome.await;
    connected.close().await;
    outcome
}

/// Says which session is opened or resumed.
async fn open(
    connected: &Connected,
    args: &RunArgs,
    folder: &std::path::Path,
) -> Result<OpenSession, Failure> {
    if let Some(wanted) = &args.resume {
        let session = super::attach::find(&connected.link, wanted).await?;
        return Ok(OpenSession {
            session,
            workspace: None,
            model: None,
            preset: None,
        });
    }
    let workspace = match &connected.plan {
        Some(plan) => plan.need_workspace()?,
        None => folder.display().to_string(),
    };
    let preset = args.permission_mode.map(preset);
    Ok(OpenSession {
        session: SessionId::fresh(),
        workspace: Some(workspace),
        model: args.model.clone(),
        preset,
    })
}

fn preset(mode: PermissionMode) -> Preset {
    match mode {
        PermissionMode::ReadOnly => Preset::ReadOnly,
        PermissionMode::WorkspaceWrite => Preset::WorkspaceWrite,
        PermissionMode::DangerFullAccess => Preset::DangerFullAccess,
    }
}

/// Takes the task from the command line, else from standard input.
async fn task(given: Option<String>) -> Result<String, Failure> {
    let missing =
        || Failure::new(Exit::Usage, "no task is given").hint("write it after `run`, or pipe it in");
    let text = match given {
        Some(text) => text,
        None if std::io::stdin().is_terminal() => return Err(missing()),
        None => stdx::task::blocking(|| {
            let mut text = String::new();
            std::io::stdin().lock().read_to_string(&mut text).map(|_| text)
        })
        .await
        .map_err(|error| {
            Failure::new(
                Exit::Usage,
                format!("could not read the task from standard input: {error}"),
            )
        })?,
    };
    if text.trim().is_empty() {
        Err(missing())
    } else {
        Ok(text)
    }
}

/// Gives the absolute folder to work in.
fn folder(given: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let wanted = given.unwrap_or_else(|| PathBuf::from("."));
    wanted.canonicalize().map_err(|error| {
        Failure::new(
            Exit::Usage,
            format!("folder {} cannot be used: {error}", wanted.display()),
        )
        .hint("name a folder that exists with --dir")
    })
}

fn duration(flag: &str, text: &str) -> Result<Duration, Failure> {
    settings::duration::parse(text).ok_or_else(|| {
        Failure::new(Exit::Usage, format!("{flag} {text:?} is no duration"))
            .hint("write it like 30s, 10m or 8h")
    })
}

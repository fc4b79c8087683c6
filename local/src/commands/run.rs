//! `reasonix run`: one task, here or on a host.

use std::{
    io::{IsTerminal as _, Read as _},
    path::PathBuf,
    time::Duration,
};

use protocol::{OpenSession, Preset, SessionId};

use crate::{
    args::{PermissionMode, RunArgs},
    broker,
    connect::Connected,
    exit::Exit,
    forwards::Asked,
    headless::{self, Job, Task},
    host::{HostPlan, HostRef},
    invocation::Invocation,
    report::Failure,
    setup,
};

/// The longest task, in bytes.
const LONGEST_TASK: usize = protocol::limits::SUBMIT_TEXT;

/// Runs a task and gives the turn's exit code.
pub(crate) async fn run(invocation: &Invocation, args: RunArgs) -> Result<Exit, Failure> {
    let text = task(args.task.clone()).await?;
    let give_up_after = duration("--give-up-after", &args.give_up_after)?;
    let folder = folder(args.place.dir.clone())?;
    match &args.place.remote {
        None => need_model(invocation, &folder)?,
        // Said before anything is dialled, let alone uploaded.
        Some(host) => need_in_advance(invocation, host, &args)?,
    }
    let forwards = Asked::read(&args.place.forwards)?;
    let connected = Connected::open(invocation, args.place.remote.as_deref(), &folder, Vec::new()).await?;
    let outcome = async {
        connected.stay_in_text(invocation, "run", forwards).await;
        let open = open(&connected, &args, &folder).await?;
        let way_back = super::attach::way_back(args.place.remote.as_deref(), open.session);
        let task = Some(Task {
            text,
            max_steps: args.max_steps,
        });
        // A new session is opened with it.
        let preset = args.permission_mode.map(preset).filter(|_| args.resume.is_some());
        let job = Job {
            open,
            preset,
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

/// Makes sure that some model was configured, before a session is made for nothing.
fn need_model(invocation: &Invocation, folder: &std::path::Path) -> Result<(), Failure> {
    // Read quietly: opening the agent says what there is to say.
    let loaded = settings::load(&invocation.sources(Some(folder), &[]))?;
    if setup::is_needed(invocation, &loaded)? {
        return Err(setup::unconfigured());
    }
    Ok(())
}

/// Makes sure that a new session on a host has a workspace, and that a key that should be here is.
fn need_in_advance(invocation: &Invocation, host: &str, args: &RunArgs) -> Result<(), Failure> {
    // Read quietly: opening the agent says what there is to say.
    let loaded = settings::load(&invocation.sources(None, &[]))?;
    let plan = HostPlan::new(&HostRef::parse(host)?, &loaded)?;
    if args.resume.is_none() {
        plan.need_workspace()?;
    }
    broker::need_key(&plan, args.model.as_deref(), invocation, &loaded)
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
            credentials: None,
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
        credentials: None,
    })
}

pub(super) fn preset(mode: PermissionMode) -> Preset {
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
        None => stdx::task::blocking(piped).await?,
    };
    if text.trim().is_empty() {
        return Err(missing());
    }
    if text.len() > LONGEST_TASK {
        return Err(Failure::new(
            Exit::Usage,
            format!("the task is longer than {LONGEST_TASK} bytes"),
        )
        .hint("put the text into a file of the workspace and name the file in the task"));
    }
    Ok(text)
}

/// Reads the task from standard input, and one byte more than may be sent.
fn piped() -> Result<String, Failure> {
    let unreadable = |why: String| {
        Failure::new(
            Exit::Usage,
            format!("could not read the task from standard input: {why}"),
        )
    };
    let mut bytes = Vec::new();
    let mut limited = std::io::stdin().lock().take(LONGEST_TASK as u64 + 1);
    limited
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(error.to_string()))?;
    if bytes.len() > LONGEST_TASK {
        // The cut may have split a character; the text is too long anyway.
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        unreadable(format!("byte {at} is not UTF-8 text")).hint("pipe in text, or name a file in the task")
    })
}

/// Gives the absolute folder to work in.
pub(super) fn folder(given: Option<PathBuf>) -> Result<PathBuf, Failure> {
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

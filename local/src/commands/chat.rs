//! `reasonix` without a command: the screen, on this machine or on a host.

use std::path::{Path, PathBuf};

use protocol::{OpenSession, SessionId};
use tui::Opening;

use crate::{
    args::ScreenArgs,
    exit::Exit,
    forwards::Asked,
    host::{HostPlan, HostRef},
    invocation::Invocation,
    report::Failure,
    screen::{self, Wanted},
    setup, terminal,
};

/// Opens the screen on a new session.
pub(crate) async fn run(invocation: &Invocation, args: ScreenArgs) -> Result<Exit, Failure> {
    let forwards = Asked::read(&args.place.forwards)?;
    let (workspace, project) = match &args.place.remote {
        Some(host) => {
            let loaded = invocation.settings(None, &[])?;
            let plan = HostPlan::new(&HostRef::parse(host)?, &loaded)?;
            let workspace = plan.need_workspace()?;
            screen::check(invocation)?;
            (workspace, PathBuf::from("/"))
        }
        None => {
            let folder = super::run::folder(args.place.dir.clone())?;
            first_start(invocation, &folder).await?;
            (folder.display().to_string(), folder)
        }
    };
    let wanted = Wanted {
        remote: args.place.remote,
        opening: Opening::New(OpenSession {
            session: SessionId::fresh(),
            workspace: Some(workspace),
            model: args.model,
            preset: args.permission_mode.map(super::run::preset),
            credentials: None,
        }),
        draft: args.task.unwrap_or_default(),
        forwards,
    };
    screen::open(invocation, &project, wanted).await
}

/// Makes sure that there can be a screen, and leads to a model where none was ever configured.
async fn first_start(invocation: &Invocation, folder: &Path) -> Result<(), Failure> {
    // Read quietly: opening the agent says what there is to say.
    let loaded = settings::load(&invocation.sources(Some(folder), &[]))?;
    let is_first = setup::is_needed(invocation, &loaded)?;
    if is_first && !terminal::can_ask() {
        return Err(setup::unattended());
    }
    screen::check(invocation)?;
    if is_first {
        setup::run(invocation).await?;
    }
    Ok(())
}

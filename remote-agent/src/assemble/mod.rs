//! Settings to sessions: one file for each part.

mod check;
mod instructions;
mod model;
mod policy;
mod tool_context;

use std::sync::Arc;

use agent_loop::TurnOptions;
use broker::Desk;
use context::{SessionContext, SystemParts};
use controller::{AssembleFuture, Assembler, SessionParts, Wanted};
use protocol::{Credentials, ErrorBody, ErrorCode};
use provider::Provider;
use sandbox::{Backend, Environment, Guard, Shell};
use settings::{EnvFile, Loaded, Sources};
use stdx::{AbsPath, task::Scope};
use tools::Registry;

pub use self::check::{ModelTrouble, check_model};
use self::model::{Access, Chosen};

/// The tool that no list leaves out: a model that may do little should be able to ask at least.
const ALWAYS: &str = "ask";

/// What is the same for every session of this process.
#[derive(Debug)]
pub(crate) struct Host {
    /// Reasonix's own folder.
    pub(crate) home: AbsPath,
    /// The user's home.
    pub(crate) user_home: AbsPath,
    /// What confines commands.
    pub(crate) backend: Backend,
    /// What runs commands.
    pub(crate) shell: Shell,
    /// What commands find in their environment.
    pub(crate) environment: Environment,
    /// Where private temporary folders are made.
    pub(crate) temp: AbsPath,
    /// What no tool may read.
    pub(crate) secrets: Vec<AbsPath>,
    /// Where a client puts the socket of the SSH agent that it lends to tools.
    pub(crate) key_agent: Option<AbsPath>,
    /// Where requests to models wait for who has the key.
    pub(crate) desk: Desk,
    /// What ends commands when this process is killed.
    pub(crate) guard: Option<Arc<Guard>>,
}

/// Builds sessions from settings, read anew for each session with its project's file.
#[derive(Debug)]
pub(crate) struct FromSettings {
    sources: Sources,
    host: Host,
}

impl FromSettings {
    /// States where settings come from; the project is the session's workspace.
    pub(crate) fn new(sources: Sources, host: Host) -> Self {
        Self { sources, host }
    }

    fn load(&self, wanted: &Wanted) -> Result<Loaded, ErrorBody> {
        let sources = Sources {
            project: Some(wanted.workspace.to_path_buf()),
            ..self.sources.clone()
        };
        let loaded = settings::load(&sources).map_err(|error| {
            let hint = error
                .hints()
                .first()
                .cloned()
                .unwrap_or_else(|| "mend the file, then try again".to_owned());
            ErrorBody::new(ErrorCode::Configuration, error.to_string()).hint(hint)
        })?;
        for warning in &loaded.warnings {
            // The front end of a local session has printed it; a daemon's log keeps it.
            tracing::info!(session = %wanted.session, "{warning}");
        }
        Ok(loaded)
    }

    /// Chooses what asks the model. Where a broker has the keys, none is looked for here.
    fn model(&self, loaded: &Loaded, wanted: &Wanted) -> Result<Chosen, ErrorBody> {
        let access = if wanted.credentials == Credentials::Host {
            let keys = EnvFile::load(&self.host.home.resolve(".env")).map_err(|error| {
                ErrorBody::new(ErrorCode::Configuration, error.to_string())
                    .hint("mend the file, then try again")
            })?;
            Access::Keys(keys)
        } else {
            Access::Desk(self.host.desk.clone(), wanted.session)
        };
        model::choose(loaded, wanted.model.as_deref(), access)
    }

    fn parts(&self, wanted: &Wanted, scope: &Scope) -> Result<SessionParts, ErrorBody> {
        let loaded = self.load(wanted)?;
        let chosen = self.model(&loaded, wanted)?;
        let instructions = instructions::read(&self.host.home, &wanted.workspace);
        let system = context::system(&SystemParts {
            persona: loaded.system_prompt.as_deref(),
            host_rules: None,
            instructions: &instructions,
        });
        let about = tool_context::about(&wanted.workspace, &self.host);
        let context = SessionContext::new(&about).message().text;
        let tools = tool_context::build(&wanted.workspace, &loaded.settings, &self.host, scope)?;
        let enabled = &loaded.settings.tools.enabled;
        let registry = Registry::with_builtin()
            .only(|name| enabled.is_empty() || name == ALWAYS || enabled.iter().any(|tool| tool == name));
        let turn = TurnOptions::new(
            chosen.provider,
            chosen.options,
            Arc::new(registry),
            tools,
            &system,
            &context,
        );
        let policy = policy::build(&loaded, &wanted.workspace, &self.host)?;
        Ok(SessionParts {
            model: chosen.reference,
            system,
            context,
            turn,
            policy,
        })
    }
}

impl Assembler for FromSettings {
    fn assemble<'a>(&'a self, wanted: &'a Wanted, scope: &'a Scope) -> AssembleFuture<'a> {
        Box::pin(async move { self.parts(wanted, scope) })
    }

    fn provider(&self, wanted: &Wanted) -> Result<Arc<dyn Provider>, ErrorBody> {
        Ok(self.model(&self.load(wanted)?, wanted)?.provider)
    }
}

//! The command line: types only, no behaviour. Doc comments are the help text.

use std::path::PathBuf;

use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum, error::ErrorKind};

pub(crate) use self::{forward::*, fs::*, remote::*, shell::*};

mod forward;
mod fs;
mod remote;
mod shell;
mod words;

/// A coding agent that runs where the code is.
#[derive(Debug, Parser)]
#[command(name = "reasonix", bin_name = "reasonix", version = VERSION, max_term_width = 100, disable_help_subcommand = true, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    /// What to do; the screen when absent.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) screen: ScreenArgs,
    #[command(flatten)]
    pub(crate) global: Global,
}

/// The version, and the protocol versions that this program speaks: a host's program is judged by the second line.
pub(crate) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\nprotocol 1..1");

/// Exit codes, shown below the help.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  success                               5  bootstrap failed (the stage is named)
  1  the work failed                       6  no model access (key, endpoint, budget)
  2  usage or configuration                7  paused (limit reached, can go on)
  3  the host could not be reached        130  interrupted
  4  authentication or host key";

/// Options that every command takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// Log more, on standard error or in the daemon's log (-v, -vv).
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    pub(crate) verbose: u8,
}

/// What the screen is opened with, where no command is given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(crate) struct ScreenArgs {
    /// A task to begin with, of at least two words; it waits in the composer to be sent.
    pub(crate) task: Option<String>,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// The model: provider/model, a provider or a model.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// What may be done without asking.
    #[arg(long, value_name = "MODE")]
    pub(crate) permission_mode: Option<PermissionMode>,
}

/// Where to work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(crate) struct PlaceArgs {
    /// Work on this host: a configured name, an ssh_config alias or user@host:port, and the workspace there.
    #[arg(long, value_name = "HOST[:WORKSPACE]")]
    pub(crate) remote: Option<String>,
    #[command(flatten)]
    pub(crate) forwards: ForwardArgs,
    /// Work in this folder instead of the current one.
    #[arg(long, value_name = "FOLDER", conflicts_with = "remote")]
    pub(crate) dir: Option<PathBuf>,
}

impl Cli {
    /// Reads a command line.
    ///
    /// # Errors
    /// What is wrong with it, or the help that was asked for.
    pub(crate) fn read(arguments: &[std::ffi::OsString]) -> Result<Self, clap::Error> {
        let cli = Self::try_parse_from(words::without_help_command(arguments)?).map_err(|error| {
            let is_word = matches!(
                error.kind(),
                ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand
            );
            words::unquoted(arguments).filter(|_| is_word).unwrap_or(error)
        })?;
        let refuse = |kind, message: String| Err(Self::command().error(kind, message));
        let screen = &cli.screen;
        if cli.forwards_nowhere() {
            return refuse(
                ErrorKind::MissingRequiredArgument,
                "forwards lead to a host: name it with --remote HOST".to_owned(),
            );
        }
        match (&screen.task, &cli.command) {
            // Else a mistyped command would become a task.
            (Some(word), _) if !word.contains(char::is_whitespace) => {
                Err(words::unquoted(arguments).unwrap_or_else(|| words::no_command(word)))
            }
            (Some(_), Some(_)) => refuse(
                ErrorKind::ArgumentConflict,
                "a task stands before a command: write one of them".to_owned(),
            ),
            (None, Some(_)) if *screen != ScreenArgs::default() => refuse(
                ErrorKind::ArgumentConflict,
                "options before a command are the screen's: write options after the command".to_owned(),
            ),
            _ => Ok(cli),
        }
    }
}

impl Cli {
    /// Says whether forwards are wanted where no host is named.
    fn forwards_nowhere(&self) -> bool {
        let (remote, forwards) = match &self.command {
            None => (&self.screen.place.remote, &self.screen.place.forwards),
            Some(Command::Run(args)) => (&args.place.remote, &args.place.forwards),
            Some(Command::Attach(args)) => (&args.remote, &args.forwards),
            Some(_) => return false,
        };
        remote.is_none() && forwards.is_given()
    }
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run one task and print the answer.
    Run(RunArgs),
    /// Follow a session and answer its questions.
    Attach(AttachArgs),
    /// List sessions, the most recently changed first.
    Sessions(SessionsArgs),
    /// Hosts: add, show, test and connect to them, look after the agent there.
    #[command(subcommand)]
    Remote(RemoteCommand),
    /// Show the whole way on a throwaway host, without SSH server, key or network.
    Demo(DemoArgs),
    /// Explain the configuration.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// The agent's side: serve sessions on a unix socket.
    Serve(ServeArgs),
    /// The agent's side: become the daemon that `serve --detach` starts.
    #[command(hide = true)]
    Daemon(DaemonArgs),
    /// The agent's side: end what another process leaves running when it is killed.
    #[command(hide = true)]
    Guard {
        /// The folder for the list of what is watched.
        folder: PathBuf,
    },
    /// The agent's side: copy standard input and output to the daemon's socket.
    #[command(hide = true)]
    Bridge(BridgeArgs),
    /// Choose a model provider, store its key and see whether it answers.
    Setup,
    /// Store a provider key here; it is read from standard input or asked for.
    Key(KeyArgs),
    /// Print the help of every command.
    #[command(hide = true)]
    HelpAll,
}

/// Run one task and print the answer.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct RunArgs {
    /// The task; standard input when absent.
    pub(crate) task: Option<String>,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// Go on with this session.
    #[arg(long, value_name = "SESSION")]
    pub(crate) resume: Option<String>,
    /// The model: provider/model, a provider or a model.
    ///
    /// A session keeps the model that it started with.
    #[arg(long, value_name = "MODEL", conflicts_with = "resume")]
    pub(crate) model: Option<String>,
    /// What may be done without asking.
    #[arg(long, value_name = "MODE")]
    pub(crate) permission_mode: Option<PermissionMode>,
    /// Pause after this many tool rounds; 0 means no limit.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) max_steps: u32,
    /// How to print.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output_format: OutputFormat,
    /// End with exit code 3 when the host stays away this long; the turn goes on there.
    #[arg(long, value_name = "DURATION", default_value = "10m")]
    pub(crate) give_up_after: String,
}

/// Follow a session and answer its questions.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct AttachArgs {
    /// The session's id, or the beginning of it.
    pub(crate) session: String,
    /// The host that has it.
    #[arg(long, value_name = "HOST")]
    pub(crate) remote: Option<String>,
    /// Print text on a terminal too, instead of opening the screen.
    #[arg(long)]
    pub(crate) plain: bool,
    #[command(flatten)]
    pub(crate) forwards: ForwardArgs,
    /// How to print.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output_format: OutputFormat,
}

/// List sessions.
#[derive(Debug, Clone, Args)]
pub(crate) struct SessionsArgs {
    /// The host to ask.
    #[arg(long, value_name = "HOST")]
    pub(crate) remote: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// How to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The answer as text, tool calls as lines.
    Text,
    /// One JSON object at the end.
    Json,
    /// Every event as one line of JSON, the result last.
    StreamJson,
}

impl Command {
    /// Says whether a program reads what the command prints, so that a failure is printed as JSON too.
    pub(crate) fn prints_json(&self) -> bool {
        match self {
            Self::Run(args) => args.output_format != OutputFormat::Text,
            Self::Attach(args) => args.output_format != OutputFormat::Text,
            Self::Sessions(args) => args.json,
            Self::Remote(command) => command.prints_json(),
            _ => false,
        }
    }
}

/// What may be done without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PermissionMode {
    /// Reading only.
    ReadOnly,
    /// Writing in the workspace, commands in the sandbox.
    WorkspaceWrite,
    /// Everything that no rule denies.
    DangerFullAccess,
}

/// Show the whole way on a throwaway host.
#[derive(Debug, Clone, Args)]
pub(crate) struct DemoArgs {
    /// Print plain lines.
    #[arg(long)]
    pub(crate) plain: bool,
}

/// Explain the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print a value and where it comes from.
    Explain {
        /// The key, such as agent.temperature.
        key: String,
    },
    /// Read the configuration and print what is wrong with it.
    Check,
}

/// Serve sessions.
#[derive(Debug, Clone, Args)]
pub(crate) struct ServeArgs {
    /// Start a daemon, wait until it answers, print who it is, and end.
    #[arg(long, conflicts_with = "stdio")]
    pub(crate) detach: bool,
    /// Serve one connection on standard input and output, and end with it.
    #[arg(long)]
    pub(crate) stdio: bool,
    /// Which daemon that runs already will do.
    #[arg(long, hide = true, requires = "detach", default_value = "compatible")]
    pub(crate) accept: AcceptedDaemon,
    /// What the daemon runs under.
    #[arg(long, hide = true, requires = "detach", default_value = "itself")]
    pub(crate) under: DaemonPlace,
    /// A word to print around the identity line, or the first line.
    #[arg(long, hide = true, value_name = "WORD")]
    pub(crate) fence: Option<String>,
}

/// Which daemon that runs already will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AcceptedDaemon {
    /// Every one that speaks a common version of the protocol.
    Compatible,
    /// Only one of this very program; one of another finishes its turns beside it.
    Own,
}

/// What a daemon runs under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DaemonPlace {
    /// Nothing: it leaves the login session by itself.
    Itself,
    /// A unit of the user's service manager.
    Manager,
}

/// Become a daemon.
#[derive(Debug, Clone, Args)]
pub(crate) struct DaemonArgs {
    /// Which place of this home it takes: 0, or a higher one beside a daemon that finishes its turns.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..i64::from(remote_agent::run_dir::PLACES)))]
    pub(crate) place: u8,
}

/// Copy standard input and output to the daemon's socket.
#[derive(Debug, Clone, Args)]
pub(crate) struct BridgeArgs {
    /// The socket; the first daemon's of this home when absent.
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// A word to print around the first line.
    #[arg(long, value_name = "WORD")]
    pub(crate) fence: String,
}

/// Store a provider key.
#[derive(Debug, Clone, Args)]
pub(crate) struct KeyArgs {
    /// The key's name.
    pub(crate) name: String,
}

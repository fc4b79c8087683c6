//! The arguments of `reasonix remote`.

use clap::{Args, Subcommand, ValueEnum};

use super::{ForwardArgs, ForwardCommand, FsCommand, RemoteShellArgs};

/// Hosts.
#[derive(Debug, Subcommand)]
pub(crate) enum RemoteCommand {
    /// Add a host to the configuration.
    Add(RemoteAddArgs),
    /// Take over hosts from the OpenSSH configuration; only their names are written down.
    Import(RemoteImportArgs),
    /// List configured hosts.
    List(RemoteListArgs),
    /// Show what is configured for a host and what SSH makes of it; nothing is dialled.
    Show(RemoteShowArgs),
    /// Go the way to a host step by step and say what is there; nothing on the host changes.
    Test(RemoteTestArgs),
    /// Look at everything on the way to a host and there, and say what is wrong, why, and what mends it.
    Doctor(RemoteDoctorArgs),
    /// Look at the key that a host presents, and accept it once it is compared; nobody logs in to the host.
    Trust(RemoteTrustArgs),
    /// What rides on the connection to a host.
    #[command(flatten)]
    Link(LinkCommand),
    /// Say whether an agent runs on a host, and what it does.
    Status(RemoteStatusArgs),
    /// Print the log of the agent on a host.
    Logs(RemoteLogsArgs),
    /// Remove a host from the configuration; nothing on the host changes.
    Remove(RemoteHostArg),
    /// Store a provider key on a host; it is read from standard input or asked for.
    Key(RemoteKeyArgs),
    /// Stop the agent on a host; asks when a turn is running.
    Stop(RemoteStopArgs),
    /// Put this build on a host and start its agent; one of before finishes its turns and ends.
    Upgrade(RemoteUpgradeArgs),
    /// Stop the agent on a host and take everything of ours off it; sessions and configuration are asked about.
    Uninstall(RemoteUninstallArgs),
}

impl RemoteCommand {
    /// Says whether a program reads what the command prints.
    pub(crate) fn prints_json(&self) -> bool {
        match self {
            Self::List(args) => args.json,
            Self::Show(args) => args.json,
            Self::Test(args) => args.json,
            Self::Trust(args) => args.json,
            Self::Doctor(args) => args.json,
            Self::Upgrade(args) => args.json,
            Self::Status(args) => args.json,
            Self::Link(LinkCommand::Fs(command)) => command.prints_json(),
            Self::Link(LinkCommand::Forward(ForwardCommand::Ls(args))) => args.json,
            _ => false,
        }
    }
}

/// What rides on the connection to a host.
#[derive(Debug, Subcommand)]
pub(crate) enum LinkCommand {
    /// Put the agent on a host, start it, and stay connected with the configured forwards.
    Connect(RemoteConnectArgs),
    /// Forwards of a connection that is open: add, end and list them.
    #[command(subcommand)]
    Forward(ForwardCommand),
    /// Files of a host: list, print, copy and edit them; no agent is needed.
    #[command(subcommand)]
    Fs(FsCommand),
    /// Open a terminal on a host, or run a command there; no agent is needed.
    Shell(RemoteShellArgs),
}

/// Add a host.
///
/// On a terminal, what is not given is asked for, and the host is looked at before it is written down.
#[derive(Debug, Clone, Args)]
pub(crate) struct RemoteAddArgs {
    /// What commands will call it.
    pub(crate) name: Option<String>,
    /// Where it is: host, user@host or user@host:port, or an ssh_config alias.
    pub(crate) target: Option<String>,
    /// The workspace folder on the host.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) workspace: Option<String>,
    /// The private key file to log in with; only its path is stored.
    #[arg(long, value_name = "FILE")]
    pub(crate) identity_file: Option<String>,
    /// A host to go through.
    #[arg(long, value_name = "HOST")]
    pub(crate) proxy_jump: Option<String>,
    /// How the program gets onto the host.
    #[arg(long, value_name = "HOW")]
    pub(crate) install: Option<InstallHow>,
    /// Do not look at the host before writing it down.
    #[arg(long)]
    pub(crate) no_check: bool,
}

/// How the program gets onto a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InstallHow {
    /// Whatever works.
    Auto,
    /// Always from this machine.
    Upload,
    /// Not at all; it must be there.
    Never,
}

/// List configured hosts.
#[derive(Debug, Clone, Args)]
pub(crate) struct RemoteListArgs {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// One host.
#[derive(Debug, Clone, Args)]
pub(crate) struct RemoteHostArg {
    /// The configured name.
    pub(crate) name: String,
}

/// Store a provider key on a host.
#[derive(Debug, Clone, Args)]
pub(crate) struct RemoteKeyArgs {
    /// The host.
    pub(crate) host: String,
    /// The key's name, such as DEEPSEEK_API_KEY.
    pub(crate) name: String,
}

/// Stop the agent on a host.
#[derive(Debug, Clone, Args)]
pub(crate) struct RemoteStopArgs {
    /// The host.
    pub(crate) host: String,
    /// Stop even while a turn runs, without asking.
    #[arg(long)]
    pub(crate) force: bool,
}

/// Take over hosts from the OpenSSH configuration.
///
/// `Host` lines, host lists of `Match` lines and included files are read; patterns and negated names are no hosts. What a
/// name means goes on coming from there, so nothing else is written down. Without names, says what could be taken over.
#[derive(Debug, Clone, Args)]
pub(crate) struct RemoteImportArgs {
    /// The hosts.
    #[arg(value_name = "ALIAS")]
    pub(crate) aliases: Vec<String>,
    /// Every host that is named there and not configured yet.
    #[arg(long, conflicts_with = "aliases")]
    pub(crate) all: bool,
}

/// Put this build on a host.
///
/// Its agent is started beside one of another build, which takes no new work, finishes its turns and ends. No turn is
/// stopped. Where this very build runs already, nothing changes.
#[derive(Debug, Clone, Args)]
#[command(after_help = super::EXIT_CODES)]
pub(crate) struct RemoteUpgradeArgs {
    /// The host.
    pub(crate) host: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Take everything of ours off a host.
///
/// The agent is stopped first; while a turn runs, that is asked about. Programs, logs and what agents left behind are
/// removed from every folder that takes them. Only files with names of ours that belong to the account are touched.
#[derive(Debug, Clone, Args)]
#[command(after_help = super::EXIT_CODES)]
pub(crate) struct RemoteUninstallArgs {
    /// The host.
    pub(crate) host: String,
    /// Ask nothing; sessions and configuration stay unless --purge is given. A running turn is not ended.
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) sessions: SessionsArgs,
}

/// What becomes of sessions and configuration.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct SessionsArgs {
    /// Keep sessions and configuration, without asking.
    #[arg(long)]
    pub(crate) keep_sessions: bool,
    /// Remove sessions, configuration and stored keys too, without asking.
    #[arg(long, conflicts_with = "keep_sessions")]
    pub(crate) purge: bool,
}

/// Show a host.
#[derive(Debug, Clone, Args)]
pub(crate) struct RemoteShowArgs {
    /// A configured name, an ssh_config alias or user@host:port.
    pub(crate) name: String,
    /// Say where each value comes from, and show defaults too.
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print JSON, always with the origins.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Go the way to a host step by step.
#[derive(Debug, Clone, Args)]
#[command(after_help = super::EXIT_CODES)]
pub(crate) struct RemoteTestArgs {
    /// The host, and the workspace there.
    #[arg(value_name = "HOST[:WORKSPACE]")]
    pub(crate) host: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Look at everything on the way to a host and there.
///
/// Each answer has a verdict: ok, note, warning or problem; what is not ok has a reason, and a fix where one is known.
/// The host is logged in to once. Nothing is left there: to see whether programs run in a folder, a file is made, run and
/// removed at once.
#[derive(Debug, Clone, Args)]
#[command(after_help = super::EXIT_CODES)]
pub(crate) struct RemoteDoctorArgs {
    /// The host, and the workspace there.
    #[arg(value_name = "HOST[:WORKSPACE]")]
    pub(crate) host: String,
    /// Make no file on the host, not even for a moment; folders for programs are not tried then.
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Look at the key that a host presents, and accept it once it is compared.
///
/// Says what is known about the host, what it presents now, and what changed. A new key is accepted by a person at a
/// terminal, or by a fingerprint that is given; never by a piped answer. It is written to Reasonix's own known-hosts file;
/// other files are only read. Hosts on the way come first. Exits with 0 when every key is trusted at the end.
#[derive(Debug, Clone, Args)]
#[command(after_help = super::EXIT_CODES)]
pub(crate) struct RemoteTrustArgs {
    /// The host.
    pub(crate) host: String,
    /// Accept the key with this fingerprint, which has to match exactly.
    #[arg(long = "fingerprint", alias = "yes-fingerprint", value_name = "SHA256:…")]
    pub(crate) fingerprints: Vec<String>,
    /// Look at this host on the way only.
    #[arg(long, value_name = "HOP")]
    pub(crate) hop: Option<String>,
    /// Forget which machine answered under this name: the next that answers is accepted.
    #[arg(long, conflicts_with_all = ["fingerprints", "hop"])]
    pub(crate) machine: bool,
    /// Print JSON; nobody is asked then.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Stay connected to a host.
#[derive(Debug, Clone, Args)]
#[command(after_help = super::EXIT_CODES)]
pub(crate) struct RemoteConnectArgs {
    /// The host, and the workspace there.
    #[arg(value_name = "HOST[:WORKSPACE]")]
    pub(crate) host: String,
    #[command(flatten)]
    pub(crate) forwards: ForwardArgs,
    /// Say in lines what happens instead of opening the screen, until Ctrl-C.
    #[arg(long)]
    pub(crate) no_screen: bool,
}

/// Say whether an agent runs on a host.
#[derive(Debug, Clone, Args)]
pub(crate) struct RemoteStatusArgs {
    /// The host.
    pub(crate) host: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print the log of the agent on a host.
#[derive(Debug, Clone, Args)]
pub(crate) struct RemoteLogsArgs {
    /// The host.
    pub(crate) host: String,
    /// Go on printing what is added, until Ctrl-C.
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// How many of the last lines to print.
    #[arg(short = 'n', long = "lines", value_name = "N", default_value_t = 50)]
    pub(crate) lines: u32,
}

//! The arguments of `reasonix remote fs`.

use std::ffi::OsString;

use clap::{Args, Subcommand};

/// What is shown below the help of each command: its examples, and what all of them have in common.
macro_rules! below {
    ($examples:literal) => {
        concat!(
            "Examples:\n",
            $examples,
            "\n\n",
            "\
HOST is a configured name, an ssh_config alias or user@host:port. PATH begins in the home unless it
begins with / or ~. *, ?, [...] and ** are matched against the names on the host, so put them in
quotes. Digits right after the host are a port: write box:./2024 for a file of that name.

Exit codes:
  0  done                                  3  the host could not be reached, or was lost
  1  a file could not be read or written   4  authentication or host key
  2  usage or configuration              130  interrupted"
        )
    };
}

/// Files of a host.
#[derive(Debug, Subcommand)]
pub(crate) enum FsCommand {
    /// List files of a host.
    Ls(FsLsArgs),
    /// Print files of a host.
    Cat(FsCatArgs),
    /// Copy files from a host.
    Get(FsGetArgs),
    /// Copy files to a host.
    Put(FsPutArgs),
    /// Edit a file of a host here, and write it back.
    Edit(FsEditArgs),
}

impl FsCommand {
    /// Says whether a program reads what the command prints.
    pub(crate) fn prints_json(&self) -> bool {
        match self {
            Self::Ls(args) => args.format.json,
            Self::Get(args) => args.copy.json,
            Self::Put(args) => args.copy.json,
            Self::Cat(_) | Self::Edit(_) => false,
        }
    }
}

/// List files of a host.
#[derive(Debug, Clone, Args)]
#[command(after_help = below!(
    "  reasonix remote fs ls -l box:project\n  reasonix remote fs ls 'box:logs/*.log'"
))]
pub(crate) struct FsLsArgs {
    /// What to list; the home where no path is given.
    #[arg(required = true, value_name = "HOST[:PATH]")]
    pub(crate) places: Vec<OsString>,
    /// Kind and permissions, numbers of user and group, size, time (UTC), and where links point to.
    #[arg(short, long)]
    pub(crate) long: bool,
    /// Names that begin with a dot too.
    #[arg(short, long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) format: FsFormat,
}

/// How names are printed.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct FsFormat {
    /// Print names as they are, each ended by a zero byte; else control characters are escaped.
    #[arg(short = '0', long = "null", conflicts_with_all = ["json", "long"])]
    pub(crate) null: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print files of a host.
#[derive(Debug, Clone, Args)]
#[command(after_help = below!(
    "  reasonix remote fs cat box:project/notes.txt | less"
))]
pub(crate) struct FsCatArgs {
    /// The files, printed one after the other.
    #[arg(required = true, value_name = "HOST:PATH")]
    pub(crate) places: Vec<OsString>,
}

/// Copy files from a host.
///
/// A file is replaced when the new one is whole, never before. What an interrupted run left of a large file is gone on
/// with by the same command. Permissions and times are kept.
#[derive(Debug, Clone, Args)]
#[command(override_usage = "reasonix remote fs get [OPTIONS] <HOST:PATH>... [LOCAL]")]
#[command(after_help = below!(
    "  reasonix remote fs get box:project/report.pdf\n  reasonix remote fs get -r box:results 'box:logs/*.log' here/"
))]
pub(crate) struct FsGetArgs {
    /// What to copy, and last where to: a folder to put it in, or a new name. The current folder when nothing is given.
    #[arg(required = true, value_name = "PLACE")]
    pub(crate) places: Vec<OsString>,
    #[command(flatten)]
    pub(crate) copy: FsCopyFlags,
}

/// Copy files to a host.
///
/// A file is replaced when the new one is whole, never before; it keeps its permissions, and a link stays a link. What
/// an interrupted run left of a large file is gone on with by the same command.
#[derive(Debug, Clone, Args)]
#[command(override_usage = "reasonix remote fs put [OPTIONS] <LOCAL>... <HOST:PATH>")]
#[command(after_help = below!(
    "  reasonix remote fs put notes.txt box:project/\n  reasonix remote fs put -r data box:"
))]
pub(crate) struct FsPutArgs {
    /// What to copy, and last where to: a folder to put it in, or a new name.
    #[arg(required = true, num_args = 2.., value_name = "PLACE")]
    pub(crate) places: Vec<OsString>,
    #[command(flatten)]
    pub(crate) copy: FsCopyFlags,
}

/// How to copy.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct FsCopyFlags {
    /// Folders with all that is in them.
    #[arg(short, long)]
    pub(crate) recursive: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Edit a file of a host here, and write it back.
///
/// Opens $VISUAL or $EDITOR on a private copy. It is written back when the editor ends well, if the text changed, and
/// only where the host's file is still what was opened; else the text is kept here and its place named. A file that
/// does not exist is made.
#[derive(Debug, Clone, Args)]
#[command(after_help = below!(
    "  reasonix remote fs edit box:project/.env\n  EDITOR=nano reasonix remote fs edit box:/etc/motd"
))]
pub(crate) struct FsEditArgs {
    /// The file.
    #[arg(value_name = "HOST:PATH")]
    pub(crate) place: OsString,
    /// Write back even over what somebody else changed meanwhile.
    #[arg(long)]
    pub(crate) force: bool,
}

//! The arguments of `reasonix remote shell`.

use clap::Args;

/// What is shown below the help.
const BELOW: &str = "\
Examples:
  reasonix remote shell box                        # a terminal there
  reasonix remote shell box:project -- make test   # a command in a folder
  reasonix remote shell box -- tar c src | tar x   # bytes pass unchanged

Keys on a terminal, at the beginning of a line:
  ~.  hang up     ~~  a single ~     ~?  this list

Exit codes: that of the shell or the command, 128+N when signal N ended it. Failures before it began:
  1  the host gave no terminal             4  authentication or host key
  2  usage or configuration              130  interrupted, or hung up with ~.
  3  the host could not be reached; also when it was lost while the shell ran";

/// Open a terminal on a host, or run a command there.
///
/// It is the account's login shell, in the folder that is named or configured as the workspace. The shell gets a terminal
/// where standard input and standard output are one; otherwise bytes pass unchanged, and standard error stays apart. A
/// command is never run in another folder than the one meant; a shell begins in the home where there is none, and says so.
#[derive(Debug, Clone, Args)]
#[command(after_help = BELOW)]
pub(crate) struct RemoteShellArgs {
    /// The host, and the folder there.
    #[arg(value_name = "HOST[:FOLDER]")]
    pub(crate) host: String,
    /// A command for the login shell there; words are joined with blanks, as ssh does.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

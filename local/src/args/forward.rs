//! The arguments about forwards: of every command that stays connected, and of `reasonix remote forward`.

use clap::{Args, Subcommand, ValueEnum};

/// What is shown below the help of each command of `reasonix remote forward`.
macro_rules! below {
    ($examples:literal) => {
        concat!(
            "Examples:\n",
            $examples,
            "\n\n",
            "\
Exit codes:
  0  done                                  2  usage or configuration
  1  a rule could not be carried out, or nobody is connected"
        )
    };
}

/// Forwards that are open while connected.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(crate) struct ForwardArgs {
    /// Forward a port or socket of this machine to one seen from the host, while connected.
    #[arg(short = 'L', long = "forward", value_name = "[BIND:]PORT:HOST:PORT")]
    pub(crate) local: Vec<String>,
    /// Forward a port or socket of the host to one seen from this machine, while connected.
    #[arg(
        id = "reverse-forward",
        short = 'R',
        long = "reverse-forward",
        value_name = "[BIND:]PORT:HOST:PORT"
    )]
    pub(crate) remote: Vec<String>,
    /// Be a SOCKS5 proxy on a port of this machine whose connections begin at the host, while connected.
    #[arg(short = 'D', long = "socks", value_name = "[BIND:]PORT")]
    pub(crate) dynamic: Vec<String>,
    /// Who carries these forwards.
    #[arg(long, value_name = "WAY", default_value = "auto")]
    pub(crate) via: WhichWay,
    /// Let other machines reach these forwards, where their BIND says so; it is remembered for each rule.
    #[arg(long)]
    pub(crate) allow_public_bind: bool,
}

impl ForwardArgs {
    /// Gives the rules behind `L:`, `R:` or `D:`, in the order of their kinds.
    pub(crate) fn rules(&self) -> impl Iterator<Item = String> {
        let kinds = [("L:", &self.local), ("R:", &self.remote), ("D:", &self.dynamic)];
        kinds.into_iter().flat_map(|(kind, rules)| {
            rules.iter().map(move |rule| {
                if rule.starts_with(kind) {
                    rule.clone()
                } else {
                    format!("{kind}{rule}")
                }
            })
        })
    }

    /// Says whether any of it was given.
    pub(crate) fn is_given(&self) -> bool {
        *self != Self::default()
    }
}

/// Who carries a forward.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhichWay {
    /// The agent where one runs and the SSH server permits forwarding, else SSH.
    #[default]
    Auto,
    /// Plain SSH channels.
    Ssh,
    /// Streams through the agent, whatever the SSH server permits.
    Agent,
}

impl From<WhichWay> for forward::Via {
    fn from(way: WhichWay) -> Self {
        match way {
            WhichWay::Auto => Self::Auto,
            WhichWay::Ssh => Self::Ssh,
            WhichWay::Agent => Self::Agent,
        }
    }
}

/// Forwards of a connection that is open.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum ForwardCommand {
    /// Open forwards on the connection to a host that is open.
    Add(ForwardAddArgs),
    /// End forwards.
    #[command(visible_alias = "remove")]
    Rm(ForwardRmArgs),
    /// List forwards, how they are doing, and what listens on the host and is not forwarded.
    #[command(visible_alias = "list")]
    Ls(ForwardLsArgs),
}

/// Open forwards on the connection to a host that is open.
///
/// It takes effect at once, without a reconnect. With several connections to the host the oldest one gets them.
#[derive(Debug, Clone, Args)]
#[command(after_help = below!(
    "  reasonix remote forward add box 3000                   # port 3000 of the host, at 3000 here\n  reasonix remote forward add box 8080:localhost:3000    # the same at 8080 here\n  reasonix remote forward add box R:9000:localhost:3000  # port 3000 here, at 9000 on the host\n  reasonix remote forward add box D:1080 --save          # a SOCKS5 proxy, kept in config.toml"
))]
pub(crate) struct ForwardAddArgs {
    /// The host.
    pub(crate) host: String,
    /// `[L:][BIND:]PORT:HOST:PORT`, `R:[BIND:]PORT:HOST:PORT`, `D:[BIND:]PORT`, socket paths, or a bare PORT of the host.
    #[arg(value_name = "RULE", required = true)]
    pub(crate) rules: Vec<String>,
    /// Who carries them.
    #[arg(long, value_name = "WAY", default_value = "auto")]
    pub(crate) via: WhichWay,
    /// Write them into config.toml too, so that the next connection has them; nobody need be connected then.
    #[arg(long)]
    pub(crate) save: bool,
    /// Let other machines reach them, where their BIND says so; it is remembered for each rule.
    #[arg(long)]
    pub(crate) allow_public_bind: bool,
    /// Which connection: the process that has it, as `ls` names it.
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Option<u32>,
}

/// End forwards.
#[derive(Debug, Clone, Args)]
#[command(after_help = below!(
    "  reasonix remote forward rm box '#2'   # quoted: to the shell, # begins a comment\n  reasonix remote forward rm box D:1080 --save"
))]
pub(crate) struct ForwardRmArgs {
    /// The host.
    pub(crate) host: String,
    /// A rule as typed or as `ls` prints it, or its number there, such as '#2'.
    #[arg(value_name = "RULE|#N", required = true)]
    pub(crate) rules: Vec<String>,
    /// Take them out of config.toml too.
    #[arg(long)]
    pub(crate) save: bool,
    /// Which connection: the process that has it, as `ls` names it.
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Option<u32>,
}

/// List forwards.
#[derive(Debug, Clone, Args)]
#[command(after_help = below!("  reasonix remote forward ls\n  reasonix remote forward ls box --json"))]
pub(crate) struct ForwardLsArgs {
    /// The host; all that this user is connected to when absent.
    pub(crate) host: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_marked_with_their_kind_once() {
        let args = ForwardArgs {
            local: vec!["1:a:1".to_owned(), "L:2:b:2".to_owned()],
            remote: vec!["3:c:3".to_owned()],
            dynamic: vec!["4".to_owned()],
            ..ForwardArgs::default()
        };
        let rules: Vec<String> = args.rules().collect();
        assert_eq!(rules, ["L:1:a:1", "L:2:b:2", "R:3:c:3", "D:4"]);
        assert!(args.is_given() && !ForwardArgs::default().is_given());
    }
}

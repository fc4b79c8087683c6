//! `[remote]`

use std::time::Duration;

use super::{Kind, choice, table};

choice! {
    /// Whether the program may be put on a host.
    pub enum Install, default Auto {
        /// If it is missing or of another version.
        Auto = "auto",
        /// At every start.
        Upload = "upload",
        /// Never; it is there.
        Never = "never",
    }
}

choice! {
    /// Where provider keys are.
    pub enum Credentials, default Host {
        /// In the `.env` of the host.
        Host = "host",
        /// On this machine, which makes the requests for the host.
        Broker = "broker",
    }
}

choice! {
    /// The direction of a forward.
    pub enum ForwardKind, default Local {
        /// A listener here, a target there.
        Local = "local",
        /// A listener there, a target here.
        Remote = "remote",
        /// A SOCKS listener here.
        Dynamic = "dynamic",
    }
}

choice! {
    /// Who carries a forward.
    pub enum Via, default Auto {
        /// Whichever works.
        Auto = "auto",
        /// SSH.
        Ssh = "ssh",
        /// The agent's own connection.
        Agent = "agent",
    }
}

table! {
    /// The hosts that this program connects to. Never read from a project.
    pub struct Remote {
        /// A file of host keys beside the user's own, which is only read.
        known_hosts: Option<String> = None, Kind::Text;
        /// The hosts.
        hosts: Vec<RemoteHost> = Vec::new(), Kind::Tables(&RemoteHost::KEYS, &["name"]);
    }
    later &[];
}

table! {
    /// One host.
    pub struct RemoteHost {
        /// What commands call it.
        name: String = String::new(), Kind::Text;
        /// Its address or ssh_config alias. Without it, the name.
        host: Option<String> = None, Kind::Text;
        /// Its SSH port.
        port: Option<u16> = None, Kind::Integer(1, 65_535);
        /// The user there.
        user: Option<String> = None, Kind::Text;
        /// The workspace there; `~` is the home directory there.
        workspace: Option<String> = None, Kind::Text;
        /// How to log in.
        #[serde(flatten)]
        login: Login = Login::default(), Kind::Group(&Login::KEYS);
        /// What runs there.
        #[serde(flatten)]
        agent: AgentSide = AgentSide::default(), Kind::Group(&AgentSide::KEYS);
        /// The forwards that are open while connected.
        forwards: Vec<Forward> = Vec::new(), Kind::Tables(&Forward::KEYS, &["bind"]);
    }
    later &[];
}

table! {
    /// How to log in to a host.
    pub struct Login {
        /// The path of a private key.
        identity_file: Option<String> = None, Kind::Text;
        /// The name of the password in Reasonix's `.env`.
        password_env: Option<String> = None, Kind::Text;
        /// The name of the key's passphrase in Reasonix's `.env`.
        passphrase_env: Option<String> = None, Kind::Text;
        /// Hosts to go through, in OpenSSH's syntax.
        proxy_jump: Option<String> = None, Kind::Text;
        /// A command whose input and output are the connection.
        proxy_command: Option<String> = None, Kind::Text;
        /// Whether what is not set here comes from ssh_config.
        use_ssh_config: bool = true, Kind::Bool;
        /// Whether tools there may use the SSH agent here while a front end is connected; root there can, then, too.
        forward_agent: bool = false, Kind::Bool;
    }
    later &[];
}

table! {
    /// What runs on a host.
    pub struct AgentSide {
        /// Whether the program may be put there: `auto`, `upload` or `never`.
        install: Install = Install::default(), Kind::Choice(Install::WORDS, &[("npm", "auto")]) => "serve_install";
        /// Where provider keys are: `host` or `broker`.
        credentials: Credentials = Credentials::default(),
            Kind::Choice(Credentials::WORDS, &[("remote", "host"), ("local-proxy", "broker")]) => "credential_mode";
        /// With `broker`: how many requests one run of a command here makes for the host at most.
        broker_max_requests: u32 = 2_000, Kind::Integer(1, 1_000_000_000);
        /// With `broker`: how long a request may have waited for this machine and still be made. 0 means for ever.
        #[serde(with = "crate::duration")]
        broker_expires: Duration = Duration::from_secs(24 * 60 * 60), Kind::Duration;
        /// After how long without work and clients the server there ends. 0 means never.
        #[serde(with = "crate::duration")]
        idle_exit: Duration = Duration::from_secs(8 * 60 * 60), Kind::Duration;
        /// After how long a quiet connection is asked for a sign of life.
        #[serde(with = "crate::duration")]
        keepalive: Duration = Duration::from_secs(5), Kind::Duration;
        /// After how long without one it counts as broken.
        #[serde(with = "crate::duration")]
        dead_after: Duration = Duration::from_secs(15), Kind::Duration;
    }
    later &[];
}

table! {
    /// One forward.
    pub struct Forward {
        /// `local`, `remote` or `dynamic`.
        r#type: ForwardKind = ForwardKind::default(), Kind::Choice(ForwardKind::WORDS, &[]);
        /// Where it listens: a port, an address with port, or a socket path.
        bind: String = String::new(), Kind::Text;
        /// Where it leads, in the same form. A `dynamic` one has none.
        target: Option<String> = None, Kind::Text;
        /// Who carries it: `auto`, `ssh` or `agent`.
        via: Via = Via::default(), Kind::Choice(Via::WORDS, &[]);
    }
    later &[];
}

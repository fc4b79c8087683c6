//! A link as a person has it on the laptop of a rig, in this process.

use std::sync::Arc;

use bootstrap::{ArtifactSource, Install, Target};
use link::{AgentLink, Host, InstallOptions, Link, LinkOptions, Timings};
use stdx::task::Scope;
use transport::{ConnectOptions, Endpoint, Identity, Resolved, Source, Trust, UnknownKeys};

use crate::rig::{Rig, program};

/// Starts a link.
pub(crate) fn link(options: LinkOptions, scope: &Scope) -> AgentLink {
    AgentLink::from(Link::open(options, scope))
}

/// Gives the options of a link to the host of a rig, which remembers its visits under a name.
pub(crate) fn options(rig: &Rig, name: &str) -> LinkOptions {
    let address = rig.proxy.address();
    let resolved = Resolved {
        alias: "box".into(),
        endpoint: Endpoint {
            host_name: address.ip().to_string(),
            port: address.port(),
            user: user(),
        },
        identity: Identity {
            files: vec![rig.identity()],
            certificates: Vec::new(),
            only_files: true,
            agent: None,
        },
        trust: Trust {
            known_hosts: vec![rig.known_hosts()],
            key_alias: None,
            unknown_keys: UnknownKeys::Ask,
            revoked: Vec::new(),
            learn_announced: None,
        },
        proxy: None,
        network: transport::Network::default(),
        methods: transport::Methods::default(),
        set_env: Vec::new(),
        source: Source::OwnParser,
    };
    LinkOptions {
        host: Host::Resolved(resolved),
        install: InstallOptions {
            install: Install::Never,
            source: ArtifactSource {
                own_executable: program(),
                own_target: Target::own(),
                dist: Vec::new(),
                version: env!("CARGO_PKG_VERSION").into(),
            },
            home: None,
            workspace: None,
        },
        ssh: ConnectOptions::default(),
        prompter: Arc::new(transport::DenyAll),
        timings: Timings::default(),
        state_dir: Some(rig.laptop().join("links").join(name)),
        network: link::NetworkWatch::On,
        broker: None,
    }
}

fn user() -> String {
    let output = stdx::process::blocking_command("/usr/bin/id")
        .arg("-un")
        .stdout(std::process::Stdio::piped())
        .output();
    String::from_utf8(output.unwrap().stdout)
        .unwrap()
        .trim()
        .to_owned()
}

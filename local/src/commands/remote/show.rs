//! `reasonix remote show NAME`: what is configured for a host, and what SSH makes of it. Nothing is dialled.

use std::path::PathBuf;

use serde_json::{Value, json};
use settings::{Loaded, Origin};
use transport::{AddressFamily, Proxy, ResolveOptions, Resolved, Source, UnknownKeys};

use crate::{
    args::RemoteShowArgs,
    ask::visible,
    exit::Exit,
    host::{HostPlan, HostRef, own_known_hosts},
    invocation::Invocation,
    report::{Failure, SCHEMA},
    terminal,
};

/// The keys of a host that are shown, in this order.
const KEYS: [&str; 18] = [
    "host",
    "port",
    "user",
    "workspace",
    "identity_file",
    "password_env",
    "passphrase_env",
    "proxy_jump",
    "proxy_command",
    "use_ssh_config",
    "forward_agent",
    "install",
    "credentials",
    "broker_max_requests",
    "broker_expires",
    "idle_exit",
    "keepalive",
    "dead_after",
];

/// One value and where it comes from.
struct Row {
    key: String,
    value: String,
    origin: String,
    /// Whether nobody chose it.
    is_default: bool,
}

/// Shows a host.
pub(crate) async fn run(invocation: &Invocation, args: RemoteShowArgs) -> Result<Exit, Failure> {
    let loaded = invocation.settings(None, &[])?;
    let plan = HostPlan::new(&HostRef::parse(&args.name)?, &loaded)?;
    let index = loaded
        .settings
        .remote
        .hosts
        .iter()
        .position(|host| host.name == plan.name);
    let configured = index.map(|index| configured(&loaded, index)).unwrap_or_default();
    let forwards = index.map(|index| forwards(&loaded, index)).unwrap_or_default();
    let ssh = resolved(invocation, &loaded, &plan, index).await?;
    if args.json {
        let list = |rows: &[Row]| rows.iter().map(Row::json).collect::<Vec<_>>();
        let shown = json!({
            "name": plan.name, "configured": index.is_some(), "settings": list(&configured), "ssh": list(&ssh),
            "forwards": list(&forwards), "schema": SCHEMA,
        });
        terminal::line(&shown.to_string());
        return Ok(Exit::Success);
    }
    match index {
        Some(index) => {
            let place = loaded.origin(&format!("remote.hosts[{index}].name"));
            terminal::line(&format!("{} ({place})", plan.name));
        }
        None => terminal::line(&format!(
            "{} is not configured here; SSH knows it, or its name is an address",
            plan.name
        )),
    }
    print(&configured, args.explain);
    terminal::line("SSH");
    print(&ssh, args.explain);
    if !forwards.is_empty() {
        terminal::line("forwards");
        print(&forwards, args.explain);
    }
    Ok(Exit::Success)
}

fn print(rows: &[Row], explain: bool) {
    for row in rows.iter().filter(|row| explain || !row.value.is_empty()) {
        let origin = if explain {
            format!("  ({})", row.origin)
        } else {
            String::new()
        };
        if explain || !row.is_default || row.key.contains(' ') || SHOWN_ANYWAY.contains(&row.key.as_str()) {
            let value = if row.value.is_empty() { "-" } else { &row.value };
            terminal::line(&visible(&format!("  {:<15} {value}{origin}", row.key)));
        }
    }
}

/// What is shown even where it is the default: a person asks for it.
const SHOWN_ANYWAY: [&str; 6] = ["address", "user", "port", "identity", "key agent", "host keys"];

fn configured(loaded: &Loaded, index: usize) -> Vec<Row> {
    let row = |key: &&str| {
        let explained = loaded.explain(&format!("remote.hosts[{index}].{key}"))?;
        let is_default = explained.origin == Origin::Default;
        let value = if explained.value == "unset" {
            String::new()
        } else {
            explained.value
        };
        Some(Row {
            key: (*key).to_owned(),
            value: value.trim_matches('"').to_owned(),
            origin: explained.origin.to_string(),
            is_default,
        })
    };
    KEYS.iter().filter_map(row).collect()
}

fn forwards(loaded: &Loaded, index: usize) -> Vec<Row> {
    let Some(host) = loaded.settings.remote.hosts.get(index) else {
        return Vec::new();
    };
    let row = |(number, rule): (usize, &settings::schema::Forward)| Row {
        key: format!("forward {number}"),
        value: crate::forwards::spec_text(rule),
        origin: loaded
            .origin(&format!("remote.hosts[{index}].forwards[{number}].bind"))
            .to_string(),
        is_default: false,
    };
    host.forwards.iter().enumerate().map(row).collect()
}

/// What SSH makes of a host, each value with its origin.
async fn resolved(
    invocation: &Invocation,
    loaded: &Loaded,
    plan: &HostPlan,
    index: Option<usize>,
) -> Result<Vec<Row>, Failure> {
    let options = plan.resolve_options(invocation);
    let found = transport::resolve(plan.target(), &options).await?;
    // What OpenSSH would do without its files: a value that differs comes from one of them.
    let without_files = ResolveOptions {
        config_file: Some(PathBuf::from("/dev/null")),
        ..options.clone()
    };
    let plain = transport::resolve(plan.target(), &without_files).await?;
    let origins = Origins {
        loaded,
        index,
        source: found.source,
        file: options.config_file.map(|file| file.display().to_string()),
    };
    let (ours, theirs) = (values(&found), values(&plain));
    let mut rows: Vec<Row> = ours
        .into_iter()
        .zip(theirs)
        .map(|((key, set_by, value), (_, _, plain))| origins.row(key, set_by, value, &plain))
        .collect();
    let own = own_known_hosts(invocation, loaded);
    let origin = match loaded.origin("remote.known_hosts") {
        Origin::Default => "this program's own file".to_owned(),
        other => other.to_string(),
    };
    rows.push(Row {
        key: "own host keys".to_owned(),
        value: own.display().to_string(),
        origin,
        is_default: true,
    });
    Ok(rows)
}

/// What a person calls a value, the setting of ours that can set it, the value.
type Shown = (&'static str, &'static str, String);

/// Lists what was resolved.
fn values(resolved: &Resolved) -> Vec<Shown> {
    let mut shown = way(resolved);
    shown.splice(3..3, login(resolved));
    shown.extend(trust(resolved));
    shown
}

/// Where the host is and how it is reached.
fn way(resolved: &Resolved) -> Vec<Shown> {
    let proxy = match &resolved.proxy {
        None => String::new(),
        Some(Proxy::Jump(hop)) => jumps(hop),
        Some(Proxy::Command { line, .. }) => line.clone(),
    };
    let proxy_key = match &resolved.proxy {
        Some(Proxy::Command { .. }) => "proxy_command",
        _ => "proxy_jump",
    };
    let network = &resolved.network;
    let family = match network.family {
        AddressFamily::Any => "",
        AddressFamily::Inet => "IPv4 only",
        AddressFamily::Inet6 => "IPv6 only",
    };
    let timeout = network
        .connect_timeout
        .map(|limit| format!("{} s", limit.as_secs()));
    let bind = network.bind_address.as_ref().or(network.bind_interface.as_ref());
    let variables = resolved.set_env.iter().map(|(name, _)| name.as_str());
    vec![
        ("address", "host", resolved.endpoint.host_name.clone()),
        ("user", "user", resolved.endpoint.user.clone()),
        ("port", "port", resolved.endpoint.port.to_string()),
        ("through", proxy_key, proxy),
        ("family", "", family.to_owned()),
        ("bind", "", bind.cloned().unwrap_or_default()),
        ("timeout", "", timeout.unwrap_or_default()),
        // Values may be nobody's business.
        ("variables", "", variables.collect::<Vec<_>>().join(", ")),
    ]
}

/// With what to log in.
fn login(resolved: &Resolved) -> Vec<Shown> {
    let identity = &resolved.identity;
    let agent = identity.agent.as_ref().map(|socket| socket.display().to_string());
    let only = if identity.only_files {
        "only these"
    } else {
        "also those of the agent"
    };
    let methods = &resolved.methods;
    let methods = if methods.order.is_empty() {
        "none is allowed".to_owned()
    } else {
        let times = methods.password_prompts;
        let usual = transport::Methods::default().password_prompts;
        let prompts = if times == usual {
            String::new()
        } else {
            format!(" (asked {times} times at most)")
        };
        format!("{}{prompts}", methods.order.join(", "))
    };
    vec![
        ("identity", "identity_file", paths(&identity.files)),
        ("certificates", "", paths(&identity.certificates)),
        ("keys offered", "", only.to_owned()),
        ("key agent", "", agent.unwrap_or_default()),
        ("methods", "", methods),
    ]
}

/// What is known about the host.
fn trust(resolved: &Resolved) -> Vec<Shown> {
    let trust = &resolved.trust;
    let unknown = match trust.unknown_keys {
        UnknownKeys::Refuse => "refused",
        UnknownKeys::Ask => "asked about",
        UnknownKeys::Accept => "trusted the first time",
    };
    let announced = match trust.learn_announced {
        None => "",
        Some(true) => "are learned",
        Some(false) => "are not learned",
    };
    vec![
        ("host keys", "", paths(&trust.known_hosts)),
        ("host key alias", "", trust.key_alias.clone().unwrap_or_default()),
        ("revoked", "", paths(&trust.revoked)),
        ("unknown keys", "", format!("are {unknown}")),
        ("announced", "", announced.to_owned()),
    ]
}

fn paths(files: &[PathBuf]) -> String {
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    files.join(", ")
}

/// Writes the way over jump hosts, the first one first.
fn jumps(hop: &Resolved) -> String {
    let own = format!(
        "{}@{}:{}",
        hop.endpoint.user, hop.endpoint.host_name, hop.endpoint.port
    );
    match &hop.proxy {
        Some(Proxy::Jump(before)) => format!("{}, then {own}", jumps(before)),
        _ => own,
    }
}

/// Who chose a value.
struct Origins<'a> {
    loaded: &'a Loaded,
    index: Option<usize>,
    source: Source,
    file: Option<String>,
}

impl Origins<'_> {
    fn row(&self, key: &str, set_by: &str, value: String, plain: &str) -> Row {
        let ours = self
            .index
            .filter(|_| !set_by.is_empty())
            .map(|index| self.loaded.origin(&format!("remote.hosts[{index}].{set_by}")))
            .filter(|origin| *origin != Origin::Default);
        let (origin, is_default) = match ours {
            Some(_) if set_by == "host" && value != plain => (self.files(), false),
            Some(origin) => (origin.to_string(), false),
            None if value == plain => (self.by_itself(key), true),
            None => (self.files(), false),
        };
        Row {
            key: key.to_owned(),
            value,
            origin,
            is_default,
        }
    }

    fn files(&self) -> String {
        let file = self.file.as_deref().unwrap_or("ssh_config");
        match self.source {
            Source::OpenSsh => format!("{file}, as ssh -G reads it"),
            Source::OwnParser => format!("{file}, read without OpenSSH"),
        }
    }

    fn by_itself(&self, key: &str) -> String {
        match key {
            "key agent" => "environment variable SSH_AUTH_SOCK, or none".to_owned(),
            "address" | "user" | "port" if self.index.is_none() => "as typed, else the default".to_owned(),
            _ => "default".to_owned(),
        }
    }
}

impl Row {
    fn json(&self) -> Value {
        json!({"key": self.key, "value": self.value, "origin": self.origin})
    }
}

//! `reasonix remote test HOST`: the way to a host, step by step, and what is there. Nothing on the host changes.

use std::time::{Duration, Instant};

use bootstrap::{Install, Probe, Request, Target, Verdict};
use protocol::{Hello, hello::VERSIONS};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use transport::{Connection, ErrorKind as SshKind, Resolved, Source};

use crate::{
    args::RemoteTestArgs,
    ask::{self, visible},
    dial::{self, Dialed},
    exit::Exit,
    host::{HostPlan, HostRef, artifact_source},
    invocation::Invocation,
    report::{Failure, SCHEMA},
    terminal,
};

/// How long the bridge may take for its first line.
const PATIENCE: Duration = Duration::from_secs(15);

/// Lets the program of the host look at its configuration; exit codes do not matter.
const CHECK_CONFIG: &str = r#"IFS= read -r program; "$program" config check 2>&1 || :"#;

/// Goes the way.
pub(crate) async fn run(invocation: &Invocation, args: RemoteTestArgs) -> Result<Exit, Failure> {
    let loaded = invocation.settings(None, &[])?;
    let plan = HostPlan::new(&HostRef::parse(&args.host)?, &loaded)?;
    let mut told = Told::new(args.json);
    let start = stdx::clock::monotonic();
    let resolved = dial::resolve(invocation, &plan).await?;
    told.step("resolve", Some(elapsed(start)), &address(&resolved));
    let dialed = Dialed::open(invocation, &loaded, &resolved, &ask::prompter()).await?;
    let outcome = look(invocation, &dialed, &plan, &mut told).await;
    dialed.close().await;
    outcome?;
    told.finish(&plan.name);
    Ok(Exit::Success)
}

async fn look(
    invocation: &Invocation,
    dialed: &Dialed,
    plan: &HostPlan,
    told: &mut Told,
) -> Result<(), Failure> {
    let (took, login) = (dialed.connection.took(), dialed.connection.login());
    told.step("connect", Some(took.connect), "the port answers");
    told.step("host key", Some(took.handshake), "it is the expected one");
    told.step("log in", Some(took.login), &login.methods.join(", "));
    let start = stdx::clock::monotonic();
    let probe = dialed.probe(plan.workspace.as_deref()).await?;
    told.step("probe", Some(elapsed(start)), &system(&probe));
    told.found("system", json!({"os": probe.system.os, "arch": probe.system.arch, "libc": probe.system.libc, "home": probe.system.home}));
    if let Some(program) = programs(invocation, &probe, told).await? {
        model(dialed, &plan.name, &program, told).await;
    }
    let agent = agent(&probe);
    told.step("agent", None, &about_agent(&probe, agent.as_ref()));
    if let Some(hello) = &agent {
        socket(dialed, hello, told).await?;
    }
    workspace(plan, &probe, told)
}

fn elapsed(since: Instant) -> Duration {
    stdx::clock::monotonic() - since
}

fn address(resolved: &Resolved) -> String {
    let endpoint = &resolved.endpoint;
    let source = match resolved.source {
        Source::OpenSsh => "as ssh -G says",
        Source::OwnParser => "without OpenSSH's help",
    };
    format!(
        "{}@{}:{}, {source}",
        endpoint.user, endpoint.host_name, endpoint.port
    )
}

fn system(probe: &Probe) -> String {
    let system = &probe.system;
    let sandbox = if probe.tools.has("bwrap") {
        ""
    } else {
        ", no bubblewrap for a sandbox"
    };
    let libc = if system.libc.is_empty() {
        String::new()
    } else {
        format!(", {}", system.libc)
    };
    format!(
        "{} {}{libc}, home {}{sandbox}",
        system.os, system.arch, system.home
    )
}

/// Says which program a connect would start, or where one would come from. Gives the installed one.
async fn programs(
    invocation: &Invocation,
    probe: &Probe,
    told: &mut Told,
) -> Result<Option<String>, Failure> {
    let list: Vec<Value> = probe
        .installed
        .iter()
        .map(|program| json!({"path": program.path, "version": program.version()}))
        .collect();
    told.found("programs", json!(list));
    let fits = |program: &&bootstrap::Installed| {
        program
            .protocol()
            .is_some_and(|range| range.common(VERSIONS).is_some())
    };
    if let Some(program) = probe.installed.iter().find(fits) {
        let version = program.version().unwrap_or("unknown");
        told.step("program", None, &format!("{} (version {version})", program.path));
        return Ok(Some(program.path.clone()));
    }
    let text = match Target::from_uname(&probe.system.os, &probe.system.arch) {
        Ok(target) => match artifact_source(invocation)?.load(target).await {
            Ok(_) => "none yet; connecting uploads it".to_owned(),
            Err(error) => format!("none, and none to upload: {error}"),
        },
        Err(error) => format!("none, and none to upload: {error}"),
    };
    told.step("program", None, &text);
    Ok(None)
}

/// Says whether a model is configured on the host, as the program there sees it. Not knowing it is no failure.
async fn model(dialed: &Dialed, host: &str, program: &str, told: &mut Told) {
    let start = stdx::clock::monotonic();
    if let Ok(said) = dialed.script(CHECK_CONFIG, &[program]).await {
        told.step("model", Some(elapsed(start)), &about_model(&said, host));
    }
}

/// Reads what `reasonix config check` said on a host.
fn about_model(said: &str, host: &str) -> String {
    if let Some(error) = said.lines().find_map(|line| line.strip_prefix("error: ")) {
        return format!("{error}; it is configured in ~/.reasonix/config.toml on the host");
    }
    let missing = said.lines().find(|line| line.contains("needs the key"));
    match missing.and_then(|line| line.trim_start_matches("warning: ").split(';').next()) {
        Some(missing) => format!("{missing} there; `reasonix remote key {host} NAME` stores it"),
        None => "the configuration there is usable".to_owned(),
    }
}

/// Finds the agent that a connect would use.
fn agent(probe: &Probe) -> Option<Hello> {
    let request = Request {
        install: Install::Auto,
        version: remote_agent::identity::VERSION.to_owned(),
        protocol: VERSIONS,
    };
    bootstrap::attachable(probe, &request)
}

fn about_agent(probe: &Probe, usable: Option<&Hello>) -> String {
    if let Some(hello) = usable {
        return format!(
            "runs: process {}, version {}",
            hello.identity.pid, hello.build.version
        );
    }
    match dial::running(probe).count() {
        0 => "none runs; connecting starts one".to_owned(),
        _ => "one runs that this program does not use: of another version, or about to end".to_owned(),
    }
}

/// Reaches the agent's socket as a link would: directly, else over the bridge.
async fn socket(dialed: &Dialed, hello: &Hello, told: &mut Told) -> Result<(), Failure> {
    let start = stdx::clock::monotonic();
    let identity = &hello.identity;
    let mut agent = json!({
        "pid": identity.pid, "version": hello.build.version, "program": identity.program, "socket": identity.socket,
    });
    let via = match dialed.connection.open_streamlocal(&identity.socket).await {
        Ok(stream) => {
            drop(stream);
            "direct"
        }
        Err(error) if is_refusal(error.kind()) => {
            over_bridge(&dialed.connection, &identity.program).await?;
            "bridge"
        }
        Err(error) => return Err(error.into()),
    };
    agent["reached"] = via.into();
    told.found("agent", agent);
    let text = match via {
        "direct" => format!("{} is reached directly", identity.socket),
        _ => format!(
            "{} is reached through `reasonix bridge`: the server refuses forwarding",
            identity.socket
        ),
    };
    told.step("socket", Some(elapsed(start)), &text);
    Ok(())
}

fn is_refusal(kind: SshKind) -> bool {
    matches!(
        kind,
        SshKind::ForwardingRefused | SshKind::ConnectRefused | SshKind::ChannelRefused
    )
}

async fn over_bridge(connection: &Connection, program: &str) -> Result<(), Failure> {
    let mut call = bootstrap::bridge_call(program, None);
    let talk = async {
        let (mut stdin, mut stdout, stderr, waiter) = connection.exec(&call.command).await?.into_parts();
        // A bridge that does not read ends its output, which is seen below.
        drop(stdin.write_all(&call.preface).await);
        let mut bytes = vec![0; 4096];
        let verdict = loop {
            match stdout.read(&mut bytes).await {
                Ok(0) | Err(_) => break Verdict::Unknown,
                Ok(length) => {
                    if let Some((verdict, _)) = call.reader.push(&bytes[..length]) {
                        break verdict;
                    }
                }
            }
        };
        drop((stdin, stdout, stderr, waiter));
        Ok::<_, Failure>(verdict)
    };
    let why = match tokio::time::timeout(PATIENCE, talk).await {
        Ok(verdict) => match verdict? {
            Verdict::Connected => return Ok(()),
            Verdict::NoDaemon => "nobody listens on the agent's socket",
            Verdict::Denied => "the agent's socket may not be used",
            Verdict::Unknown => "the bridge did not start",
        },
        Err(_elapsed) => "the bridge did not answer",
    };
    let mut failure = Failure::new(Exit::Bootstrap, format!("socket on {}: {why}", connection.host()));
    failure.stage = Some("socket".to_owned());
    Err(failure.on(connection.host()))
}

fn workspace(plan: &HostPlan, probe: &Probe, told: &mut Told) -> Result<(), Failure> {
    match &probe.workspace {
        None => Ok(()),
        Some(bootstrap::Workspace::Ready(path)) => {
            told.found("workspace", json!(path));
            told.step("workspace", None, path);
            Ok(())
        }
        Some(bad) => {
            let mut failure = Failure::new(Exit::Usage, visible(&format!("on {}: {bad}", plan.name)));
            failure.stage = Some("workspace".to_owned());
            Err(failure
                .hint("make the folder there, or name another one")
                .on(&plan.name))
        }
    }
}

/// What was told so far: lines at once, or one object at the end.
struct Told {
    json: bool,
    steps: Vec<Value>,
    found: serde_json::Map<String, Value>,
}

impl Told {
    fn new(json: bool) -> Self {
        Self {
            json,
            steps: Vec::new(),
            found: serde_json::Map::new(),
        }
    }

    fn step(&mut self, name: &str, took: Option<Duration>, text: &str) {
        let took = took.map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
        self.steps.push(json!({"stage": name, "ms": took, "text": text}));
        if !self.json {
            let took = took.map(|took| format!("{took} ms")).unwrap_or_default();
            terminal::line(&visible(&format!("{name:<9} {took:>8}  {text}")));
        }
    }

    fn found(&mut self, name: &str, value: Value) {
        self.found.insert(name.to_owned(), value);
    }

    fn finish(mut self, host: &str) {
        if self.json {
            self.found.insert("host".to_owned(), host.into());
            self.found.insert("stages".to_owned(), self.steps.into());
            self.found.insert("schema".to_owned(), SCHEMA.into());
            terminal::line(&Value::Object(self.found).to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::about_model;

    #[test]
    fn what_the_host_says_about_its_model_names_the_place() {
        let unknown =
            "error: /h/config.toml:1:1: default_model: unknown model \"x\" (configured: a/m)\nhint: …\n";
        assert!(
            about_model(unknown, "box")
                .ends_with("(configured: a/m); it is configured in ~/.reasonix/config.toml on the host")
        );
        let missing = "warning: m needs the key K, which is not stored; store it with `reasonix key K`\nthe configuration is usable (1 warning(s))\n";
        assert_eq!(
            about_model(missing, "box"),
            "m needs the key K, which is not stored there; `reasonix remote key box NAME` stores it"
        );
        let fine = "the configuration is usable (0 warning(s))\n";
        assert_eq!(about_model(fine, "box"), "the configuration there is usable");
    }
}

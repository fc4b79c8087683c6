//! `reasonix remote test HOST`: the way to a host, step by step, and what is there. Nothing on the host changes.

use std::time::{Duration, Instant};

use bootstrap::{
    Probe, Target,
    doctor::{Grade, shown},
};
use protocol::{Hello, hello::VERSIONS};
use serde_json::{Value, json};

use super::look::{self, Model, Way};
use crate::{
    args::RemoteTestArgs,
    ask::{self, visible},
    broker,
    dial::{self, Dialed},
    exit::Exit,
    host::{HostPlan, HostRef, artifact_source},
    invocation::Invocation,
    report::{Failure, SCHEMA},
    terminal,
};

/// Goes the way.
pub(crate) async fn run(invocation: &Invocation, args: RemoteTestArgs) -> Result<Exit, Failure> {
    let loaded = invocation.settings(None, &[])?;
    let plan = HostPlan::new(&HostRef::parse(&args.host)?, &loaded)?;
    let mut told = Told::new(args.json);
    let start = stdx::clock::monotonic();
    let resolved = dial::resolve(invocation, &plan).await?;
    told.step("resolve", Some(elapsed(start)), &look::address(&resolved));
    let dialed = Dialed::open(invocation, &loaded, &resolved, &ask::prompter()).await?;
    let outcome = look(invocation, &loaded, &dialed, &plan, &mut told).await;
    dialed.close().await;
    outcome?;
    told.finish(&plan.name);
    Ok(Exit::Success)
}

async fn look(
    invocation: &Invocation,
    loaded: &settings::Loaded,
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
        let here = broker::keys_here(plan, invocation, loaded);
        model(dialed, &plan.name, (&program, here), told).await;
    }
    let agent = look::agent(&probe);
    told.step("agent", None, &about_agent(&probe, agent.as_ref()));
    if let Some(hello) = &agent {
        socket(dialed, hello, told).await?;
    }
    let storage = bootstrap::doctor::storage(&plan.name, &probe);
    told.step("home", None, &storage.text);
    workspace(plan, &probe, told)?;
    match storage.grade {
        Grade::Problem(class) => {
            let mut failure = Failure::new(
                look::exit(class),
                visible(&format!("on {}: {}", plan.name, storage.text)),
            );
            failure.stage = Some(storage.check.to_owned());
            Err(failure.maybe_hint(storage.fix).on(&plan.name))
        }
        _ => Ok(()),
    }
}

fn elapsed(since: Instant) -> Duration {
    stdx::clock::monotonic() - since
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
    if let Some(program) = bootstrap::doctor::serving(probe, VERSIONS) {
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
async fn model(
    dialed: &Dialed,
    host: &str,
    (program, keys_here): (&str, Option<Result<(), Failure>>),
    told: &mut Told,
) {
    let start = stdx::clock::monotonic();
    if let Ok(said) = Model::ask(dialed, program).await {
        let said = said.with_keys_here(keys_here);
        told.step("model", Some(elapsed(start)), &said.text(host));
    }
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
    let via = look::reach(dialed, hello).await?;
    agent["reached"] = match via {
        Way::Direct => "direct",
        Way::Bridge => "bridge",
    }
    .into();
    told.found("agent", agent);
    let text = match via {
        Way::Direct => format!("{} is reached directly", identity.socket),
        Way::Bridge => format!(
            "{} is reached through `reasonix bridge`: the server refuses forwarding",
            identity.socket
        ),
    };
    told.step("socket", Some(elapsed(start)), &text);
    Ok(())
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
            terminal::line(&visible(&format!("{name:<9} {took:>8}  {}", shown(text))));
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

//! `reasonix remote doctor HOST`: everything on the way to a host and there, judged. Nothing stays on the host.

use bootstrap::{
    Artifact, ErrorKind, SshRemote, Target,
    doctor::{self, Class, Facts, Finding, Grade, Try},
};
use protocol::hello::VERSIONS;
use serde_json::{Value, json};
use settings::{Loaded, schema::Install};
use transport::{
    CaptureLimits, Connection, Resolved,
    host_key::Verdict,
    known_hosts::{self, Entry, Marker},
};

use super::look::{self, Model, Way};
use crate::{
    args::RemoteDoctorArgs,
    ask::{self, visible},
    broker,
    dial::{self, Dialed},
    exit::Exit,
    host::{HostPlan, HostRef, artifact_source, own_known_hosts},
    invocation::Invocation,
    report::{Failure, SCHEMA},
    terminal,
};

/// How long a small command may take.
const DEADLINE: std::time::Duration = std::time::Duration::from_secs(20);

/// How often a session is asked for that is refused, and the pause between.
const TRIES: u32 = 6;
const PAUSE: std::time::Duration = std::time::Duration::from_millis(100);

/// Diagnoses a host.
pub(crate) async fn run(invocation: &Invocation, args: RemoteDoctorArgs) -> Result<Exit, Failure> {
    let loaded = invocation.settings(None, &[])?;
    let plan = HostPlan::new(&HostRef::parse(&args.host)?, &loaded)?;
    let mut visit = Visit {
        invocation,
        loaded: &loaded,
        plan: &plan,
        may: if args.read_only {
            Try::Nothing
        } else {
            Try::AndRemove
        },
        told: Told {
            json: args.json,
            findings: Vec::new(),
        },
    };
    if let Err(failure) = visit.go().await {
        visit.told.add(failed(&failure, &plan.name));
    }
    Ok(visit.told.finish(&plan.name))
}

/// One diagnosis.
struct Visit<'a> {
    invocation: &'a Invocation,
    loaded: &'a Loaded,
    plan: &'a HostPlan,
    may: Try,
    told: Told,
}

impl Visit<'_> {
    /// Goes the way. What stops it is an error; what was seen before is told already.
    async fn go(&mut self) -> Result<(), Failure> {
        let resolved = dial::resolve(self.invocation, self.plan).await?;
        self.ok("resolve", look::address(&resolved));
        let dialed = match Dialed::open(self.invocation, self.loaded, &resolved, &ask::prompter()).await {
            Ok(dialed) => dialed,
            Err(failure) => {
                self.before(&failure, &resolved).await;
                return Err(failure);
            }
        };
        self.login(&dialed.connection, &resolved).await;
        let outcome = self.host(&dialed).await;
        dialed.close().await;
        outcome
    }

    /// Tells what went well before a connection failed.
    async fn before(&mut self, failure: &Failure, resolved: &Resolved) {
        let stage = failure.stage.as_deref();
        if matches!(stage, Some("host key" | "log in")) {
            self.ok("connect", "the port answers".to_owned());
        }
        if stage == Some("log in") {
            self.host_key(resolved, None).await;
        }
    }

    async fn login(&mut self, connection: &Connection, resolved: &Resolved) {
        let (took, login) = (connection.took(), connection.login());
        self.ok(
            "connect",
            format!("the port answers ({} ms)", took.connect.as_millis()),
        );
        self.host_key(resolved, Some(connection)).await;
        let key = login.key.as_deref().and_then(|key| key.split(' ').next());
        let key = key
            .map(|kind| format!(" with a key of kind {kind}"))
            .unwrap_or_default();
        let text = format!(
            "{}{key} ({} ms)",
            login.methods.join(", then "),
            took.login.as_millis()
        );
        let finding = if login.one_time_factor {
            Finding::new(
                "log in",
                Grade::Note,
                format!("{text}; the host asked for a code"),
            )
            .why("a lost connection comes back only when somebody types a new one")
            .fix("a key alone, without a code, lets the link come back by itself")
        } else {
            Finding::new("log in", Grade::Ok, text)
        };
        self.told.add(finding);
    }

    /// Tells which lines list the key that the host has, and which list another of its kind. Where the login failed, the
    /// key was accepted and is not known here.
    async fn host_key(&mut self, resolved: &Resolved, connection: Option<&Connection>) {
        let Some((key, judged)) = connection.and_then(Connection::host_key) else {
            return self.ok("host key", "it is the expected one".to_owned());
        };
        let listed = listed(resolved, self.invocation, self.loaded).await;
        let is_it = |entry: &&Entry| entry.marker == Marker::Plain && entry.key.key_data() == key.key_data();
        let good: Vec<&Entry> = listed.iter().map(|(_, entry)| entry).filter(is_it).collect();
        let places: Vec<String> = good.iter().map(|entry| place(entry)).collect();
        let text = match &judged.verdict {
            Verdict::Certified(line) => format!(
                "it is certified by the authority in {} line {}",
                line.file.display(),
                line.line
            ),
            _ if places.is_empty() => "it was trusted just now".to_owned(),
            _ => format!("it is the expected one, {}", places.join("; ")),
        };
        self.ok("host key", text);
        let is_stale = |(name, entry): &&(String, Entry)| {
            entry.marker == Marker::Plain
                && entry.names_exactly(name)
                && entry.key.algorithm() == key.algorithm()
                && entry.key.key_data() != key.key_data()
        };
        for (name, entry) in listed.iter().filter(is_stale) {
            let text = format!("another key is listed for {name} too, {}", place(entry));
            let file = quoted(&entry.file.display().to_string());
            // The command removes every line of the name.
            let fix = if good.iter().any(|good| good.file == entry.file) {
                format!("sed -i {}d {file}", entry.line)
            } else {
                format!("ssh-keygen -R {} -f {file}", quoted(name))
            };
            let finding = Finding::new("host key", Grade::Note, text);
            self.told.add(
                finding
                    .why("the host does not have it: a line of before")
                    .fix(fix),
            );
        }
    }

    /// Looks at the host itself.
    async fn host(&mut self, dialed: &Dialed) -> Result<(), Failure> {
        let connection = &dialed.connection;
        let probe = match dialed.probe(self.plan.workspace.as_deref()).await {
            Ok(probe) => probe,
            Err(failure) => {
                // The rest of what can be seen without commands.
                self.told.add(sftp(connection, false).await);
                return Err(failure);
            }
        };
        let remote = SshRemote::new(connection.clone());
        let examined = doctor::examine(&remote, &probe, self.may).await;
        if let Err(error) = &examined {
            let text = format!("not everything could be asked: {error}");
            self.told.add(Finding::new("commands", Grade::Warning, text));
        }
        let examined = examined.ok();
        let offer = self.offer(&probe).await?;
        let install = match self.plan.configured.as_ref().map(|host| host.agent.install) {
            Some(Install::Upload) => bootstrap::Install::Upload,
            Some(Install::Never) => bootstrap::Install::Never,
            _ => bootstrap::Install::Auto,
        };
        let facts = Facts {
            host: &self.plan.name,
            probe: &probe,
            examined: examined.as_ref(),
            offer: offer.as_ref(),
            install,
            version: remote_agent::identity::VERSION,
            protocol: VERSIONS,
        };
        for finding in doctor::judge(&facts) {
            self.told.add(finding);
        }
        let serving = doctor::serving(&probe, VERSIONS);
        if let Some(hello) = look::agent(&probe) {
            match look::reach(dialed, &hello).await {
                Ok(Way::Direct) => self.ok("socket", "the agent's socket is reached directly".to_owned()),
                Ok(Way::Bridge) => self.ok(
                    "socket",
                    "the agent's socket is reached through `reasonix bridge`".to_owned(),
                ),
                Err(failure) => self.told.add(failed(&failure, &self.plan.name)),
            }
        }
        if let Some(server) = examined.as_ref().and_then(|examined| examined.server.as_ref()) {
            self.forwarding(connection, server).await;
        }
        let must_have =
            serving.is_none() && (probe.carriage != bootstrap::Carriage::Input || !probe.tools.has("dd"));
        self.told.add(sessions(connection).await);
        self.told.add(sftp(connection, must_have).await);
        if let Some(program) = serving {
            self.model(dialed, &program.path).await;
        }
        Ok(())
    }

    /// Finds the program for the host's kind.
    async fn offer(&self, probe: &bootstrap::Probe) -> Result<Result<Artifact, ErrorKind>, Failure> {
        let target = match Target::from_uname(&probe.system.os, &probe.system.arch) {
            Ok(target) => target,
            Err(unknown) => return Ok(Err(ErrorKind::Platform(unknown))),
        };
        let loaded = artifact_source(self.invocation)?.load(target).await;
        Ok(loaded.map_err(ErrorKind::Artifact))
    }

    /// Sees whether the server forwards ports, by letting it connect to itself.
    async fn forwarding(&mut self, connection: &Connection, server: &(String, u16)) {
        let finding = match connection.open_tcp(&server.0, server.1).await {
            Ok(stream) => {
                drop(stream);
                Finding::new("forwarding", Grade::Ok, "the server forwards ports")
            }
            Err(error) => {
                let wanted = self
                    .plan
                    .configured
                    .as_ref()
                    .is_some_and(|host| !host.forwards.is_empty());
                let grade = if wanted { Grade::Warning } else { Grade::Note };
                let text = format!("the server forwards no ports: {}", error.message());
                Finding::new("forwarding", grade, text)
                    .why("`-L` and configured forwards do not work; the agent is reached through `reasonix bridge`")
                    .fix("its administrator allows it: AllowTcpForwarding and AllowStreamLocalForwarding in sshd_config")
            }
        };
        self.told.add(finding);
    }

    async fn model(&mut self, dialed: &Dialed, program: &str) {
        let host = &self.plan.name;
        let problem = Grade::Problem(Class::Model);
        let here = broker::keys_here(self.plan, self.invocation, self.loaded);
        let said = Model::ask(dialed, program).await;
        let finding = match said.map(|said| said.with_keys_here(here)) {
            Ok(Model::KeysHere) => Finding::new(
                "model",
                Grade::Ok,
                "the configuration there is usable, with keys of this machine",
            ),
            Ok(Model::NoKeyHere(missing)) => Finding::new("model", problem, missing)
                .why("the model is asked from this machine, with the key that is stored here")
                .fix("reasonix key NAME"),
            Ok(Model::Usable) => Finding::new("model", Grade::Ok, "the configuration there is usable"),
            Ok(Model::Broken(error)) => Finding::new("model", problem, error)
                .why("the model is asked from the host, as ~/.reasonix/config.toml there says")
                .fix(format!("ssh -t {host} '${{EDITOR:-vi}} ~/.reasonix/config.toml'")),
            Ok(Model::NoKey(missing)) => Finding::new("model", problem, format!("{missing} there"))
                .why("the model is asked from the host, with the key that is stored there")
                .fix(format!("reasonix remote key {host} NAME")),
            Err(failure) => Finding::new(
                "model",
                Grade::Warning,
                format!("it could not be asked about: {}", failure.message),
            ),
        };
        self.told.add(finding);
    }

    fn ok(&mut self, check: &'static str, text: String) {
        self.told.add(Finding::new(check, Grade::Ok, text));
    }
}

/// Turns what stopped the way into a finding.
fn failed(failure: &Failure, host: &str) -> Finding {
    let (check, class) = match (failure.stage.as_deref(), failure.exit) {
        (Some("resolve"), _) => ("resolve", Class::Usage),
        (Some("connect"), _) => ("connect", Class::Unreachable),
        (Some("host key"), Exit::Authentication) => ("host key", Class::Login),
        (Some("host key"), _) => ("host key", Class::Unreachable),
        (Some("log in"), Exit::Authentication) => ("log in", Class::Login),
        (Some("log in"), _) => ("log in", Class::Unreachable),
        (Some("socket"), _) => ("socket", Class::Bootstrap),
        (_, Exit::Unreachable) => ("session", Class::Unreachable),
        (_, Exit::Authentication) => ("log in", Class::Login),
        (_, Exit::Usage) => ("resolve", Class::Usage),
        _ => ("commands", Class::Bootstrap),
    };
    let finding = Finding::new(check, Grade::Problem(class), &*failure.message);
    match &failure.hint {
        // A command is written so that it can be typed.
        Some(hint) => finding.fix(hint.replace("`ssh HOST", &format!("`ssh {host}"))),
        None => finding,
    }
}

fn place(entry: &Entry) -> String {
    format!(
        "{} in {} line {}",
        entry.key.algorithm(),
        entry.file.display(),
        entry.line
    )
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Gives the lines that list a host, each with the name that it is listed by.
async fn listed(resolved: &Resolved, invocation: &Invocation, loaded: &Loaded) -> Vec<(String, Entry)> {
    let endpoint = &resolved.endpoint;
    let names = match &resolved.trust.key_alias {
        Some(alias) => vec![alias.to_ascii_lowercase()],
        None => vec![
            known_hosts::listed_name(&endpoint.host_name, endpoint.port),
            known_hosts::listed_name(&endpoint.host_name, 22),
        ],
    };
    let mut files = resolved.trust.known_hosts.clone();
    files.push(own_known_hosts(invocation, loaded));
    stdx::task::blocking(move || {
        let mut lines = Vec::new();
        for file in files {
            // What could not be read was told by the connection.
            let text = std::fs::read(&file).unwrap_or_default();
            let entries = known_hosts::parse(&String::from_utf8_lossy(&text), &file);
            lines.extend(entries.into_iter().filter_map(|entry| {
                let name = names
                    .iter()
                    .find(|name| known_hosts::hosts_match(&entry.hosts, name))?;
                Some((name.clone(), entry))
            }));
        }
        lines
    })
    .await
}

/// Sees whether the host takes files over SFTP; `needed` where nothing else carries a program over.
async fn sftp(connection: &Connection, needed: bool) -> Finding {
    match offers_sftp(connection).await {
        Ok(()) => Finding::new("sftp", Grade::Ok, "offered"),
        Err(why_not) => {
            let grade = if needed {
                Grade::Problem(Class::Bootstrap)
            } else {
                Grade::Note
            };
            let why = if needed {
                "commands get no input there, so a program cannot be carried over"
            } else {
                "a program is carried over without it"
            };
            Finding::new("sftp", grade, format!("not offered: {why_not}"))
                .why(why)
                .fix("its administrator offers it: `Subsystem sftp internal-sftp` in sshd_config")
        }
    }
}

/// Begins an SFTP session and ends it; the error says why there is none.
async fn offers_sftp(connection: &Connection) -> Result<(), String> {
    let stream = patiently(|| connection.sftp_stream())
        .await
        .map_err(|error| error.message().to_owned())?;
    let scope = stdx::task::Scope::root("sftp of doctor");
    let client = sftp::Client::start(stream, &sftp::client::Options::default(), &scope)
        .await
        .map_err(|error| error.cause().to_string())?;
    client.close().await;
    Ok(())
}

/// Opens a session. Where the host allows one at a time, the one before may still be closing.
async fn patiently<T, F>(open: impl Fn() -> F) -> Result<T, transport::Error>
where
    F: Future<Output = Result<T, transport::Error>>,
{
    let mut tries = 1;
    loop {
        match open().await {
            Err(error) if look::is_refusal(error.kind()) && tries < TRIES => {
                tokio::time::sleep(PAUSE).await;
                tries += 1;
            }
            result => return result,
        }
    }
}

/// Sees whether two sessions may be open at a time.
async fn sessions(connection: &Connection) -> Finding {
    let waits = dial::sh("read line");
    let Ok(first) = patiently(|| connection.exec(&waits)).await else {
        return Finding::new("sessions", Grade::Warning, "the server refused another session");
    };
    let second = connection
        .exec_capture(&dial::sh(":"), b"", CaptureLimits::default(), DEADLINE)
        .await;
    drop(first);
    match second {
        Ok(_) => Finding::new("sessions", Grade::Ok, "several at a time"),
        Err(error) if look::is_refusal(error.kind()) => {
            Finding::new("sessions", Grade::Note, "one at a time (MaxSessions 1)")
                .why("commands wait for one another")
        }
        Err(error) => Finding::new("sessions", Grade::Warning, error.message()),
    }
}

/// What was told so far: paragraphs at once, or one object at the end.
struct Told {
    json: bool,
    findings: Vec<Finding>,
}

impl Told {
    fn add(&mut self, finding: Finding) {
        if !self.json {
            let head = format!("{:<8} {:<10} ", word(finding.grade), finding.check);
            let indent = format!("\n{:20}", "");
            let mut text = finding.text.trim_end().replace('\n', &indent);
            for (word, more) in [("why", &finding.why), ("fix", &finding.fix)] {
                if let Some(more) = more {
                    text.push_str(&format!("{indent}{word}: {more}"));
                }
            }
            terminal::line(&visible(&(head + &text)));
        }
        self.findings.push(finding);
    }

    /// Sums up, and gives the exit code of the problem that stands in the way first.
    fn finish(&self, host: &str) -> Exit {
        let exit = doctor::first_problem(&self.findings).map_or(Exit::Success, look::exit);
        let count = |wanted: &str| {
            self.findings
                .iter()
                .filter(|finding| word(finding.grade) == wanted)
                .count()
        };
        if self.json {
            let worst = self
                .findings
                .iter()
                .map(|finding| finding.grade)
                .max()
                .unwrap_or(Grade::Ok);
            let findings: Vec<Value> = self.findings.iter().map(json_of).collect();
            let all = json!({"host": host, "verdict": word(worst), "code": exit.code(), "findings": findings, "schema": SCHEMA});
            terminal::line(&all.to_string());
            return exit;
        }
        let can = if exit == Exit::Success {
            "one can work on"
        } else {
            "one cannot work on"
        };
        terminal::line(&visible(&format!(
            "{can} {host}: {} problem(s), {} warning(s), {} note(s)",
            count("problem"),
            count("warning"),
            count("note")
        )));
        exit
    }
}

fn word(grade: Grade) -> &'static str {
    match grade {
        Grade::Ok => "ok",
        Grade::Note => "note",
        Grade::Warning => "warning",
        Grade::Problem(_) => "problem",
    }
}

fn json_of(finding: &Finding) -> Value {
    json!({
        "check": finding.check, "verdict": word(finding.grade), "text": finding.text, "why": finding.why, "fix": finding.fix,
    })
}

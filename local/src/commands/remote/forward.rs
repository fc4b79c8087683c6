//! `reasonix remote forward`: forwards of a connection that another process has.

use forward::{Kind, Spec, Via};
use serde_json::{Value, json};
use settings::schema::{self, ForwardKind};

use crate::{
    args::{ForwardAddArgs, ForwardCommand, ForwardLsArgs, ForwardRmArgs},
    ask::{self, visible},
    control::{
        client::{self, Peer},
        message::{Add, Ask, ForwardView, Offer, PortView, Refused, Reply},
        place::Place,
    },
    exit::Exit,
    forwards::{self, consent::Consents},
    host::HostRef,
    invocation::Invocation,
    report::{Failure, SCHEMA},
    terminal,
};

/// Picks the command.
pub(super) async fn run(invocation: &Invocation, command: ForwardCommand) -> Result<Exit, Failure> {
    match command {
        ForwardCommand::Add(args) => add(invocation, args).await,
        ForwardCommand::Rm(args) => remove(invocation, args).await,
        ForwardCommand::Ls(args) => list(invocation, args).await,
    }
}

async fn add(invocation: &Invocation, args: ForwardAddArgs) -> Result<Exit, Failure> {
    let host = HostRef::parse(&args.host)?.host;
    let read =
        |rule: &String| forwards::read(rule, args.via.into()).map_err(|error| forwards::malformed(&error));
    let specs: Vec<Spec> = args.rules.iter().map(read).collect::<Result<_, _>>()?;
    let peer = match pick(invocation, &host, args.pid).await {
        Ok(peer) => Some(peer),
        // What is saved is for the next connection.
        Err(_) if args.save && args.pid.is_none() => None,
        Err(failure) => {
            let rules: Vec<&str> = args.rules.iter().map(String::as_str).collect();
            let save = format!(
                "`reasonix remote forward add {host} {} --save` keeps it for then",
                rules.join(" ")
            );
            let hint = failure.hint.clone().map(|hint| format!("{hint}; {save}"));
            return Err(failure.maybe_hint(hint));
        }
    };
    let mut failed = None;
    if let Some(mut peer) = peer {
        for spec in &specs {
            if let Err(failure) = add_one(&mut peer, spec, args.allow_public_bind).await {
                // Each is said, and the others go on.
                terminal::error(&format!("error: {}", visible(&failure.message)));
                failed = Some(failure);
            }
        }
    } else {
        terminal::error(&format!(
            "nobody is connected to {host}; the next connection opens it"
        ));
    }
    if args.save {
        save(invocation, &host, &specs, args.allow_public_bind).await?;
    }
    match failed {
        // Said above; with several rules the last hint would be of one of them alone.
        Some(failure) if specs.len() > 1 => {
            let message = format!("not every forward is open: {}", failure.message);
            Err(Failure { message, ..failure })
        }
        Some(failure) => {
            if let Some(hint) = &failure.hint {
                terminal::error(&format!("hint: {}", visible(hint)));
            }
            Ok(Exit::Failed)
        }
        None => Ok(Exit::Success),
    }
}

/// Opens a rule; a person at the terminal is asked where that can help.
async fn add_one(peer: &mut Peer, spec: &Spec, agreed: bool) -> Result<(), Failure> {
    let mut add = Add {
        rule: spec.to_string(),
        via: spec.via.to_string(),
        public: agreed,
    };
    loop {
        let refused = match peer.ask(Ask::Add(add.clone())).await? {
            Reply::Added(forward) => {
                if let Some(warning) = &forward.warning {
                    terminal::error(&visible(warning));
                }
                let at = peer.status.pid;
                terminal::line(&visible(&format!(
                    "#{} {} is open in process {at}",
                    forward.id,
                    whole(&forward)
                )));
                return Ok(());
            }
            reply => unexpected(reply)?,
        };
        let question = refused
            .offer
            .as_ref()
            .map(|offer| (forwards::question(&refused.message, offer), offer));
        let Some((question, offer)) = question else {
            return Err(failure(refused));
        };
        if !ask::prompter().confirm(&question).await {
            return Err(failure(refused));
        }
        match offer {
            Offer::Public => add.public = true,
            Offer::Instead(rule) => add.rule = rule.clone(),
        }
    }
}

/// Writes rules into the configuration.
async fn save(invocation: &Invocation, host: &str, specs: &[Spec], agreed: bool) -> Result<(), Failure> {
    let file = invocation.home.join("config.toml");
    let consents = Consents::of(invocation, host);
    for spec in specs {
        let is_new =
            settings::add_forward(&file, host, &configured(spec)).map_err(|error| not_saved(host, error))?;
        let word = if is_new {
            "written to"
        } else {
            "was there already in"
        };
        terminal::line(&visible(&format!("{spec} {word} {}", file.display())));
        if spec.is_public() && agreed {
            let remembered = consents.remember(&forwards::consent::text(spec)).await;
            remembered.map_err(|error| {
                let file = consents.file().display();
                Failure::new(Exit::Failed, format!("could not write {file}: {error}"))
            })?;
        }
    }
    Ok(())
}

fn not_saved(host: &str, error: settings::Error) -> Failure {
    let is_refused = matches!(error, settings::Error::Refused { .. });
    let failure = Failure::from(error);
    if is_refused {
        let hint = format!(
            "`reasonix remote list` names the hosts of the file; add it with `reasonix remote add {host}`"
        );
        failure.hint(hint)
    } else {
        failure
    }
}

/// Gives a rule as the configuration has it.
fn configured(spec: &Spec) -> schema::Forward {
    schema::Forward {
        r#type: match spec.kind {
            Kind::Local => ForwardKind::Local,
            Kind::Remote => ForwardKind::Remote,
            Kind::Dynamic => ForwardKind::Dynamic,
        },
        bind: spec.bind.to_string(),
        target: spec.target.as_ref().map(ToString::to_string),
        via: match spec.via {
            Via::Auto => schema::Via::Auto,
            Via::Ssh => schema::Via::Ssh,
            Via::Agent => schema::Via::Agent,
        },
    }
}

async fn remove(invocation: &Invocation, args: ForwardRmArgs) -> Result<Exit, Failure> {
    let host = HostRef::parse(&args.host)?.host;
    let mut unsaved = args.rules.clone();
    let peer = match pick(invocation, &host, args.pid).await {
        Ok(peer) => Some(peer),
        Err(_) if args.save && args.pid.is_none() => None,
        Err(failure) => return Err(failure),
    };
    let mut failed = None;
    if let Some(mut peer) = peer {
        unsaved.clear();
        for rule in args.rules {
            match peer.ask(Ask::Remove { rule: rule.clone() }).await? {
                Reply::Removed(forward) => {
                    terminal::line(&visible(&format!(
                        "#{} {} is closed",
                        forward.id,
                        whole(&forward)
                    )));
                    unsaved.push(forward.rule);
                }
                reply => {
                    unsaved.push(rule);
                    failed = Some(failure(unexpected(reply)?));
                }
            }
        }
    }
    if args.save {
        let file = invocation.home.join("config.toml");
        for rule in &unsaved {
            let Ok(wanted) = forwards::read(rule, Via::Auto) else {
                continue;
            };
            let wanted = forwards::consent::text(&wanted);
            let is_meant = |rule: &schema::Forward| {
                forwards::read(&forwards::spec_text(rule), Via::Auto)
                    .is_ok_and(|spec| forwards::consent::text(&spec) == wanted)
            };
            let count =
                settings::remove_forward(&file, &host, is_meant).map_err(|error| not_saved(&host, error))?;
            if count > 0 {
                // What is gone from the file was what was wanted, whether it was open or not.
                failed = None;
                terminal::line(&visible(&format!("{wanted} taken out of {}", file.display())));
            }
        }
    }
    failed.map_or(Ok(Exit::Success), Err)
}

/// Finds the connection to a host that is to be changed: the oldest, or the one of a process.
async fn pick(invocation: &Invocation, host: &str, pid: Option<u32>) -> Result<Peer, Failure> {
    let mut peers = client::peers(&Place::of(invocation), Some(host)).await;
    let at = match pid {
        Some(pid) => peers.iter().position(|peer| peer.status.pid == pid),
        None => (!peers.is_empty()).then_some(0),
    };
    match (at, pid) {
        (Some(at), _) => Ok(peers.swap_remove(at)),
        (None, Some(pid)) if !peers.is_empty() => {
            let pids: Vec<String> = peers.iter().map(|peer| peer.status.pid.to_string()).collect();
            let message = format!(
                "process {pid} is not connected to {host}; connected are {}",
                pids.join(", ")
            );
            Err(Failure::new(Exit::Usage, message).on(host))
        }
        _ => Err(Failure::new(
            Exit::Failed,
            format!("nobody is connected to {host}, so nothing can be forwarded now"),
        )
        .hint(format!("connect first: `reasonix remote connect {host}`"))
        .on(host)),
    }
}

/// What a front end told.
struct Told {
    peer: Peer,
    forwards: Vec<ForwardView>,
    /// What listens on the host, or why that is not known.
    ports: Result<Option<Vec<PortView>>, Refused>,
}

async fn list(invocation: &Invocation, args: ForwardLsArgs) -> Result<Exit, Failure> {
    let host = args
        .host
        .as_deref()
        .map(HostRef::parse)
        .transpose()?
        .map(|host| host.host);
    let mut all = Vec::new();
    for mut peer in client::peers(&Place::of(invocation), host.as_deref()).await {
        let forwards = match peer.ask(Ask::Forwards).await? {
            Reply::Forwards(forwards) => forwards,
            reply => return Err(failure(unexpected(reply)?)),
        };
        let ports = match peer.ask(Ask::Ports).await? {
            Reply::Ports(ports) => Ok(ports),
            reply => Err(unexpected(reply)?),
        };
        all.push(Told {
            peer,
            forwards,
            ports,
        });
    }
    if args.json {
        let all: Vec<Value> = all.iter().map(Told::json).collect();
        terminal::line(&json!({"connections": all, "schema": SCHEMA}).to_string());
    } else if all.is_empty() {
        let whom = host.as_deref().unwrap_or("any host");
        let name = host.as_deref().unwrap_or("HOST");
        terminal::line(&visible(&format!(
            "nobody is connected to {whom}; `reasonix remote connect {name}` connects"
        )));
    } else {
        let lines = all.iter().flat_map(Told::lines);
        lines.for_each(|line| terminal::line(&visible(&line)));
    }
    Ok(Exit::Success)
}

impl Told {
    fn json(&self) -> Value {
        let (ports, why) = match &self.ports {
            Ok(ports) => (json!(ports), None),
            Err(refused) => (Value::Null, Some(&refused.message)),
        };
        let mut value = json!(self.peer.status);
        value["forwards"] = json!(self.forwards);
        value["ports"] = ports;
        value["ports_unknown"] = json!(why);
        value
    }

    fn lines(&self) -> Vec<String> {
        let status = &self.peer.status;
        let mut lines = vec![format!(
            "{}: process {} ({}), {}",
            status.host, status.pid, status.front_end, status.link
        )];
        if self.forwards.is_empty() {
            lines.push("  no forwards".to_owned());
        }
        for forward in &self.forwards {
            lines.push(format!(
                "  #{} {}  {}, via {}, {} open, {} in all, {} sent, {} received{}",
                forward.id,
                whole(forward),
                forward.state,
                forward.via,
                forward.open,
                forward.total,
                size(forward.sent),
                size(forward.received),
                if forward.public {
                    ", open to other machines"
                } else {
                    ""
                },
            ));
            lines.extend(
                forward
                    .last_error
                    .as_ref()
                    .map(|error| format!("     last error: {error}")),
            );
        }
        match &self.ports {
            Ok(Some(ports)) if !ports.is_empty() => {
                lines.push(format!("  listening on {}, not forwarded:", status.host));
                lines.extend(ports.iter().map(|port| port_line(&status.host, port)));
            }
            Ok(Some(_)) => {}
            Ok(None) => lines.push("  the agent there cannot say what listens".to_owned()),
            Err(refused) => lines.push(format!("  {}", refused.message)),
        }
        lines
    }
}

fn port_line(host: &str, port: &PortView) -> String {
    let by = match (&port.process, port.pid) {
        (Some(process), Some(pid)) => format!("{process}, process {pid}"),
        _ => "its process cannot be seen".to_owned(),
    };
    format!(
        "    {} ({by})  reasonix remote forward add {host} {}",
        port.port, port.rule
    )
}

/// Gives the rule, and where it really listens if that was left open.
fn whole(forward: &ForwardView) -> String {
    if forward.rule.contains(&forward.bound) {
        forward.rule.clone()
    } else {
        format!("{} at {}", forward.rule, forward.bound)
    }
}

/// Gives a number of bytes in the unit that fits.
fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    let fits = UNITS.iter().find(|(_, unit)| bytes >= *unit);
    fits.map_or_else(
        || format!("{bytes} B"),
        |(name, unit)| format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
    )
}

/// Gives the refusal; any other answer was not asked for.
fn unexpected(reply: Reply) -> Result<Refused, Failure> {
    match reply {
        Reply::Error(refused) => Ok(refused),
        _ => {
            let message = "the process that is connected answers something else than it was asked";
            Err(Failure::new(Exit::Failed, message).hint("use the same build of reasonix for both"))
        }
    }
}

fn failure(refused: Refused) -> Failure {
    Failure::new(Exit::Failed, refused.message).maybe_hint(refused.hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        let sizes = [0, 999, 1_000, 1_250_000, 3_000_000_000].map(size);
        assert_eq!(sizes, ["0 B", "999 B", "1.0 kB", "1.2 MB", "3.0 GB"]);
    }

    #[test]
    fn a_rule_goes_into_the_configuration_and_comes_back() {
        for rule in [
            "L:127.0.0.1:80:db:81",
            "R:*:80:/run/x.sock via=ssh",
            "D:[::1]:1080 via=agent",
            "L:/s/a:[::1]:8",
        ] {
            let spec: Spec = rule.parse().unwrap();
            let back = configured(&spec);
            let via = back.via.word().parse().unwrap();
            assert_eq!(forwards::read(&forwards::spec_text(&back), via).unwrap(), spec);
        }
    }
}

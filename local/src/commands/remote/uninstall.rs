//! `reasonix remote uninstall HOST`: ends the agent there and takes everything of ours off the host again. Sessions and
//! configuration are decided by the person.

use bootstrap::{ItemKind, Kept, Probe, Removal, SshRemote, Uninstall, doctor};

use super::stop::{self, Ended};
use crate::{
    args::RemoteUninstallArgs,
    ask::{self, visible},
    dial::{self, Dialed},
    exit::Exit,
    host::{HostPlan, HostRef},
    invocation::Invocation,
    report::Failure,
    terminal,
};

/// What goes in any case.
const PROGRAMS: [ItemKind; 3] = [ItemKind::Programs, ItemKind::Run, ItemKind::Logs];
/// What a person may want to keep.
const SESSIONS: [ItemKind; 2] = [ItemKind::Sessions, ItemKind::Configuration];

/// Uninstalls.
pub(crate) async fn run(invocation: &Invocation, args: RemoteUninstallArgs) -> Result<Exit, Failure> {
    let loaded = invocation.settings(None, &[])?;
    let plan = HostPlan::new(&HostRef::parse(&args.host)?, &loaded)?;
    if !args.yes && !terminal::can_ask() {
        let message = format!("nobody can be asked what goes from {}", plan.name);
        return Err(Failure::new(Exit::Usage, message).hint(
            "write --yes, with --keep-sessions or --purge to decide about sessions and configuration",
        ));
    }
    let resolved = dial::resolve(invocation, &plan).await?;
    let dialed = Dialed::open(invocation, &loaded, &resolved, &ask::prompter()).await?;
    let outcome = take_off(invocation, &dialed, &args, &plan.name).await;
    dialed.close().await;
    let done = outcome?;
    if done && let Err(error) = link::forget_machine(&invocation.home.join("hosts"), &resolved.endpoint) {
        terminal::error(&format!("could not forget the last visit: {error}"));
    }
    Ok(Exit::Success)
}

/// Lists and asks, then stops the agent, then removes. `false` when the person said no: the agent runs on then.
async fn take_off(
    invocation: &Invocation,
    dialed: &Dialed,
    args: &RemoteUninstallArgs,
    host: &str,
) -> Result<bool, Failure> {
    let probe = dialed.probe(None).await?;
    let remote = SshRemote::new(dialed.connection.clone());
    let there = bootstrap::uninstall(&remote, &probe, Removal::List).await?;
    let runs = dial::running(&probe).next().is_some();
    if there.items.is_empty() && !runs {
        terminal::line(&format!("nothing of ours is on {host}"));
        kept(&there.kept);
        return Ok(true);
    }
    list(&there, host);
    let Some(removal) = decide(&there, args, host).await? else {
        terminal::line("nothing was removed");
        return Ok(false);
    };
    if let Ended::Stopped = stop::end(invocation, &args.host, false).await? {
        terminal::line(&format!("the agent on {host} is stopped"));
    }
    let probe = dialed.probe(None).await?;
    if let Some(daemon) = dial::running(&probe).next() {
        let pid = daemon.hello.as_ref().map_or(0, |hello| hello.identity.pid);
        let message = format!("another agent still runs on {host} (process {pid}): it finishes its turns");
        return Err(Failure::new(Exit::Failed, message).hint("wait for it, then write the command again"));
    }
    let gone = bootstrap::uninstall(&remote, &probe, removal).await?;
    told(&gone, &probe, removal, host);
    Ok(true)
}

fn list(there: &Uninstall, host: &str) {
    terminal::line(&format!("on {host} there are"));
    for item in &there.items {
        let size = doctor::bytes(item.size);
        terminal::line(&visible(&format!(
            "  {:<13} {size:>10}  {}",
            word(item.kind),
            item.path
        )));
    }
}

fn word(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Programs => "program",
        ItemKind::Run => "run directory",
        ItemKind::Logs => "logs",
        ItemKind::Sessions => "sessions",
        ItemKind::Configuration => "configuration",
    }
}

/// Decides with the person what goes.
async fn decide(
    there: &Uninstall,
    args: &RemoteUninstallArgs,
    host: &str,
) -> Result<Option<Removal>, Failure> {
    if !args.yes {
        let (size, _) = there.size(&PROGRAMS);
        let question = format!(
            "Remove programs and logs from {host} ({})? [y/N]",
            doctor::bytes(size)
        );
        if !says_yes(&question).await? {
            return Ok(None);
        }
    }
    if args.sessions.purge {
        return Ok(Some(Removal::Everything));
    }
    let (size, count) = there.size(&SESSIONS);
    if args.sessions.keep_sessions || args.yes || count == 0 {
        let everything = count == 0 && !args.sessions.keep_sessions;
        return Ok(Some(if everything {
            Removal::Everything
        } else {
            Removal::Programs
        }));
    }
    let question = format!(
        "Remove sessions, configuration and stored keys too ({}, not to be had back)? [y/N]",
        doctor::bytes(size)
    );
    Ok(Some(if says_yes(&question).await? {
        Removal::Everything
    } else {
        Removal::Programs
    }))
}

/// Asks a question to which an empty line says no.
async fn says_yes(question: &str) -> Result<bool, Failure> {
    let question = question.to_owned();
    let asking = async {
        let answer = stdx::task::blocking(move || terminal::ask(&question)).await;
        Ok(answer.is_some_and(|answer| answer.starts_with(['y', 'Y'])))
    };
    ask::with_person(asking).await
}

fn told(gone: &Uninstall, probe: &Probe, removal: Removal, host: &str) {
    kept(&gone.kept);
    let (size, count) = gone.size(&[PROGRAMS.as_slice(), SESSIONS.as_slice()].concat());
    let size = doctor::bytes(size);
    terminal::line(&format!("{count} thing(s) with {size} were removed from {host}"));
    if probe.system.lingering && probe.login.ends_processes() {
        // It may have been asked for by us or by somebody else; nobody knows any more.
        terminal::line(
            "lingering is on for the account; `loginctl disable-linger` there turns it off if nothing needs it",
        );
    }
    if removal == Removal::Programs {
        let home = probe.home.first().map_or("~/.reasonix", String::as_str);
        let text = format!("sessions and configuration stay in {home}; --purge removes them too");
        terminal::line(&visible(&text));
    }
}

fn kept(kept: &[Kept]) {
    for kept in kept {
        terminal::line(&visible(&format!("stays: {} {}", kept.path, kept.why)));
    }
}

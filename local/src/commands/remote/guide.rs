//! `reasonix remote add` with a person: asks for what is missing, looks at the host, and writes it down at the end.

use bootstrap::{Probe, Workspace};
use settings::{
    Loaded,
    schema::{Login, RemoteHost},
};
use transport::Target;

use super::add;
use crate::{
    args::RemoteAddArgs,
    ask::{self, visible},
    dial::{self, Dialed},
    exit::Exit,
    host::{HostPlan, from_home},
    invocation::Invocation,
    report::Failure,
    terminal,
};

/// Makes a folder and those above it. It must not hold a single quote.
const MAKE_FOLDER: &str = r#"IFS= read -r folder; exec mkdir -p "$folder""#;

/// Leads through adding a host. Ctrl-C at any point leaves nothing behind.
pub(super) async fn run(invocation: &Invocation, args: RemoteAddArgs) -> Result<Exit, Failure> {
    ask::with_person(guide(invocation, args)).await
}

async fn guide(invocation: &Invocation, mut args: RemoteAddArgs) -> Result<Exit, Failure> {
    let loaded = invocation.settings(None, &[])?;
    let name = match args.name.take() {
        Some(name) => name,
        None => new_name(&loaded).await?,
    };
    let typed = args.target.take();
    let mut target = match &typed {
        Some(target) => add::parse(target)?,
        None => address(&name).await?,
    };
    if !args.no_check {
        while let Some(dialed) = reach(invocation, &loaded, &name, &mut target, &mut args).await? {
            let looked = look(&dialed, &mut args).await;
            dialed.close().await;
            match looked {
                Ok(()) => break,
                Err(failure) if failure.exit == Exit::Interrupted => return Err(failure),
                Err(failure) => tell(&failure),
            }
        }
    } else if args.workspace.is_none() {
        args.workspace = Some(ask::or_default("Workspace folder on the host", "~").await?);
    }
    add::write(invocation, &add::new_host(&name, &target, &args))
}

async fn new_name(loaded: &Loaded) -> Result<String, Failure> {
    loop {
        let name = ask::needed("Name of the host, as commands will call it").await?;
        if name.contains(|c: char| c.is_whitespace() || c.is_control() || "/:@[]".contains(c)) {
            terminal::error("a name is one word without / : @ [ ]");
        } else if loaded.settings.remote.hosts.iter().any(|host| host.name == name) {
            terminal::error(&format!("there is already a host named {name}"));
        } else {
            return Ok(name);
        }
    }
}

async fn address(default: &str) -> Result<Target, Failure> {
    loop {
        let question = "Where it is: host, user@host, user@host:port or an ssh_config alias";
        match add::parse(&ask::or_default(question, default).await?) {
            Ok(target) => return Ok(target),
            Err(failure) => tell(&failure),
        }
    }
}

/// Tries until the host is logged in to. `None`: the person wants it written down as it is.
async fn reach(
    invocation: &Invocation,
    loaded: &Loaded,
    name: &str,
    target: &mut Target,
    args: &mut RemoteAddArgs,
) -> Result<Option<Dialed>, Failure> {
    loop {
        let failure = match dial(invocation, loaded, &plan(name, target, args)).await {
            Ok(dialed) => return Ok(Some(dialed)),
            Err(failure) => failure,
        };
        tell(&failure);
        let is_login = failure.stage.as_deref() == Some("log in");
        let key = if is_login { "[k]ey file, " } else { "" };
        let question = format!("What now? {key}[a]nother address, [r]etry, [w]rite it down anyway, [Q]uit");
        match what_now(invocation, &question, is_login).await? {
            Step::KeyFile(Some(file)) => args.identity_file = Some(file),
            Step::KeyFile(None) => args.identity_file = Some(key_file(invocation).await?),
            Step::Address => *target = address(name).await?,
            Step::Retry => {}
            Step::Write => return Ok(None),
            Step::Quit => return Err(failure),
        }
    }
}

/// What a person wants to do about a host that is not reached.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// Log in with another key; the file, if it was typed at once.
    KeyFile(Option<String>),
    Address,
    Retry,
    Write,
    Quit,
}

impl Step {
    /// Reads an answer; `None` where it is none.
    fn read(answer: &str, is_login: bool, is_key: impl Fn(&str) -> bool) -> Option<Self> {
        Some(match answer.to_ascii_lowercase().as_str() {
            "" | "q" | "quit" => Self::Quit,
            "k" | "key" | "key file" if is_login => Self::KeyFile(None),
            "a" | "address" => Self::Address,
            "r" | "retry" => Self::Retry,
            "w" | "write" => Self::Write,
            _ if is_login && is_key(answer) => Self::KeyFile(Some(answer.to_owned())),
            _ => return None,
        })
    }
}

/// Asks until the answer is one.
async fn what_now(invocation: &Invocation, question: &str, is_login: bool) -> Result<Step, Failure> {
    let is_key = |answer: &str| answer.contains('/') && add::check_key_file(invocation, answer).is_ok();
    loop {
        let answer = ask::line(question).await?;
        match Step::read(&answer, is_login, is_key) {
            Some(step) => return Ok(step),
            None => terminal::error(&visible(&format!("{answer} is none of these"))),
        }
    }
}

async fn key_file(invocation: &Invocation) -> Result<String, Failure> {
    loop {
        let file = ask::needed("Private key file to log in with").await?;
        match add::check_key_file(invocation, &file) {
            Ok(()) => return Ok(file),
            Err(failure) => tell(&failure),
        }
    }
}

async fn dial(invocation: &Invocation, loaded: &Loaded, plan: &HostPlan) -> Result<Dialed, Failure> {
    let resolved = dial::resolve(invocation, plan).await?;
    let endpoint = &resolved.endpoint;
    let place = format!("{}@{}:{}", endpoint.user, endpoint.host_name, endpoint.port);
    terminal::error(&visible(&format!("trying {place}")));
    Dialed::open(invocation, loaded, &resolved, &ask::prompter()).await
}

/// Gives the host as it would be configured.
fn plan(name: &str, target: &Target, args: &RemoteAddArgs) -> HostPlan {
    HostPlan::of(RemoteHost {
        name: name.to_owned(),
        host: Some(target.host.clone()),
        port: target.port,
        user: target.user.clone(),
        login: Login {
            identity_file: args.identity_file.clone(),
            proxy_jump: args.proxy_jump.clone(),
            ..Login::default()
        },
        ..RemoteHost::default()
    })
}

/// Says what is there, and settles the workspace.
async fn look(dialed: &Dialed, args: &mut RemoteAddArgs) -> Result<(), Failure> {
    let probe = dialed.probe(None).await?;
    for line in found(&probe) {
        terminal::error(&visible(&line));
    }
    loop {
        let wanted = match args.workspace.take() {
            Some(folder) => folder,
            None => ask::or_default("Workspace folder on the host", "~").await?,
        };
        let asked = dialed.probe(Some(&from_home(wanted.clone()))).await?;
        match asked.workspace {
            Some(Workspace::Ready(_)) | None => {
                args.workspace = Some(wanted);
                return Ok(());
            }
            Some(Workspace::Missing(folder)) => {
                let question = format!("{} does not exist. Make it?", visible(&folder));
                if !ask::yes(&question).await? {
                    continue;
                }
                match dialed.script(MAKE_FOLDER, &[&folder]).await {
                    Ok(_) => args.workspace = Some(wanted),
                    Err(failure) => tell(&failure),
                }
            }
            Some(bad) => terminal::error(&visible(&format!("{bad}"))),
        }
    }
}

fn found(probe: &Probe) -> Vec<String> {
    let system = &probe.system;
    let running = dial::running(probe).next();
    let agent = match running.and_then(|daemon| daemon.hello.as_ref()) {
        Some(hello) => format!(
            "runs already (process {}, version {})",
            hello.identity.pid, hello.build.version
        ),
        None if probe.installed.is_empty() => "is not there yet; the first connect puts it there".to_owned(),
        None => "is installed and starts with the first connect".to_owned(),
    };
    let sandbox = if probe.tools.has("bwrap") {
        "bubblewrap"
    } else {
        "none found: commands run unconfined only where [sandbox] bash = \"off\" is set there"
    };
    vec![
        format!("logged in: {} {}, home {}", system.os, system.arch, system.home),
        format!("  the agent {agent}"),
        format!("  sandbox: {sandbox}"),
    ]
}

fn tell(failure: &Failure) {
    terminal::error(&failure.message);
    if let Some(hint) = &failure.hint {
        terminal::error(&format!("hint: {hint}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_answer_is_none_and_a_file_that_exists_is_a_key() {
        let read = |answer: &str, is_login| Step::read(answer, is_login, |file| file == "/h/Key");
        for (answer, is_login, step) in [
            ("", true, Some(Step::Quit)),
            ("Q", false, Some(Step::Quit)),
            ("K", true, Some(Step::KeyFile(None))),
            ("k", false, None),
            ("/h/Key", true, Some(Step::KeyFile(Some("/h/Key".to_owned())))),
            ("/h/Key", false, None),
            ("/h/other", true, None),
            ("retry", true, Some(Step::Retry)),
            ("write", false, Some(Step::Write)),
            ("a", false, Some(Step::Address)),
            ("yes", true, None),
        ] {
            assert_eq!(read(answer, is_login), step, "{answer} {is_login}");
        }
    }
}

//! `reasonix remote upgrade HOST`: puts this build there and starts its agent beside older ones, which finish their turns
//! and end. No turn is stopped.

use bootstrap::{Arrival, Install, Wanted};
use link::{Drain, Other, Upgrade};
use protocol::{SessionId, hello::VERSIONS};
use serde_json::{Value, json};

use crate::{
    args::RemoteUpgradeArgs,
    ask::{self, visible},
    dial::{self, Dialed},
    exit::Exit,
    host::{HostPlan, HostRef, artifact_source},
    invocation::Invocation,
    progress::Uploads,
    report::{Failure, SCHEMA},
    terminal,
};

/// Upgrades the agent of a host.
pub(crate) async fn run(invocation: &Invocation, args: RemoteUpgradeArgs) -> Result<Exit, Failure> {
    let loaded = invocation.settings(None, &[])?;
    let plan = HostPlan::new(&HostRef::parse(&args.host)?, &loaded)?;
    let agent = plan.configured.as_ref().map(|host| &host.agent);
    if agent.is_some_and(|agent| agent.install == settings::schema::Install::Never) {
        let message = format!("`install = \"never\"` is configured for {}", plan.name);
        return Err(Failure::new(Exit::Usage, message).hint(
            "put the new program there yourself, then `reasonix remote stop` lets the next command start it",
        ));
    }
    let wanted = Wanted {
        workspace: None,
        home: None,
        install: Install::Upload,
        protocol: VERSIONS,
        source: artifact_source(invocation)?,
        stay: bootstrap::Wish::Any,
        known: None,
    };
    let resolved = dial::resolve(invocation, &plan).await?;
    let dialed = Dialed::open(invocation, &loaded, &resolved, &ask::prompter()).await?;
    let uploads = Uploads::new(&plan.name);
    let outcome = link::upgrade(&dialed.connection, &wanted, &uploads, dialed.scope()).await;
    uploads.finish();
    dialed.close().await;
    let done = outcome?;
    if args.json {
        terminal::line(&object(&done, &plan.name).to_string());
    } else {
        tell(&done, &plan.name);
    }
    Ok(Exit::Success)
}

fn tell(done: &Upgrade, host: &str) {
    let program = &done.ready.program;
    let what = match (done.ready.arrival, &done.ready.hello) {
        (_, None) => format!("{program} is there; its agent runs while something is connected"),
        (Arrival::Attached, Some(hello)) => {
            format!("this very build runs already (process {})", hello.identity.pid)
        }
        (Arrival::Launched, Some(hello)) => format!("{program} was started (process {})", hello.identity.pid),
        (Arrival::Installed, Some(hello)) => {
            format!(
                "{program} was put there and started (process {})",
                hello.identity.pid
            )
        }
    };
    terminal::line(&visible(&format!("{host}: {what}")));
    for Other { hello, drain } in &done.others {
        let old = format!(
            "the agent of before (process {}, version {})",
            hello.identity.pid, hello.build.version
        );
        let what = match drain {
            Drain::Ends => "has no turn and ends".to_owned(),
            Drain::Running(sessions) => {
                let list: Vec<String> = sessions.iter().map(SessionId::to_string).collect();
                format!(
                    "finishes {} turn(s) and ends then: {}",
                    list.len(),
                    list.join(", ")
                )
            }
            Drain::Refused(why) => {
                format!("goes on: {why}; `reasonix remote stop {host}` ends it once its turns have ended")
            }
        };
        terminal::line(&visible(&format!("{old} {what}")));
    }
}

fn object(done: &Upgrade, host: &str) -> Value {
    let ready = &done.ready;
    let arrival = match ready.arrival {
        Arrival::Attached => "attached",
        Arrival::Launched => "launched",
        Arrival::Installed => "installed",
    };
    let others: Vec<Value> = done.others.iter().map(other).collect();
    json!({
        "host": host, "arrival": arrival, "program": ready.program, "others": others, "schema": SCHEMA,
        "pid": ready.hello.as_ref().map(|hello| hello.identity.pid),
        "version": ready.hello.as_ref().map(|hello| &hello.build.version),
    })
}

fn other(Other { hello, drain }: &Other) -> Value {
    let (word, sessions, why) = match drain {
        Drain::Ends => ("ends", [].as_slice(), None),
        Drain::Running(sessions) => ("running", sessions.as_slice(), None),
        Drain::Refused(why) => ("refused", [].as_slice(), Some(why)),
    };
    json!({
        "pid": hello.identity.pid, "version": hello.build.version, "drain": word, "running_turns": sessions, "reason": why,
    })
}

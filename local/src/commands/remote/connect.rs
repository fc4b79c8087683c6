//! `reasonix remote connect HOST`: makes sure that the agent runs there and stays connected, with the forwards.

use link::{AgentLink, Arrival, LinkState, Ready, RuleState, Via};
use protocol::{OpenSession, SessionId};
use tui::Opening;

use super::offers;
use crate::{
    args::RemoteConnectArgs,
    ask::visible,
    connect::Connected,
    exit::Exit,
    forwards::Asked,
    headless::Signals,
    host::{HostPlan, HostRef},
    invocation::Invocation,
    report::Failure,
    screen::{self, Wanted},
    terminal,
};

/// Connects and stays.
pub(crate) async fn run(invocation: &Invocation, args: RemoteConnectArgs) -> Result<Exit, Failure> {
    // Listened for from the start: Ctrl-C also ends a dial that takes long.
    let mut signals = Signals::new()?;
    let forwards = Asked::read(&args.forwards)?;
    let connected = tokio::select! {
        biased;
        _signal = signals.next() => return Ok(Exit::Interrupted),
        connected = Connected::open(invocation, Some(&args.host), std::path::Path::new("/"), Vec::new()) => connected?,
    };
    let outcome = async {
        connected
            .stay_in_text(invocation, "remote connect", forwards)
            .await;
        hold(&connected, &args.host, &mut signals).await
    };
    let outcome = outcome.await;
    connected.close().await;
    outcome
}

/// Says whether the screen is opened.
pub(crate) fn opens_screen(invocation: &Invocation, args: &RemoteConnectArgs) -> bool {
    !args.no_screen && screen::is_possible(invocation)
}

/// Opens the screen on the host: in its workspace, or where it has none, on the list of its sessions.
pub(crate) async fn on_screen(invocation: &Invocation, args: RemoteConnectArgs) -> Result<Exit, Failure> {
    let forwards = Asked::read(&args.forwards)?;
    let loaded = settings::load(&invocation.sources(None, &[]))?;
    let plan = HostPlan::new(&HostRef::parse(&args.host)?, &loaded)?;
    let opening = match plan.workspace {
        Some(workspace) => Opening::New(OpenSession {
            session: SessionId::fresh(),
            workspace: Some(workspace),
            model: None,
            preset: None,
            credentials: None,
        }),
        None => Opening::Pick,
    };
    let wanted = Wanted {
        remote: Some(args.host),
        opening,
        draft: String::new(),
        forwards,
    };
    screen::open(invocation, std::path::Path::new("/"), wanted).await
}

/// Says who answered and stays until a signal comes or a person has to act.
async fn hold(connected: &Connected, host: &str, signals: &mut Signals) -> Result<Exit, Failure> {
    let AgentLink::Remote(link) = &connected.link else {
        return Ok(Exit::Success);
    };
    if let Some(ready) = link.ready() {
        terminal::error(&visible(&arrived(host, &ready)));
    }
    for rule in link.forwards().list() {
        terminal::error(&visible(&forward_line(&rule)));
    }
    terminal::error("connected; Ctrl-C hangs up, and the agent goes on there");
    let token = connected.scope().token().clone();
    let following = offers::follow(link.clone());
    // Ends with the scope. It holds the link that it asks.
    drop(
        connected
            .scope()
            .spawn(async move { token.run_until_cancelled(following).await }),
    );
    let mut states = link.states();
    loop {
        if let LinkState::Failed(cause) = &*states.borrow_and_update() {
            return Err(cause.clone().into());
        }
        tokio::select! {
            biased;
            _signal = signals.next() => return Ok(Exit::Interrupted),
            changed = states.changed() => if changed.is_err() {
                return Ok(Exit::Success);
            },
        }
    }
}

/// Says what a forward is, and where it really listens if the rule left that open.
fn forward_line(rule: &link::RuleSnapshot) -> String {
    let refused = match &rule.state {
        RuleState::Refused { .. } => " (refused)",
        RuleState::Ready { .. } | RuleState::Offline => "",
    };
    if rule.bound == rule.spec.bind {
        return format!("forward {}{refused}", rule.spec);
    }
    format!("forward {} at {}{refused}", rule.spec, rule.bound)
}

fn arrived(host: &str, ready: &Ready) -> String {
    let how = match ready.arrival {
        None | Some(Arrival::Attached) => "was running",
        Some(Arrival::Launched) => "was started",
        Some(Arrival::Installed) => "was installed and started",
    };
    let via = match ready.via {
        Via::Streamlocal => "its socket is reached directly",
        Via::Bridge => "its socket is reached through `reasonix bridge`",
        Via::Stdio => "it lives on this connection",
    };
    let identity = &ready.hello.identity;
    format!(
        "{host}: the agent (process {}, version {}) {how}; {via}",
        identity.pid, ready.hello.build.version
    )
}

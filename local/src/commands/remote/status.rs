//! `reasonix remote status HOST`: is an agent running there, and what does it do. Nothing is started.

use std::time::Duration;

use protocol::{Hello, SessionInfo};
use serde_json::json;
use transport::CaptureLimits;

use crate::{
    args::RemoteStatusArgs,
    ask::visible,
    connect::Connected,
    dial,
    exit::Exit,
    invocation::Invocation,
    report::{Failure, SCHEMA},
    terminal,
};

/// How long the host may take to say what time it is.
const DEADLINE: Duration = Duration::from_secs(10);
/// Prints the host's uptime in seconds and the unit of process start times. It must not hold a single quote.
const UPTIME: &str = r#"echo "rx-uptime $(cut -d " " -f 1 /proc/uptime) $(getconf CLK_TCK)""#;

/// Looks at the agent of a host.
pub(crate) async fn run(invocation: &Invocation, args: RemoteStatusArgs) -> Result<Exit, Failure> {
    let Some(connected) = Connected::to_running(invocation, &args.host).await? else {
        if args.json {
            terminal::line(&json!({"host": args.host, "running": false, "schema": SCHEMA}).to_string());
        } else {
            terminal::line(&format!("no agent runs on {}", args.host));
        }
        return Ok(Exit::Success);
    };
    let outcome = look(&connected).await;
    connected.close().await;
    let found = outcome?;
    if args.json {
        terminal::line(&found.json(&args.host).to_string());
    } else {
        found.print(&args.host);
    }
    Ok(Exit::Success)
}

/// What there is to know of a running agent.
struct Found {
    hello: Hello,
    sessions: Vec<SessionInfo>,
    /// `None` where the host does not tell.
    uptime: Option<Duration>,
    /// Whether it runs for this question alone.
    is_on_the_connection: bool,
}

async fn look(connected: &Connected) -> Result<Found, Failure> {
    let agent = connected.link.agent();
    let hello = agent.hello().await?;
    let sessions = agent.sessions().await?.sessions;
    let uptime = uptime(connected, hello.identity.start_time).await;
    Ok(Found {
        hello,
        sessions,
        uptime,
        is_on_the_connection: connected.is_on_the_connection(),
    })
}

/// Computes how long a process has run from its start in clock ticks since the boot (proc(5)).
async fn uptime(connected: &Connected, start_time: u64) -> Option<Duration> {
    if start_time == 0 {
        return None;
    }
    let connection = connected.ssh()?.connection()?;
    let asked = connection
        .exec_capture(&dial::sh(UPTIME), b"", CaptureLimits::default(), DEADLINE)
        .await;
    // A host that allows one session at a time refuses this one.
    let output = asked.ok()?;
    since(&String::from_utf8_lossy(&output.stdout), start_time)
}

fn since(answer: &str, start_time: u64) -> Option<Duration> {
    let words = answer.lines().find_map(|line| line.strip_prefix("rx-uptime "))?;
    let (up, ticks) = words.split_once(' ')?;
    let up: f64 = up.parse().ok()?;
    let per_second: u32 = ticks.trim().parse().ok().filter(|ticks| *ticks > 0)?;
    let started = Duration::from_secs(start_time) / per_second;
    let up = Duration::try_from_secs_f64(up).ok()?;
    Some(up.saturating_sub(started))
}

impl Found {
    fn running(&self) -> impl Iterator<Item = &SessionInfo> {
        let busy = |info: &&SessionInfo| info.phase.is_some_and(|phase| phase.turn().is_some());
        self.sessions.iter().filter(busy)
    }

    fn json(&self, host: &str) -> serde_json::Value {
        let identity = &self.hello.identity;
        json!({
            "host": host,
            "running": !self.is_on_the_connection,
            "pid": identity.pid,
            "version": self.hello.build.version,
            "protocol": self.hello.protocol,
            "program": identity.program,
            "socket": identity.socket,
            "draining": self.hello.draining,
            "uptime_seconds": self.uptime.map(|uptime| uptime.as_secs()),
            "sessions": self.sessions.len(),
            "running_turns": self.running().map(|info| info.session).collect::<Vec<_>>(),
            "schema": SCHEMA,
        })
    }

    fn print(&self, host: &str) {
        if self.is_on_the_connection {
            terminal::line(&format!(
                "no agent stays on {host}: one runs there only while a command is connected"
            ));
            terminal::line(&format!("  sessions  {} stored", self.sessions.len()));
            return;
        }
        let Hello { build, identity, .. } = &self.hello;
        let up = self
            .uptime
            .map(|uptime| format!(", up {}", words(uptime)))
            .unwrap_or_default();
        let draining = if self.hello.draining { ", about to end" } else { "" };
        let head = format!(
            "an agent runs on {host}: process {}, version {}{up}{draining}",
            identity.pid, build.version
        );
        terminal::line(&visible(&head));
        terminal::line(&visible(&format!("  program   {}", identity.program)));
        terminal::line(&visible(&format!("  socket    {}", identity.socket)));
        let running = self.running().count();
        terminal::line(&format!(
            "  sessions  {}, {running} with a running turn",
            self.sessions.len()
        ));
        for info in self.running() {
            let row = format!("    {}  {}  {}", info.session, info.workspace, info.title);
            terminal::line(&visible(&row));
        }
    }
}

/// Writes a duration in its two largest units.
fn words(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, _, _) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_uptime_is_the_hosts_minus_the_start() {
        let motd = "Welcome\nrx-uptime 1000.50 100\n";
        assert_eq!(since(motd, 40_000).map(|up| up.as_secs()), Some(600));
        assert_eq!(since("rx-uptime  100\n", 1), None);
        assert_eq!(since("rx-uptime 1000.5 0\n", 1), None);
        assert_eq!(since("", 1), None);
    }

    #[test]
    fn durations_have_two_units() {
        for (seconds, text) in [
            (59, "59 s"),
            (61, "1 min"),
            (7_260, "2 h 1 min"),
            (90_000, "1 d 1 h"),
        ] {
            assert_eq!(words(Duration::from_secs(seconds)), text);
        }
    }
}

//! What stays resident.

use std::time::Duration;

use anyhow::Context as _;

use super::{
    Report,
    figure::Figure,
    host::Ground,
    link::FOLLOWS,
    process::{Watched, pause, status},
};
use crate::job::Interrupt;

/// How long the daemon is left alone before it is looked at.
const REST: Duration = Duration::from_secs(60);
/// How long a screen that has just been opened is left alone.
const REST_OF_SCREEN: Duration = Duration::from_secs(10);
/// How long a client that has just connected is left alone.
const SETTLE: Duration = Duration::from_secs(3);

/// Measures the daemon with one open session that nobody follows.
pub(super) fn daemon(
    ground: &Ground,
    session: &str,
    report: &mut Report,
    interrupt: &Interrupt,
) -> anyhow::Result<()> {
    ground
        .ours(&["attach", "--remote", "box", session])?
        .until_end(interrupt)?;
    pause(REST, interrupt)?;
    let daemons = ground.daemons();
    let [pid] = daemons.as_slice() else {
        anyhow::bail!("there should be one daemon: {daemons:?}");
    };
    let (resident, own) = (mib(*pid, "VmRSS")?, mib(*pid, "RssAnon")?);
    let threads = status(*pid, "Threads").unwrap_or_default();
    let note = format!(
        "of it {own:.1} MiB its own (RssAnon), the rest are pages of the program; {threads} threads; 60 s after the last client"
    );
    report.add(Figure::at_most(
        "serve_idle_resident",
        resident,
        "MiB",
        20.0,
        note,
    ));
    Ok(())
}

/// Measures a client that follows a turn, beside an `ssh -N` that does nothing.
pub(super) fn client(
    ground: &Ground,
    client: &Watched,
    report: &mut Report,
    interrupt: &Interrupt,
) -> anyhow::Result<()> {
    let mut idle = ground.ssh(&["-v", "-N"], &[])?;
    idle.line(FOLLOWS, interrupt)?;
    pause(SETTLE, interrupt)?;
    let (resident, own) = (mib(client.pid(), "VmRSS")?, mib(client.pid(), "RssAnon")?);
    let note = format!(
        "of it {own:.1} MiB its own (RssAnon); `ssh -N` beside it {:.1} MiB, of it {:.1} its own",
        mib(idle.pid(), "VmRSS")?,
        mib(idle.pid(), "RssAnon")?
    );
    report.add(Figure::at_most(
        "link_client_resident",
        resident,
        "MiB",
        30.0,
        note,
    ));
    Ok(())
}

/// Measures the screen on a remote session in which nothing happens.
pub(super) fn screen(ground: &Ground, report: &mut Report, interrupt: &Interrupt) -> anyhow::Result<()> {
    let screen = ground.on_terminal(&["--remote", "box"])?;
    pause(REST_OF_SCREEN, interrupt)?;
    let name = "tui_idle_resident";
    let value = mib(screen.pid(), "VmRSS").and_then(|resident| Ok((resident, mib(screen.pid(), "RssAnon")?)));
    let figure = match value {
        Ok((resident, own)) => {
            let note =
                format!("of it {own:.1} MiB its own (RssAnon); 10 s after its start, on a remote session");
            Figure::at_most(name, resident, "MiB", 30.0, note)
        }
        Err(_) => Figure::at_most(
            name,
            f64::NAN,
            "MiB",
            30.0,
            "this program has no screen".to_owned(),
        ),
    };
    report.add(figure);
    Ok(())
}

/// Gives a value of `/proc/PID/status` that is in kB as MiB.
pub(super) fn mib(pid: u32, key: &str) -> anyhow::Result<f64> {
    let kib: f64 = status(pid, key)
        .and_then(|value| value.parse().ok())
        .with_context(|| format!("process {pid} is gone, or has no {key}"))?;
    Ok(kib / 1024.0)
}

//! Starts the daemon, or finds the one that runs, and reads its one fenced line.

use std::time::Duration;

use protocol::{Hello, VersionRange};

use crate::{
    answer,
    asking::{self, Asking},
    error::{Error, ErrorKind, Stage, Trace},
    fence::Fence,
    ladder::{Rung, Stay},
    remote::{Deadline, Remote, Status},
    script::{Carriage, Script},
};

const SCRIPT: &str = include_str!("scripts/launch.sh");
/// Seconds after which the host ends a start that does not answer. Less than the deadline, so that nothing stays.
const START: u64 = 45;
const DEADLINE: Deadline = Deadline::total(Duration::from_secs(START + 15));
/// The exit code of `serve --detach` where no daemon came to be.
const NOT_DETACHED: u32 = 5;
const KEEP: usize = 1024 * 1024;

/// What to start, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Launch<'a> {
    pub(crate) program: &'a str,
    /// The absolute `REASONIX_HOME`, if it is not the host's own.
    pub(crate) home: Option<&'a str>,
    /// Whether only a daemon of this very program will do.
    pub(crate) own: bool,
    pub(crate) carriage: Carriage,
    pub(crate) protocol: VersionRange,
}

/// Runs `PROGRAM serve --detach` and gives who answered, and how long it stays.
pub(crate) async fn launch(
    remote: &dyn Remote,
    wanted: Launch<'_>,
    rung: Rung,
) -> Result<(Hello, Stay), Error> {
    let Launch {
        program,
        home,
        own,
        carriage,
        protocol,
    } = wanted;
    let (unit, linger) = match rung {
        Rung::Unit { linger } => (true, linger),
        Rung::Detach | Rung::Attach => (false, false),
    };
    let fence = Fence::random();
    let call = Script::new(&fence)
        .text("rx_bin", program)
        .text("rx_home", home.unwrap_or_default())
        .number("rx_seconds", START)
        .number("rx_own", u64::from(own))
        .number("rx_unit", u64::from(unit))
        .number("rx_linger", u64::from(linger))
        .finish_by(carriage, SCRIPT);
    let asking = Asking {
        stage: Stage::Launch,
        fence: &fence,
        call,
        deadline: DEADLINE,
        keep: KEEP,
    };
    let fail = |kind| Error::new(Stage::Launch, remote.host(), kind);
    let (answer, output) = asking::ask(remote, asking).await?;
    let trace = || Trace {
        command: Some(format!("{program} serve --detach")),
        status: Some(answer::status(&answer, &output)),
        stderr: answer::stderr_lines(answer::stderr_after_mark(&fence, &output.stderr)),
    };
    let line = output
        .stdout
        .split(|byte| *byte == b'\n')
        .find_map(|line| fence.between(line));
    let hello: Hello = match line.map(serde_json::from_slice) {
        Some(Ok(hello)) => hello,
        Some(Err(error)) => {
            let what = format!("the daemon's identity line is not readable: {error}");
            return Err(fail(ErrorKind::BadAnswer(what)).with_trace(trace()));
        }
        None => {
            return Err(fail(ErrorKind::Program("the daemon did not start".to_owned())).with_trace(trace()));
        }
    };
    if hello.protocol.common(protocol).is_none() {
        return Err(fail(no_common(hello.protocol, protocol)).with_trace(trace()));
    }
    let stay = match (unit, answer.get("linger")) {
        (false, _) => Stay::Detached,
        (true, Some("no")) => Stay::LastSession,
        (true, _) => Stay::Unit,
    };
    Ok((hello, stay))
}

/// Says whether the program could be run, and only what it started did not stay.
pub(crate) fn is_about_staying(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Program(_)) && error.status() == Some(&Status::Exited(NOT_DETACHED))
}

fn no_common(theirs: VersionRange, ours: VersionRange) -> ErrorKind {
    let show = |range: VersionRange| format!("{}..{}", range.min, range.max);
    ErrorKind::NoCommonProtocol {
        theirs: show(theirs),
        ours: show(ours),
    }
}

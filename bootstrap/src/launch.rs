//! Starts the daemon, or finds the one that runs, and reads its one fenced line.

use std::time::Duration;

use protocol::{Hello, VersionRange};

use crate::{
    answer::{self, Answer},
    error::{Error, ErrorKind, Stage, Trace},
    fence::Fence,
    probe,
    remote::{Deadline, Exec, Remote},
    script::{Carriage, Script},
};

const SCRIPT: &str = include_str!("scripts/launch.sh");
/// Seconds after which the host ends a start that does not answer. Less than the deadline, so that nothing stays.
const START: u64 = 45;
const DEADLINE: Deadline = Deadline::total(Duration::from_secs(START + 15));
const KEEP: usize = 1024 * 1024;

/// Runs `PROGRAM serve --detach` and gives who answered.
pub(crate) async fn launch(
    remote: &dyn Remote,
    program: &str,
    home: Option<&str>,
    carriage: Carriage,
    protocol: VersionRange,
) -> Result<Hello, Error> {
    let fence = Fence::random();
    let call = Script::new(&fence)
        .text("rx_bin", program)
        .text("rx_home", home.unwrap_or_default())
        .number("rx_seconds", START)
        .finish_by(carriage, SCRIPT);
    let exec = Exec {
        command: &call.command,
        stdin: Box::new(call.stdin.as_slice()),
        keep: KEEP,
        deadline: DEADLINE,
    };
    let fail = |kind| Error::new(Stage::Launch, remote.host(), kind);
    let output = remote
        .exec(exec)
        .await
        .map_err(|error| fail(ErrorKind::Remote(error)))?;
    let answer = Answer::parse(&fence, &output.stdout);
    probe::check(&answer, &output, &fail)?;
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
    Ok(hello)
}

fn no_common(theirs: VersionRange, ours: VersionRange) -> ErrorKind {
    let show = |range: VersionRange| format!("{}..{}", range.min, range.max);
    ErrorKind::NoCommonProtocol {
        theirs: show(theirs),
        ours: show(ours),
    }
}

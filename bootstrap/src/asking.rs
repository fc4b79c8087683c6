//! Runs a script of ours once and collects its fenced answer.

use crate::{
    answer::{self, Answer},
    error::{Error, ErrorKind, Stage, Trace},
    fence::Fence,
    remote::{Deadline, Exec, Output, Remote, RemoteError},
    script::{Call, RAN},
};

/// A script and how long and how much it may answer.
pub(crate) struct Asking<'a> {
    /// Which part of the work it belongs to, for errors.
    pub(crate) stage: Stage,
    /// What the answer stands behind.
    pub(crate) fence: &'a Fence,
    pub(crate) call: Call,
    pub(crate) deadline: Deadline,
    /// Bytes of output that are kept.
    pub(crate) keep: usize,
}

/// Runs the script. What it answers is whole.
///
/// # Errors
/// It was not carried out, the login shell does not run commands, or the answer is cut.
pub(crate) async fn ask(remote: &dyn Remote, asking: Asking<'_>) -> Result<(Answer, Output), Error> {
    let Asking {
        stage,
        fence,
        call,
        deadline,
        keep,
    } = asking;
    let exec = Exec {
        command: &call.command,
        stdin: Box::new(call.stdin.as_slice()),
        keep,
        deadline,
    };
    let fail = |kind| Error::new(stage, remote.host(), kind);
    let output = remote
        .exec(exec)
        .await
        .map_err(|error| fail(ErrorKind::Remote(error)))?;
    let answer = Answer::parse(fence, &output.stdout);
    check(&answer, &output, &fail)?;
    Ok((answer, output))
}

/// Makes sure that a script ran, and ran to its end.
pub(crate) fn check(
    answer: &Answer,
    output: &Output,
    fail: &dyn Fn(ErrorKind) -> Error,
) -> Result<(), Error> {
    if answer.end().is_some() {
        return Ok(());
    }
    let ran = || {
        output
            .stdout
            .split(|byte| *byte == b'\n')
            .any(|line| line.trim_ascii().ends_with(RAN.as_bytes()))
    };
    let kind = if answer.is_empty() && ran() {
        ErrorKind::Remote(RemoteError::NoInput)
    } else if answer.is_empty() {
        ErrorKind::NoShell(answer::first_line(output))
    } else {
        ErrorKind::BadAnswer("the answer of the host ended early".to_owned())
    };
    let trace = Trace {
        command: Some("exec /bin/sh".to_owned()),
        status: Some(output.status.clone()),
        stderr: answer::stderr_lines(&output.stderr),
    };
    Err(fail(kind).with_trace(trace))
}

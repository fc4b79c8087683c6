//! Carries a program over and puts it under its final name, verified and tried.

use std::time::Duration;

use tokio::io::AsyncReadExt as _;

use crate::{
    answer::{Answer, stderr_lines, unhex},
    artifact::Artifact,
    error::{Error, ErrorKind, Stage, Trace},
    fence::Fence,
    layout,
    payload::{Encoding, Payload},
    plan::InstallStep,
    probe,
    progress::{Progress, Update},
    remote::{Deadline, Exec, Remote, Status},
    script::{Call, Script},
};

const SCRIPT: &str = include_str!("scripts/install.sh");
/// While it waits for another upload the host speaks every second; verifying and trying takes less than `idle`.
const DEADLINE: Deadline = Deadline {
    idle: Duration::from_secs(120),
    total: Duration::from_secs(4 * 3600),
};
const KEEP: usize = 1024 * 1024;

/// Uploads `artifact` as `step` says. Afterwards it is there under its final name, put there by us or by another client.
pub(crate) async fn install(
    remote: &dyn Remote,
    step: &InstallStep,
    artifact: &Artifact,
    encoding: Encoding,
    progress: &dyn Progress,
) -> Result<(), Error> {
    progress.update(Update::Stage(Stage::Upload));
    let fence = Fence::random();
    let call = script(&fence, step, artifact, encoding);
    let offset = usize::try_from(step.offset()).unwrap_or(usize::MAX);
    let payload = Payload::new(artifact.content(), offset, encoding, progress);
    let exec = Exec {
        command: &call.command,
        stdin: Box::new(call.stdin.as_slice().chain(payload)),
        keep: KEEP,
        deadline: DEADLINE,
    };
    let fail = |kind| Error::new(Stage::Upload, remote.host(), kind);
    let output = remote
        .exec(exec)
        .await
        .map_err(|error| fail(ErrorKind::Remote(error)))?;
    let answer = Answer::parse(&fence, &output.stdout);
    probe::check(&answer, &output, &fail)?;
    verdict(&answer, step, artifact, remote.host())
}

fn script(fence: &Fence, step: &InstallStep, artifact: &Artifact, encoding: Encoding) -> Call {
    let random = uuid::Uuid::new_v4().simple().to_string();
    Script::new(fence)
        .text("rx_dir", &step.directory)
        .text("rx_name", &artifact.name())
        .text("rx_sum", artifact.sum())
        .number("rx_size", artifact.size())
        .text("rx_part", &layout::part(artifact.sum(), &random))
        .text("rx_new", &layout::candidate(artifact.sum(), &random))
        .text("rx_lock", &layout::lock(artifact.sum()))
        .text("rx_claim", step.resume.as_ref().map_or("", |part| &part.name))
        .number("rx_seek", step.offset() / layout::BLOCK)
        .number("rx_zip", u64::from(encoding == Encoding::Gzip))
        .text("rx_hash", &step.hash)
        .text("rx_version", artifact.version())
        .text("rx_drop", &step.remove.join(" "))
        .finish(SCRIPT)
}

/// Reads how it ended.
fn verdict(answer: &Answer, step: &InstallStep, artifact: &Artifact, host: &str) -> Result<(), Error> {
    let said = |text: &str| Trace {
        command: Some(format!("install {} into {}", artifact.name(), step.directory)),
        status: None,
        stderr: stderr_lines(text.as_bytes()),
    };
    let fail = |stage, kind, trace| Err(Error::new(stage, host, kind).with_trace(trace));
    let pair = |key| {
        answer
            .get(key)
            .map(|line| line.split_once(' ').unwrap_or((line, "")))
    };
    if answer.get("done").is_some() {
        return Ok(());
    }
    if answer.get("lost").is_some() {
        return fail(Stage::Upload, ErrorKind::Contended, said(""));
    }
    if let Some(line) = answer.get("full") {
        let (missing, words) = shortage(line, artifact.size());
        let directory = step.directory.clone();
        return fail(
            Stage::Upload,
            ErrorKind::NoSpace { directory, missing },
            said(&words),
        );
    }
    if let Some(got) = answer.get("mismatch") {
        let kind = ErrorKind::WrongSum {
            expected: artifact.sum().to_owned(),
            got: got.to_owned(),
        };
        return fail(Stage::Verify, kind, said(""));
    }
    if let Some((code, digits)) = pair("trial") {
        let mut trace = said(&unhex(digits).unwrap_or_default());
        trace.status = code.parse().ok().map(Status::Exited);
        trace.command = Some(format!("{} --version", artifact.name()));
        let what = format!(
            "the uploaded program does not run there as reasonix {}",
            artifact.version()
        );
        return fail(Stage::Trial, ErrorKind::Program(what), trace);
    }
    if let Some((got, digits)) = pair("short") {
        let what = format!("only {got} of {} bytes arrived", artifact.size());
        return fail(
            Stage::Upload,
            ErrorKind::BadAnswer(what),
            said(&unhex(digits).unwrap_or_default()),
        );
    }
    let words = answer.text("failed").unwrap_or_default();
    fail(
        Stage::Upload,
        ErrorKind::Program(format!("could not write in {}", step.directory)),
        said(&words),
    )
}

/// Computes the bytes lacking from `WRITTEN FREE_KIB MESSAGE`. Free space that would do means a quota: then the rest of
/// the program is lacking at least.
fn shortage(line: &str, size: u64) -> (u64, String) {
    let mut words = line.split(' ');
    let mut number = || {
        words
            .next()
            .and_then(|word| word.parse::<u64>().ok())
            .unwrap_or(0)
    };
    let (written, free) = (number(), number().saturating_mul(1024));
    let need = size.saturating_mul(2).saturating_sub(written);
    let missing = need.saturating_sub(free);
    let missing = if missing > 0 {
        missing
    } else {
        size.saturating_sub(written).max(1)
    };
    (missing, words.next().and_then(unhex).unwrap_or_default())
}

//! Carries a program over and puts it under its final name, verified and tried.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::{
    answer::{Answer, stderr_lines, unhex},
    artifact::Artifact,
    asking,
    error::{Error, ErrorKind, Scarce, Stage, StorageError, Trace},
    fence::Fence,
    layout,
    payload::{Encoding, Payload},
    plan::InstallStep,
    progress::{Progress, Update},
    remote::{Deadline, Exec, Put, Remote, RemoteError, Status},
    script::{Call, Carriage, Script},
};

const SCRIPT: &str = include_str!("scripts/install.sh");
/// While it waits for another upload the host speaks every second; verifying and trying takes less than `idle`.
const DEADLINE: Deadline = Deadline {
    idle: Duration::from_secs(120),
    total: Duration::from_secs(4 * 3600),
};
const KEEP: usize = 1024 * 1024;

/// How the program's bytes get to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Through the standard input of the command that installs it.
    Stream(Encoding),
    /// As a file, before that command runs.
    File(Carriage),
}

/// One program on its way to a host.
pub(crate) struct Upload<'a> {
    pub(crate) remote: &'a dyn Remote,
    pub(crate) artifact: &'a Artifact,
    pub(crate) progress: &'a dyn Progress,
}

impl Upload<'_> {
    /// Uploads the program as `step` says, under names with `random` in them. Afterwards it is there under its final
    /// name, put there by us or by another client.
    pub(crate) async fn install(&self, step: &InstallStep, random: &str, way: Way) -> Result<(), Error> {
        self.progress.update(Update::Stage(Stage::Upload));
        match way {
            Way::Stream(encoding) => {
                let payload = self.payload(step, encoding);
                self.run(step, random, way, Box::new(payload)).await
            }
            Way::File(_) => match self.put(step, random).await {
                Ok(()) => self.run(step, random, way, Box::new(tokio::io::empty())).await,
                Err(RemoteError::Unwritten(source)) => {
                    // The host says in words what an SFTP status does not tell, such as a full disk.
                    let told = self.run(step, random, way, Box::new(tokio::io::empty())).await;
                    let full = |error: &Error| matches!(error.kind(), ErrorKind::Storage(_));
                    match told {
                        Err(error) if full(&error) => Err(error),
                        _ => Err(self.fail(ErrorKind::Remote(RemoteError::Unwritten(source)))),
                    }
                }
                Err(RemoteError::Unclaimed) => Err(self.fail(ErrorKind::Contended)),
                Err(error) => Err(self.fail(ErrorKind::Remote(error))),
            },
        }
    }

    fn payload(&self, step: &InstallStep, encoding: Encoding) -> Payload<'_> {
        let offset = usize::try_from(step.offset()).unwrap_or(usize::MAX);
        Payload::new(self.artifact.content(), offset, encoding, self.progress)
    }

    async fn put(&self, step: &InstallStep, random: &str) -> Result<(), RemoteError> {
        let inside = |name: &str| format!("{}/{name}", step.directory);
        let claim = step.resume.as_ref().map(|part| inside(&part.name));
        let put = Put {
            path: &inside(&layout::part(self.artifact.sum(), random)),
            claim: claim.as_deref(),
            offset: step.offset(),
            content: Box::new(self.payload(step, Encoding::Plain)),
            deadline: DEADLINE,
        };
        self.remote.put(put).await
    }

    async fn run(
        &self,
        step: &InstallStep,
        random: &str,
        way: Way,
        input: Box<dyn AsyncRead + Send + Unpin + '_>,
    ) -> Result<(), Error> {
        let fence = Fence::random();
        let call = script(&fence, step, self.artifact, random, way);
        let exec = Exec {
            command: &call.command,
            stdin: Box::new(call.stdin.as_slice().chain(input)),
            keep: KEEP,
            deadline: DEADLINE,
        };
        let fail = |kind| self.fail(kind);
        let output = self.remote.exec(exec).await;
        let output = output.map_err(|error| fail(ErrorKind::Remote(error)))?;
        let answer = Answer::parse(&fence, &output.stdout);
        asking::check(&answer, &output, &fail)?;
        verdict(&answer, step, self.artifact, self.remote.host())
    }

    fn fail(&self, kind: ErrorKind) -> Error {
        Error::new(Stage::Upload, self.remote.host(), kind)
    }
}

fn script(fence: &Fence, step: &InstallStep, artifact: &Artifact, random: &str, way: Way) -> Call {
    // A file was claimed when it was written.
    let (word, claim, carriage) = match way {
        Way::Stream(encoding) => (word(encoding), step.resume.as_ref(), Carriage::Input),
        Way::File(carriage) => ("file", None, carriage),
    };
    Script::new(fence)
        .text("rx_dir", &step.directory)
        .text("rx_name", &artifact.name())
        .text("rx_sum", artifact.sum())
        .number("rx_size", artifact.size())
        .text("rx_part", &layout::part(artifact.sum(), random))
        .text("rx_new", &layout::candidate(artifact.sum(), random))
        .text("rx_lock", &layout::lock(artifact.sum()))
        .text("rx_claim", claim.map_or("", |part| &part.name))
        .number("rx_seek", step.offset() / layout::BLOCK)
        .text("rx_way", word)
        .text("rx_hash", &step.hash)
        .text("rx_version", artifact.version())
        .text("rx_drop", &step.remove.join(" "))
        .finish_by(carriage, SCRIPT)
}

/// Names an encoding for the script.
fn word(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Plain => "plain",
        Encoding::Gzip => "gzip",
        Encoding::Zstd => "zstd",
    }
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
        let (error, words) = shortage(line, artifact.size(), &step.directory);
        return fail(Stage::Upload, ErrorKind::Storage(error), said(&words));
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

/// Computes what is lacking from `WRITTEN FREE_KIB MESSAGE FREE_INODES`. Free space that would do means a quota: then the
/// rest of the program is lacking at least.
fn shortage(line: &str, size: u64, directory: &str) -> (StorageError, String) {
    let mut fields = line.split(' ');
    let mut field = || fields.next().unwrap_or_default();
    let written = field().parse().unwrap_or(0);
    let free = field().parse::<u64>().unwrap_or(0).saturating_mul(1024);
    let words = unhex(field()).unwrap_or_default();
    let inodes = field().parse().ok();
    let need = size.saturating_mul(2).saturating_sub(written);
    let missing = match need.saturating_sub(free) {
        0 => size.saturating_sub(written).max(1),
        missing => missing,
    };
    let error = StorageError::NoSpace {
        directory: directory.to_owned(),
        missing,
        scarce: Scarce::judge(&words, inodes),
    };
    (error, words)
}

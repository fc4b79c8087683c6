//! What reading a host's answers promises, whatever the host says. The fuzz target (`cargo xtask fuzz preflight`) and the
//! replay of its corpus call the same function; a broken promise is a panic.

use std::sync::LazyLock;

use protocol::hello::VERSIONS;

use crate::{
    answer::{Answer, stderr_lines},
    artifact::Artifact,
    asking,
    bridge::BridgeReader,
    doctor::{self, Facts, Grade},
    error::{Error, ErrorKind, Stage},
    fence::Fence,
    ladder::Rung,
    layout,
    plan::{Install, InstallStep, Request, Step, plan},
    probe::{self, Probe, Proof},
    remote::{Output, Status},
};

/// The mark of answer lines here: short, so that a fuzzer finds it.
const FENCE: &str = "@";

static ARTIFACT: LazyLock<Artifact> = LazyLock::new(|| Artifact::new("0.1.0", vec![b'x'; 200_000]));

/// Reads `data` as everything a host can say: the answer to the probe, standard error, the first line of a bridge; and
/// plans with it.
///
/// # Panics
/// The plan would attach to an agent that is not ours or does not run, remove a file that is not ours, or go on with an
/// upload that is none; a line that is shown could steer a terminal; or the bridge's line depends on how it is cut.
pub fn preflight(data: &[u8]) {
    let fence = Fence::from_word(FENCE);
    let answer = Answer::parse(&fence, data);
    let output = Output {
        status: Status::Exited(0),
        stdout: data.to_vec(),
        stderr: data.to_vec(),
    };
    let fail = |kind| Error::new(Stage::Probe, "h", kind);
    let complete = asking::check(&answer, &output, &fail);
    assert_eq!(complete.is_ok(), answer.end().is_some());
    for line in stderr_lines(data) {
        let steers = |c: char| c.is_control() && c != '\t';
        assert!(!line.contains(steers) && line.len() <= 700, "{line:?}");
    }
    let probe = probe::parse(&answer);
    for refused in &probe.refused {
        assert!(
            !refused.reason.contains('\n') && refused.reason.len() <= 210,
            "{refused:?}"
        );
    }
    for install in [Install::Auto, Install::Upload, Install::Never, Install::Attach] {
        let request = Request {
            install,
            version: "0.1.0".to_owned(),
            protocol: VERSIONS,
        };
        for offer in [Ok(&*ARTIFACT), Err(ErrorKind::NotInstalled)] {
            if let Ok(steps) = plan(&probe, &request, offer) {
                steps.iter().for_each(|step| is_safe(&probe, step));
            }
        }
    }
    judged(&probe, &answer);
    bridge(data);
}

/// Whatever was answered, what stands in the way has a reason and an advice.
fn judged(probe: &Probe, answer: &Answer) {
    let examined = doctor::read(answer);
    for offer in [Ok(&*ARTIFACT), Err(&ErrorKind::NotInstalled)] {
        let facts = Facts {
            host: "h",
            probe,
            examined: Some(&examined),
            offer,
            install: Install::Auto,
            version: "0.1.0",
            protocol: VERSIONS,
        };
        for finding in doctor::judge(&facts) {
            let blocks = matches!(finding.grade, Grade::Problem(_));
            assert!(
                !blocks || finding.why.is_some() && finding.fix.is_some(),
                "{finding:?}"
            );
        }
    }
}

fn is_safe(probe: &Probe, step: &Step) {
    match step {
        Step::Attach(hello) => {
            let found = probe.daemons.iter().any(|daemon| {
                daemon.hello.as_ref() == Some(hello)
                    && daemon.proof == Proof::Runs
                    && daemon.home.as_ref().is_some_and(|home| probe.home.contains(home))
            });
            assert!(found && hello.protocol.common(VERSIONS).is_some(), "{hello:?}");
        }
        Step::Install(step) => install_is_safe(step),
        Step::Launch { program, rungs, .. } => {
            assert!(!program.is_empty() && rungs.last() == Some(&Rung::Attach));
        }
    }
}

fn install_is_safe(step: &InstallStep) {
    for name in &step.remove {
        assert!(
            layout::parse_program(name).is_some() && !name.contains('/'),
            "{name:?}"
        );
    }
    if let Some(part) = &step.resume {
        assert!(layout::is_part_of(&part.name, ARTIFACT.sum()), "{part:?}");
        assert!(step.offset() <= ARTIFACT.size(), "{part:?}");
    }
}

fn bridge(data: &[u8]) {
    let whole = BridgeReader::new(Fence::from_word(FENCE)).push(data);
    let mut reader = BridgeReader::new(Fence::from_word(FENCE));
    let mut pieces = data.chunks(3);
    let mut found = None;
    for piece in pieces.by_ref() {
        found = reader.push(piece);
        if found.is_some() {
            break;
        }
    }
    if let Some((_, rest)) = &mut found {
        rest.extend(pieces.flatten());
    }
    assert_eq!(whole, found);
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    #[test]
    fn the_corpus_of_the_fuzzer_keeps_the_promises() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/preflight");
        let files = fs::read_dir(folder).unwrap();
        let count = files
            .map(|file| super::preflight(&fs::read(file.unwrap().path()).unwrap()))
            .count();
        assert!(count > 5, "{count}");
    }
}

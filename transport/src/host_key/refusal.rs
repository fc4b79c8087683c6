//! What a person is told about a key that is refused.

use russh::keys::{HashAlg, PublicKey};

use super::{Judged, KnownHost, Verdict};
use crate::{Error, ErrorKind, Stage, prompter::KnownKey};

impl KnownHost {
    /// Turns a verdict that forbids the connection into its error.
    pub(crate) fn refusal(&self, key: &PublicKey, judged: &Judged) -> Error {
        let presented = format!("{} {}", key.algorithm(), key.fingerprint(HashAlg::Sha256));
        let why = judged.certificate.as_ref();
        let why = why.map(|why| format!("; {why}")).unwrap_or_default();
        let error = |kind, message: String| Error::new(kind, Stage::Handshake, &self.host, message + &why);
        let look = format!("`reasonix remote trust {}`", self.host);
        match &judged.verdict {
            Verdict::Revoked(line) => error(
                ErrorKind::HostKeyRevoked,
                format!(
                    "the host presents {presented}, which is marked as revoked in {}",
                    place(line)
                ),
            )
            .with_hint("do not connect; ask the host's administrator for its new key"),
            Verdict::Changed(lines) => error(
                ErrorKind::HostKeyChanged,
                format!(
                    "the host key changed: {}, but the host presents {presented}",
                    listed(lines)
                ),
            )
            .with_hint(format!(
                "somebody may be reading along; compare the new fingerprint with the host's administrator, and only \
                 then accept it with {look}"
            )),
            Verdict::KnownOtherwise(lines) => error(
                ErrorKind::HostKeyUnknown,
                format!(
                    "the host is known by another algorithm ({}), but presents {presented}",
                    listed(lines)
                ),
            )
            .with_hint(format!(
                "compare the fingerprint with the host's administrator, and only then accept it with {look}"
            )),
            Verdict::Unknown | Verdict::Known | Verdict::Certified(_) => {
                let files: Vec<_> = self
                    .files
                    .iter()
                    .map(|file| file.display().to_string())
                    .collect();
                let broken = match self.broken {
                    0 => String::new(),
                    1 => ", of which 1 line is not understood".to_owned(),
                    many => format!(", of which {many} lines are not understood"),
                };
                error(
                    ErrorKind::HostKeyUnknown,
                    format!(
                        "nobody vouched for the host key {presented} ({} is not listed in {}{broken})",
                        self.listed_as,
                        files.join(", ")
                    ),
                )
                .with_hint(format!(
                    "compare the fingerprint with the host's administrator, then accept it with {look}"
                ))
            }
        }
    }
}

/// More lines than these say nothing new.
const LINES: usize = 5;

fn listed(lines: &[KnownKey]) -> String {
    let mut said: Vec<_> = lines
        .iter()
        .take(LINES)
        .map(|line| format!("{} lists {} {}", place(line), line.algorithm, line.fingerprint))
        .collect();
    if lines.len() > LINES {
        said.push(format!("{} more lines", lines.len() - LINES));
    }
    said.join(", ")
}

fn place(line: &KnownKey) -> String {
    format!("{} line {}", line.file.display(), line.line)
}

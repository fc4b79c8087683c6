//! Which mechanism of this host confines commands, found by trying it.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use crate::{bubblewrap, command::executables};

/// How long one try may take.
const PROBE_LIMIT: Duration = Duration::from_secs(10);

/// The mechanism that confines commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backend {
    /// bubblewrap, at this path.
    Bubblewrap(PathBuf),
    /// Nothing here can confine a command, for this reason.
    None(String),
}

impl Backend {
    /// Tries every `bwrap` of `search_path` (a `PATH`) in order and takes the first that really confines.
    ///
    /// To be called once at start: each try runs a program.
    pub async fn probe(search_path: &OsStr) -> Self {
        let mut reason = "bubblewrap (bwrap) is not installed".to_owned();
        for candidate in executables(search_path, "bwrap") {
            match try_bubblewrap(&candidate).await {
                Ok(()) => return Self::Bubblewrap(candidate),
                Err(why) => reason = why,
            }
        }
        Self::None(reason)
    }

    /// Tries the `bwrap` at `program` only.
    pub async fn probe_at(program: &Path) -> Self {
        match try_bubblewrap(program).await {
            Ok(()) => Self::Bubblewrap(program.to_owned()),
            Err(why) => Self::None(why),
        }
    }

    /// Names the mechanism, for diagnosis.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bubblewrap(_) => "bubblewrap",
            Self::None(_) => "none",
        }
    }
}

/// Runs a shell under the flags that real commands get.
///
/// A program called `bwrap` that merely passes its command on is found out: in a process namespace of its own the
/// shell has one of the first numbers, and a file that it makes in `/` stays unmade.
async fn try_bubblewrap(program: &Path) -> Result<(), String> {
    let mut command = stdx::process::command(program);
    command.args(bubblewrap::base_arguments()).arg("--unshare-net");
    command
        .args(["--", "/bin/sh", "-c", "echo $$; test ! -w /"])
        .current_dir("/");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let shown = program.display();
    let output = match tokio::time::timeout(PROBE_LIMIT, command.output()).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return Err(format!("{shown} could not be started: {error}")),
        Err(_) => {
            return Err(format!(
                "{shown} did not answer within {} s",
                PROBE_LIMIT.as_secs()
            ));
        }
    };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = stdx::bounded::one_line(&said, 300);
        return Err(format!("{shown} failed with {}: {said}", output.status));
    }
    let number: u32 = String::from_utf8_lossy(&output.stdout)
        .trim()
        .parse()
        .unwrap_or(u32::MAX);
    if number > 9 {
        return Err(format!("{shown} does not confine"));
    }
    Ok(())
}

//! Holds the only places where this tool meets the environment, the clock and new processes.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use anyhow::{Context as _, bail};

/// Returns the folder that holds the workspace manifest of this very source.
pub(crate) fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(3)
        .unwrap_or(Path::new("."))
        .to_path_buf()
}

#[expect(
    clippy::disallowed_methods,
    reason = "deadlines of stages; this package may not use stdx"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "this binary is a composition root")]
pub(crate) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Tells whether this is a CI run, where a skipped test is a failure and the lock file is final.
pub(crate) fn is_ci() -> bool {
    environment("CI").is_some_and(|value| value != "false" && value != "0")
}

/// Starts the description of a child process.
#[expect(
    clippy::disallowed_methods,
    reason = "stdx would bring tokio into the first thing CI builds"
)]
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    Command::new(program)
}

/// Starts the description of a cargo call at the root of the repository.
///
/// `cargo run` tells the program it runs about its package. Left in place, these variables would make build
/// scripts that watch them (ring's does) run again each time cargo is called with and without this tool in between.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = command(environment("CARGO").unwrap_or_else(|| "cargo".to_owned()));
    command
        .current_dir(root)
        .env_remove("LD_LIBRARY_PATH")
        .env_remove("OUT_DIR");
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let about_package = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"];
        if text == "CARGO_CRATE_NAME"
            || text == "CARGO_PRIMARY_PACKAGE"
            || about_package.iter().any(|prefix| text.starts_with(prefix))
        {
            command.env_remove(&name);
        }
    }
    command
}

/// Runs `command` to its end and returns what it printed; its standard input is empty.
pub(crate) fn capture(mut command: Command) -> anyhow::Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let Output {
        status,
        stdout,
        stderr,
    } = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("could not start {name}"))?;
    if !status.success() {
        bail!(
            "{name} ended with {status}: {}",
            String::from_utf8_lossy(&stderr).trim()
        );
    }
    String::from_utf8(stdout).with_context(|| format!("{name} printed something that is not UTF-8"))
}

/// Looks `program` up in the search path, and where Debian keeps programs of the administrator.
pub(crate) fn find_program(program: &str) -> Option<PathBuf> {
    let path = environment("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from))
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file())
}

/// Writes bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

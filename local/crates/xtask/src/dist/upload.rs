//! Measures how much of a program goes over the line when it is uploaded.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, ensure};

use crate::system;

/// As in `bootstrap/src/payload.rs`: pieces are compressed beside each other, each on its own.
const PIECE: usize = 8 * 1024 * 1024;

/// Gives the size in bytes, and what compressed it: the program `zstd`, as for most hosts, else `gzip`, which every
/// build machine has and which needs a tenth more.
pub(crate) fn packed_size(program: &Path) -> anyhow::Result<(&'static str, usize)> {
    let content = std::fs::read(program).with_context(|| format!("could not read {}", program.display()))?;
    let (packer, level) = match system::find_program("zstd") {
        Some(_) => ("zstd", "-9"),
        None => ("gzip", "-6"),
    };
    let sizes = content.chunks(PIECE).map(|piece| packed(packer, level, piece));
    Ok((packer, sizes.sum::<anyhow::Result<usize>>()?))
}

fn packed(packer: &str, level: &str, piece: &[u8]) -> anyhow::Result<usize> {
    let mut command = system::command(packer);
    command
        .args([level, "-c"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command
        .spawn()
        .with_context(|| format!("could not start {packer}"))?;
    let mut input = child.stdin.take().context("it has no input")?;
    // Both read a piece before they write more than a pipe holds; the thread is for what may be otherwise.
    let output = std::thread::scope(|scope| {
        let writer = scope.spawn(move || input.write_all(piece));
        let output = child.wait_with_output();
        writer.join().map_or_else(
            |_| Err(std::io::ErrorKind::Other.into()),
            |written| written.and(output),
        )
    });
    let output = output.with_context(|| format!("could not run {packer}"))?;
    ensure!(output.status.success(), "{packer} ended with {}", output.status);
    Ok(output.stdout.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_becomes_smaller() {
        let own = std::env::current_exe().unwrap();
        let (_, size) = packed_size(&own).unwrap();
        let whole = usize::try_from(std::fs::metadata(&own).unwrap().len()).unwrap();
        assert!(size > 1000 && size < whole / 2, "{size} of {whole}");
    }
}

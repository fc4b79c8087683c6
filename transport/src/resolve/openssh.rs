//! `ssh -G`: what OpenSSH itself makes of its configuration.

use std::{
    io,
    path::Path,
    process::{Output, Stdio},
    time::Duration,
};

use super::{ResolveOptions, config_error, run::run};
use crate::{
    Error, Target,
    ssh_config::{Pairs, parse_dump},
};

/// How long OpenSSH may take. `Match exec` lines and name look-ups are inside.
pub(super) const DEADLINE: Duration = Duration::from_secs(20);

/// Runs `ssh -G`. `Ok(None)`: the program cannot be started, or is no OpenSSH that knows `-G` (6.8, 2015).
pub(super) async fn ask(
    program: &Path,
    target: &Target,
    options: &ResolveOptions,
) -> Result<Option<Pairs>, Error> {
    let mut command = stdx::process::command(program);
    command
        .arg("-G")
        .envs(options.environment.iter().cloned())
        .env("HOME", &options.home);
    if let Some(file) = &options.config_file {
        command.arg("-F").arg(file);
    }
    // Before the overrides: of several values the first counts.
    if let Some(port) = target.port {
        command.arg("-p").arg(port.to_string());
    }
    if let Some(user) = &target.user {
        command.arg("-l").arg(user);
    }
    for (keyword, value) in &options.overrides {
        command
            .arg("-o")
            .arg(format!("{keyword}={}", as_one_value(keyword, value)));
    }
    command
        .arg("--")
        .arg(&target.host)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    match run(&mut command, DEADLINE).await {
        Ok(output) => read(&output, target),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::TimedOut => Err(config_error(
            target,
            format!("ssh -G did not answer within {} s", DEADLINE.as_secs()),
        )
        .with_hint("a 'Match exec' line or a name look-up (CanonicalizeHostname) may hang")),
        Err(error) => {
            Err(config_error(target, format!("could not run {}", program.display())).with_source(error))
        }
    }
}

fn read(output: &Output, target: &Target) -> Result<Option<Pairs>, Error> {
    if output.status.success() {
        let pairs = parse_dump(&String::from_utf8_lossy(&output.stdout));
        return Ok(pairs.args("hostname").is_some().then_some(pairs));
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let lower = stderr.to_ascii_lowercase();
    if lower.contains("usage:") && lower.contains("option") {
        return Ok(None);
    }
    let said = |line: &&str| {
        let counted = line.contains(": terminating, ") && line.ends_with("bad configuration options");
        !line.trim().is_empty() && !counted
    };
    let reason: Vec<&str> = stderr.lines().filter(said).take(3).collect();
    let reason = stdx::bounded::one_line(&reason.join("; "), 600);
    Err(config_error(target, format!("ssh -G failed: {reason}")))
}

/// Quotes a value that is one argument, so that a blank or a `#` in a path does not end it. Commands run to the end of
/// the line, quotes included.
fn as_one_value(keyword: &str, value: &str) -> String {
    let is_whole = ["proxycommand", "proxyjump"]
        .iter()
        .any(|name| keyword.eq_ignore_ascii_case(name));
    if is_whole || !value.contains([' ', '\t', '#', '"', '\'', '\\']) {
        return value.to_owned();
    }
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

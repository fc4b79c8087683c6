//! The person's editor.

use std::{ffi::OsString, path::Path, process::Stdio};

use tokio::process::Child;

use crate::{exit::Exit, invocation::Invocation, report::Failure};

/// Editors that are looked for when none is named.
const USUAL: [&str; 2] = ["vi", "nano"];

/// Gives the command line of the editor: `$VISUAL`, `$EDITOR`, or one that is usually there.
pub(super) fn find(invocation: &Invocation) -> Result<OsString, Failure> {
    let named = ["VISUAL", "EDITOR"].iter().find_map(|name| {
        let value = invocation.environment.get(std::ffi::OsStr::new(name))?;
        (!value.is_empty()).then(|| value.clone())
    });
    let usual = || {
        let mut found = USUAL
            .iter()
            .filter(|name| invocation.find_program(name).is_some());
        found.next().map(OsString::from)
    };
    named.or_else(usual).ok_or_else(|| {
        Failure::new(
            Exit::Usage,
            "no editor is named, and neither vi nor nano is on the path",
        )
        .hint("set VISUAL or EDITOR, as in EDITOR=\"code --wait\"")
    })
}

/// Starts the editor on a file. The variable is a command line for the shell, as for git(1) and crontab(1); the file's
/// name is never part of it.
pub(super) fn start(invocation: &Invocation, editor: &OsString, file: &Path) -> std::io::Result<Child> {
    let mut line = editor.clone();
    line.push(" \"$@\"");
    let mut command = stdx::process::command("/bin/sh");
    command.arg("-c").arg(line).arg(editor).arg(file);
    // It is the person's own program, in the person's own environment.
    command.envs(&invocation.environment);
    command
        .stdin(Stdio::inherit())
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit());
    command.spawn()
}

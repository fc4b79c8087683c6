//! `bash`: a command in a shell that remembers its folder and variables.

use std::{path::Path, time::Duration};

use conversation::{CallOutcome, Effect, ToolSpec};
use sandbox::{Background, Command, End, Environment, LiveOutput, Mode, Outcome, RunOptions, SandboxError};
use serde::Deserialize;
use serde_json::Value;
use stdx::AbsPath;

use super::{arguments, text_of};
use crate::{
    BoxFuture, Subject, Tool, ToolContext, ToolError, ToolResult,
    shell_state::{self, Slot},
    spec::{spec, text, whole},
};

/// The longest output in a result, in bytes.
const MAX_OUTPUT: usize = 16_000;

/// Names the socket of an SSH agent (ssh-agent(1)).
const KEY_AGENT: &str = "SSH_AUTH_SOCK";

/// Ends every result after which the shell has forgotten its folder and variables.
const RESET: &str = "The shell was reset: the next call starts fresh in the workspace.";

/// Runs a command.
pub(super) struct Bash {
    spec: ToolSpec,
}

#[derive(Deserialize)]
struct Args {
    command: String,
    timeout_ms: Option<u64>,
}

impl Bash {
    pub(super) fn new() -> Self {
        let description = "Runs a command in bash, in the workspace at first, and returns its output (stdout and stderr \
            together). The folder and exported variables are kept for the next call. There is no terminal and no \
            input, so nothing may wait for an answer. Output longer than 16,000 bytes is shown without its middle. Use \
            read_file, edit_file, write_file, grep and glob rather than cat, sed, echo, grep and find.";
        let parameters = [
            text("command", "The command line."),
            whole(
                "timeout_ms",
                "How long the command may run, in milliseconds; a configured limit applies.",
                1,
                None,
            ),
        ];
        Self {
            spec: spec("bash", description, parameters),
        }
    }
}

impl Tool for Bash {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self) -> Effect {
        Effect::Execute
    }

    fn subjects(&self, args: &Value, cx: &ToolContext) -> Vec<Subject> {
        let snapshot = cx.shell.state.snapshot(cx.shell.policy.mode);
        let directory = snapshot.map_or_else(
            || cx.workspace.as_path().to_owned(),
            |snapshot| snapshot.directory,
        );
        vec![Subject::Command {
            text: text_of(args, "command").to_owned(),
            directory,
        }]
    }

    fn run<'a>(&'a self, args: Value, cx: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            match arguments::<Args>(args) {
                Ok(args) if args.command.trim().is_empty() => {
                    ToolResult::failed(&ToolError::Argument("command is required".into()))
                }
                Ok(args) => run(args, cx).await,
                Err(error) => ToolResult::failed(&error),
            }
        })
    }
}

async fn run(args: Args, cx: &ToolContext) -> ToolResult {
    let shell = &cx.shell;
    let slot = match shell.state.slot() {
        Ok(slot) => slot,
        Err(error) => {
            let text = format!("could not keep the shell's state: {error}");
            return ToolResult::failed(&ToolError::Argument(text));
        }
    };
    let mut options = RunOptions::new(cx.token.clone());
    options.timeout = time_limit(args.timeout_ms, shell.time_limit);
    options.live = cx.live.clone().map(LiveOutput::new);
    let command = command(&args.command, &slot, cx);
    let outcome = match shell.sandbox.run(command, &shell.policy, options).await {
        Ok(outcome) => outcome,
        Err(error) => return refused(&error),
    };
    let mode = shell.policy.mode;
    match outcome.end {
        End::Exited(_) => {
            let state = std::sync::Arc::clone(&shell.state);
            stdx::task::blocking(move || state.take_over(&slot, mode)).await;
        }
        End::Signaled(_) | End::TimedOut(_) | End::Cancelled => shell.state.reset(),
    }
    result(&outcome, mode)
}

/// Puts the command behind what an earlier shell passed on.
fn command(text: &str, slot: &Slot, cx: &ToolContext) -> Command {
    let snapshot = cx.shell.state.snapshot(cx.shell.policy.mode);
    let directory = snapshot.as_ref().map(|snapshot| snapshot.directory.as_path());
    let script = shell_state::script(text, directory, &slot.file);
    let environment = snapshot.map_or_else(|| cx.shell.environment.clone(), |snapshot| snapshot.environment);
    let key_agent = cx.shell.key_agent.as_ref();
    let lent = key_agent.filter(|socket| socket.as_path().exists());
    let environment = with_key_agent(environment, key_agent.map(AbsPath::as_path), lent.is_some());
    let mut command = Command::new(script, environment);
    command.arguments = vec!["bash".into()];
    command.private_dirs = vec![slot.folder.clone()];
    let folder = lent.and_then(|socket| AbsPath::new(socket.as_path().parent()?).ok());
    command.shown_dirs = folder.into_iter().collect();
    command
}

/// Tells the command of the SSH agent that is lent to it, and of no other: shells pass on what an earlier one was told.
/// An agent that a command has started itself stays.
fn with_key_agent(environment: Environment, socket: Option<&Path>, is_lent: bool) -> Environment {
    let Some(socket) = socket else {
        return environment;
    };
    let known = environment.value(KEY_AGENT);
    match (is_lent, known) {
        (true, None) => environment.with(KEY_AGENT, socket),
        (false, Some(known)) if known == socket.as_os_str() => environment.without(KEY_AGENT),
        _ => environment,
    }
}

fn time_limit(wanted_ms: Option<u64>, limit: Option<Duration>) -> Option<Duration> {
    let wanted = wanted_ms.map(Duration::from_millis);
    match (wanted, limit) {
        (Some(wanted), Some(limit)) => Some(wanted.min(limit)),
        (wanted, limit) => wanted.or(limit),
    }
}

fn refused(error: &SandboxError) -> ToolResult {
    use std::error::Error as _;
    let mut text = error.to_string();
    if let Some(cause) = error.source() {
        text.push_str(&format!(": {cause}"));
    }
    if let Some(hint) = error.hint() {
        text.push_str(&format!("\nhint: {hint}"));
    }
    ToolResult::failed(&ToolError::Argument(text))
}

fn result(outcome: &Outcome, mode: Mode) -> ToolResult {
    let rendered = outcome.output.render(MAX_OUTPUT, marker);
    let failure = match outcome.end {
        End::Exited(0) => None,
        End::Exited(status) => Some(format!("error: exit status {status}")),
        End::Signaled(signal) => Some(format!("error: the shell was ended by signal {signal}")),
        End::TimedOut(limit) => Some(format!("error: command timed out (> {}ms)", limit.as_millis())),
        End::Cancelled => Some("error: command cancelled".to_owned()),
    };
    let call = match outcome.end {
        End::Exited(0) => CallOutcome::Ok,
        End::Cancelled => CallOutcome::Interrupted,
        End::Exited(_) | End::Signaled(_) | End::TimedOut(_) => CallOutcome::Failed,
    };
    let was_reset = !matches!(outcome.end, End::Exited(_));
    let remarks = [
        outcome
            .background
            .as_ref()
            .map(|background| describe(background, mode)),
        was_reset.then(|| RESET.to_owned()),
    ];
    let mut text = failure.map(|failure| failure + "\n").unwrap_or_default() + &rendered.text;
    for remark in remarks.into_iter().flatten() {
        let gap = if text.is_empty() || text.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        text.push_str(&format!("{gap}{remark}"));
    }
    let mut result = ToolResult::new(call, text);
    if rendered.elided > 0 {
        result.raw = Some(outcome.output.text());
        result.notice = Some(marker(rendered.elided, outcome.output.total_bytes()));
    }
    if let End::Exited(status) = outcome.end {
        result.exit_status = Some(status);
    }
    result
}

fn marker(elided: u64, total: u64) -> String {
    format!("[tool output truncated: {elided} of {total} bytes elided]")
}

/// Tells what still runs and how it is stopped.
fn describe(background: &Background, mode: Mode) -> String {
    let listed: Vec<_> = background
        .processes
        .iter()
        .take(10)
        .map(|process| {
            format!(
                "{} (pid {})",
                crate::output::on_one_line(&process.name),
                process.pid
            )
        })
        .collect();
    let who = match listed.is_empty() {
        true => "A background process is still running".to_owned(),
        false => format!("Still running in the background: {}", listed.join(", ")),
    };
    let stop = match (mode, background.processes.is_empty()) {
        (Mode::Unconfined, false) => format!("; stop with `kill -- -{}`", background.group),
        (Mode::Unconfined, true) => "; it left the command's process group".to_owned(),
        (Mode::ReadOnly | Mode::WorkspaceWrite, _) => String::new(),
    };
    let end = if mode == Mode::Unconfined && background.processes.is_empty() {
        ""
    } else {
        "; it is stopped at the session's end"
    };
    format!("[{who}{stop}{end}]")
}

//! `reasonix remote logs HOST`: where the log of the agent there is, and its last lines.

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};

use crate::{
    args::RemoteLogsArgs,
    ask::{self, visible},
    dial::{self, Dialed},
    exit::Exit,
    headless::{Signal, Signals},
    host::{HostPlan, HostRef},
    invocation::Invocation,
    report::Failure,
    terminal,
};

/// Prints the end of a file, and goes on where that is wanted: until its input ends, as it does when the connection
/// is gone. It must not hold a single quote.
const SCRIPT: &str = r#"IFS= read -r follow; IFS= read -r lines; IFS= read -r file; test -f "$file" || exit 44; if [ "$follow" = 1 ]; then tail -n "$lines" -F "$file" & tail=$!; cat >/dev/null; kill $tail; else exec tail -n "$lines" "$file"; fi"#;
/// What the script ends with when there is no such file.
const NO_FILE: u32 = 44;
/// The longest line that is shown whole, in bytes.
const LONGEST: u64 = 64 * 1024;

/// Prints a log.
pub(crate) async fn run(invocation: &Invocation, args: RemoteLogsArgs) -> Result<Exit, Failure> {
    let mut signals = Signals::new()?;
    let loaded = invocation.settings(None, &[])?;
    let plan = HostPlan::new(&HostRef::parse(&args.host)?, &loaded)?;
    let printing = async {
        let resolved = dial::resolve(invocation, &plan).await?;
        let dialed = Dialed::open(invocation, &loaded, &resolved, &ask::prompter()).await?;
        let outcome = print(&dialed, &args).await;
        dialed.close().await;
        outcome
    };
    tokio::select! {
        biased;
        signal = signals.next() => match signal {
            // Following has no other end.
            Signal::Interrupt | Signal::Leave => Ok(Exit::Interrupted),
        },
        outcome = printing => outcome,
    }
}

async fn print(dialed: &Dialed, args: &RemoteLogsArgs) -> Result<Exit, Failure> {
    let probe = dialed.probe(None).await?;
    let home = probe.home.first().ok_or_else(|| {
        Failure::new(
            Exit::Failed,
            format!("{} does not say where its home is", args.host),
        )
        .on(&args.host)
    })?;
    let file = format!("{home}/logs/daemon.log");
    terminal::error(&visible(&format!("{}: {file}", args.host)));
    let exec = dialed.connection.exec(&dial::sh(SCRIPT)).await?;
    let (mut stdin, stdout, mut stderr, waiter) = exec.into_parts();
    let input = format!("{}\n{}\n{file}\n", u8::from(args.follow), args.lines);
    // A script that ended before it read all this says why itself.
    drop(stdin.write_all(input.as_bytes()).await);
    if !args.follow {
        drop(stdin.shutdown().await);
    }
    let mut said = Vec::new();
    let errors = async {
        // What cannot be read is missing from a message only.
        drop((&mut stderr).take(4096).read_to_end(&mut said).await);
    };
    let ((), ()) = tokio::join!(lines(BufReader::new(stdout)), errors);
    drop(stdin);
    match waiter.wait().await? {
        status if status.success() => Ok(Exit::Success),
        transport::ExitStatus::Code(NO_FILE) => Err(Failure::new(
            Exit::Failed,
            format!("there is no log {file} on {}: no agent has run there", args.host),
        )
        .hint(format!("`reasonix remote connect {}` starts one", args.host))
        .on(&args.host)),
        _ => {
            let said = stdx::bounded::one_line(&visible(&String::from_utf8_lossy(&said)), 500);
            Err(Failure::new(
                Exit::Failed,
                format!("could not read {file} on {}: {said}", args.host),
            )
            .on(&args.host))
        }
    }
}

/// Prints lines until there are no more. A line without end is cut into pieces.
async fn lines(mut output: BufReader<transport::ExecOutput>) {
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut output).take(LONGEST).read_until(b'\n', &mut line).await;
        if !matches!(read, Ok(length) if length > 0) {
            return;
        }
        let text = String::from_utf8_lossy(&line);
        terminal::line(&visible(text.trim_end_matches('\n')));
    }
}

//! A terminal of this machine for the user at the other end.

use std::{os::unix::process::ExitStatusExt as _, path::PathBuf, process::ExitStatus};

use bytes::Bytes;
use client::body::{BodyReader, BodyWriter};
use protocol::{
    ErrorCode, TerminalDecoder, TerminalEnd, TerminalInput, TerminalOpen, TerminalOutput, TerminalSize,
};
use sandbox::{LoginShell, Master, Terminal, TerminalOptions};
use stdx::task::Scope;
use tokio::io::AsyncWriteExt as _;

use super::Ends;
use crate::error::Failure;

/// Bytes that are read from a terminal at once.
const READ: usize = 16 * 1024;

/// Opens a terminal and serves it until it or its client ends.
pub(super) fn serve(
    shell: Option<&LoginShell>,
    open: &TerminalOpen,
    ends: Ends,
    scope: &Scope,
) -> Result<(), Failure> {
    let Some(shell) = shell else {
        return Err(Failure::new(ErrorCode::NotFound, "this agent opens no terminals"));
    };
    let folder = open
        .folder
        .as_deref()
        .map(|folder| match folder.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                shell.home.join(rest.trim_start_matches('/'))
            }
            _ => PathBuf::from(folder),
        });
    if let Some(folder) = folder.as_ref().filter(|folder| !folder.is_dir()) {
        let message = format!("there is no folder {} on this host", folder.display());
        return Err(Failure::new(ErrorCode::Workspace, message));
    }
    let options = TerminalOptions {
        term: &open.term,
        columns: open.columns,
        rows: open.rows,
        folder: folder.as_deref(),
        command: open.command.as_deref(),
    };
    let terminal = shell.open(&options).map_err(|error| {
        let shell = shell.program.display();
        Failure::new(
            ErrorCode::Internal,
            format!("could not start {shell} on a terminal: {error}"),
        )
    })?;
    let token = scope.token().clone();
    // Owned by the scope.
    drop(scope.spawn(async move {
        let mut terminal = terminal;
        tokio::select! {
            biased;
            () = token.cancelled() => {}
            () = run(&mut terminal, ends) => {}
        }
        terminal.close().await;
    }));
    Ok(())
}

async fn run(terminal: &mut Terminal, ends: Ends) {
    let Ends {
        incoming,
        mut outgoing,
    } = ends;
    let (master, unread) = (terminal.master(), outgoing.unread());
    let ended = tokio::select! {
        biased;
        () = unread.cancelled() => None,
        // The input ends without the terminal: a client may send no more and still read.
        status = typed(&master, incoming) => status,
        status = printed(&master, terminal, &mut outgoing) => status,
    };
    if let Some(status) = ended {
        let end = TerminalOutput::End(end(status)).encode();
        if outgoing.send(Bytes::from(end)).await.is_ok() {
            // The end of the body follows; a client that is gone needs none.
            drop(outgoing.shutdown().await);
        }
    }
}

/// Does what the client sends. Never ends while the client is there.
async fn typed(master: &Master, mut incoming: BodyReader<axum::body::Body>) -> Option<ExitStatus> {
    let mut decoder = TerminalDecoder::default();
    loop {
        match incoming.next().await {
            Ok(Some(bytes)) => decoder.push(&bytes),
            Ok(None) => std::future::pending::<()>().await,
            Err(error) => {
                tracing::debug!(%error, "the client of a terminal is gone");
                return None;
            }
        }
        loop {
            let done = match decoder.input() {
                Ok(Some(TerminalInput::Data(bytes))) => master.write_all(&bytes).await,
                Ok(Some(TerminalInput::Resize(TerminalSize { columns, rows }))) => {
                    master.resize(columns, rows)
                }
                Ok(Some(TerminalInput::Signal(name))) => {
                    master.signal(&name);
                    Ok(())
                }
                // As a person types it: the end of input.
                Ok(Some(TerminalInput::End)) => master.write_all(b"\x04").await,
                Ok(None) => break,
                Err(error) => {
                    tracing::debug!(%error, "the client of a terminal sends nonsense");
                    return None;
                }
            };
            if let Err(error) = done {
                tracing::debug!(%error, "a terminal takes no input any more");
            }
        }
    }
}

/// Sends what is printed until what runs there ends, at the pace of the client.
async fn printed(master: &Master, terminal: &mut Terminal, outgoing: &mut BodyWriter) -> Option<ExitStatus> {
    let mut buffer = vec![0; READ];
    let mut status = None;
    while status.is_none() {
        let count = tokio::select! {
            biased;
            count = master.read(&mut buffer) => count.unwrap_or(0),
            ended = terminal.wait() => {
                status = Some(ended.ok()?);
                continue;
            }
        };
        if count == 0 {
            status = Some(terminal.wait().await.ok()?);
            break;
        }
        send(outgoing, buffer.get(..count).unwrap_or_default()).await?;
    }
    let rest = master.rest();
    if !rest.is_empty() {
        send(outgoing, &rest).await?;
    }
    status
}

async fn send(outgoing: &mut BodyWriter, bytes: &[u8]) -> Option<()> {
    let frame = TerminalOutput::Data(bytes.to_vec()).encode();
    outgoing.send(Bytes::from(frame)).await.ok()
}

fn end(status: ExitStatus) -> TerminalEnd {
    match (status.code(), status.signal()) {
        (Some(code), _) => TerminalEnd::Code(code),
        (None, Some(signal)) => TerminalEnd::Signal(signal),
        (None, None) => TerminalEnd::Unknown,
    }
}

//! Serves the files of this machine over a byte stream, as OpenSSH's `sftp-server` does.
//!
//! Requests of a session are carried out in the order in which they came, and answered in that order: a client may send a
//! whole sequence (make a folder, open, write, close, rename) without waiting. Reading, carrying out and answering
//! overlap. System calls run off the threads of the runtime. Nothing blocks for ever on a file's account: pipes and
//! devices are opened without waiting.
//!
//! Differences to OpenSSH's server: status messages say what the system said (`no space left on device`), a malformed
//! request is refused instead of ending the session, folders are listed in larger pieces, and `~` is the given home.
//!
//! Everything is bounded: the session holds at most some MiB of requests and answers, and as many handles as it is
//! allowed. A client that does not read its answers is not read from either.

mod accounts;
mod attributes;
mod folder;
mod handles;
mod listing;
mod paths;
mod session;

use std::{io, path::PathBuf};

use bytes::Bytes;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _},
    sync::mpsc,
};

pub use self::listing::mode_text;
use self::session::{Session, Step};
use crate::packet::{self, Init, Version};

/// Packets that wait to be carried out.
const WAITING: usize = 16;
/// Bytes of requests and expected answers that are handled in one go.
const BATCH: usize = 1024 * 1024;
/// Requests that are handled in one go.
const REQUESTS: usize = 64;

/// What a session may see and hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Where relative names and `~` begin.
    pub home: PathBuf,
    /// How many files and folders may be open at once.
    pub handles: usize,
}

/// Serves one session until the client ends it: to the end of `input`, and until every answer is written.
///
/// Files are touched with the rights of this process. A future that is dropped ends the session; a system call that is
/// under way is finished.
///
/// # Errors
/// The stream broke, or what came is not SFTP ([`io::ErrorKind::InvalidData`]).
pub async fn serve<R, W>(mut input: R, mut output: W, options: Options) -> io::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let Some(first) = packet::read(&mut input).await? else {
        return Ok(());
    };
    Init::decode(first).map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))?;
    let version = Version {
        version: packet::VERSION,
        extensions: session::announced(),
    };
    output.write_all(&version.encode()).await?;
    output.flush().await?;

    let (requests, carried) = mpsc::channel(WAITING);
    let (answers, written) = mpsc::channel(1);
    tokio::try_join!(
        take(input, requests),
        carry_out(Session::new(&options), carried, answers),
        answer(output, written)
    )?;
    Ok(())
}

async fn take<R: AsyncRead + Unpin>(mut input: R, requests: mpsc::Sender<Bytes>) -> io::Result<()> {
    while let Some(packet) = packet::read(&mut input).await? {
        if requests.send(packet).await.is_err() {
            break;
        }
    }
    Ok(())
}

async fn carry_out(
    mut session: Session,
    mut requests: mpsc::Receiver<Bytes>,
    answers: mpsc::Sender<Vec<Bytes>>,
) -> io::Result<()> {
    while let Some(packet) = requests.recv().await {
        let mut batch = vec![Step::read(packet)?];
        let mut weight = batch.iter().map(Step::weight).sum::<usize>();
        while weight < BATCH && batch.len() < REQUESTS {
            let Ok(packet) = requests.try_recv() else { break };
            let step = Step::read(packet)?;
            weight += step.weight();
            batch.push(step);
        }
        let replies;
        (session, replies) = stdx::task::blocking(move || {
            let replies = batch.into_iter().map(|step| session.step(step)).collect();
            (session, replies)
        })
        .await;
        if answers.send(replies).await.is_err() {
            break;
        }
    }
    // Closing may write to a slow disk.
    stdx::task::blocking(move || drop(session)).await;
    Ok(())
}

async fn answer<W: AsyncWrite + Unpin>(
    mut output: W,
    mut answers: mpsc::Receiver<Vec<Bytes>>,
) -> io::Result<()> {
    while let Some(replies) = answers.recv().await {
        for reply in replies {
            output.write_all(&reply).await?;
        }
        output.flush().await?;
    }
    output.shutdown().await
}

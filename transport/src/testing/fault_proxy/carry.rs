//! How one connection is carried, and how it ends.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpStream,
        tcp::{ReadHalf, WriteHalf},
    },
};
use tokio_util::sync::CancellationToken;

use super::{Ends, Shared, fault::Side};

/// The most that is read at once, in bytes.
const BUFFER: usize = 32 * 1024;
/// A paced direction gives a piece so many times a second.
const PIECES: u64 = 20;

/// Why a connection is carried no more.
enum End {
    /// It is over: both ends are closed.
    Over,
    Reset,
    /// This side is gone.
    Gone(Side),
}

/// Carries a connection to its end.
pub(super) async fn serve(mut client: TcpStream, shared: &Shared, ends: &Ends) {
    if !shared.before_answer(ends).await {
        return;
    }
    let Ok(mut server) = TcpStream::connect(shared.target()).await else {
        return;
    };
    // Only slower without it.
    drop((client.set_nodelay(true), server.set_nodelay(true)));
    match carry(&mut client, &mut server, shared, ends).await {
        End::Over => {}
        End::Reset => {
            // Without it the end is in order instead.
            drop((client.set_zero_linger(), server.set_zero_linger()));
        }
        End::Gone(side) => {
            let (gone, left) = match side {
                Side::Client => (client, server),
                Side::Server => (server, client),
            };
            drop(gone);
            hold(left, ends).await;
        }
    }
}

async fn carry(client: &mut TcpStream, server: &mut TcpStream, shared: &Shared, ends: &Ends) -> End {
    let (client_read, client_write) = client.split();
    let (server_read, server_write) = server.split();
    let never = CancellationToken::new();
    let up = copy(client_read, server_write, shared, &never, Side::Client);
    let down = copy(server_read, client_write, shared, &ends.half_close, Side::Server);
    tokio::select! {
        biased;
        () = ends.reset.cancelled() => End::Reset,
        () = ends.cut.cancelled() => End::Over,
        () = ends.client_gone.cancelled() => End::Gone(Side::Client),
        () = ends.server_gone.cancelled() => End::Gone(Side::Server),
        _ = async { tokio::join!(up, down) } => End::Over,
    }
}

/// Keeps an end open whose other end is gone: what it sends disappears.
async fn hold(mut left: TcpStream, ends: &Ends) {
    let mut buffer = vec![0; BUFFER];
    let swallow = async { while matches!(left.read(&mut buffer).await, Ok(1..)) {} };
    tokio::select! {
        biased;
        () = ends.reset.cancelled() => {}
        () = ends.cut.cancelled() => {}
        () = swallow => {}
    }
}

async fn copy(
    mut from: ReadHalf<'_>,
    mut to: WriteHalf<'_>,
    shared: &Shared,
    half_close: &CancellationToken,
    side: Side,
) {
    let mut stopped = shared.way(side).stopped.subscribe();
    let mut buffer = vec![0; BUFFER];
    let forward = async {
        loop {
            // Held back, not thrown away: a network that heals delivers what TCP kept.
            if stopped.wait_for(|on| !on).await.is_err() {
                return;
            }
            match from.read(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(count) => {
                    let passes = shared.allowed(count, side);
                    let mut left = &buffer[..passes];
                    while !left.is_empty() {
                        let pace = shared.pace(side);
                        let (piece, rest) = left.split_at(piece(pace).min(left.len()));
                        if stopped.wait_for(|on| !on).await.is_err() || to.write_all(piece).await.is_err() {
                            return;
                        }
                        take_time(piece.len(), pace).await;
                        left = rest;
                    }
                    if passes < count {
                        shared.cut();
                    }
                }
            }
        }
    };
    tokio::select! {
        biased;
        () = half_close.cancelled() => {}
        () = forward => {}
    }
    // The other end may be gone already.
    drop(to.shutdown().await);
}

/// Says how much is written at once: all, unless there is a pace.
fn piece(pace: u64) -> usize {
    if pace == 0 {
        return BUFFER;
    }
    usize::try_from(pace / PIECES).map_or(BUFFER, |piece| piece.clamp(1, BUFFER))
}

/// Takes the time that bytes need.
async fn take_time(bytes: usize, pace: u64) {
    if let Some(micros) = (bytes as u64 * 1_000_000).checked_div(pace) {
        tokio::time::sleep(Duration::from_micros(micros)).await;
    }
}

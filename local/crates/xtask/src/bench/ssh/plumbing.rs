//! A small service behind a forward, and what talks to it through one: so many bytes in one direction, timed.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};

use crate::{bench::process::check, job::Interrupt, system};
use faultnet::Namespace;

/// Bytes of one write and one read.
const PIECE: usize = 128 * 1024;
/// How long nothing may move.
const SILENCE: Duration = Duration::from_secs(60);
/// How long a forward may need until somebody answers behind it.
const READY: Duration = Duration::from_secs(30);
/// What the service says once it has everything.
const DONE: u8 = b'.';

/// Which way the bytes go, seen from the one that connects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// From the service to the one that connects.
    Pull,
    /// From the one that connects to the service.
    Push,
}

/// Starts a service in a namespace; its threads end with the process.
pub(super) fn service(at: &Namespace, address: &str) -> anyhow::Result<SocketAddr> {
    let listener = at
        .within(|| TcpListener::bind((address, 0)))?
        .with_context(|| format!("could not open a port at {address}"))?;
    let address = listener.local_addr()?;
    in_background(move || {
        for stream in listener.incoming().flatten() {
            // A client that goes away in between is its own affair.
            let serving = in_background(move || drop(serve(stream)));
            if serving.is_err() {
                return;
            }
        }
    })?;
    Ok(address)
}

fn serve(mut stream: TcpStream) -> anyhow::Result<()> {
    stream.set_nodelay(true)?;
    let mut order = [0; 9];
    stream.read_exact(&mut order)?;
    let (direction, count) = read_order(order)?;
    match direction {
        Direction::Pull => send(&mut stream, count),
        Direction::Push => {
            receive(&mut stream, count)?;
            Ok(stream.write_all(&[DONE])?)
        }
    }
}

fn order(direction: Direction, count: u64) -> [u8; 9] {
    let mut order = [0; 9];
    order[0] = match direction {
        Direction::Pull => b'<',
        Direction::Push => b'>',
    };
    order[1..].copy_from_slice(&count.to_be_bytes());
    order
}

fn read_order(order: [u8; 9]) -> anyhow::Result<(Direction, u64)> {
    let [what, count @ ..] = order;
    let direction = match what {
        b'<' => Direction::Pull,
        b'>' => Direction::Push,
        _ => bail!("no such order"),
    };
    Ok((direction, u64::from_be_bytes(count)))
}

/// Sends what no compression makes smaller by much; nothing here compresses.
fn send(stream: &mut TcpStream, count: u64) -> anyhow::Result<()> {
    let piece: Vec<u8> = (0..PIECE).map(|number| (number * number % 251) as u8).collect();
    let mut left = count;
    while left > 0 {
        let now = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        stream.write_all(&piece[..now])?;
        left -= now as u64;
    }
    Ok(())
}

fn receive(stream: &mut TcpStream, count: u64) -> anyhow::Result<()> {
    let mut piece = vec![0; PIECE];
    let mut left = count;
    while left > 0 {
        let wanted = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        let got = stream.read(&mut piece[..wanted])?;
        ensure!(got > 0, "the forward ended {left} bytes too early");
        left -= got as u64;
    }
    Ok(())
}

/// Carries bytes through whatever listens at `to` in the namespace, and says how long that took, from before the
/// connection until the last byte is known to be there.
pub(super) fn transfer(
    from: &Namespace,
    to: SocketAddr,
    direction: Direction,
    count: u64,
) -> anyhow::Result<Duration> {
    let begun = system::now();
    let mut stream = from.within(|| TcpStream::connect(to))??;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SILENCE))?;
    stream.write_all(&order(direction, count))?;
    match direction {
        Direction::Pull => receive(&mut stream, count)?,
        Direction::Push => {
            send(&mut stream, count)?;
            let mut done = [0; 1];
            stream.read_exact(&mut done)?;
            ensure!(done == [DONE], "the service is not done");
        }
    }
    Ok(begun.elapsed())
}

/// Waits until a transfer works: a forward opens a moment after its program says that it is connected.
pub(super) fn ready(from: &Namespace, to: SocketAddr, interrupt: &Interrupt) -> anyhow::Result<()> {
    let end: Instant = system::now() + READY;
    loop {
        check(interrupt)?;
        match transfer(from, to, Direction::Pull, 1) {
            Ok(_) => return Ok(()),
            Err(error) if system::now() >= end => {
                return Err(error.context(format!("nobody answers behind the forward at {to}")));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// Gives a port of loopback that is free in the namespace now.
pub(super) fn free_port(at: &Namespace) -> anyhow::Result<SocketAddr> {
    let listener = at.within(|| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))??;
    Ok(listener.local_addr()?)
}

fn in_background(work: impl FnOnce() + Send + 'static) -> anyhow::Result<()> {
    let builder = std::thread::Builder::new().name("service".to_owned());
    // It ends with what it serves, or with the process.
    drop(builder.spawn(work).context("could not start a thread")?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_as_they_were_written() {
        for direction in [Direction::Pull, Direction::Push] {
            let read = read_order(order(direction, 1 << 40)).unwrap();
            assert_eq!(read, (direction, 1 << 40));
        }
        assert!(read_order([0; 9]).is_err());
    }
}

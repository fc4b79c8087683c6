//! The one task that owns the stream, and what it shares with those who ask.
//!
//! Requests are written in the order in which they were asked; small ones that wait together leave together. Answers
//! are handed over by number as they come; handing over never waits, so a slow caller holds up nobody. What is under
//! way is bounded by a budget of bytes, for requests and awaited answers together: who asks beyond it waits.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use bytes::{Buf as _, Bytes, BytesMut};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot},
};
use tokio_util::sync::CancellationToken;

use super::error::Cause;
use crate::{
    Reply, Request,
    packet::{Version, check_length},
};

/// Bytes for which there is room when reading.
const ROOM: usize = 64 * 1024;
/// Small packets leave together up to this many bytes.
const TOGETHER: usize = 32 * 1024;
/// Unit of the budget, in bytes.
const UNIT: usize = 1024;

/// What the task and its callers share.
#[derive(Debug)]
pub(super) struct Shared {
    state: Mutex<State>,
    /// Something was queued, or the end was asked for.
    wake: Notify,
    budget: Arc<Semaphore>,
    budget_units: usize,
}

#[derive(Debug)]
struct State {
    queue: VecDeque<Bytes>,
    pending: HashMap<u32, Pending>,
    next: u32,
    /// When something last moved, in either direction, or nothing was owed.
    moved: Instant,
    closing: bool,
    end: Option<Cause>,
}

/// A request that has no answer yet.
#[derive(Debug)]
struct Pending {
    reply: oneshot::Sender<Result<Reply, Cause>>,
    /// Given back with the answer, also when nobody waits for that any more.
    _permit: Option<OwnedSemaphorePermit>,
}

impl Shared {
    pub(super) fn new(budget: usize) -> Self {
        let budget_units = (budget / UNIT).clamp(1, Semaphore::MAX_PERMITS);
        Self {
            state: Mutex::new(State {
                queue: VecDeque::new(),
                pending: HashMap::new(),
                next: 0,
                moved: stdx::clock::monotonic(),
                closing: false,
                end: None,
            }),
            wake: Notify::new(),
            budget: Arc::new(Semaphore::new(budget_units)),
            budget_units,
        }
    }

    /// Asks, and waits for the answer. `awaited` is how many bytes the answer may have.
    pub(super) async fn ask(&self, request: &Request, awaited: usize) -> Result<Reply, Cause> {
        self.submit(request, awaited).await?.await
    }

    /// Asks, and gives a future of the answer: when this returns, the request has its place in the order.
    pub(super) async fn submit(
        &self,
        request: &Request,
        awaited: usize,
    ) -> Result<impl Future<Output = Result<Reply, Cause>> + Send + use<>, Cause> {
        let carried = match request {
            Request::Write { data, .. } => data.len(),
            _ => 0,
        };
        let units = (carried.max(awaited) / UNIT + 1).min(self.budget_units);
        let units = u32::try_from(units).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.budget).acquire_many_owned(units).await;
        // The budget is never closed.
        let permit = permit.map_err(|_| Cause::Closed)?;
        let receiver = self.queue(request, Some(permit))?;
        Ok(async move { receiver.await.unwrap_or(Err(Cause::Closed)) })
    }

    /// Closes a handle that nobody holds any more.
    pub(super) fn close_handle(&self, handle: Bytes) {
        self.later(&Request::Close { handle });
    }

    /// Asks without waiting for room or for the answer: for what dropped handles and futures leave behind, of which
    /// there is never more than was under way.
    pub(super) fn later(&self, request: &Request) {
        // Without a connection nothing can be cleaned up.
        drop(self.queue(request, None));
    }

    fn queue(
        &self,
        request: &Request,
        permit: Option<OwnedSemaphorePermit>,
    ) -> Result<oneshot::Receiver<Result<Reply, Cause>>, Cause> {
        let (reply, receiver) = oneshot::channel();
        let mut state = self.state();
        if let Some(end) = &state.end {
            return Err(end.clone());
        }
        if state.closing {
            return Err(Cause::Closed);
        }
        if state.pending.is_empty() {
            state.moved = stdx::clock::monotonic();
        }
        let mut id = state.next;
        while state.pending.contains_key(&id) {
            id = id.wrapping_add(1);
        }
        state.next = id.wrapping_add(1);
        state.queue.push_back(request.encode(id));
        let pending = Pending {
            reply,
            _permit: permit,
        };
        state.pending.insert(id, pending);
        drop(state);
        self.wake.notify_one();
        Ok(receiver)
    }

    /// Lets what is queued leave, and then says the end.
    pub(super) fn finish(&self) {
        self.state().closing = true;
        self.wake.notify_one();
    }

    /// Tells everybody that it is over.
    pub(super) fn fail(&self, cause: &Cause) {
        let mut state = self.state();
        let cause = state.end.get_or_insert_with(|| cause.clone()).clone();
        state.queue.clear();
        for (_, pending) in state.pending.drain() {
            // Nobody may wait any more.
            drop(pending.reply.send(Err(cause.clone())));
        }
    }

    pub(super) fn end(&self) -> Option<Cause> {
        self.state().end.clone()
    }

    fn moved(&self) {
        self.state().moved = stdx::clock::monotonic();
    }

    /// Takes what is to be written next. `None` in the inner place means that nothing more will come.
    fn next(&self) -> Option<Option<Bytes>> {
        let mut state = self.state();
        let first = match state.queue.pop_front() {
            Some(first) => first,
            None if state.closing => return Some(None),
            None => return None,
        };
        let fits = |length: usize, state: &State| {
            let next = state.queue.front();
            next.is_some_and(|next| length + next.len() <= TOGETHER)
        };
        if !fits(first.len(), &state) {
            return Some(Some(first));
        }
        let mut together = BytesMut::with_capacity(TOGETHER);
        together.extend_from_slice(&first);
        while fits(together.len(), &state) {
            if let Some(next) = state.queue.pop_front() {
                together.extend_from_slice(&next);
            }
        }
        Some(Some(together.freeze()))
    }

    /// Hands an answer over.
    fn answer(&self, packet: Bytes) -> Result<(), Cause> {
        let (id, reply) = Reply::decode(packet).map_err(Cause::Malformed)?;
        let mut state = self.state();
        state.moved = stdx::clock::monotonic();
        let Some(pending) = state.pending.remove(&id) else {
            return Err(Cause::Unexpected("it has the number of no request"));
        };
        drop(state);
        if let Err(Ok(Reply::Handle(handle))) = pending.reply.send(Ok(reply)) {
            // Whoever opened this was cancelled.
            self.close_handle(handle);
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs a session until the stream ends, `token` is cancelled, or nothing moves for `silence`.
pub(super) async fn run<S>(
    stream: S,
    input: BytesMut,
    shared: Arc<Shared>,
    silence: Duration,
    token: CancellationToken,
) where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (read, write) = tokio::io::split(stream);
    let cause = tokio::select! {
        biased;
        () = token.cancelled() => Cause::Closed,
        cause = receive(read, input, &shared) => cause,
        cause = send(write, &shared) => cause,
        cause = watch(&shared, silence) => cause,
    };
    shared.fail(&cause);
}

async fn receive<R: AsyncRead + Unpin>(mut from: R, mut input: BytesMut, shared: &Shared) -> Cause {
    loop {
        match cut(&mut input) {
            Ok(Some(packet)) => match shared.answer(packet) {
                Ok(()) => continue,
                Err(cause) => return cause,
            },
            Ok(None) => {}
            Err(error) => return Cause::Lost(Some(Arc::new(error))),
        }
        // As much as the packet still needs: a big one then is read into one piece of memory, once.
        let needed = match input.first_chunk::<4>() {
            Some(length) => u32::from_be_bytes(*length) as usize + 4 - input.len(),
            None => 0,
        };
        input.reserve(needed.max(ROOM));
        match from.read_buf(&mut input).await {
            Ok(0) => {
                return if shared.state().closing {
                    Cause::Closed
                } else {
                    Cause::Lost(None)
                };
            }
            Ok(_) => shared.moved(),
            Err(error) => return Cause::Lost(Some(Arc::new(error))),
        }
    }
}

/// Cuts one packet off, where it is whole.
fn cut(input: &mut BytesMut) -> std::io::Result<Option<Bytes>> {
    let Some(field) = input.first_chunk::<4>() else {
        return Ok(None);
    };
    let length = check_length(*field)?;
    if input.len() < 4 + length {
        return Ok(None);
    }
    input.advance(4);
    Ok(Some(input.split_to(length).freeze()))
}

async fn send<W: AsyncWrite + Unpin>(mut to: W, shared: &Shared) -> Cause {
    let lost = |error| Cause::Lost(Some(Arc::new(error)));
    loop {
        match shared.next() {
            Some(Some(mut packet)) => {
                while packet.has_remaining() {
                    match to.write_buf(&mut packet).await {
                        Ok(0) => return lost(std::io::ErrorKind::WriteZero.into()),
                        Ok(_) => shared.moved(),
                        Err(error) => return lost(error),
                    }
                }
            }
            Some(None) => {
                // The other side may be gone already; then reading says so.
                drop(to.shutdown().await);
                return std::future::pending().await;
            }
            None => {
                if let Err(error) = to.flush().await {
                    return lost(error);
                }
                shared.wake.notified().await;
            }
        }
    }
}

/// Ends when answers are owed and nothing moves for too long.
async fn watch(shared: &Shared, silence: Duration) -> Cause {
    let mut ticks = tokio::time::interval((silence / 8).max(Duration::from_millis(1)));
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let state = shared.state();
        if !state.pending.is_empty() && state.moved.elapsed() >= silence {
            return Cause::Silent(silence);
        }
    }
}

/// Exchanges the first packets.
pub(super) async fn greet<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    input: &mut BytesMut,
) -> Result<Version, Cause> {
    let lost = |error| Cause::Lost(Some(Arc::new(error)));
    let init = crate::packet::Init {
        version: crate::packet::VERSION,
    };
    stream.write_all(&init.encode()).await.map_err(lost)?;
    stream.flush().await.map_err(lost)?;
    loop {
        match cut(input) {
            Ok(Some(packet)) => {
                let shown = packet.clone();
                let version = Version::decode(packet).map_err(|_| Cause::NotSftp(first_line(&shown)))?;
                if version.version < crate::packet::VERSION {
                    return Err(Cause::Unexpected("it speaks an older version than 3"));
                }
                return Ok(version);
            }
            Ok(None) => {}
            Err(_) => {
                // Text in place of a packet: take a little more of it, for the message.
                let more = stream.read_buf(input);
                drop(tokio::time::timeout(Duration::from_millis(200), more).await);
                return Err(Cause::NotSftp(first_line(input)));
            }
        }
        input.reserve(ROOM);
        match stream.read_buf(input).await {
            Ok(0) => return Err(Cause::NotSftp(first_line(input))),
            Ok(_) => {}
            Err(error) => return Err(lost(error)),
        }
    }
}

fn first_line(bytes: &[u8]) -> String {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    stdx::bounded::one_line(&crate::name::show(line), 120)
}

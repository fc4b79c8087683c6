//! A file that takes more than one request: in pieces, over several channels where it is big.

use std::{
    collections::VecDeque, fs::File as LocalFile, ops::Range, os::unix::fs::FileExt as _, pin::Pin, sync::Arc,
};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use sftp::{Attributes, client::File, packet::OpenFlags};

use super::file::Fetch;
use crate::{
    State,
    local::{self, Part},
    part::{self, Key},
    segments::{AHEAD, PIECE, whole_front},
    sweep::tidy_local,
    transfer::{BIG, Done, SYNCED, Shared, Stop, UNDER_WAY, cut, together, until},
};

/// How much at the end of what an earlier run left is compared with the source, in bytes.
const COMPARED: u64 = 64 * 1024;

type Answer = Pin<Box<dyn Future<Output = Result<Bytes, sftp::Error>> + Send>>;

/// A read that is under way.
struct Reading {
    piece: u64,
    range: Range<u64>,
    /// With it the piece is done.
    last: bool,
    answer: Answer,
}

impl Fetch<'_> {
    pub(super) async fn carry(&self) -> Result<Done, Stop> {
        let (host, cancel) = (self.call.host, self.call.cancel);
        let big = self.attributes.size.unwrap_or(0) >= BIG;
        let weight = if big { u64::MAX } else { UNDER_WAY };
        let _room = until(cancel, async { Ok(host.room(weight).await) }).await?;
        let client = if big {
            host.client().clone()
        } else {
            host.sessions().any()
        };
        let (file, before) = until(cancel, async {
            let file = client.open(&self.from, OpenFlags::READ, None).await?;
            let before = file.stat().await?;
            Ok((file, before))
        })
        .await?;
        let size = before.size.unwrap_or(0);
        let (mut part, start) = self.part(&before, &file).await?;
        self.call.progress.moved(start);
        let shared = Shared::new(size, start);
        let channels = if big { host.sessions().most() } else { 1 };
        let result = until(cancel, async {
            let workers = (0..channels)
                .map(|at| Box::pin(self.worker(at, &file, &part.file, &shared)) as BoxFuture<'_, _>);
            together(&shared, workers).await?;
            let after = file.stat().await?;
            if State::of(&after) != State::of(&before) {
                return Err(self.changed().into());
            }
            Ok(())
        })
        .await;
        if let Err(Stop::Failed(error)) = &result
            && error.is_lost()
            && size >= BIG
        {
            // The length says how much of the front is whole. Without it the next run begins again.
            let length = shared.front() + AHEAD * PIECE;
            let kept = Arc::clone(&part.file);
            part.keep = host.disk(move || kept.set_len(length)).await.is_ok();
        }
        result?;
        self.place(part, &before, size).await?;
        Ok(Done {
            bytes: size - start,
            resumed: start,
            state: State::of(&before),
        })
    }

    /// Puts the whole file in its place.
    async fn place(&self, part: Part, attributes: &Attributes, size: u64) -> Result<(), Stop> {
        let (finish, name) = (self.finish(attributes), self.name.clone());
        let sync = self.single && size <= SYNCED;
        let placed = self.call.host.disk(move || {
            if sync {
                part.file.sync_all()?;
            }
            part.place(&name, size, finish)
        });
        placed.await.map_err(|error| self.unwritten(error))?;
        self.call.progress.placed();
        Ok(())
    }

    /// Makes the half-written file, or takes one over that an earlier run left; says how much of it is whole.
    async fn part(&self, attributes: &Attributes, file: &File) -> Result<(Part, u64), Stop> {
        let state = State::of(attributes);
        let key = Key::new(&self.name, &[state.size, u64::from(state.modified)]);
        if state.size >= BIG
            && let Some((part, whole)) = self.left(&key).await
        {
            let start = whole.min(state.size / PIECE * PIECE);
            if start > 0 && until(self.call.cancel, self.agrees(&part, file, start)).await? {
                return Ok((part, start));
            }
        }
        let (folder, name) = (Arc::clone(&self.folder), part::name(&self.name, &key));
        let made = self.call.host.disk(move || {
            let file = Arc::new(folder.create(&name)?);
            Ok(Part {
                folder,
                name,
                file,
                keep: false,
            })
        });
        let made: std::io::Result<_> = made.await;
        Ok((made.map_err(|error| self.unwritten(error))?, 0))
    }

    /// Looks for what an earlier run of the same transfer left. What is found and not used is removed.
    async fn left(&self, key: &Key) -> Option<(Part, u64)> {
        let (folder, key) = (Arc::clone(&self.folder), key.clone());
        let (stale, disk) = (self.call.transfer.stale, self.call.host);
        disk.disk(move || {
            let (_, left) = tidy_local(folder.path(), stale, Some(&key)).ok()?;
            let mut found = None;
            for left in left {
                let Ok(Some(file)) = folder.take_over(&left.name) else {
                    continue;
                };
                let part = Part {
                    folder: Arc::clone(&folder),
                    name: left.name,
                    file: Arc::new(file),
                    keep: false,
                };
                // The others are dropped, and removed by that.
                found = found.or(Some((part, whole_front(left.length))));
            }
            found
        })
        .await
    }

    /// Compares the end of what is there with the source.
    async fn agrees(&self, part: &Part, file: &File, start: u64) -> Result<bool, Stop> {
        let offset = start - COMPARED.min(start);
        let length = start - offset;
        let local = Arc::clone(&part.file);
        let here = self
            .call
            .host
            .disk(move || local::read_at(&local, offset, usize::try_from(length).unwrap_or(0)))
            .await;
        let mut pull = sftp::client::Pull::new(file, offset..start, 16 * 1024, 4);
        let mut there = Vec::new();
        while let Some(bytes) = pull.next().await? {
            there.extend_from_slice(&bytes);
        }
        Ok(here.is_ok_and(|here| here == there))
    }

    /// Reads pieces over one channel as long as there are some.
    async fn worker(
        &self,
        at: usize,
        first: &File,
        local: &Arc<LocalFile>,
        shared: &Shared,
    ) -> Result<(), Stop> {
        let opened;
        let Some(client) = self.call.host.sessions().number(at).await else {
            return Ok(());
        };
        let file = if at == 0 {
            first
        } else {
            // The others can do its work.
            let Ok(file) = client.open(&self.from, OpenFlags::READ, None).await else {
                return Ok(());
            };
            opened = file;
            &opened
        };
        let (chunk, depth) = cut(client.read_size());
        let mut under_way: VecDeque<Reading> = VecDeque::new();
        let mut current: Option<(u64, Range<u64>)> = None;
        loop {
            while under_way.len() < depth {
                if current.is_none() {
                    current = shared.take();
                }
                let Some((piece, range)) = current.take() else {
                    break;
                };
                let end = range.end.min(range.start + u64::from(chunk));
                let next = range.start..end;
                let length = u32::try_from(end - range.start).unwrap_or(chunk);
                under_way.push_back(Reading {
                    piece,
                    last: end == range.end,
                    answer: Box::pin(file.begin_read(next.start, length).await?),
                    range: next,
                });
                if end < range.end {
                    current = Some((piece, end..range.end));
                }
            }
            match under_way.pop_front() {
                Some(reading) => self.settle(reading, file, local, shared).await?,
                None => match shared.next().await {
                    Some(piece) => current = Some(piece),
                    None => return Ok(()),
                },
            }
        }
    }

    /// Waits for a read and writes what came.
    async fn settle(
        &self,
        reading: Reading,
        file: &File,
        local: &Arc<LocalFile>,
        shared: &Shared,
    ) -> Result<(), Stop> {
        let Reading {
            piece,
            mut range,
            last,
            answer,
        } = reading;
        let mut bytes = answer.await?;
        loop {
            if bytes.is_empty() {
                // It ended before its size.
                return Err(self.changed().into());
            }
            let (to, offset, count) = (Arc::clone(local), range.start, bytes.len() as u64);
            let written = self.call.host.disk(move || to.write_all_at(&bytes, offset));
            written.await.map_err(|error| self.unwritten(error))?;
            self.call.progress.moved(count);
            range.start += count;
            if range.is_empty() {
                break;
            }
            // A server may give less than is there.
            let length = u32::try_from(range.end - range.start).unwrap_or(u32::MAX);
            bytes = file.read(range.start, length).await?;
        }
        if last {
            shared.finish(piece);
        }
        Ok(())
    }
}

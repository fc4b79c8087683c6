//! A file that takes more than one request: in pieces, over several channels where it is big.

use std::{collections::VecDeque, fs::File as LocalFile, ops::Range, pin::Pin, sync::Arc};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use sftp::{
    Client,
    client::{File, Pull},
    name::join,
    packet::OpenFlags,
};

use super::{file::Send, part::Part};
use crate::{
    local,
    part::{self, Key},
    segments::{PIECE, whole_front},
    sweep::tidy_host,
    transfer::{BIG, Done, Shared, Stop, UNDER_WAY, cut, together, until},
};

/// How much at the end of what an earlier run left is compared with the source, in bytes.
const COMPARED: u64 = 64 * 1024;

type Answer = Pin<Box<dyn Future<Output = Result<(), sftp::Error>> + std::marker::Send>>;

/// A write that is under way.
struct Writing {
    piece: u64,
    count: u64,
    /// With it the piece is done.
    last: bool,
    answer: Answer,
}

impl Send<'_> {
    pub(super) async fn carry(&self) -> Result<Done, Stop> {
        let (host, cancel, size) = (self.call.host, self.call.cancel, self.source.size);
        let big = size >= BIG;
        let weight = if big { u64::MAX } else { UNDER_WAY };
        let _room = until(cancel, async { Ok(host.room(weight).await) }).await?;
        let source = self.source.open(host).await?;
        let client = if big {
            host.client().clone()
        } else {
            host.sessions().any()
        };
        let (part, file, start) = until(cancel, self.part(&client, &source)).await?;
        self.call.progress.moved(start);
        let shared = Shared::new(size, start);
        let channels = if big { host.sessions().most() } else { 1 };
        let written = until(cancel, async {
            let workers = (0..channels).map(|at| {
                Box::pin(self.worker(at, (&client, &file), part.path(), &source, &shared)) as BoxFuture<'_, _>
            });
            together(&shared, workers).await?;
            let (own, unchanged) = (self.source.clone(), Arc::clone(&source));
            host.disk(move || own.check(&unchanged)).await?;
            self.finish(file, client.offers("fsync@openssh.com")).await
        })
        .await;
        let state = self.place(part, written).await?;
        Ok(Done {
            bytes: size - start,
            resumed: start,
            state,
        })
    }

    /// Makes the half-written file, or takes one over that an earlier run left; says how much of it is whole.
    async fn part(&self, client: &Client, source: &Arc<LocalFile>) -> Result<(Part, File, u64), Stop> {
        let (seconds, nanos) = self.source.modified;
        let name = &self.target.name;
        let key = Key::new(
            name,
            &[self.source.size, seconds.cast_unsigned(), nanos.cast_unsigned()],
        );
        let path = join(&self.target.folder, &part::name(name, &key));
        if self.source.size >= BIG
            && let Some(found) = self.left(client, source, &key, &path).await?
        {
            return Ok(found);
        }
        let part = Part::new(client, path);
        let flags = OpenFlags::WRITE | OpenFlags::CREATE | OpenFlags::EXCLUSIVE;
        let file = client.open(part.path(), flags, Some(0o600)).await?;
        Ok((part, file, 0))
    }

    /// Looks for what an earlier run of the same transfer left, and gives it a name of this run: who may still write to
    /// it then writes the same bytes to the same places. What is found and not used is removed.
    async fn left(
        &self,
        client: &Client,
        source: &Arc<LocalFile>,
        key: &Key,
        path: &[u8],
    ) -> Result<Option<(Part, File, u64)>, Stop> {
        let folder = &self.target.folder;
        let (_, left) = tidy_host(client, folder, self.call.transfer.stale, Some(key)).await?;
        let mut found = None;
        for left in left {
            let old = join(folder, &left.name);
            if found.is_some() {
                Part::new(client, old).discard().await;
                continue;
            }
            // Another run may have been faster.
            if client.rename(&old, path).await.is_err() {
                continue;
            }
            let part = Part::new(client, path.to_vec());
            let file = client
                .open(part.path(), OpenFlags::READ | OpenFlags::WRITE, None)
                .await?;
            let start = whole_front(left.length).min(self.source.size / PIECE * PIECE);
            if start > 0 && self.agrees(&file, source, start).await? {
                found = Some((part, file, start));
            } else {
                part.discard().await;
            }
        }
        Ok(found)
    }

    /// Compares the end of what is there with the source.
    async fn agrees(&self, file: &File, source: &Arc<LocalFile>, start: u64) -> Result<bool, Stop> {
        let offset = start - COMPARED.min(start);
        let length = usize::try_from(start - offset).unwrap_or(0);
        let local = Arc::clone(source);
        let here = self
            .call
            .host
            .disk(move || local::read_at(&local, offset, length))
            .await;
        let mut pull = Pull::new(file, offset..start, 16 * 1024, 4);
        let mut there = Vec::new();
        while let Some(bytes) = pull.next().await? {
            there.extend_from_slice(&bytes);
        }
        Ok(here.is_ok_and(|here| here == there))
    }

    /// Writes pieces over one channel as long as there are some.
    async fn worker(
        &self,
        at: usize,
        (first_client, first): (&Client, &File),
        path: &[u8],
        source: &Arc<LocalFile>,
        shared: &Shared,
    ) -> Result<(), Stop> {
        let opened;
        let (client, file) = if at == 0 {
            (first_client.clone(), first)
        } else {
            let Some(client) = self.call.host.sessions().number(at).await else {
                return Ok(());
            };
            // The others can do its work.
            let Ok(file) = client.open(path, OpenFlags::WRITE, None).await else {
                return Ok(());
            };
            opened = file;
            (client, &opened)
        };
        let (chunk, depth) = cut(client.write_size());
        let mut under_way: VecDeque<Writing> = VecDeque::new();
        let mut current: Option<(u64, Range<u64>)> = None;
        loop {
            if current.is_none() && under_way.len() < depth {
                current = shared.take();
            }
            if under_way.len() < depth
                && let Some((piece, range)) = current.take()
            {
                let end = range.end.min(range.start + u64::from(chunk));
                let bytes = self.read(source, range.start, end - range.start).await?;
                under_way.push_back(Writing {
                    piece,
                    count: end - range.start,
                    last: end == range.end,
                    answer: Box::pin(file.begin_write(range.start, bytes).await?),
                });
                if end < range.end {
                    current = Some((piece, end..range.end));
                }
                continue;
            }
            match under_way.pop_front() {
                Some(writing) => {
                    writing.answer.await?;
                    self.call.progress.moved(writing.count);
                    if writing.last {
                        shared.finish(writing.piece);
                    }
                }
                None => match shared.next().await {
                    Some(piece) => current = Some(piece),
                    None => return Ok(()),
                },
            }
        }
    }

    async fn read(&self, source: &Arc<LocalFile>, offset: u64, length: u64) -> Result<Bytes, Stop> {
        let local = Arc::clone(source);
        let length = usize::try_from(length).unwrap_or(0);
        let read = self
            .call
            .host
            .disk(move || local::read_at(&local, offset, length))
            .await;
        Ok(read.map(Bytes::from).map_err(|error| self.source.unread(error))?)
    }
}

//! Channels to a host, and the SFTP sessions on them.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures_util::future::{BoxFuture, join_all};
use sftp::Client;
use stdx::task::Scope;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::OnceCell,
};

use crate::{Error, error::Cause};

/// A byte stream on which SFTP is spoken.
pub trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> ByteStream for T {}

/// Why a channel could not be opened.
pub type ChannelError = Box<dyn std::error::Error + Send + Sync>;

/// Opens channels to one host.
pub trait Channels: fmt::Debug + Send + Sync {
    /// Opens one more. A refusal of the second or a later one is no error: the work goes on with those that are there.
    fn open(&self) -> BoxFuture<'_, Result<Box<dyn ByteStream>, ChannelError>>;
}

/// The sessions of one host; all but the first are opened when there is much to do.
#[derive(Debug)]
pub(crate) struct Sessions {
    channels: Arc<dyn Channels>,
    options: sftp::client::Options,
    scope: Scope,
    first: Client,
    /// `None` in a cell: it was refused, and is not asked for again.
    more: Vec<OnceCell<Option<Client>>>,
    turn: AtomicUsize,
}

impl Sessions {
    pub(crate) async fn open(
        channels: Arc<dyn Channels>,
        options: sftp::client::Options,
        most: usize,
        scope: &Scope,
    ) -> Result<Self, Error> {
        let first = start(&*channels, &options, scope).await?;
        Ok(Self {
            channels,
            options,
            scope: scope.clone(),
            first,
            more: (1..most.max(1)).map(|_| OnceCell::new()).collect(),
            turn: AtomicUsize::new(0),
        })
    }

    pub(crate) fn first(&self) -> &Client {
        &self.first
    }

    /// How many there may be.
    pub(crate) fn most(&self) -> usize {
        self.more.len() + 1
    }

    /// Gives session number `at`, and opens it where it is missing. `None`: there are not so many.
    pub(crate) async fn number(&self, at: usize) -> Option<Client> {
        let Some(before) = at.checked_sub(1) else {
            return Some(self.first.clone());
        };
        // One after the other: who may have only two must not be asked for four at once.
        for cell in self.more.get(..before).unwrap_or_default() {
            if matches!(cell.get(), Some(None)) {
                return None;
            }
        }
        let open = || async { start(&*self.channels, &self.options, &self.scope).await.ok() };
        self.more.get(before)?.get_or_init(open).await.clone()
    }

    /// Opens all there may be.
    pub(crate) async fn widen(&self) {
        for at in 1..self.most() {
            if self.number(at).await.is_none() {
                return;
            }
        }
    }

    /// Gives one of those that are open, in turn.
    pub(crate) fn any(&self) -> Client {
        let open = || self.more.iter().filter_map(|cell| cell.get()?.as_ref());
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % (open().count() + 1);
        match turn.checked_sub(1).and_then(|at| open().nth(at)) {
            Some(client) if !client.is_closed() => client.clone(),
            _ => self.first.clone(),
        }
    }

    /// Waits until the host has done all that was asked so far: it answers in order.
    pub(crate) async fn settle(&self) {
        // A session that is gone does nothing more.
        join_all(self.all().map(|client| client.real_path(b"."))).await;
    }

    pub(crate) async fn close(&self) {
        join_all(self.all().map(Client::close)).await;
    }

    fn all(&self) -> impl Iterator<Item = &Client> {
        let more = self.more.iter().filter_map(|cell| cell.get()?.as_ref());
        std::iter::once(&self.first).chain(more)
    }
}

async fn start(
    channels: &dyn Channels,
    options: &sftp::client::Options,
    scope: &Scope,
) -> Result<Client, Error> {
    let stream = channels
        .open()
        .await
        .map_err(|error| Error::host("open a channel for files", b"", Cause::Channel(error)))?;
    Ok(Client::start(stream, options, scope).await?)
}

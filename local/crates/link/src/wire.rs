//! Where the agent's byte streams come from: the route that is open now, and the connector that follows it.
//!
//! The supervisor sets the route; the client's connector waits for one, takes its first stream, and opens another when
//! that one ended. Leaving a route cuts its streams, so that nothing goes on talking to a daemon of before.

use std::{
    fmt,
    io::{self, IoSlice},
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use bootstrap::End;
use client::{ByteStream, Connector};
use futures_util::future::BoxFuture;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::{Notify, mpsc, watch},
};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use transport::Connection;

use crate::{
    bridge,
    error::{BridgeRefusal, Error, ErrorKind},
    progress::Stage,
};

/// What the connector is to do.
#[derive(Clone)]
pub(crate) enum Route {
    /// Nothing is connected; something will be.
    Wait,
    /// Streams can be had.
    Open(Arc<Opener>),
    /// Nothing will be connected unless somebody acts.
    Refuse(Error),
}

/// How an agent is reached on an SSH connection.
#[derive(Debug, Clone)]
pub(crate) enum Way {
    /// A `direct-streamlocal` channel.
    Streamlocal { socket: String },
    /// `reasonix bridge` over an exec channel.
    Bridge {
        program: String,
        home: Option<String>,
        socket: String,
    },
    /// An agent of its own over an exec channel, `reasonix serve --stdio`.
    Stdio { program: String, home: Option<String> },
}

/// Why there is no stream.
#[derive(Debug)]
pub(crate) enum NoWire {
    Ssh(transport::Error),
    Bridge(BridgeRefusal),
}

impl NoWire {
    pub(crate) fn into_error(self, host: &str) -> Error {
        match self {
            Self::Ssh(error) => Error::ssh(Stage::Attaching, error),
            Self::Bridge(refusal) => Error::new(Stage::Attaching, host, ErrorKind::Bridge(refusal)),
        }
    }
}

impl Way {
    /// Opens a stream. `patience` limits the wait for the first word of a bridge.
    pub(crate) async fn open(
        &self,
        connection: &Connection,
        patience: Duration,
    ) -> Result<Box<dyn ByteStream>, NoWire> {
        match self {
            Self::Streamlocal { socket } => match connection.open_streamlocal(socket).await {
                Ok(stream) => Ok(Box::new(stream)),
                Err(error) => Err(NoWire::Ssh(error)),
            },
            Self::Bridge {
                program,
                home,
                socket,
            } => {
                let end = End::Socket(socket);
                let stream = bridge::open(connection, program, home.as_deref(), end, patience).await?;
                Ok(Box::new(stream))
            }
            Self::Stdio { program, home } => {
                let stream = bridge::open(connection, program, home.as_deref(), End::Agent, patience).await?;
                Ok(Box::new(stream))
            }
        }
    }
}

/// Opens streams on one SSH connection, until the route is left.
pub(crate) struct Opener {
    connection: Connection,
    way: Way,
    patience: Duration,
    first: Mutex<Option<Box<dyn ByteStream>>>,
    cut: CancellationToken,
    /// Cancelled when a stream of this route has ended by itself.
    over: CancellationToken,
    ends: Arc<Ends>,
}

/// What the streams of all routes tell.
#[derive(Default)]
pub(crate) struct Ends {
    /// A stream ended by itself.
    pub(crate) ended: Notify,
    /// Bytes that ever came from an agent.
    received: AtomicU64,
}

impl Ends {
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }
}

impl Opener {
    fn take_first(&self) -> Option<Box<dyn ByteStream>> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        first.map(|stream| self.switched(stream))
    }

    async fn open(&self) -> Result<Box<dyn ByteStream>, NoWire> {
        let stream = self.way.open(&self.connection, self.patience).await?;
        Ok(self.switched(stream))
    }

    fn switched(&self, stream: Box<dyn ByteStream>) -> Box<dyn ByteStream> {
        self.telling(stream, self.over.clone(), Arc::clone(&self.ends))
    }

    fn telling(
        &self,
        stream: Box<dyn ByteStream>,
        over: CancellationToken,
        ends: Arc<Ends>,
    ) -> Box<dyn ByteStream> {
        Box::new(Switched {
            inner: Some(stream),
            cut: Box::pin(self.cut.clone().cancelled_owned()),
            over,
            ends,
        })
    }

    /// Says whether the way to the agent allows connections beside the main one.
    fn has_beside(&self) -> bool {
        matches!(self.way, Way::Streamlocal { .. })
    }

    /// Opens a connection beside the main one. Its end says nothing about the agent.
    async fn open_beside(&self) -> Result<Box<dyn ByteStream>, NoWire> {
        let stream = self.way.open(&self.connection, self.patience).await?;
        Ok(self.telling(stream, CancellationToken::new(), Arc::default()))
    }
}

/// The route as others see it.
#[derive(Clone)]
pub(crate) struct Routes {
    routes: watch::Receiver<Route>,
    admitted: watch::Receiver<bool>,
}

impl fmt::Debug for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Routes")
    }
}

/// A connection to the agent beside the main one.
pub(crate) struct Beside(pub(crate) Box<dyn ByteStream>);

impl Routes {
    /// Waits for a way to the right agent; `None`: there is none unless somebody acts.
    async fn opener(&self) -> Option<Arc<Opener>> {
        let (mut routes, mut admitted) = (self.routes.clone(), self.admitted.clone());
        loop {
            let route = routes
                .wait_for(|route| !matches!(route, Route::Wait))
                .await
                .ok()?
                .clone();
            let Route::Open(opener) = route else { return None };
            admitted.wait_for(|admitted| *admitted).await.ok()?;
            if is_on(&routes.borrow(), &opener) {
                return Some(opener);
            }
        }
    }

    /// Says whether connections beside the main one can be had, on the link that is or comes.
    pub(crate) async fn has_beside(&self) -> bool {
        self.opener().await.is_some_and(|opener| opener.has_beside())
    }

    /// Opens a connection beside the main one, if that can be had.
    pub(crate) async fn beside(&self) -> Option<Beside> {
        let opener = self.opener().await?;
        if !opener.has_beside() {
            return None;
        }
        match opener.open_beside().await {
            Ok(stream) => Some(Beside(stream)),
            Err(why) => {
                tracing::debug!(?why, "no connection beside the main one");
                None
            }
        }
    }
}

/// A route on which no further stream could be opened.
pub(crate) struct Broken {
    pub(crate) opener: Arc<Opener>,
    pub(crate) why: NoWire,
}

/// The supervisor's end.
pub(crate) struct Switch {
    routes: watch::Sender<Route>,
    /// Whether requests may go over the route that is open: its agent was asked who it is, and is the right one.
    admitted: watch::Sender<bool>,
    ends: Arc<Ends>,
}

/// What the supervisor is told. A full mailbox means that a word about the same route waits already.
pub(crate) struct Signals {
    pub(crate) broken: mpsc::Receiver<Broken>,
    pub(crate) ends: Arc<Ends>,
}

/// Makes the two ends and the mailbox between them.
pub(crate) fn switch() -> (Switch, LinkConnector, Signals) {
    let (routes, following) = watch::channel(Route::Wait);
    let (admitted, admission) = watch::channel(true);
    let (broken, reports) = mpsc::channel(4);
    let ends = Arc::<Ends>::default();
    let signals = Signals {
        broken: reports,
        ends: Arc::clone(&ends),
    };
    let connector = LinkConnector {
        routes: following,
        admitted: admission,
        broken,
    };
    let switch = Switch {
        routes,
        admitted,
        ends,
    };
    (switch, connector, signals)
}

impl Switch {
    /// Gives the route as others see it.
    pub(crate) fn routes(&self) -> Routes {
        Routes {
            routes: self.routes.subscribe(),
            admitted: self.admitted.subscribe(),
        }
    }

    /// Goes over to another route and cuts the streams of the old one.
    pub(crate) fn to(&self, route: Route) {
        if let Route::Open(old) = self.routes.send_replace(route) {
            old.cut.cancel();
        }
        // Whoever waits to be admitted has a stream that is cut, and finds that out.
        self.admitted.send_replace(true);
    }

    /// Goes over to a route whose first stream is open already. What it gives is cancelled when a stream of that route
    /// ends by itself. Until [`Switch::admit`] only a hello goes over it.
    pub(crate) fn to_stream(
        &self,
        connection: Connection,
        way: Way,
        first: Box<dyn ByteStream>,
        patience: Duration,
    ) -> CancellationToken {
        let over = CancellationToken::new();
        self.to(Route::Wait);
        self.admitted.send_replace(false);
        self.routes.send_replace(Route::Open(Arc::new(Opener {
            connection,
            way,
            patience,
            first: Mutex::new(Some(first)),
            cut: CancellationToken::new(),
            over: over.clone(),
            ends: Arc::clone(&self.ends),
        })));
        over
    }

    /// Lets requests go over the route that is open.
    pub(crate) fn admit(&self) {
        self.admitted.send_replace(true);
    }

    pub(crate) fn is_on(&self, opener: &Arc<Opener>) -> bool {
        is_on(&self.routes.borrow(), opener)
    }
}

fn is_on(route: &Route, opener: &Arc<Opener>) -> bool {
    matches!(route, Route::Open(current) if Arc::ptr_eq(current, opener))
}

/// The client's end.
pub(crate) struct LinkConnector {
    routes: watch::Receiver<Route>,
    admitted: watch::Receiver<bool>,
    broken: mpsc::Sender<Broken>,
}

impl Connector for LinkConnector {
    fn connect(&self) -> BoxFuture<'_, io::Result<Box<dyn ByteStream>>> {
        Box::pin(async {
            let gone = |_| io::Error::new(io::ErrorKind::NotConnected, "the link was closed");
            let mut routes = self.routes.clone();
            loop {
                let route = routes.wait_for(|route| !matches!(route, Route::Wait)).await;
                let route = route.map_err(gone)?.clone();
                let opener = match route {
                    Route::Wait => continue,
                    Route::Refuse(error) => return Err(io::Error::new(io::ErrorKind::NotConnected, error)),
                    Route::Open(opener) => opener,
                };
                if let Some(first) = opener.take_first() {
                    return Ok(first);
                }
                match opener.open().await {
                    Ok(stream) => return Ok(stream),
                    Err(why) => {
                        let report = Broken {
                            opener: Arc::clone(&opener),
                            why,
                        };
                        // Full: the supervisor has a report of this route before it already.
                        drop(self.broken.try_send(report));
                        let left = routes.wait_for(|route| !is_on(route, &opener)).await;
                        drop(left.map_err(gone)?);
                    }
                }
            }
        })
    }

    fn admitted(&self) -> BoxFuture<'_, ()> {
        let mut admitted = self.admitted.clone();
        // A link that is gone has no stream either.
        Box::pin(async move { drop(admitted.wait_for(|admitted| *admitted).await) })
    }
}

/// A stream that ends when its route is left, and says when it ended by itself.
struct Switched {
    inner: Option<Box<dyn ByteStream>>,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
    over: CancellationToken,
    ends: Arc<Ends>,
}

impl Switched {
    fn inner(&mut self, cx: &mut Context<'_>) -> io::Result<Pin<&mut dyn ByteStream>> {
        if self.cut.as_mut().poll(cx).is_ready() {
            // Closes the channel now, whoever still holds this end.
            self.inner = None;
        }
        match &mut self.inner {
            Some(inner) => Ok(Pin::new(&mut **inner)),
            None => Err(io::Error::new(
                io::ErrorKind::ConnectionReset,
                "the link goes another way now",
            )),
        }
    }
}

impl AsyncRead for Switched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let result = ready!(self.inner(cx)?.poll_read(cx, buf));
        let count = buf.filled().len() - before;
        self.ends.received.fetch_add(count as u64, Ordering::Relaxed);
        if result.is_err() || (count == 0 && buf.remaining() > 0) {
            self.over.cancel();
            self.ends.ended.notify_one();
        }
        Poll::Ready(result)
    }
}

impl AsyncWrite for Switched {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.inner(cx)?.poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.inner(cx)?.poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.as_ref().is_some_and(AsyncWrite::is_write_vectored)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner(cx)?.poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner(cx)?.poll_shutdown(cx)
    }
}

//! The way from the proxy to sshd: straight, or through two network namespaces in which packets can be lost.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use faultnet::{Lab, SERVER_ADDRESS, Shape};
use stdx::task::Scope;
use tokio::net::{TcpListener, TcpStream};

use crate::rig::Rig;

/// The way.
pub(super) struct Road {
    lab: Option<Arc<Lab>>,
    scope: Scope,
}

impl Road {
    /// Leaves the way straight.
    pub(super) fn straight() -> Self {
        Self {
            lab: None,
            scope: Scope::root("road"),
        }
    }

    /// Leads it through namespaces; this takes root.
    pub(super) async fn through_namespaces(rig: &Rig, seed: u64) -> Self {
        let lab = Arc::new(Lab::build(seed).unwrap_or_else(|error| panic!("{error:#}")));
        let scope = Scope::root("road");
        let far = lab
            .server
            .within(|| std::net::TcpListener::bind((SERVER_ADDRESS, 0)))
            .unwrap()
            .unwrap();
        far.set_nonblocking(true).unwrap();
        let beyond = far.local_addr().unwrap();
        let near = TcpListener::bind("127.0.0.1:0").await.unwrap();
        rig.proxy.retarget(near.local_addr().unwrap());
        let across = Arc::clone(&lab);
        let dial_across = move || {
            let lab = Arc::clone(&across);
            async move { dial(lab, beyond).await }
        };
        let sshd = rig.sshd.address();
        let far = TcpListener::from_std(far).unwrap();
        // Both are owned by the scope.
        drop(scope.spawn(relay(near, scope.clone(), dial_across)));
        drop(scope.spawn(relay(far, scope.clone(), move || TcpStream::connect(sshd))));
        Self {
            lab: Some(lab),
            scope,
        }
    }

    /// Lets packets fare badly for a while.
    pub(super) async fn shaped(&self, shape: Shape, time: Duration) {
        let lab = self.lab.as_ref().unwrap();
        lab.shape_both(shape);
        tokio::time::sleep(time).await;
        lab.shape_both(Shape::default());
    }

    /// Takes the link down for a while.
    pub(super) async fn down(&self, time: Duration) {
        let set = |is_up| {
            let lab = Arc::clone(self.lab.as_ref().unwrap());
            stdx::task::blocking(move || lab.set_up(is_up).unwrap())
        };
        set(false).await;
        tokio::time::sleep(time).await;
        set(true).await;
    }

    pub(super) async fn close(self) {
        self.scope.close(Duration::from_secs(2)).await;
    }
}

/// Dials from inside the client's namespace.
async fn dial(lab: Arc<Lab>, to: SocketAddr) -> io::Result<TcpStream> {
    let dialled = stdx::task::blocking(move || {
        let within = lab
            .client
            .within(|| std::net::TcpStream::connect_timeout(&to, Duration::from_secs(5)));
        within.map_err(io::Error::other)?
    });
    let stream = dialled.await?;
    stream.set_nonblocking(true)?;
    TcpStream::from_std(stream)
}

/// Carries connections on.
async fn relay<F: Future<Output = io::Result<TcpStream>> + Send + 'static>(
    listener: TcpListener,
    scope: Scope,
    dial: impl Fn() -> F + Send + 'static,
) {
    loop {
        let mut from = tokio::select! {
            biased;
            () = scope.token().cancelled() => return,
            accepted = listener.accept() => accepted.unwrap().0,
        };
        let (dialling, token) = (dial(), scope.token().clone());
        let carry = async move {
            let mut to = dialling.await?;
            from.set_nodelay(true)?;
            to.set_nodelay(true)?;
            tokio::io::copy_bidirectional(&mut from, &mut to).await
        };
        // Owned by the scope; how a connection ends is its ends' business.
        drop(scope.spawn(async move {
            tokio::select! {
                biased;
                () = token.cancelled() => {}
                _ = carry => {}
            }
        }));
    }
}

//! The host's side: a script that stands in for `reasonix`, and the agent that it "starts", which runs here.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use client::body::{BodyReader, Outgoing, pipe};
use http::{Request, Response};
use hyper::{body::Incoming, server::conn::http2, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use protocol::{Build, Hello, Identity, InstanceId, StreamTarget, VersionRange};
use stdx::task::Scope;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _},
    net::{TcpStream, UnixListener, UnixStream},
    sync::watch,
};

pub(crate) const VERSION: &str = "0.2.0";

/// An agent that says hello, and the files through which the script and it know of each other.
pub(crate) struct Daemon {
    folder: PathBuf,
    scope: Scope,
    shared: Arc<Shared>,
}

struct Shared {
    hello: Mutex<Hello>,
    running: Mutex<Option<Scope>>,
    hangs: watch::Sender<bool>,
    mute: watch::Sender<bool>,
    asked: watch::Sender<u64>,
    paths: Mutex<Vec<String>>,
}

impl Daemon {
    /// Waits for the script to be asked to `serve` and starts the agent then.
    pub(crate) fn new(folder: &Path) -> Self {
        let daemon = Self {
            folder: folder.to_owned(),
            scope: Scope::root("daemon"),
            shared: Arc::new(Shared {
                hello: Mutex::new(hello(&folder.join("sock"))),
                running: Mutex::default(),
                hangs: watch::Sender::new(false),
                mute: watch::Sender::new(false),
                asked: watch::Sender::new(0),
                paths: Mutex::default(),
            }),
        };
        let (folder, shared, scope) = (
            daemon.folder.clone(),
            Arc::clone(&daemon.shared),
            daemon.scope.clone(),
        );
        daemon
            .scope
            .spawn(async move { watch_launches(&folder, &shared, &scope).await });
        daemon
    }

    /// How often the script was asked to `serve`.
    pub(crate) fn launches(&self) -> usize {
        lines(&self.folder.join("launches"))
    }

    pub(crate) fn kill(&self) {
        self.shared.running.lock().unwrap().take().unwrap().cancel();
        fs::remove_file(self.folder.join("sock")).unwrap();
    }

    /// Lets requests wait for ever, or go on.
    pub(crate) fn hang(&self, on: bool) {
        self.shared.hangs.send_replace(on);
    }

    /// Stops every connection from moving a byte, as a stopped process would, or lets new ones work.
    pub(crate) fn mute(&self, on: bool) {
        self.shared.mute.send_replace(on);
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Hello)) {
        change(&mut self.shared.hello.lock().unwrap());
    }

    /// How many requests came.
    pub(crate) fn asked(&self) -> u64 {
        *self.shared.asked.borrow()
    }

    /// What was asked for, beside the hello.
    pub(crate) fn paths(&self) -> Vec<String> {
        let mut paths = self.shared.paths.lock().unwrap().clone();
        paths.retain(|path| path != "/v1/hello");
        paths
    }

    /// The program that is put on the host.
    pub(crate) fn program(&self) -> String {
        let folder = self.folder.display();
        let this = std::env::current_exe().unwrap();
        let this = this.display();
        format!(
            "#!/bin/sh\ncase $1 in\n\
             --version) echo 'reasonix {VERSION}'; echo 'protocol 1..1' ;;\n\
             serve) rm -f '{folder}/identity'; echo x >>'{folder}/launches'\n\
             while [ ! -f '{folder}/identity' ]; do sleep 0.05; done\n\
             printf '%s %s %s\\n' \"$4\" \"$(cat '{folder}/identity')\" \"$4\" ;;\n\
             bridge) RX_BRIDGE='{folder}/sock' RX_FENCE=$3 exec '{this}' --exact daemon::bridge --nocapture ;;\n\
             esac\n"
        )
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.scope.cancel();
    }
}

fn hello(socket: &Path) -> Hello {
    Hello {
        protocol: VersionRange { min: 1, max: 1 },
        build: Build {
            version: VERSION.into(),
            target: "x86_64-unknown-linux-gnu".into(),
        },
        identity: Identity {
            instance: InstanceId::fresh(),
            pid: 4242,
            start_time: 1,
            boot_id: "boot".into(),
            // Of this machine, as a probe of it finds.
            machine: String::new(),
            uid: rustix::process::geteuid().as_raw(),
            socket: socket.display().to_string(),
            program: "/opt/reasonix".into(),
        },
        capabilities: Vec::new(),
        draining: false,
        key_agent_socket: None,
    }
}

async fn watch_launches(folder: &Path, shared: &Arc<Shared>, scope: &Scope) {
    let mut seen = 0;
    let mut ticks = tokio::time::interval(Duration::from_millis(10));
    loop {
        tokio::select! {
            biased;
            () = scope.token().cancelled() => return,
            _ = ticks.tick() => {}
        }
        let launches = lines(&folder.join("launches"));
        if launches == seen {
            continue;
        }
        seen = launches;
        if shared.running.lock().unwrap().is_none() {
            let running = scope.child("running daemon");
            let listener = UnixListener::bind(folder.join("sock")).unwrap();
            let (accepting, shared_too) = (running.clone(), Arc::clone(shared));
            running.spawn(async move { accept(listener, shared_too, accepting).await });
            *shared.running.lock().unwrap() = Some(running);
        }
        let text = {
            let mut hello = shared.hello.lock().unwrap();
            hello.draining = false;
            hello.identity.instance = InstanceId::fresh();
            serde_json::to_string(&*hello).unwrap()
        };
        // The script waits for this file, so it comes last and whole.
        fs::write(folder.join("new-identity"), text).unwrap();
        fs::rename(folder.join("new-identity"), folder.join("identity")).unwrap();
    }
}

async fn accept(listener: UnixListener, shared: Arc<Shared>, scope: Scope) {
    loop {
        tokio::select! {
            biased;
            () = scope.token().cancelled() => return,
            accepted = listener.accept() => {
                let (shared, token) = (Arc::clone(&shared), scope.token().clone());
                let (stream, _) = accepted.unwrap();
                scope.spawn(async move {
                    tokio::select! {
                        biased;
                        () = token.cancelled() => {}
                        () = serve(stream, &shared) => {}
                    }
                });
            }
        }
    }
}

async fn serve(stream: UnixStream, shared: &Arc<Shared>) {
    let answer = |request: Request<Incoming>| {
        let shared = Arc::clone(shared);
        shared.paths.lock().unwrap().push(request.uri().path().to_owned());
        async move {
            shared.asked.send_modify(|count| *count += 1);
            let mut hangs = shared.hangs.subscribe();
            drop(hangs.wait_for(|hangs| !hangs).await.unwrap());
            if request.uri().path() == "/v1/streams" {
                return Ok(Response::new(stream_to_a_port(request).await));
            }
            let body = serde_json::to_vec(&*shared.hello.lock().unwrap()).unwrap();
            Ok(Response::new(Outgoing::full(Bytes::from(body))))
        }
    };
    let mut mute = shared.mute.subscribe();
    let (near, mut far) = tokio::io::duplex(64 * 1024);
    let mut stream = stream;
    let pass = tokio::io::copy_bidirectional(&mut stream, &mut far);
    tokio::select! {
        biased;
        _ = mute.wait_for(|mute| *mute) => {}
        _ = pass => return,
        () = serve_with(near, answer) => return,
    }
    // Open, and nothing moves.
    std::future::pending::<()>().await;
}

/// Connects a byte stream to a port of this machine, as an agent does.
async fn stream_to_a_port(request: Request<Incoming>) -> Outgoing {
    let query = request.uri().query().unwrap();
    let json = query.strip_prefix("open=").unwrap();
    let target = serde_json::from_slice(&decoded(json)).unwrap();
    let StreamTarget::Tcp { host, port } = target else {
        panic!("{target:?}");
    };
    let mut far = TcpStream::connect((host.as_str(), port)).await.unwrap();
    let (writer, body) = pipe();
    // Ends with the bodies, and they with the connection.
    Scope::root("stream").spawn(async move {
        let mut near = tokio::io::join(BodyReader::new(request.into_body()), writer);
        let _ended = tokio::io::copy_bidirectional(&mut near, &mut far).await;
    });
    body
}

/// Takes percent-encoding away.
fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = text.bytes();
    std::iter::from_fn(|| match bytes.next()? {
        b'%' => {
            let digits = [bytes.next()?, bytes.next()?];
            u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()
        }
        other => Some(other),
    })
    .collect()
}

async fn serve_with<F>(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin,
    answer: impl Fn(Request<Incoming>) -> F,
) where
    F: Future<Output = Result<Response<Outgoing>, std::io::Error>> + Send + 'static,
{
    let connection =
        http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service_fn(answer));
    // How a client leaves is its own business.
    let _left = connection.await;
}

/// Says hello over a pipe, for the tests of the local link.
pub(crate) async fn serve_hello(stream: tokio::io::DuplexStream) {
    let body = serde_json::to_vec(&hello(Path::new(""))).unwrap();
    serve_with(stream, |_| {
        let answer = Response::new(Outgoing::full(Bytes::from(body.clone())));
        std::future::ready(Ok(answer))
    })
    .await;
}

/// Counts the lines of a file that may not be there.
pub(crate) fn lines(file: &Path) -> usize {
    fs::read_to_string(file).map_or(0, |text| text.lines().count())
}

/// Not a test of anything: the script runs this binary again, with these variables, to be the bridge.
#[tokio::test]
async fn bridge() {
    #[expect(
        clippy::disallowed_methods,
        reason = "how the script tells this process what it is"
    )]
    let (Ok(socket), Ok(fence)) = (std::env::var("RX_BRIDGE"), std::env::var("RX_FENCE")) else {
        return;
    };
    let mut out = tokio::io::stdout();
    let Ok(stream) = UnixStream::connect(socket).await else {
        out.write_all(format!("{fence} no daemon {fence}\n").as_bytes())
            .await
            .unwrap();
        out.flush().await.unwrap();
        return;
    };
    out.write_all(format!("{fence} connected {fence}\n").as_bytes())
        .await
        .unwrap();
    out.flush().await.unwrap();
    let (mut read, mut write) = stream.into_split();
    let mut input = tokio::io::stdin();
    tokio::select! {
        _ = tokio::io::copy(&mut input, &mut write) => {}
        _ = tokio::io::copy(&mut read, &mut out) => {}
    }
    let _last = out.flush().await;
    #[expect(
        clippy::exit,
        reason = "the runtime would wait for standard input, which stays open"
    )]
    std::process::exit(0);
}

//! A host for tests: OpenSSH's `sftp-server` over pipes, with a line that can be cut after any byte.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    io,
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _},
    path::{Path, PathBuf},
    pin::Pin,
    process::Stdio,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use files::{ByteStream, Cancel, ChannelError, Channels, Host, Options};
use futures_util::future::BoxFuture;
use stdx::task::Scope;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    process::{Child, ChildStdin, ChildStdout},
};

const SERVER: &str = "/usr/lib/openssh/sftp-server";

/// What happens when the bytes are used up.
#[derive(Debug, Clone)]
pub(crate) enum Blow {
    Cut,
    Cancel(Cancel),
}

#[derive(Debug, Default)]
struct Fuse {
    left: AtomicI64,
    blow: Mutex<Option<Blow>>,
}

/// Opens channels to processes whose folder is `start`.
#[derive(Debug)]
pub(crate) struct Pipes {
    start: PathBuf,
    allowed: AtomicUsize,
    opened: AtomicUsize,
    fuse: Arc<Fuse>,
    children: Mutex<Vec<Child>>,
}

struct Line {
    input: ChildStdin,
    output: ChildStdout,
    fuse: Arc<Fuse>,
}

impl Fuse {
    fn burn(&self, count: usize) -> io::Result<()> {
        let count = i64::try_from(count).unwrap();
        if self.left.fetch_sub(count, Ordering::Relaxed) >= count {
            return Ok(());
        }
        match &*self.blow.lock().unwrap() {
            None => Ok(()),
            Some(Blow::Cancel(cancel)) => {
                cancel.cancel();
                Ok(())
            }
            Some(Blow::Cut) => Err(io::ErrorKind::ConnectionReset.into()),
        }
    }
}

impl AsyncRead for Line {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.fuse.burn(0)?;
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.output).poll_read(cx, buf);
        let count = buf.filled().len() - before;
        if count > 0 && self.fuse.burn(count).is_err() {
            buf.set_filled(before);
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        polled
    }
}

impl AsyncWrite for Line {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        // Cut lines end within packets.
        let most = match self.fuse.blow.lock().unwrap().is_some() {
            true => usize::try_from(self.fuse.left.load(Ordering::Relaxed).max(1)).unwrap(),
            false => usize::MAX,
        };
        let most = most.min(buf.len());
        self.fuse.burn(0)?;
        let polled = Pin::new(&mut self.input).poll_write(cx, &buf[..most]);
        if let Poll::Ready(Ok(count)) = polled {
            self.fuse.burn(count)?;
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.input).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.input).poll_shutdown(cx)
    }
}

impl Channels for Pipes {
    fn open(&self) -> BoxFuture<'_, Result<Box<dyn ByteStream>, ChannelError>> {
        Box::pin(async {
            let number = self.opened.fetch_add(1, Ordering::Relaxed);
            if number >= self.allowed.load(Ordering::Relaxed) {
                return Err("the host allows no more sessions".into());
            }
            assert!(
                Path::new(SERVER).exists(),
                "{SERVER} is missing: install openssh-sftp-server"
            );
            let mut child = stdx::process::command(SERVER)
                .arg("-d")
                .arg(&self.start)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()?;
            let line = Line {
                input: child.stdin.take().unwrap(),
                output: child.stdout.take().unwrap(),
                fuse: Arc::clone(&self.fuse),
            };
            self.children.lock().unwrap().push(child);
            Ok(Box::new(line) as Box<dyn ByteStream>)
        })
    }
}

/// Both sides: a folder here, a folder of the host, and the host.
pub(crate) struct World {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) pipes: Arc<Pipes>,
    pub(crate) scope: Scope,
    pub(crate) options: Options,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for side in ["here", "there"] {
            std::fs::create_dir(folder.path().join(side)).unwrap();
        }
        let pipes = Pipes {
            start: folder.path().join("there").canonicalize().unwrap(),
            allowed: AtomicUsize::new(usize::MAX),
            opened: AtomicUsize::new(0),
            fuse: Arc::default(),
            children: Mutex::default(),
        };
        Self {
            folder,
            pipes: Arc::new(pipes),
            scope: Scope::root("test"),
            options: Options::default(),
        }
    }

    pub(crate) fn here(&self, name: impl AsRef<[u8]>) -> PathBuf {
        self.folder
            .path()
            .join("here")
            .join(OsStr::from_bytes(name.as_ref()))
    }

    pub(crate) fn there(&self, name: impl AsRef<[u8]>) -> PathBuf {
        self.pipes.start.join(OsStr::from_bytes(name.as_ref()))
    }

    /// Opens the host anew, with a whole line.
    pub(crate) async fn host(&self) -> Host {
        *self.pipes.fuse.blow.lock().unwrap() = None;
        let pipes = Arc::clone(&self.pipes) as Arc<dyn Channels>;
        Host::open(pipes, &self.options, &self.scope).await.unwrap()
    }

    /// Lets `bytes` more through, in both directions together, and then something happens.
    pub(crate) fn arm(&self, bytes: i64, blow: Blow) {
        self.pipes.fuse.left.store(bytes, Ordering::Relaxed);
        *self.pipes.fuse.blow.lock().unwrap() = Some(blow);
    }

    pub(crate) fn disarm(&self) {
        *self.pipes.fuse.blow.lock().unwrap() = None;
    }

    pub(crate) fn allow(&self, channels: usize) {
        self.pipes.allowed.store(channels, Ordering::Relaxed);
    }

    /// How many channels were asked for.
    pub(crate) fn opened(&self) -> usize {
        self.pipes.opened.load(Ordering::Relaxed)
    }

    /// Waits until the host has done all that still reached it.
    pub(crate) async fn settle(&self) {
        let children = std::mem::take(&mut *self.pipes.children.lock().unwrap());
        for mut child in children {
            tokio::time::timeout(Duration::from_secs(30), child.wait())
                .await
                .expect("sftp-server ends when its input does")
                .unwrap();
        }
    }
}

/// What has a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    Folder,
    Link(Vec<u8>),
    File { content: Vec<u8>, mode: u32 },
}

pub(crate) type Tree = BTreeMap<Vec<u8>, Node>;

/// Reads all that is in a folder; what is half-written apart.
pub(crate) fn tree(root: &Path) -> (Tree, Vec<PathBuf>) {
    let (mut tree, mut litter) = (Tree::new(), Vec::new());
    let mut todo = vec![root.to_path_buf()];
    while let Some(folder) = todo.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            let path = entry.path();
            let metadata = entry.metadata().unwrap();
            let name = path.strip_prefix(root).unwrap().as_os_str().as_bytes().to_vec();
            if entry.file_name().to_string_lossy().contains(".reasonix-") {
                litter.push(path);
                continue;
            }
            let node = if metadata.is_symlink() {
                Node::Link(std::fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec())
            } else if metadata.is_dir() {
                todo.push(path);
                Node::Folder
            } else {
                Node::File {
                    content: std::fs::read(&path).unwrap(),
                    mode: metadata.permissions().mode() & 0o7777,
                }
            };
            tree.insert(name, node);
        }
    }
    (tree, litter)
}

/// Random numbers from a seed (xorshift64*).
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16) % limit
    }

    pub(crate) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.below(from.len() as u64)).unwrap()].clone()
    }

    /// Content of which every block differs.
    pub(crate) fn content(&mut self, size: usize) -> Vec<u8> {
        let mut content = Vec::with_capacity(size + 8);
        while content.len() < size {
            content.extend_from_slice(&self.below(u64::MAX).to_le_bytes());
        }
        content.truncate(size);
        content
    }
}

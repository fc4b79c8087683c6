//! The server: with OpenSSH's program `sftp`, with many requests under way, and with what is no request.

use std::{
    fs,
    os::unix::{
        ffi::OsStringExt as _,
        fs::{MetadataExt as _, PermissionsExt as _},
    },
    path::Path,
    process::Stdio,
};

use bytes::Bytes;
use sftp::{
    Attributes, Code, Extension, Reply, Request, Target,
    packet::{self, Init, Limits, Name, OpenFlags, Version},
    server::{self, Options},
};
use stdx::task::Scope;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};

/// Random numbers that are the same for the same seed (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % limit as u64).unwrap()
    }

    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// A client that asks one thing after the other.
pub(crate) struct Peer {
    to: Box<dyn AsyncWrite + Unpin + Send>,
    from: Box<dyn AsyncRead + Unpin + Send>,
    next: u32,
}

impl Peer {
    pub(crate) async fn new(
        to: impl AsyncWrite + Unpin + Send + 'static,
        from: impl AsyncRead + Unpin + Send + 'static,
    ) -> Self {
        let mut peer = Self {
            to: Box::new(to),
            from: Box::new(from),
            next: 0,
        };
        peer.send(Init { version: 3 }.encode()).await;
        let version = Version::decode(packet::read(&mut peer.from).await.unwrap().unwrap()).unwrap();
        assert_eq!(version.version, 3);
        peer
    }

    async fn send(&mut self, packet: Bytes) {
        self.to.write_all(&packet).await.unwrap();
        self.to.flush().await.unwrap();
    }

    async fn answer(&mut self) -> (u32, Reply) {
        Reply::decode(packet::read(&mut self.from).await.unwrap().unwrap()).unwrap()
    }

    pub(crate) async fn ask(&mut self, request: &Request) -> Reply {
        self.next += 1;
        self.send(request.encode(self.next)).await;
        let (id, reply) = self.answer().await;
        assert_eq!(id, self.next);
        reply
    }

    /// Lists a folder as a whole; the pieces are the server's choice.
    pub(crate) async fn list(&mut self, path: &[u8]) -> Result<Vec<Name>, Reply> {
        let open = Request::OpenFolder { path: path.to_vec() };
        let handle = match self.ask(&open).await {
            Reply::Handle(handle) => handle,
            other => return Err(other),
        };
        let mut all = Vec::new();
        let read = Request::ReadFolder {
            handle: handle.clone(),
        };
        while let Reply::Names(names) = self.ask(&read).await {
            all.extend(names);
        }
        assert_eq!(code(&self.ask(&Request::Close { handle }).await), Some(Code::OK));
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }
}

/// Ours, in this process.
pub(crate) async fn ours(home: &Path, handles: usize, scope: &Scope) -> Peer {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let (input, output) = tokio::io::split(far);
    let options = Options {
        home: home.to_path_buf(),
        handles,
    };
    drop(scope.spawn(server::serve(input, output, options)));
    let (from, to) = tokio::io::split(near);
    Peer::new(to, from).await
}

pub(crate) fn code(reply: &Reply) -> Option<Code> {
    match reply {
        Reply::Status { code, .. } => Some(*code),
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_sftp_works_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let (home, near) = (dir.path().join("home"), dir.path().join("near"));
    fs::create_dir_all(home.join("folder")).unwrap();
    fs::create_dir(&near).unwrap();
    let content: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    fs::write(near.join("big"), &content).unwrap();
    fs::set_permissions(near.join("big"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir(near.join("tree")).unwrap();
    for number in 0..250 {
        fs::write(near.join(format!("tree/{number}")), number.to_string()).unwrap();
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = dir.path().join("connect");
    fs::write(
        &script,
        format!("exec 3<>/dev/tcp/127.0.0.1/{port}; cat <&3 & cat >&3; kill $!"),
    )
    .unwrap();
    let batch = "put -p big folder/new\nls -l folder\nput -r tree\nls tree\nget -r tree back\nget folder/new again\n\
                 rename folder/new 'folder/with space'\nln -s folder/x link\nchmod 600 'folder/with space'\n\
                 ln 'folder/with space' second\nmkdir m\nrmdir m\nrm second\npwd\ndf\n";
    fs::write(dir.path().join("batch"), batch).unwrap();
    let mut command = stdx::process::command("sftp");
    command.arg("-D").arg(format!("bash {}", script.display()));
    command.arg("-b").arg(dir.path().join("batch")).current_dir(&near);
    command.env("HOME", &near).env("PATH", "/usr/bin:/bin");
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (stream, _) = listener.accept().await.unwrap();
    let (input, output) = stream.into_split();
    let options = Options {
        home: home.clone(),
        handles: 64,
    };
    let (served, ran) = tokio::join!(server::serve(input, output, options), child.wait_with_output());
    let ran = ran.unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && served.is_ok(), "{said} {served:?}");

    assert!(fs::read(near.join("again")).unwrap() == content);
    let put = home.join("folder/with space");
    assert!(fs::read(&put).unwrap() == content);
    assert_eq!(fs::metadata(&put).unwrap().mode() & 0o7777, 0o600);
    assert_eq!(fs::read_link(home.join("link")).unwrap(), Path::new("folder/x"));
    assert_eq!(fs::read_dir(near.join("back")).unwrap().count(), 250);
    assert_eq!(fs::read(home.join("tree/249")).unwrap(), b"249");
    assert!(!home.join("second").exists() && !home.join("m").exists());
    assert!(said.contains("-rw-r-----    1 "), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_is_open_than_is_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let scope = Scope::root("server");
    let mut peer = ours(dir.path(), 3, &scope).await;
    let open = Request::OpenFolder { path: b".".to_vec() };
    let mut handles = Vec::new();
    for _ in 0..3 {
        let Reply::Handle(handle) = peer.ask(&open).await else {
            panic!()
        };
        handles.push(handle);
    }
    let Reply::Status { code: found, message } = peer.ask(&open).await else {
        panic!()
    };
    assert_eq!((found, message.as_str()), (Code::FAILURE, "too many open files"));
    let handle = handles.remove(0);
    peer.ask(&Request::Close { handle }).await;
    assert!(matches!(peer.ask(&open).await, Reply::Handle(_)));
    let Reply::Extended(data) = peer.ask(&Request::Extended(Extension::Limits)).await else {
        panic!()
    };
    let limits = Limits::decode(data).unwrap();
    assert_eq!((limits.handles, limits.read, limits.write), (3, 261_120, 261_120));
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_do_not_wait_are_answered_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let scope = Scope::root("server");
    let mut peer = ours(dir.path(), 3, &scope).await;
    let (mut from, mut to) = (peer.from, peer.to);
    let sending = async {
        for number in 0..3000_u32 {
            let path = format!("{}", number / 3).into_bytes();
            let attributes = Attributes::default();
            // Each needs the one before it.
            let request = match number % 3 {
                0 => Request::MakeFolder { path, attributes },
                1 => Request::Stat {
                    of: Target::Path(path),
                },
                _ => Request::Remove { path, folder: true },
            };
            to.write_all(&request.encode(number)).await.unwrap();
        }
    };
    let reading = async {
        for number in 0..3000 {
            let packet = packet::read(&mut from).await.unwrap().unwrap();
            let (id, reply) = Reply::decode(packet).unwrap();
            assert_eq!(id, number);
            let good = matches!(reply, Reply::Attributes(_)) || code(&reply) == Some(Code::OK);
            assert!(good, "{number}: {reply:?}");
        }
    };
    tokio::join!(sending, reading);
    peer.next = 0;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipe_holds_nobody_up_and_a_full_disk_is_named() {
    let dir = tempfile::tempdir().unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, dir.path().join("pipe"), rustix::fs::Mode::RUSR).unwrap();
    let scope = Scope::root("server");
    let mut peer = ours(dir.path(), 3, &scope).await;
    let open = |path: &[u8], flags| Request::Open {
        path: path.to_vec(),
        flags,
        attributes: Attributes::default(),
    };
    let Reply::Handle(handle) = peer.ask(&open(b"pipe", OpenFlags::READ)).await else {
        panic!()
    };
    let read = Request::Read {
        handle,
        offset: 0,
        length: 10,
    };
    assert_eq!(code(&peer.ask(&read).await), Some(Code::FAILURE));
    let nobody_reads = peer.ask(&open(b"pipe", OpenFlags::WRITE)).await;
    assert!(matches!(nobody_reads, Reply::Status { .. } | Reply::Handle(_)));
    let Reply::Handle(handle) = peer.ask(&open(b"/dev/full", OpenFlags::WRITE)).await else {
        panic!()
    };
    let write = Request::Write {
        handle,
        offset: 0,
        data: Bytes::from_static(b"x"),
    };
    let Reply::Status { code, message } = peer.ask(&write).await else {
        panic!()
    };
    assert_eq!(
        (code, message.as_str()),
        (Code::FAILURE, "no space left on device")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tilde_is_the_home_and_other_homes_come_from_passwd() {
    let dir = tempfile::tempdir().unwrap();
    let home = fs::canonicalize(dir.path()).unwrap().into_os_string().into_vec();
    let scope = Scope::root("server");
    let mut peer = ours(dir.path(), 3, &scope).await;
    let mut name = async |request: Extension| match peer.ask(&Request::Extended(request)).await {
        Reply::Names(names) => Ok(names[0].name.clone()),
        other => Err(code(&other)),
    };
    let expand = |path: &[u8]| Extension::ExpandPath { path: path.to_vec() };
    let user = |user: &[u8]| Extension::HomeDirectory { user: user.to_vec() };
    let below = |rest: &[u8]| Ok([&home[..], rest].concat());
    assert_eq!(name(expand(b"~")).await, below(b""));
    assert_eq!(name(expand(b"~/a/../b")).await, Err(Some(Code::NO_SUCH_FILE)));
    assert_eq!(name(expand(b"~/new")).await, below(b"/new"));
    assert_eq!(name(expand(b"new")).await, below(b"/new"));
    assert_eq!(name(expand(b"~root")).await, Ok(b"/root".to_vec()));
    assert_eq!(name(user(b"")).await, below(b""));
    assert_eq!(name(user(b"root")).await, Ok(b"/root".to_vec()));
    assert_eq!(name(user(b"no such")).await, Err(Some(Code::NO_SUCH_FILE)));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_input_ends_badly() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a"), "text").unwrap();
    let scope = Scope::root("server");
    let mut peer = ours(dir.path(), 3, &scope).await;
    // A kind that is not known, and one whose body is missing: refused, and the session goes on.
    for (packet, expected) in [
        (&[0, 0, 0, 5, 77, 0, 0, 0, 9][..], Code::UNSUPPORTED),
        (&[0, 0, 0, 5, 3, 0, 0, 0, 9], Code::BAD_MESSAGE),
    ] {
        peer.send(Bytes::copy_from_slice(packet)).await;
        let (id, reply) = peer.answer().await;
        assert_eq!((id, code(&reply)), (9, Some(expected)));
    }
    let mut random = Random(7);
    for number in 0..3000_u32 {
        let kind = u8::try_from(random.below(22)).unwrap();
        let mut body = vec![kind];
        body.extend(number.to_be_bytes());
        for _ in 0..random.below(12) {
            match random.below(3) {
                0 => body.extend([0, 0, 0, 1, b'a']),
                1 => body.extend((random.below(70_000) as u32).to_be_bytes()),
                _ => body.extend([0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0]),
            }
        }
        let mut packet = u32::try_from(body.len()).unwrap().to_be_bytes().to_vec();
        packet.extend(body);
        peer.send(packet.into()).await;
        let (id, _) = peer.answer().await;
        assert_eq!(id, number);
    }
    // A length that cannot be ends the session with an error.
    let (near, far) = tokio::io::duplex(1024);
    let (input, output) = tokio::io::split(far);
    let options = Options {
        home: dir.path().to_path_buf(),
        handles: 3,
    };
    let served = scope.spawn(server::serve(input, output, options));
    let (_from, mut to) = tokio::io::split(near);
    to.write_all(&[0xff; 64]).await.unwrap();
    let error = served.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
}

//! The server beside OpenSSH's: the same requests in the same order have to get the same answers and leave the same files.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{
        ffi::{OsStrExt as _, OsStringExt as _},
        fs::{MetadataExt as _, PermissionsExt as _},
    },
    path::{Path, PathBuf},
    process::Stdio,
};

use bytes::Bytes;
use sftp::{
    Attributes, Code, Extension, Kind, Reply, Request, Target,
    packet::{self, Init, Limits, Name, OpenFlags, Owner, Times, Version},
    server::{self, Options},
};
use stdx::task::Scope;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};

const OPENSSH: &str = "/usr/lib/openssh/sftp-server";

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

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// A client that asks one thing after the other.
struct Peer {
    to: Box<dyn AsyncWrite + Unpin + Send>,
    from: Box<dyn AsyncRead + Unpin + Send>,
    next: u32,
}

impl Peer {
    async fn new(
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

    async fn ask(&mut self, request: &Request) -> Reply {
        self.next += 1;
        self.send(request.encode(self.next)).await;
        let (id, reply) = self.answer().await;
        assert_eq!(id, self.next);
        reply
    }

    /// Lists a folder as a whole; the pieces are the server's choice.
    async fn list(&mut self, path: &[u8]) -> Result<Vec<Name>, Reply> {
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
async fn ours(home: &Path, handles: usize, scope: &Scope) -> Peer {
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

/// OpenSSH's; it ends with its input.
async fn openssh(home: &Path) -> (Peer, tokio::process::Child) {
    assert!(
        Path::new(OPENSSH).exists(),
        "{OPENSSH} is missing: install openssh-sftp-server"
    );
    let mut command = stdx::process::command(OPENSSH);
    command.current_dir(home).env("HOME", home).env("TZ", "UTC");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let peer = Peer::new(child.stdin.take().unwrap(), child.stdout.take().unwrap()).await;
    (peer, child)
}

fn code(reply: &Reply) -> Option<Code> {
    match reply {
        Reply::Status { code, .. } => Some(*code),
        _ => None,
    }
}

/// Names of the trees: some are made, some are links, some never exist.
const NAMES: [&[u8]; 14] = [
    b"a",
    b"b c",
    b"line\nend",
    b"\xff\xfe",
    b"d",
    b"d/a",
    b"d/e",
    b"d/e/../a",
    b"link",
    b"d/link",
    b"missing/x",
    b"a/x",
    b".",
    b"./d/",
];

/// Makes random requests; handles are pairs, one of each side.
struct Maker {
    random: Random,
    open: Vec<[Bytes; 2]>,
}

impl Maker {
    fn name(&mut self) -> Vec<u8> {
        self.random.pick(&NAMES).to_vec()
    }

    fn attributes(&mut self) -> Attributes {
        let some = |random: &mut Random| random.chance(35);
        Attributes {
            size: some(&mut self.random).then(|| self.random.below(200_000) as u64),
            owner: some(&mut self.random).then_some(Owner { user: 0, group: 0 }),
            mode: some(&mut self.random).then(|| *self.random.pick(&[0o644, 0o4755, 0o1777, 0o100_600])),
            times: some(&mut self.random).then(|| Times {
                accessed: 1_000_000_000,
                modified: u32::try_from(self.random.below(1_500_000_000)).unwrap(),
            }),
        }
    }

    /// Gives the same request for both sides.
    fn pair(&mut self) -> [Request; 2] {
        if self.random.chance(45) && !self.open.is_empty() {
            let at = self.random.below(self.open.len());
            let handles = self.open[at].clone();
            return self.on_open(at, &handles);
        }
        let request = self.on_names();
        [request.clone(), request]
    }

    fn on_open(&mut self, at: usize, handles: &[Bytes; 2]) -> [Request; 2] {
        let both = |make: &dyn Fn(Bytes) -> Request| handles.clone().map(make);
        let offset = self.random.below(200_000) as u64;
        match self.random.below(10) {
            0..=2 => {
                let length = *self.random.pick(&[0, 1, 5000, 100_000, 300_000]);
                both(&|handle| Request::Read {
                    handle,
                    offset,
                    length,
                })
            }
            3..=5 => {
                let length = *self.random.pick(&[0, 1, 5000, 100_000]);
                let data = Bytes::from(vec![u8::try_from(self.random.below(256)).unwrap(); length]);
                both(&|handle| Request::Write {
                    handle,
                    offset,
                    data: data.clone(),
                })
            }
            8 if self.random.chance(20) => both(&|handle| Request::Extended(Extension::Fsync { handle })),
            6 | 8 => both(&|handle| Request::Stat {
                of: Target::Handle(handle),
            }),
            7 => {
                let attributes = self.attributes();
                both(&|handle| Request::SetStat {
                    of: Target::Handle(handle),
                    attributes,
                })
            }
            _ => {
                // Sometimes it is used once more after it was closed.
                if self.random.chance(80) {
                    self.open.remove(at);
                } else {
                    // OpenSSH gives the number to the next that is opened.
                    self.open[at][1] = Bytes::from_static(&[0, 0, 0xff, 0xff]);
                }
                both(&|handle| Request::Close { handle })
            }
        }
    }

    fn on_names(&mut self) -> Request {
        let (path, other) = (self.name(), self.name());
        let attributes = self.attributes();
        match self.random.below(22) {
            0..=4 => Request::Open {
                path,
                flags: OpenFlags(u32::try_from(self.random.below(64)).unwrap()),
                attributes,
            },
            5 => Request::Stat {
                of: Target::Path(path),
            },
            6 => Request::Stat {
                of: Target::Link(path),
            },
            7 => Request::SetStat {
                of: Target::Path(path),
                attributes,
            },
            8 => Request::SetStat {
                of: Target::Link(path),
                attributes,
            },
            9 => Request::OpenFolder { path },
            10 => Request::Remove { path, folder: false },
            11 => Request::Remove { path, folder: true },
            12 | 13 => Request::MakeFolder { path, attributes },
            14 => Request::RealPath { path },
            15 => Request::ReadLink { path },
            16 => Request::Rename {
                from: path,
                to: other,
            },
            17 => {
                // Never one that leads out of the trees: what is asked through it happens.
                let targets = [&b"a"[..], b"nowhere", b"link", b"d", b"./d/e", b""];
                Request::Symlink {
                    target: self.random.pick(&targets).to_vec(),
                    link: path,
                }
            }
            18 => Request::Extended(Extension::PosixRename {
                from: path,
                to: other,
            }),
            19 => Request::Extended(Extension::HardLink {
                from: path,
                to: other,
            }),
            20 => Request::Extended(Extension::ExpandPath { path }),
            _ => Request::Extended(Extension::StatVfs { path }),
        }
    }
}

/// What must be the same: times of what was just made differ, and so do the folders of both sides.
fn comparable(reply: Reply, home: &Path) -> String {
    let known = |attributes: &Attributes| {
        let is_folder = attributes.kind() == Kind::Folder;
        let size = attributes.size.filter(|_| !is_folder);
        let modified = attributes.times.map(|times| times.modified);
        let old = modified.filter(|&modified| modified < 1_700_000_000);
        (size, attributes.owner, attributes.mode, old)
    };
    let below = |path: &[u8]| {
        let home = home.as_os_str().as_bytes();
        path.strip_prefix(home).unwrap_or(path).to_vec()
    };
    match reply {
        Reply::Status { code, .. } => format!("{code:?}"),
        Reply::Handle(_) => "a handle".to_owned(),
        // The bytes themselves are compared as they are.
        Reply::Data(data) => format!("{} bytes", data.len()),
        Reply::Attributes(attributes) => format!("{:?}", known(&attributes)),
        Reply::Names(names) => {
            let names = names.iter().map(|name| {
                let attributes = known(&name.attributes);
                let long = String::from_utf8_lossy(&name.long).into_owned();
                (
                    String::from_utf8_lossy(&below(&name.name)).into_owned(),
                    attributes,
                    Some(long).filter(|_| attributes.3.is_some() && name.attributes.kind() != Kind::Folder),
                )
            });
            format!("{:?}", names.collect::<Vec<_>>())
        }
        // Of a file system: units and the longest name; of what is free, others use some meanwhile.
        Reply::Extended(data) => format!("{:?} {:?}", data.get(..16), data.get(80..)),
    }
}

/// Everything below a folder, with what must be the same.
fn tree(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut left = vec![folder.to_path_buf()];
    while let Some(path) = left.pop() {
        for entry in fs::read_dir(&path).unwrap() {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            let content = if meta.is_dir() {
                left.push(path.clone());
                String::new()
            } else if meta.is_symlink() {
                format!("-> {:?}", fs::read_link(&path).unwrap())
            } else {
                let content = fs::read(&path).unwrap();
                let ends: Vec<_> = content
                    .chunk_by(|a, b| a == b)
                    .map(|run| (run.len(), run[0]))
                    .collect();
                format!("{} {ends:?}", meta.nlink())
            };
            let name = path.strip_prefix(folder).unwrap().to_path_buf();
            found.insert(name, format!("{:o} {content}", meta.mode()));
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_and_leaves_what_openssh_does() {
    for seed in [1, 2, 20_261_201] {
        let dir = tempfile::tempdir().unwrap();
        let homes = ["ours", "openssh"].map(|name| fs::canonicalize(dir.path()).unwrap().join(name));
        for home in &homes {
            fs::create_dir(home).unwrap();
        }
        let scope = Scope::root("server");
        let mut mine = ours(&homes[0], 64, &scope).await;
        let (mut theirs, child) = openssh(&homes[1]).await;
        let mut maker = Maker {
            random: Random(seed),
            open: Vec::new(),
        };
        for number in 0..1000 {
            let label = format!("seed {seed}, request {number}");
            if maker.random.chance(5) {
                let path = maker.name();
                let lists = [mine.list(&path).await, theirs.list(&path).await];
                let [a, b] = lists.map(|list| list.map_or_else(|reply| reply, Reply::Names));
                let [a, b] = [comparable(a, &homes[0]), comparable(b, &homes[1])];
                assert_eq!(a, b, "{label}: list {:?}", String::from_utf8_lossy(&path));
                continue;
            }
            let [request, other] = maker.pair();
            let (a, b) = tokio::join!(mine.ask(&request), theirs.ask(&other));
            let replies = [a, b];
            if let [Reply::Handle(a), Reply::Handle(b)] = &replies {
                maker.open.push([a.clone(), b.clone()]);
                if maker.open.len() > 20 {
                    let [a, b] = maker.open.remove(0);
                    let closed = [
                        mine.ask(&Request::Close { handle: a }).await,
                        theirs.ask(&Request::Close { handle: b }).await,
                    ];
                    assert_eq!(code(&closed[0]), code(&closed[1]), "{label}");
                }
            }
            if let [Reply::Data(a), Reply::Data(b)] = &replies {
                assert!(a == b, "{label}: other bytes");
            }
            let [a, b] = replies;
            let [a, b] = [comparable(a, &homes[0]), comparable(b, &homes[1])];
            let shown: String = format!("{request:?}").chars().take(300).collect();
            assert_eq!(a, b, "{label}: {shown}");
        }
        assert_eq!(tree(&homes[0]), tree(&homes[1]), "seed {seed}");
        drop((theirs, child));
        scope.close(std::time::Duration::from_secs(5)).await;
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

//! The server beside OpenSSH's: the same requests in the same order have to get the same answers and leave the same files.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
    process::Stdio,
};

use bytes::Bytes;
use sftp::{
    Attributes, Extension, Kind, Reply, Request, Target,
    packet::{OpenFlags, Owner, Times},
};
use stdx::task::Scope;

use crate::server::{Peer, Random, code, ours};

const OPENSSH: &str = "/usr/lib/openssh/sftp-server";

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
    for seed in [1, 2, 3, 20_261_201] {
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
        for number in 0..1500 {
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
        drop((mine, theirs, child));
        scope.close(std::time::Duration::from_secs(5)).await;
    }
}

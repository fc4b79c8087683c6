//! Servers that lie.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use files::{
    ByteStream, Cancel, Cause, ChannelError, Channels, Get, Host, Options, Outcome, Progress, Transfer,
};
use futures_util::future::BoxFuture;
use sftp::{
    Attributes, Code, Reply, Request,
    packet::{Name, Version},
};
use stdx::task::Scope;
use tokio::io::{AsyncWriteExt as _, DuplexStream};

type Answer = dyn FnMut(&Request) -> Option<Vec<Reply>> + Send;

/// A server that answers as it is told; what it is not told it answers as an ordinary one with files in memory.
struct Liar {
    folders: BTreeMap<Vec<u8>, Vec<Name>>,
    files: BTreeMap<Vec<u8>, Vec<u8>>,
    answer: Box<Answer>,
    listed: Vec<Vec<u8>>,
    /// Files are opened only when so many wait for that.
    crowd: usize,
}

#[derive(Clone)]
struct Line(Arc<Mutex<Liar>>, Scope);

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Line")
    }
}

impl Channels for Line {
    fn open(&self) -> BoxFuture<'_, Result<Box<dyn ByteStream>, ChannelError>> {
        Box::pin(async {
            let (ours, theirs) = tokio::io::duplex(1 << 20);
            drop(self.1.spawn(serve(theirs, Arc::clone(&self.0))));
            Ok(Box::new(ours) as Box<dyn ByteStream>)
        })
    }
}

async fn serve(mut stream: DuplexStream, liar: Arc<Mutex<Liar>>) {
    let Ok(Some(_)) = sftp::packet::read(&mut stream).await else {
        return;
    };
    let version = Version {
        version: 3,
        extensions: Vec::new(),
    };
    stream.write_all(&version.encode()).await.unwrap();
    let mut waiting = Vec::new();
    while let Ok(Some(packet)) = sftp::packet::read(&mut stream).await {
        let (id, request) = Request::decode(packet).unwrap();
        let (replies, crowd) = {
            let mut liar = liar.lock().unwrap();
            (liar.reply(&request), liar.crowd)
        };
        waiting.extend(replies.into_iter().map(|reply| reply.encode(id)));
        if matches!(request, Request::Open { .. }) && waiting.len() < crowd {
            continue;
        }
        for reply in waiting.drain(..) {
            if stream.write_all(&reply).await.is_err() {
                return;
            }
        }
    }
}

fn attributes(mode: u32, size: usize) -> Attributes {
    Attributes {
        mode: Some(mode),
        size: Some(size as u64),
        ..Attributes::default()
    }
}

fn name(name: &[u8], mode: u32) -> Name {
    Name {
        name: name.to_vec(),
        attributes: attributes(mode, 0),
        ..Name::default()
    }
}

impl Liar {
    fn new() -> Self {
        Self {
            folders: BTreeMap::new(),
            files: BTreeMap::new(),
            answer: Box::new(|_| None),
            listed: Vec::new(),
            crowd: 1,
        }
    }

    fn reply(&mut self, request: &Request) -> Vec<Reply> {
        if let Some(replies) = (self.answer)(request) {
            return replies;
        }
        let missing = || Reply::status(Code::NO_SUCH_FILE, "");
        let of = |path: &[u8]| match (self.files.get(path), self.folders.get(path)) {
            (Some(content), _) => Reply::Attributes(attributes(0o100_644, content.len())),
            (_, Some(_)) => Reply::Attributes(attributes(0o040_755, 0)),
            _ => missing(),
        };
        let reply = match request {
            Request::RealPath { .. } => Reply::Names(vec![name(b"/h", 0)]),
            Request::Stat { of: target } => match target {
                sftp::Target::Path(path) | sftp::Target::Link(path) => of(path),
                sftp::Target::Handle(handle) => of(handle),
            },
            Request::Open { path, .. } | Request::OpenFolder { path } => {
                self.listed.retain(|listed| listed != path);
                Reply::Handle(Bytes::from(path.clone()))
            }
            Request::ReadFolder { handle } if self.listed.iter().any(|listed| listed == handle) => {
                Reply::status(Code::END, "")
            }
            Request::ReadFolder { handle } => {
                self.listed.push(handle.to_vec());
                self.folders
                    .get(handle.as_ref())
                    .map_or_else(missing, |names| Reply::Names(names.clone()))
            }
            Request::ReadLink { .. } => Reply::Names(vec![name(b"/tmp/outside", 0)]),
            Request::Read {
                handle,
                offset,
                length,
            } => {
                let content = self.files.get(handle.as_ref()).cloned().unwrap_or_default();
                let start = content.len().min(usize::try_from(*offset).unwrap_or(usize::MAX));
                let end = content.len().min(start + *length as usize);
                match &content[start..end] {
                    b"" => Reply::status(Code::END, ""),
                    bytes => Reply::Data(Bytes::copy_from_slice(bytes)),
                }
            }
            Request::Close { .. } => Reply::status(Code::OK, ""),
            _ => Reply::status(Code::UNSUPPORTED, ""),
        };
        vec![reply]
    }
}

struct Victim {
    folder: tempfile::TempDir,
    scope: Scope,
}

impl Victim {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            scope: Scope::root("test"),
        }
    }

    /// Copies `/h/x` of the liar, to `into/x`.
    async fn get(&self, liar: Liar) -> Result<Outcome, files::Error> {
        let mut options = Options::default();
        options.sftp.silence = Duration::from_secs(3);
        options.channels = 1;
        let line = Line(Arc::new(Mutex::new(liar)), self.scope.clone());
        let host = Host::open(Arc::new(line), &options, &self.scope).await?;
        let into = self.folder.path().join("into");
        std::fs::create_dir_all(&into).unwrap();
        let get = Get {
            from: b"x".to_vec(),
            to: into.join("x"),
            transfer: Transfer {
                recursive: true,
                ..Transfer::default()
            },
            hash: false,
        };
        host.get(&get, &Progress::default(), &Cancel::new()).await
    }

    /// What lies beside the target.
    fn outside(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.folder.path()).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        names.filter(|name| name != "into").collect()
    }
}

#[tokio::test]
async fn names_that_lead_out_are_refused() {
    for bad in [&b"../evil"[..], b"/etc/evil", b"a/b", b"a\0b", b""] {
        let (victim, mut liar) = (Victim::new(), Liar::new());
        liar.folders.insert(
            b"/h/x".to_vec(),
            vec![name(b"good", 0o100_644), name(bad, 0o100_644)],
        );
        liar.files.insert(b"/h/x/good".to_vec(), b"good".to_vec());
        let outcome = victim.get(liar).await.unwrap();
        let error = outcome.failed.first().expect("a failure");
        assert!(matches!(error.cause(), Cause::UnsafeName), "{error}");
        assert!(error.hint().is_some());
        assert_eq!(victim.outside(), [""; 0]);
    }
}

#[tokio::test]
async fn nothing_is_written_through_a_link_that_the_host_sent() {
    let victim = Victim::new();
    let outside = victim.folder.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    let target = outside.to_string_lossy().into_owned().into_bytes();
    // The same name, first as a link and then as a folder: the second is not even looked at.
    let mut liar = Liar::new();
    let inside = vec![name(b"sub", 0o120_777), name(b"sub", 0o040_755)];
    liar.folders.insert(b"/h/x".to_vec(), inside);
    liar.folders
        .insert(b"/h/x/sub".to_vec(), vec![name(b"evil", 0o100_644)]);
    liar.files.insert(b"/h/x/sub/evil".to_vec(), b"evil".to_vec());
    let link = target.clone();
    liar.answer = Box::new(move |request| match request {
        Request::ReadLink { .. } => Some(vec![Reply::Names(vec![name(&link, 0)])]),
        _ => None,
    });
    let outcome = victim.get(liar).await.unwrap();
    assert_eq!((outcome.links, outcome.failed.len()), (1, 0));
    // With the link in place, the host says that it is a folder.
    let mut liar = Liar::new();
    liar.folders
        .insert(b"/h/x".to_vec(), vec![name(b"sub", 0o040_755)]);
    liar.folders
        .insert(b"/h/x/sub".to_vec(), vec![name(b"evil", 0o100_644)]);
    liar.files.insert(b"/h/x/sub/evil".to_vec(), b"evil".to_vec());
    let outcome = victim.get(liar).await.unwrap();
    let error = outcome.failed.first().expect("a failure");
    assert!(error.to_string().contains("sub on this machine"), "{error}");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
}

/// A far host is not waited for file by file: here it opens none before 150 are asked for.
#[tokio::test]
async fn many_small_files_are_under_way_at_a_time() {
    let (victim, mut liar) = (Victim::new(), Liar::new());
    let names: Vec<Vec<u8>> = (0..300).map(|number| format!("f{number}").into_bytes()).collect();
    liar.folders.insert(
        b"/h/x".to_vec(),
        names.iter().map(|file| name(file, 0o100_644)).collect(),
    );
    for file in &names {
        liar.files
            .insert([b"/h/x/", file.as_slice()].concat(), file.clone());
    }
    liar.crowd = 150;
    let outcome = victim.get(liar).await.unwrap();
    assert_eq!((outcome.files, outcome.failed.len()), (300, 0));
    assert_eq!(
        std::fs::read(victim.folder.path().join("into/x/f299")).unwrap(),
        b"f299"
    );
}

#[tokio::test]
async fn a_server_that_gives_less_than_it_could_is_asked_again() {
    for size in [10, 3000, 100_000] {
        let (victim, mut liar) = (Victim::new(), Liar::new());
        let content: Vec<u8> = (0..size)
            .map(|at: u32| at.to_le_bytes()[0] ^ at.to_le_bytes()[1])
            .collect();
        liar.files.insert(b"/h/x".to_vec(), content.clone());
        let given = content.clone();
        liar.answer = Box::new(move |request| match request {
            Request::Read { offset, length, .. } => {
                let start = given.len().min(usize::try_from(*offset).unwrap());
                let end = given.len().min(start + (*length as usize).min(777));
                (start < end).then(|| vec![Reply::Data(Bytes::copy_from_slice(&given[start..end]))])
            }
            _ => None,
        });
        let outcome = victim.get(liar).await.unwrap();
        assert_eq!(outcome.bytes, content.len() as u64);
        assert!(std::fs::read(victim.folder.path().join("into/x")).unwrap() == content);
    }
}

/// What a server may say, and what is told of it.
fn lies() -> Vec<(&'static str, Box<Answer>)> {
    let size = |size: u64| Attributes {
        size: Some(size),
        ..attributes(0o100_644, 0)
    };
    let changing = {
        let mut turn = 0;
        move |request: &Request| match request {
            Request::Stat { .. } => {
                turn += 1;
                Some(vec![Reply::Attributes(size(4 + turn % 2))])
            }
            _ => None,
        }
    };
    vec![
        (
            "more than was asked for",
            Box::new(|request| match request {
                Request::Read { .. } => Some(vec![Reply::Data(Bytes::from(vec![0; 100_000]))]),
                _ => None,
            }),
        ),
        (
            "no bytes, and no end",
            Box::new(|request| match request {
                Request::Read { .. } => Some(vec![Reply::Data(Bytes::new())]),
                _ => None,
            }),
        ),
        (
            "of another kind",
            Box::new(|request| match request {
                Request::Open { .. } => Some(vec![Reply::Data(Bytes::new())]),
                _ => None,
            }),
        ),
        (
            "the number of no request",
            Box::new(|request| match request {
                Request::Open { .. } => Some(vec![Reply::Handle(Bytes::new()); 2]),
                _ => None,
            }),
        ),
        (
            "did not answer for",
            Box::new(|request| match request {
                Request::Read { .. } => Some(Vec::new()),
                _ => None,
            }),
        ),
        ("changed while it was read", Box::new(changing)),
        // It says that the file is enormous, and then it is not.
        (
            "changed while it was read",
            Box::new(move |request| match request {
                Request::Stat { .. } => Some(vec![Reply::Attributes(size(1 << 60))]),
                _ => None,
            }),
        ),
    ]
}

/// Each lie ends with an error that names it, and leaves the file that was there as it was.
#[tokio::test]
async fn lies_are_named_and_change_nothing() {
    for (words, answer) in lies() {
        let (victim, mut liar) = (Victim::new(), Liar::new());
        let into = victim.folder.path().join("into");
        std::fs::create_dir(&into).unwrap();
        std::fs::write(into.join("x"), "old").unwrap();
        liar.files.insert(b"/h/x".to_vec(), b"new!".to_vec());
        liar.answer = answer;
        let error = victim.get(liar).await.unwrap_err();
        assert!(error.to_string().contains(words), "{words}: {error}");
        assert_eq!(std::fs::read(into.join("x")).unwrap(), b"old", "{words}");
        let names = std::fs::read_dir(&into).unwrap().count();
        assert!(names == 1, "{words}: {names} names");
    }
}

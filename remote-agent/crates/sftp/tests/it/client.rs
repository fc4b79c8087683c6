//! The client: what it keeps under way, and what it makes of servers that do not behave.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use sftp::{
    Client, Code, Reply, Request,
    client::{Cause, Options, Pull},
    packet::{OpenFlags, Version},
};
use stdx::task::Scope;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream},
    sync::{Semaphore, mpsc},
};

fn options() -> Options {
    Options {
        silence: Duration::from_secs(2),
        greeting: Duration::from_secs(2),
        ..Options::default()
    }
}

/// The far end of a session that has begun.
struct Server {
    stream: DuplexStream,
}

impl Server {
    async fn next(&mut self) -> Option<(u32, Request)> {
        let packet = sftp::packet::read(&mut self.stream).await.ok()??;
        Some(Request::decode(packet).unwrap())
    }

    async fn answer(&mut self, id: u32, reply: Reply) {
        self.stream.write_all(&reply.encode(id)).await.unwrap();
    }
}

async fn begin(scope: &Scope) -> (Client, Server) {
    let (ours, mut theirs) = tokio::io::duplex(1 << 20);
    let greet = async {
        sftp::packet::read(&mut theirs).await.unwrap();
        let version = Version {
            version: 3,
            extensions: Vec::new(),
        };
        theirs.write_all(&version.encode()).await.unwrap();
    };
    let options = options();
    let (client, ()) = tokio::join!(Client::start(ours, &options, scope), greet);
    (client.unwrap(), Server { stream: theirs })
}

#[tokio::test]
async fn what_is_no_sftp_is_quoted() {
    let scope = Scope::root("test");
    for (said, words) in [
        ("Welcome to build-7\nyou have mail\n", "\"Welcome to build-7\""),
        ("", "ended at once"),
        ("no", "\"no\""),
    ] {
        let (ours, mut theirs) = tokio::io::duplex(1024);
        theirs.write_all(said.as_bytes()).await.unwrap();
        theirs.shutdown().await.unwrap();
        let error = Client::start(ours, &options(), &scope).await.unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert!(error.is_lost() && error.hint().unwrap().contains("start-up files"));
    }
    let (ours, _theirs) = tokio::io::duplex(1024);
    let error = Client::start(ours, &options(), &scope).await.unwrap_err();
    assert!(matches!(error.cause(), Cause::Silent(_)), "{error}");
}

#[tokio::test]
async fn a_server_that_falls_silent_is_given_up() {
    let scope = Scope::root("test");
    let (client, mut server) = begin(&scope).await;
    let asked = tokio::join!(client.stat(b"/a"), client.remove(b"/b"), server.next());
    for error in [asked.0.map(drop).unwrap_err(), asked.1.unwrap_err()] {
        assert!(error.to_string().contains("did not answer for"), "{error}");
    }
    assert!(client.is_closed());
    assert!(client.stat(b"/a").await.unwrap_err().is_lost());
}

#[tokio::test]
async fn answers_find_who_asked_in_any_order() {
    let scope = Scope::root("test");
    let (client, mut server) = begin(&scope).await;
    let serve = async {
        let (first, _) = server.next().await.unwrap();
        let (second, _) = server.next().await.unwrap();
        server.answer(second, Reply::status(Code::OK, "")).await;
        server
            .answer(first, Reply::status(Code::FAILURE, "disk is full"))
            .await;
    };
    let (first, second, ()) = tokio::join!(client.remove(b"/a\n"), client.remove(b"/b"), serve);
    let error = first.unwrap_err().to_string();
    assert_eq!(
        error,
        "could not remove /a\\n on the host: the host could not (disk is full)"
    );
    second.unwrap();
}

#[tokio::test]
async fn what_a_dropped_request_opened_is_closed() {
    let scope = Scope::root("test");
    let (client, mut server) = begin(&scope).await;
    let id = {
        let open = client.open(b"/a", OpenFlags::READ, None);
        tokio::select! {
            biased;
            _ = open => unreachable!("nobody answers"),
            request = server.next() => request.unwrap().0,
        }
    };
    let handle = Bytes::from_static(b"h1");
    server.answer(id, Reply::Handle(handle.clone())).await;
    assert_eq!(server.next().await.unwrap().1, Request::Close { handle });
}

/// The reader does not wait for one answer before it asks for the next, and holds what it asked for in order.
#[tokio::test]
async fn many_reads_are_under_way_and_come_in_order() {
    let scope = Scope::root("test");
    let (client, mut server) = begin(&scope).await;
    let (sender, mut asked) = mpsc::channel(64);
    let go = Arc::new(Semaphore::new(0));
    let waits = Arc::clone(&go);
    drop(scope.spawn(async move {
        let mut held = Vec::new();
        while let Some((id, request)) = server.next().await {
            match request {
                Request::Read { offset, length, .. } => {
                    held.push((id, offset, length));
                    sender.send(offset).await.unwrap();
                    if held.len() == 16 {
                        drop(waits.acquire().await.unwrap());
                        // The last is answered first.
                        for (id, offset, length) in held.drain(..).rev() {
                            let byte = u8::try_from(offset / 1000).unwrap();
                            let data = Bytes::from(vec![byte; length as usize]);
                            server.answer(id, Reply::Data(data)).await;
                        }
                    }
                }
                Request::Open { .. } => server.answer(id, Reply::Handle(Bytes::new())).await,
                _ => server.answer(id, Reply::status(Code::OK, "")).await,
            }
        }
    }));
    let file = client.open(b"/a", OpenFlags::READ, None).await.unwrap();
    let mut pull = Pull::new(&file, 0..32_000, 1000, 16);
    let watch = async {
        for number in 0..16 {
            assert_eq!(asked.recv().await.unwrap(), number * 1000);
        }
        go.add_permits(2);
        while asked.recv().await.is_some_and(|offset| offset < 31_000) {}
    };
    let read = async {
        let mut read = Vec::new();
        while let Some(bytes) = pull.next().await.unwrap() {
            read.extend_from_slice(&bytes);
        }
        read
    };
    let ((), read) = tokio::join!(watch, read);
    assert_eq!(read.len(), 32_000);
    assert!(
        read.iter()
            .enumerate()
            .all(|(at, byte)| usize::from(*byte) == at / 1000)
    );
}

#[tokio::test]
async fn closing_says_the_end_behind_what_was_asked() {
    let scope = Scope::root("test");
    let (client, mut server) = begin(&scope).await;
    client.remove_later(b"/a");
    let serve = async {
        assert!(matches!(server.next().await, Some((_, Request::Remove { .. }))));
        let mut rest = Vec::new();
        server.stream.read_to_end(&mut rest).await.unwrap();
        assert!(rest.is_empty());
        drop(server);
    };
    tokio::join!(client.close(), serve);
    assert!(client.is_closed());
}

//! A model server that answers every request with one word, and notes when it was asked.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::system;

/// A task that contains this word is answered only after the asker went away.
pub(super) const SLOW: &str = "take-your-time";

const ANSWER: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
const WORD: &str = r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"done"}}]}"#;
const END: &str = r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;

/// A running server. Its threads end with the process.
#[derive(Debug)]
pub(super) struct Model {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Instant>>>,
}

impl Model {
    /// Listens on loopback in the network namespace of this thread.
    pub(super) fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("could not open a port for the model")?;
        let model = Self {
            address: listener.local_addr()?,
            asked: Arc::default(),
        };
        let asked = Arc::clone(&model.asked);
        in_background(move || {
            for stream in listener.incoming().flatten() {
                let asked = Arc::clone(&asked);
                // A client that goes away in between is its own affair.
                in_background(move || drop(answer(stream, &asked)));
            }
        });
        Ok(model)
    }

    /// Gives the base URL for a provider of the OpenAI kind.
    pub(super) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Gives the time of the first request since the last call, if there was one.
    pub(super) fn first_request(&self) -> Option<Instant> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let first = asked.first().copied();
        asked.clear();
        first
    }
}

fn in_background(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().name("model".to_owned());
    // Without a thread the asker sees a closed connection.
    drop(thread.spawn(work));
}

fn answer(mut stream: TcpStream, asked: &Mutex<Vec<Instant>>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut length, mut line) = (0, String::new());
    reader.read_line(&mut line)?;
    asked
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(system::now());
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        match line.trim().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().unwrap_or(0);
            }
            None => break,
            Some(_) => {}
        }
    }
    let mut body = Vec::new();
    reader.take(length).read_to_end(&mut body)?;
    stream.write_all(ANSWER.as_bytes())?;
    while String::from_utf8_lossy(&body).contains(SLOW) {
        stream.write_all(b": still here\n\n")?;
        std::thread::sleep(Duration::from_millis(500));
    }
    stream.write_all(format!("{WORD}\n\n{END}\n\ndata: [DONE]\n\n").as_bytes())
}

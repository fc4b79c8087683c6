//! The response body: it performs frames while the reader reads.

use std::{collections::HashMap, convert::Infallible, time::Duration};

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt as _, Full, StreamBody, combinators::UnsyncBoxBody};

use crate::{Gate, framing::Frame};

/// A response body.
pub(crate) type Body = UnsyncBoxBody<Bytes, Broken>;

/// The script breaks the connection here.
#[derive(Debug, thiserror::Error)]
#[error("the script breaks the connection here")]
pub(crate) struct Broken;

/// Makes a body of known bytes.
pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into())
        .map_err(|never: Infallible| match never {})
        .boxed_unsync()
}

/// Makes a body that performs the frames.
pub(crate) fn streamed(frames: Vec<Frame>, gates: HashMap<String, Gate>) -> Body {
    let steps = stream::unfold(
        (frames.into_iter(), gates, None),
        |(mut frames, gates, endless)| async move {
            if let Some(every_ms) = endless {
                return Some((write(comment(every_ms).await), (frames, gates, endless)));
            }
            // Letting the connection run once writes out what it holds; a break would otherwise swallow it, and small
            // writes would be joined.
            tokio::task::yield_now().await;
            loop {
                match frames.next()? {
                    Frame::Bytes(bytes) => return Some((write(bytes.into()), (frames, gates, None))),
                    Frame::Pause(pause) => tokio::time::sleep(Duration::from_millis(pause)).await,
                    Frame::Gate(name) => {
                        if let Some(gate) = gates.get(&name) {
                            gate.pass().await;
                        }
                    }
                    Frame::Drop => return Some((Err(Broken), (frames, gates, None))),
                    Frame::Stall => std::future::pending().await,
                    Frame::Comments(every_ms) => {
                        return Some((write(comment(every_ms).await), (frames, gates, Some(every_ms))));
                    }
                }
            }
        },
    );
    StreamBody::new(steps).boxed_unsync()
}

async fn comment(every_ms: u64) -> Bytes {
    tokio::time::sleep(Duration::from_millis(every_ms)).await;
    Bytes::from_static(b": keep-alive\n\n")
}

fn write(bytes: Bytes) -> Result<hyper::body::Frame<Bytes>, Broken> {
    Ok(hyper::body::Frame::data(bytes))
}

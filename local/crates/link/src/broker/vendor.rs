//! Asks a vendor for a host, with the key, and writes the answer down as frames.

use std::time::Duration;

use bytes::Bytes;
use protocol::broker::{AnswerEnd, AnswerError, AnswerErrorKind, AnswerFrame, AnswerHead, BrokerRequest};
use stdx::{Secret, bounded::one_line};
use vendor_http::{Answer, Client, Error, Headers};

use super::{Endpoint, Key, policy::harmless, spool::Spool};

/// How long a vendor may be silent.
const SILENCE: Duration = Duration::from_secs(120);

/// How many bytes of an answer that is no success are passed on.
const ERROR_BODY: usize = 64 * 1024;

/// How many characters a message has.
const WORDS: usize = 600;

/// The fields of an answer's head that matter to the host.
const FIELDS: [&str; 3] = ["content-type", "retry-after", "retry-after-ms"];

/// Makes a request once and writes the whole answer, or why there is none.
pub(crate) async fn ask(client: &Client, request: &BrokerRequest, endpoint: &Endpoint, spool: &Spool) {
    let end = match answered(client, request, endpoint, spool).await {
        Ok(()) => AnswerEnd::default(),
        Err(error) => {
            tracing::info!(%error, request = request.request, "no whole answer for the host");
            AnswerEnd {
                error: Some(told(&error, endpoint)),
            }
        }
    };
    spool.complete(&AnswerFrame::End(end).encode());
}

async fn answered(
    client: &Client,
    request: &BrokerRequest,
    endpoint: &Endpoint,
    spool: &Spool,
) -> Result<(), Error> {
    // The address of this machine's configuration, which is the one that was asked for.
    let address = vendor_http::Endpoint::parse(&endpoint.url)?;
    let headers = headers(request, endpoint)?;
    let body = Bytes::copy_from_slice(request.body.as_bytes());
    let mut answer = client.post(&address, &headers, body, SILENCE).await?;
    let head = AnswerHead {
        status: answer.status(),
        headers: FIELDS
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), answer.header(name)?.to_owned())))
            .collect(),
    };
    let is_success = (200..300).contains(&head.status);
    spool.write(&AnswerFrame::Head(head).encode()).await;
    if !is_success {
        let body = complaint(&mut answer, endpoint).await;
        spool.write(&AnswerFrame::Data(body).encode()).await;
        return Ok(());
    }
    while let Some(bytes) = next(&mut answer).await? {
        spool.write(&AnswerFrame::Data(bytes.to_vec()).encode()).await;
    }
    Ok(())
}

async fn next(answer: &mut Answer) -> Result<Option<Bytes>, Error> {
    let piece = tokio::time::timeout(SILENCE, answer.chunk()).await;
    piece.map_err(|_| Error::Stalled { limit: SILENCE })?
}

/// Reads the beginning of a body that says what is wrong. Some vendors repeat the key in it, which is not the host's.
async fn complaint(answer: &mut Answer, endpoint: &Endpoint) -> Vec<u8> {
    let mut body = Vec::new();
    while body.len() < ERROR_BODY
        && let Ok(Some(bytes)) = next(answer).await
    {
        body.extend_from_slice(&bytes);
    }
    body.truncate(ERROR_BODY);
    // A key that was cut in two would not be found.
    let text = String::from_utf8_lossy(&body);
    without_secrets(&text, endpoint).into_bytes()
}

fn without_secrets(text: &str, endpoint: &Endpoint) -> String {
    let key = match &endpoint.key {
        Key::Here(key) => Some(key),
        Key::NotNeeded | Key::Missing(_) => None,
    };
    let secrets = endpoint.headers.iter().map(|(_, value)| value).chain(key);
    let mut text = text.to_owned();
    for secret in secrets.map(|secret| secret.expose().trim()) {
        // Replacing a very short value would hit ordinary words and hide nothing.
        if secret.len() >= 4 {
            text = text.replace(secret, "***");
        }
    }
    text
}

fn headers(request: &BrokerRequest, endpoint: &Endpoint) -> Result<Headers, Error> {
    let mut headers = Headers::default();
    headers.set("content-type", &Secret::new("application/json"))?;
    headers.set("accept", &Secret::new("text/event-stream"))?;
    for (name, value) in harmless(&request.headers) {
        headers.set(&name, &Secret::new(value))?;
    }
    if let Key::Here(key) = &endpoint.key {
        headers.bearer(key)?;
    }
    for (name, value) in &endpoint.headers {
        headers.set(name, value)?;
    }
    Ok(headers)
}

/// Says what the host is told of a failure.
fn told(error: &Error, endpoint: &Endpoint) -> AnswerError {
    let mut message = format!("from the machine with the key: {error}");
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        message.push_str(": ");
        message.push_str(&cause.to_string());
        source = cause.source();
    }
    let (kind, hint) = match error {
        Error::Config(_) => (
            AnswerErrorKind::Refused,
            format!(
                "look at [[providers]] `{}` and its key on that machine",
                endpoint.provider
            ),
        ),
        Error::Connect { .. } => (
            AnswerErrorKind::Connect,
            "look at the way to the internet of the machine with the key".to_owned(),
        ),
        Error::Stalled { .. } => (
            AnswerErrorKind::Stalled,
            "the vendor may be overloaded".to_owned(),
        ),
        Error::Cut(_) => (
            AnswerErrorKind::Cut,
            "the connection between the machine with the key and the vendor broke".to_owned(),
        ),
    };
    AnswerError {
        kind,
        message: one_line(&without_secrets(&message, endpoint), WORDS),
        hint: Some(hint),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint() -> Endpoint {
        Endpoint {
            provider: "one".to_owned(),
            url: "http://127.0.0.1:1/v1".to_owned(),
            key: Key::Here(Secret::new(" sk-secret-1 ")),
            headers: vec![("x-more".to_owned(), Secret::new("sk-secret-2"))],
        }
    }

    #[test]
    fn what_a_vendor_repeats_of_a_key_is_hidden() {
        let said = r#"{"error":{"message":"bad key sk-secret-1, header sk-secret-2"}}"#;
        let passed = without_secrets(said, &endpoint());
        assert_eq!(passed, r#"{"error":{"message":"bad key ***, header ***"}}"#);
        assert!(!format!("{:?}", endpoint()).contains("sk-secret"));
    }

    #[tokio::test]
    async fn a_vendor_that_cannot_be_reached_is_told_of_in_one_frame() {
        let spool = Spool::default();
        let request = crate::broker::policy::tests::request(1);
        let client = Client::new(vendor_http::Options::default());
        ask(&client, &request, &endpoint(), &spool).await;
        let bytes = spool.read(0).await.unwrap();
        let mut frames = Vec::new();
        protocol::broker::AnswerDecoder::default()
            .push(&bytes, &mut frames)
            .unwrap();
        let [AnswerFrame::End(AnswerEnd { error: Some(error) })] = frames.as_slice() else {
            panic!("{frames:?}")
        };
        assert_eq!(error.kind, AnswerErrorKind::Connect);
        assert!(error.message.contains("127.0.0.1:1"), "{}", error.message);
    }
}

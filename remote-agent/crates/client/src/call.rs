//! One request and its JSON answer.

use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use protocol::{ErrorResponse, limits};
use serde::{Serialize, de::DeserializeOwned};

use crate::{body::Outgoing, connection::Connection, error::Error};

/// A request that can be sent again as it is.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// What is asked for, for error messages.
    pub(crate) what: String,
    method: Method,
    path: String,
    body: Option<Bytes>,
}

impl Call {
    pub(crate) fn get(what: impl Into<String>, path: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            method: Method::GET,
            path: path.into(),
            body: None,
        }
    }

    pub(crate) fn post(
        what: impl Into<String>,
        path: impl Into<String>,
        body: &impl Serialize,
    ) -> Result<Self, Error> {
        let what = what.into();
        let body = serde_json::to_vec(body).map_err(|error| Error::protocol(&what, &error))?;
        Ok(Self {
            what,
            method: Method::POST,
            path: path.into(),
            body: Some(body.into()),
        })
    }

    pub(crate) fn request(&self, accept: &'static str) -> Result<Request<Outgoing>, Error> {
        // HTTP/2 needs an authority; nothing resolves this one.
        let mut request = Request::builder()
            .method(self.method.clone())
            .uri(format!("http://agent{}", self.path))
            .header(header::ACCEPT, HeaderValue::from_static(accept));
        if self.body.is_some() {
            request = request.header(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let body = Outgoing::full(self.body.clone().unwrap_or_default());
        request
            .body(body)
            .map_err(|error| Error::protocol(&self.what, &error))
    }

    /// Sends it once and decodes the answer.
    pub(crate) async fn once<T: DeserializeOwned>(&self, connection: &Connection) -> Result<T, Error> {
        let response = connection
            .send(&self.what, self.request("application/json")?)
            .await?;
        let status = response.status();
        let body = self.collect(connection, response.into_body()).await?;
        if status != StatusCode::OK {
            return Err(self.refusal(status, &body));
        }
        serde_json::from_slice(&body).map_err(|error| {
            let why = format!("{error} in {}", excerpt(&body));
            Error::protocol(&self.what, &why)
        })
    }

    /// Reads a whole body, within the limit.
    pub(crate) async fn collect(&self, connection: &Connection, body: Incoming) -> Result<Bytes, Error> {
        let body = Limited::new(body, limits::EVENT).collect();
        match connection.while_it_lasts(&self.what, body).await? {
            Ok(collected) => Ok(collected.to_bytes()),
            Err(error) if error.is::<LengthLimitError>() => {
                let why = format!("it is longer than {} bytes", limits::EVENT);
                Err(Error::protocol(&self.what, &why))
            }
            Err(error) => match error.downcast::<hyper::Error>() {
                Ok(error) => Err(connection.failure(&self.what, *error)),
                Err(error) => Err(Error::protocol(&self.what, &error)),
            },
        }
    }

    /// Makes the error of an answer that is not a success.
    pub(crate) fn refusal(&self, status: StatusCode, body: &[u8]) -> Error {
        match serde_json::from_slice::<ErrorResponse>(body) {
            Ok(response) => Error::Agent(response.error),
            Err(_) => Error::protocol(&self.what, &format!("status {status} with {}", excerpt(body))),
        }
    }
}

/// Quotes the beginning of a body for an error message.
pub(crate) fn excerpt(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body.get(..400).unwrap_or(body));
    format!("{:?}", stdx::bounded::one_line(&text, 200))
}

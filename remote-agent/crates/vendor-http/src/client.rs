//! The client and its answers.

use std::{sync::OnceLock, time::Duration};

use bytes::Bytes;
use reqwest::{Certificate, ClientBuilder, NoProxy, Proxy, Response, redirect};
use stdx::Secret;

use crate::{Endpoint, Error, Headers, Transport};

/// How a client connects.
#[derive(Debug, Clone)]
pub struct Options {
    /// The URL of an HTTP proxy; it may hold a password, so it does not print. The environment's proxies are never used;
    /// loopback endpoints bypass it.
    pub proxy: Option<Secret>,
    /// How long a connection may take.
    pub connect_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            proxy: None,
            connect_timeout: Duration::from_secs(30),
        }
    }
}

/// A client. What it needs is made with the first request, and its connections are used again.
#[derive(Debug)]
pub struct Client {
    options: Options,
    /// For endpoints without TLS, and for the others.
    plain: OnceLock<Result<reqwest::Client, String>>,
    tls: OnceLock<Result<reqwest::Client, String>>,
}

impl Client {
    /// Makes a client; it costs nothing.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            options,
            plain: OnceLock::new(),
            tls: OnceLock::new(),
        }
    }

    /// Sends a request and waits up to `patience` for the head of the answer, whatever its status.
    ///
    /// # Errors
    /// [`Error::Config`], [`Error::Connect`], [`Error::Stalled`].
    pub async fn post(
        &self,
        endpoint: &Endpoint,
        headers: &Headers,
        body: Bytes,
        patience: Duration,
    ) -> Result<Answer, Error> {
        let request = self
            .connector(endpoint)?
            .post(endpoint.url().clone())
            .headers(headers.map().clone())
            .body(body);
        tokio::time::timeout(patience, request.send())
            .await
            .map_err(|_elapsed| Error::Stalled { limit: patience })?
            .map(Answer)
            .map_err(|error| Error::Connect {
                place: endpoint.place(),
                source: Transport::new(error),
            })
    }

    fn connector(&self, endpoint: &Endpoint) -> Result<&reqwest::Client, Error> {
        let made = if endpoint.url().scheme() == "http" {
            self.plain.get_or_init(|| make_plain(&self.options))
        } else {
            self.tls.get_or_init(|| make_tls(&self.options))
        };
        made.as_ref().map_err(|error| Error::Config(error.clone()))
    }
}

/// An answer whose head has come.
#[derive(Debug)]
pub struct Answer(Response);

impl Answer {
    /// Gives the HTTP status.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.0.status().as_u16()
    }

    /// Gives a header field, unless it is not there or not text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.0.headers().get(name)?.to_str().ok()
    }

    /// Gives the next piece of the body; `None` at its end. There is no time limit, and dropping the future loses nothing.
    ///
    /// # Errors
    /// [`Error::Cut`].
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        let piece = self.0.chunk().await;
        piece.map_err(|error| Error::Cut(Transport::new(error)))
    }
}

fn said(error: reqwest::Error) -> String {
    format!("could not make an HTTP client ({})", error.without_url())
}

fn make_plain(options: &Options) -> Result<reqwest::Client, String> {
    // Nothing to verify, so the roots need not be read.
    builder(options)?.tls_certs_only([]).build().map_err(said)
}

/// Makes the client for TLS. On a machine without CA files the bundled roots stand in for the system's.
fn make_tls(options: &Options) -> Result<reqwest::Client, String> {
    match builder(options)?.build() {
        Ok(client) => Ok(client),
        Err(error) => {
            tracing::debug!(%error, "no system roots, using the bundled ones");
            let roots = webpki_root_certs::TLS_SERVER_ROOT_CERTS
                .iter()
                .filter_map(|der| Certificate::from_der(der).ok());
            builder(options)?.tls_certs_only(roots).build().map_err(said)
        }
    }
}

fn builder(options: &Options) -> Result<ClientBuilder, String> {
    // Another part of the program may have installed the provider; either is good.
    drop(rustls::crypto::ring::default_provider().install_default());
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("reasonix/", env!("CARGO_PKG_VERSION")))
        // A redirect would turn the POST into a GET, and may carry the key elsewhere.
        .redirect(redirect::Policy::none())
        // The one budget of attempts is the caller's.
        .retry(reqwest::retry::never())
        .no_proxy()
        .connect_timeout(options.connect_timeout)
        .tcp_nodelay(true)
        .tcp_keepalive(Duration::from_secs(30))
        .http2_keep_alive_interval(Duration::from_secs(30))
        .http2_keep_alive_timeout(Duration::from_secs(20));
    if let Some(proxy) = &options.proxy {
        let local = NoProxy::from_string("localhost,127.0.0.0/8,::1");
        let proxy = Proxy::all(proxy.expose()).map_err(|_| "the proxy is not a URL".to_owned())?;
        builder = builder.proxy(proxy.no_proxy(local));
    }
    Ok(builder)
}

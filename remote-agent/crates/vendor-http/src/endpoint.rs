//! Where requests go.

use std::{fmt, net::IpAddr};

use reqwest::Url;

use crate::Error;

/// An http(s) URL.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint(Url);

impl Endpoint {
    /// Reads a URL.
    ///
    /// # Errors
    /// [`Error::Config`] when it is no http(s) URL with a host.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let url =
            Url::parse(text).map_err(|error| Error::Config(format!("\"{text}\" is not a URL ({error})")))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(Error::Config(format!("\"{text}\" is not an http(s) URL")));
        }
        Ok(Self(url))
    }

    /// Gives the whole URL.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Gives the host in lower case: a name, or an address as it stands in a URL.
    #[must_use]
    pub fn host(&self) -> String {
        self.0.host_str().unwrap_or_default().to_ascii_lowercase()
    }

    /// Gives host and port, for messages.
    #[must_use]
    pub fn place(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        let port = self.0.port_or_known_default().unwrap_or_default();
        format!("{host}:{port}")
    }

    /// Says whether it is on the machine that asks.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        let host = self.0.host_str().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        host.eq_ignore_ascii_case("localhost")
            || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// Says whether a user name or a password is part of it.
    #[must_use]
    pub fn has_user(&self) -> bool {
        !self.0.username().is_empty() || self.0.password().is_some()
    }

    pub(crate) fn url(&self) -> &Url {
        &self.0
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place())
    }
}

/// Prints neither user nor query, which may hold secrets.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({})", self.place())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_loopback() {
        let check =
            |text: &str, want| assert_eq!(Endpoint::parse(text).unwrap().is_loopback(), want, "{text}");
        check("http://localhost:1/v1", true);
        check("http://127.8.9.1/v1", true);
        check("http://[::1]:80/v1", true);
        check("http://localhost.example/v1", false);
        check("https://10.0.0.1/v1", false);
    }

    #[test]
    fn knows_urls_that_hold_a_user() {
        let check = |text: &str, want| assert_eq!(Endpoint::parse(text).unwrap().has_user(), want, "{text}");
        check("https://a.example/v1", false);
        check("https://ann@a.example/v1", true);
        check("https://:pass@a.example/v1", true);
    }

    #[test]
    fn refuses_what_is_no_http_url() {
        for text in ["ftp://a.example", "a.example", "", "https://"] {
            assert!(Endpoint::parse(text).is_err(), "{text}");
        }
    }
}

//! Header fields that carry no credentials, by construction.

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::limits;

/// Header fields that a request may have when it is parked. One whose name is that of a credential cannot be added and
/// does not decode.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct PlainHeaders(Vec<(String, String)>);

/// A header field that carries credentials; only its name is told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the header \"{0}\" carries credentials")]
pub struct CredentialHeader(pub String);

/// Words in names of header fields that carry credentials. Vendors invent names, so a part of a name is enough.
const WORDS: &[&str] = &[
    "auth",
    "cookie",
    "credential",
    "key",
    "passw",
    "secret",
    "session",
    "signature",
    "token",
];

/// Says whether a header field of this name carries credentials, as far as names tell.
#[must_use]
pub fn carries_credentials(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    WORDS.iter().any(|word| name.contains(word))
}

impl PlainHeaders {
    /// Adds a field.
    ///
    /// # Errors
    /// [`CredentialHeader`] when its name is that of a credential.
    pub fn add(&mut self, name: &str, value: &str) -> Result<(), CredentialHeader> {
        if carries_credentials(name) {
            return Err(CredentialHeader(name.to_owned()));
        }
        self.0.push((name.to_owned(), value.to_owned()));
        Ok(())
    }

    /// Gives names and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl<'de> Deserialize<'de> for PlainHeaders {
    fn deserialize<D: Deserializer<'de>>(decoder: D) -> Result<Self, D::Error> {
        let fields: Vec<(String, String)> = limits::list::<{ limits::BROKER_HEADERS }, _, _>(decoder)?;
        let mut headers = Self::default();
        for (name, value) in &fields {
            if name.len() > limits::NAME || value.len() > limits::LINE {
                return Err(de::Error::custom("a header field is too long"));
            }
            headers.add(name, value).map_err(de::Error::custom)?;
        }
        Ok(headers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_may_be_a_credential_is_never_let_in() {
        for name in [
            "Authorization",
            "proxy-authorization",
            "X-API-Key",
            "api-key",
            "x-goog-api-key",
            "Cookie",
            "Set-Cookie",
            "x-auth-token",
            "x-amz-security-token",
            "X-Amz-Signature",
            "client-secret",
            "x-password",
        ] {
            assert!(carries_credentials(name), "{name}");
            assert!(PlainHeaders::default().add(name, "v").is_err(), "{name}");
            let json = format!("[[\"{name}\",\"v\"]]");
            assert!(serde_json::from_str::<PlainHeaders>(&json).is_err(), "{name}");
        }
        for name in [
            "content-type",
            "accept",
            "anthropic-version",
            "x-title",
            "http-referer",
        ] {
            assert!(!carries_credentials(name), "{name}");
        }
    }
}

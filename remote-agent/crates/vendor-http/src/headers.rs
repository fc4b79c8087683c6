//! Header fields of a request.

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use stdx::Secret;

use crate::Error;

/// Header fields. Values never print.
#[derive(Debug, Clone, Default)]
pub struct Headers(HeaderMap);

impl Headers {
    /// Sets a field, instead of an earlier one of this name.
    ///
    /// # Errors
    /// [`Error::Config`] when name or value cannot be sent.
    pub fn set(&mut self, name: &str, value: &Secret) -> Result<(), Error> {
        let header = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| Error::Config(format!("\"{name}\" is not a header name")))?;
        let value = sensitive(&format!("header \"{name}\""), value.expose())?;
        self.0.insert(header, value);
        Ok(())
    }

    /// Sets a key as `Authorization: Bearer …`.
    ///
    /// # Errors
    /// [`Error::Config`] when the key holds characters that cannot be sent.
    pub fn bearer(&mut self, key: &Secret) -> Result<(), Error> {
        let value = sensitive("the key", &format!("Bearer {}", key.expose().trim()))?;
        self.0.insert(AUTHORIZATION, value);
        Ok(())
    }

    pub(crate) fn map(&self) -> &HeaderMap {
        &self.0
    }
}

fn sensitive(what: &str, text: &str) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::from_str(text)
        .map_err(|_| Error::Config(format!("{what} holds characters that no header may hold")))?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_prints() {
        let mut headers = Headers::default();
        headers.bearer(&Secret::new("sk-secret-1")).unwrap();
        headers.set("x-more", &Secret::new("sk-secret-2")).unwrap();
        assert!(!format!("{headers:?}").contains("sk-secret"));
        assert!(headers.set("no name", &Secret::new("v")).is_err());
        let error = headers.bearer(&Secret::new("sk-secret\n3")).unwrap_err();
        assert!(!error.to_string().contains("sk-secret"));
    }
}

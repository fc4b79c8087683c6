//! What a failed answer of a vendor means, however it came here.

use std::time::Duration;

use http::StatusCode;
use serde_json::Value;
use stdx::{Secret, bounded};

use crate::{Cause, Options, retry, vendor_error::VendorError};

/// Bytes of an error's body that are read.
pub(crate) const ERROR_BODY: usize = 64 * 1024;
/// Bytes of a vendor's text that are shown.
const ERROR_TEXT: usize = 600;

/// Judges the answers of one endpoint.
#[derive(Debug)]
pub(crate) struct Judge {
    name: String,
    protocol: &'static str,
    /// What must not be shown.
    secrets: Vec<Secret>,
}

impl Judge {
    pub(crate) fn new(options: &Options, protocol: &'static str) -> Self {
        let headers = options.headers.iter().map(|(_, value)| value);
        Self {
            name: options.name.clone(),
            protocol,
            secrets: headers.chain(&options.key).cloned().collect(),
        }
    }

    /// Gives the provider's name in the configuration.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Removes the key from a vendor's text: some vendors repeat it in their complaints.
    pub(crate) fn redact(&self, text: &str) -> String {
        let clean = self
            .secrets
            .iter()
            .fold(text.to_owned(), |text, secret| hide(&text, secret));
        bounded::one_line(&clean, ERROR_TEXT)
    }

    /// Says what an answer means whose status is no success, from the beginning of its body.
    pub(crate) fn status(&self, code: u16, retry_after: Option<Duration>, body: &[u8]) -> Cause {
        let vendor = serde_json::from_slice::<Value>(body)
            .ok()
            .and_then(|body| VendorError::find(&body));
        let reason = StatusCode::from_u16(code)
            .ok()
            .and_then(|status| status.canonical_reason());
        let text = match &vendor {
            Some(vendor) => vendor.message.clone(),
            None if body.is_empty() => reason.unwrap_or("no text").to_owned(),
            None => String::from_utf8_lossy(body).into_owned(),
        };
        let message = self.redact(&text);
        let exhausted = vendor.is_some_and(|vendor| vendor.says_quota());
        let status = code;
        match code {
            401 | 403 => Cause::Unauthorized { status, message },
            402 => Cause::Quota { status, message },
            429 if exhausted => Cause::Quota { status, message },
            429 | 500.. => Cause::Unavailable {
                status,
                message,
                retry_after,
            },
            _ => Cause::Refused {
                protocol: self.protocol,
                status,
                message,
            },
        }
    }
}

/// Gives how long a vendor wants to be left alone, from the fields of its answer.
pub(crate) fn wanted_wait<'a>(field: impl Fn(&str) -> Option<&'a str>) -> Option<Duration> {
    let millis = field("retry-after-ms")
        .and_then(|value| value.trim().parse().ok())
        .map(Duration::from_millis);
    millis.or_else(|| retry::retry_after(field("retry-after")?, stdx::clock::unix_millis()))
}

fn hide(text: &str, secret: &Secret) -> String {
    // Replacing a very short value would hit ordinary words and hide nothing.
    if secret.expose().len() < 4 {
        text.to_owned()
    } else {
        text.replace(secret.expose(), "***")
    }
}

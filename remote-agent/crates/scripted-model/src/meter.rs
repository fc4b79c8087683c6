//! A neutral meter of prefix caching.
//!
//! Vendors keep the computed state of a prompt's prefix in blocks and charge less for blocks they have seen. The meter
//! does the same over the request's canonical bytes (the system message, then the tools, then the other messages, as
//! compact JSON with keys in the order in which they were sent): 4 bytes are a token, 64 tokens are a block, and a
//! block counts as seen only if every block before it is the same too. Nothing expires.

use std::collections::HashSet;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::record::role;

/// Bytes that count as one token.
const BYTES_PER_TOKEN: usize = 4;
/// Tokens in one cache block.
const TOKENS_PER_BLOCK: usize = 64;

/// What a prefix cache saved so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Meter {
    /// One entry for each request that got an answer, in order.
    pub requests: Vec<Metered>,
}

/// What a prefix cache saved in one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metered {
    /// The request's number, from 0.
    pub request: usize,
    /// Tokens of the prompt.
    pub input: u64,
    /// Tokens of it that were in the cache.
    pub hit: u64,
}

impl Metered {
    /// Gives the tokens that were not in the cache.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.input.saturating_sub(self.hit)
    }
}

impl Meter {
    /// Gives the tokens of all prompts.
    #[must_use]
    pub fn input(&self) -> u64 {
        self.requests.iter().map(|request| request.input).sum()
    }

    /// Gives the tokens of all prompts that were in the cache.
    #[must_use]
    pub fn hit(&self) -> u64 {
        self.requests.iter().map(|request| request.hit).sum()
    }

    /// Gives the tokens of all prompts that were not in the cache.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.requests.iter().map(Metered::missed).sum()
    }
}

/// The simulated cache and what it measured.
#[derive(Debug, Default)]
pub(crate) struct PrefixCache {
    seen: HashSet<[u8; 32]>,
    meter: Meter,
}

impl PrefixCache {
    /// Looks a request up, remembers it and says what was there.
    pub(crate) fn measure(&mut self, request: usize, body: &Value) -> Metered {
        let bytes = canonical(body);
        let mut chain = [0_u8; 32];
        let mut hit_blocks = 0_u64;
        let mut unbroken = true;
        for block in bytes.chunks_exact(BYTES_PER_TOKEN * TOKENS_PER_BLOCK) {
            let mut hash = Sha256::new();
            hash.update(chain);
            hash.update(block);
            chain = hash.finalize().into();
            let new = self.seen.insert(chain);
            unbroken = unbroken && !new;
            hit_blocks += u64::from(unbroken);
        }
        let input = bytes.len().div_ceil(BYTES_PER_TOKEN) as u64;
        let measured = Metered {
            request,
            input,
            hit: hit_blocks * TOKENS_PER_BLOCK as u64,
        };
        self.meter.requests.push(measured);
        measured
    }

    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }
}

/// Gives the bytes that the cache sees.
fn canonical(body: &Value) -> Vec<u8> {
    let messages = body
        .get("messages")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    let mut bytes = Vec::new();
    let mut add = |value: &Value| {
        bytes.extend_from_slice(value.to_string().as_bytes());
        bytes.push(b'\n');
    };
    messages
        .iter()
        .filter(|message| role(message) == "system")
        .for_each(&mut add);
    body.get("tools").into_iter().for_each(&mut add);
    messages
        .iter()
        .filter(|message| role(message) != "system")
        .for_each(&mut add);
    bytes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn body(system: &str, user: &[&str]) -> Value {
        let mut messages = vec![json!({"role": "system", "content": system})];
        messages.extend(user.iter().map(|text| json!({"role": "user", "content": text})));
        json!({"model": "m", "messages": messages})
    }

    #[test]
    fn an_appended_message_hits_everything_before_it() {
        let mut cache = PrefixCache::default();
        let long = "word ".repeat(400);
        let first = cache.measure(0, &body(&long, &["a"]));
        assert_eq!(first.hit, 0);
        let second = cache.measure(1, &body(&long, &["a", "b"]));
        assert!(second.hit > 400 && second.missed() < 100, "{second:?}");
        assert_eq!(second.hit % 64, 0);
        assert_eq!(cache.meter().missed(), first.input + second.missed());
    }

    #[test]
    fn a_changed_beginning_misses_everything() {
        let mut cache = PrefixCache::default();
        let long = "word ".repeat(400);
        cache.measure(0, &body(&long, &[]));
        assert_eq!(cache.measure(1, &body(&format!("x{long}"), &[])).hit, 0);
    }

    #[test]
    fn tools_come_right_after_the_system_message() {
        let mut cache = PrefixCache::default();
        let long = "word ".repeat(400);
        let mut request = body("s", &[&long]);
        request["tools"] = json!([{"a": "1"}]);
        cache.measure(0, &request);
        request["tools"] = json!([{"a": "2"}]);
        assert_eq!(cache.measure(1, &request).hit, 0);
    }
}

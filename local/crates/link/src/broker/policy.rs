//! What is asked for a host, and what is not (pure).
//!
//! The host chooses what it wants to ask and says where; whether it may is decided here, from what the user of this
//! machine configured. Nothing of the host's can add an address, change one, or make a key go elsewhere.

use std::time::Duration;

use protocol::{
    broker::{BrokerRequest, PlainHeaders},
    limits::BROKER_BODY as BODY,
};
use stdx::bounded::one_line;

use super::{BrokerOptions, Endpoint, Key, Refusal, RefusalKind};

/// How many characters of the host's words are repeated.
const WORDS: usize = 200;

/// Headers that a host may set. None of them can carry a credential or lead the request elsewhere.
const HEADERS: [&str; 5] = [
    "content-type",
    "accept",
    "anthropic-version",
    "anthropic-beta",
    "openai-beta",
];

/// The rules, and how much of the budget is spent.
#[derive(Debug)]
pub(crate) struct Policy {
    options: BrokerOptions,
    spent: u32,
}

impl Policy {
    pub(crate) fn new(options: BrokerOptions) -> Self {
        Self { options, spent: 0 }
    }

    /// Gives how many requests may still be made.
    pub(crate) fn left(&self) -> u32 {
        self.options.max_requests.saturating_sub(self.spent)
    }

    /// Decides about a request at a wall-clock time, and counts it when it is to be made.
    pub(crate) fn spend(&mut self, request: &BrokerRequest, now_millis: u64) -> Result<Endpoint, Refusal> {
        let endpoint = self.judge(request, now_millis)?.clone();
        self.spent = self.spent.saturating_add(1);
        Ok(endpoint)
    }

    fn judge(&self, request: &BrokerRequest, now_millis: u64) -> Result<&Endpoint, Refusal> {
        let endpoint = self.endpoint(request)?;
        if request.method != "POST" {
            return Err(not_allowed(
                format!(
                    "the host wants to send {}; only POST is sent for it",
                    one_line(&request.method, 20)
                ),
                "use the same version on both sides: `reasonix remote upgrade`",
            ));
        }
        if request.body.len() > BODY {
            return Err(not_allowed(
                format!(
                    "the request is {} bytes long; at most {BODY} are sent for a host",
                    request.body.len()
                ),
                "compact the session, or begin another one",
            ));
        }
        self.in_time(request, now_millis)?;
        if let Key::Missing(name) = &endpoint.key {
            return Err(Refusal {
                kind: RefusalKind::NoKey,
                message: format!(
                    "no key for provider {} on this machine: its .env has no entry {name}",
                    endpoint.provider
                ),
                hint: format!("store it here with `reasonix key {name}` and start again"),
            });
        }
        if self.left() == 0 {
            return Err(Refusal {
                kind: RefusalKind::Budget,
                message: format!(
                    "{} requests were made for the host, as many as are allowed in one run",
                    self.spent
                ),
                hint:
                    "start again, or raise `broker_max_requests` of the host in config.toml of this machine"
                        .to_owned(),
            });
        }
        Ok(endpoint)
    }

    fn endpoint(&self, request: &BrokerRequest) -> Result<&Endpoint, Refusal> {
        let mut of_provider = self
            .options
            .endpoints
            .iter()
            .filter(|endpoint| endpoint.provider == request.provider)
            .peekable();
        let (provider, url) = (one_line(&request.provider, WORDS), one_line(&request.url, WORDS));
        let Some(&first) = of_provider.peek() else {
            return Err(not_allowed(
                format!(
                    "the host wants to ask provider {provider} at {url}; this machine has no provider of that name"
                ),
                format!(
                    "name another `default_model` in config.toml of the host; or, where the host may be served so, add the same [[providers]] entry `{provider}` to config.toml of this machine (of a built-in provider its key is enough: `reasonix key NAME`)"
                ),
            ));
        };
        of_provider
            .find(|endpoint| endpoint.url == request.url)
            .ok_or_else(|| {
                not_allowed(
                    format!(
                        "the host wants to ask provider {provider} at {url}; this machine only asks it at {}",
                        first.url
                    ),
                    format!(
                        "make `base_url` or `request_url` of [[providers]] `{provider}` the same in both config.toml"
                    ),
                )
            })
    }

    fn in_time(&self, request: &BrokerRequest, now_millis: u64) -> Result<(), Refusal> {
        // A host whose clock is ahead has waited for no time at all.
        let waited = Duration::from_millis(now_millis.saturating_sub(request.parked_at));
        if self.options.expires.is_zero() || waited <= self.options.expires {
            return Ok(());
        }
        Err(Refusal {
            kind: RefusalKind::Expired,
            message: format!(
                "the request has waited for this machine for {} min, longer than the {} min that are allowed",
                waited.as_secs() / 60,
                self.options.expires.as_secs() / 60
            ),
            hint: "ask once more, or raise `broker_expires` of the host in config.toml of this machine"
                .to_owned(),
        })
    }
}

/// Gives those of the host's headers that are sent.
pub(crate) fn harmless(headers: &PlainHeaders) -> Vec<(String, String)> {
    let is_harmless = |name: &str| HEADERS.iter().any(|known| name.eq_ignore_ascii_case(known));
    headers
        .iter()
        .filter(|(name, _)| is_harmless(name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn not_allowed(message: impl Into<String>, hint: impl Into<String>) -> Refusal {
    Refusal {
        kind: RefusalKind::NotAllowed,
        message: message.into(),
        hint: hint.into(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use protocol::SessionId;
    use stdx::Secret;

    use super::*;

    const URL: &str = "https://api.example.com/v1/chat/completions";
    const NOW: u64 = 1_790_000_000_000;

    pub(crate) fn options() -> BrokerOptions {
        let endpoint = |provider: &str, key| Endpoint {
            provider: provider.to_owned(),
            url: URL.to_owned(),
            key,
            headers: Vec::new(),
        };
        BrokerOptions {
            endpoints: vec![
                endpoint("one", Key::Here(Secret::new("sk-1"))),
                endpoint("bare", Key::Missing("BARE_KEY".to_owned())),
            ],
            max_requests: 2,
            expires: Duration::from_secs(3600),
            registry: None,
        }
    }

    pub(crate) fn request(number: u64) -> BrokerRequest {
        BrokerRequest {
            request: number,
            session: SessionId::fresh(),
            provider: "one".to_owned(),
            key_env: Some("ONE_KEY".to_owned()),
            url: URL.to_owned(),
            method: "POST".to_owned(),
            headers: PlainHeaders::default(),
            body: "{}".to_owned(),
            attempt: 1,
            parked_at: NOW,
            received: 0,
        }
    }

    #[test]
    fn only_what_was_configured_is_asked() {
        let mut policy = Policy::new(options());
        let mut check = |change: &dyn Fn(&mut BrokerRequest), kind: RefusalKind, says: &str| {
            let mut wanted = request(1);
            change(&mut wanted);
            let refusal = policy.spend(&wanted, NOW).unwrap_err();
            assert_eq!(refusal.kind, kind, "{refusal}");
            assert!(refusal.message.contains(says), "{refusal}");
            assert!(!refusal.hint.is_empty());
        };
        let at = |url: &'static str| move |request: &mut BrokerRequest| request.url = url.to_owned();
        for url in [
            "http://api.example.com/v1/chat/completions",
            "https://api.example.com:8443/v1/chat/completions",
            "https://api.example.com/v1/files",
            "https://api.example.com/v1/chat/completions/",
            "https://api.example.com/v1/chat/completions?x=1",
            "https://api.example.com@evil.example/v1/chat/completions",
            "https://evil.example/v1/chat/completions",
        ] {
            check(&at(url), RefusalKind::NotAllowed, "only asks it at");
        }
        let other = |request: &mut BrokerRequest| request.provider = "two".to_owned();
        check(&other, RefusalKind::NotAllowed, "no provider of that name");
        let get = |request: &mut BrokerRequest| request.method = "GET".to_owned();
        check(&get, RefusalKind::NotAllowed, "only POST");
        let long = |request: &mut BrokerRequest| request.body = "x".repeat(BODY + 1);
        check(&long, RefusalKind::NotAllowed, "bytes long");
        let late = |request: &mut BrokerRequest| request.parked_at = NOW - 3_600_001;
        check(&late, RefusalKind::Expired, "60 min");
        let bare = |request: &mut BrokerRequest| request.provider = "bare".to_owned();
        check(&bare, RefusalKind::NoKey, "BARE_KEY");
        assert_eq!(policy.left(), 2, "what is refused costs nothing");
    }

    #[test]
    fn a_budget_is_spent_one_by_one() {
        let mut policy = Policy::new(options());
        assert!(policy.spend(&request(1), NOW).is_ok());
        assert!(policy.spend(&request(2), NOW + 3_600_000).is_ok());
        assert_eq!(policy.left(), 0);
        let refusal = policy.spend(&request(3), NOW).unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Budget);
        assert!(refusal.hint.contains("broker_max_requests"));
    }

    #[test]
    fn nothing_expires_where_nothing_shall_and_a_clock_that_is_ahead_does_no_harm() {
        let for_ever = BrokerOptions {
            expires: Duration::ZERO,
            ..options()
        };
        let mut old = request(1);
        old.parked_at = 0;
        assert!(Policy::new(for_ever).spend(&old, NOW).is_ok());
        assert!(Policy::new(options()).spend(&request(1), NOW - 500_000).is_ok());
    }

    #[test]
    fn a_host_sets_no_header_that_matters() {
        let mut wanted = PlainHeaders::default();
        for name in ["Content-Type", "host", "connection", "x-forwarded-for", "accept"] {
            wanted.add(name, "x").unwrap();
        }
        assert!(wanted.add("authorization", "x").is_err());
        let sent: Vec<String> = harmless(&wanted).into_iter().map(|(name, _)| name).collect();
        assert_eq!(sent, ["Content-Type", "accept"]);
    }
}

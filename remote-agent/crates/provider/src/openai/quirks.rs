//! Differences between vendors, as data.

use conversation::Finish;
use vendor_http::Endpoint;

/// How a vendor treats reasoning in the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReasoningProtocol {
    /// As the endpoint's host suggests; an unknown host gets none.
    #[default]
    Auto,
    /// `reasoning_content` goes back with assistant messages while tools are declared (DeepSeek, Moonshot).
    Replayed,
    /// Reasoning never goes back.
    None,
}

/// What is different about a vendor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quirks {
    /// Whether `reasoning_content` goes back.
    pub(crate) replays_reasoning: bool,
    /// The name of the field that limits the answer.
    pub(crate) max_tokens: &'static str,
}

const STANDARD: Quirks = Quirks {
    replays_reasoning: false,
    max_tokens: "max_tokens",
};

/// Vendors that depart from the standard, by the end of the host's name.
const VENDORS: &[(&str, Quirks)] = &[
    (
        "deepseek.com",
        Quirks {
            replays_reasoning: true,
            ..STANDARD
        },
    ),
    (
        "moonshot.cn",
        Quirks {
            replays_reasoning: true,
            max_tokens: "max_completion_tokens",
        },
    ),
    (
        "moonshot.ai",
        Quirks {
            replays_reasoning: true,
            max_tokens: "max_completion_tokens",
        },
    ),
    (
        "api.openai.com",
        Quirks {
            replays_reasoning: false,
            max_tokens: "max_completion_tokens",
        },
    ),
];

impl Quirks {
    /// Gives the quirks of the vendor behind a URL.
    pub(crate) fn of(url: &str, reasoning: ReasoningProtocol) -> Self {
        let host = Endpoint::parse(url)
            .map(|endpoint| endpoint.host())
            .unwrap_or_default();
        let is = |vendor: &str| {
            host.strip_suffix(vendor)
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        let found = VENDORS
            .iter()
            .find(|(vendor, _)| is(vendor))
            .map_or(STANDARD, |(_, quirks)| *quirks);
        match reasoning {
            ReasoningProtocol::Auto => found,
            ReasoningProtocol::Replayed => Self {
                replays_reasoning: true,
                ..found
            },
            ReasoningProtocol::None => Self {
                replays_reasoning: false,
                ..found
            },
        }
    }
}

/// What a `finish_reason` means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The answer is complete in this way.
    Ended(Finish),
    /// The vendor gave up in the middle; another attempt may help.
    Failed,
}

/// Reads a `finish_reason`, in the standard's words and in those of vendors.
pub(crate) fn reason(text: &str) -> Reason {
    match text {
        "stop" | "end_turn" | "eos" | "stop_sequence" | "complete" => Reason::Ended(Finish::Stop),
        "tool_calls" | "function_call" | "tool_use" => Reason::Ended(Finish::ToolCalls),
        "length" | "max_tokens" | "model_length" => Reason::Ended(Finish::Length),
        "content_filter" | "sensitive" | "safety" | "refusal" => Reason::Ended(Finish::ContentFilter),
        // DeepSeek; Zhipu; OpenRouter.
        "insufficient_system_resource" | "network_error" | "error" => Reason::Failed,
        _ => Reason::Ended(Finish::Other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_vendors_by_host() {
        let check = |url: &str, reasoning, want| {
            assert_eq!(Quirks::of(url, reasoning).replays_reasoning, want, "{url}");
        };
        check("https://api.deepseek.com", ReasoningProtocol::Auto, true);
        check("https://API.DeepSeek.com/v1", ReasoningProtocol::Auto, true);
        check("https://notdeepseek.com", ReasoningProtocol::Auto, false);
        check(
            "https://deepseek.com.evil.example",
            ReasoningProtocol::Auto,
            false,
        );
        check("https://api.deepseek.com", ReasoningProtocol::None, false);
        check("http://127.0.0.1:1/v1", ReasoningProtocol::Replayed, true);
        check("nonsense", ReasoningProtocol::Auto, false);
    }
}

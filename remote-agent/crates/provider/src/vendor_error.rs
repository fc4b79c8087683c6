//! Errors as vendors write them.

use serde_json::Value;

use crate::error::Again;

/// An error object of a vendor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VendorError {
    pub(crate) message: String,
    /// The fields `code`, `type` and `status`, as far as they are there.
    codes: Vec<String>,
}

/// Codes and types that mean: the same request will not do better.
const FINAL_CODES: &[&str] = &[
    "400",
    "401",
    "402",
    "403",
    "404",
    "413",
    "422",
    "invalid_request_error",
    "authentication_error",
    "permission_error",
    "not_found_error",
    "insufficient_quota",
    "insufficient_balance",
    "billing_hard_limit_reached",
    "invalid_api_key",
    "model_not_found",
    "context_length_exceeded",
    "content_filter",
    "content_policy_violation",
];

impl VendorError {
    /// Finds the error in a body or event: `{"error": {…}}`, `{"error": "…"}`, or the object itself when it has a
    /// message and nothing of an answer.
    pub(crate) fn find(body: &Value) -> Option<Self> {
        let error = match body.get("error") {
            Some(Value::Null) | None => body.get("choices").is_none().then_some(body)?,
            Some(error) => error,
        };
        let codes = ["code", "type", "status"]
            .iter()
            .filter_map(|key| match error.get(key)? {
                Value::String(text) => Some(text.to_ascii_lowercase()),
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            });
        let message = match error {
            Value::String(text) => text.clone(),
            other => match other.get("message").or_else(|| other.get("detail")) {
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
                None if body.get("error").is_some_and(|error| !error.is_null()) => other.to_string(),
                None => return None,
            },
        };
        Some(Self {
            message,
            codes: codes.collect(),
        })
    }

    /// Says whether another attempt may help. What nobody classified may: the budget is small.
    pub(crate) fn again(&self) -> Again {
        if self.codes.iter().any(|code| FINAL_CODES.contains(&code.as_str())) {
            Again::No
        } else {
            Again::Maybe
        }
    }

    pub(crate) fn says_quota(&self) -> bool {
        const QUOTA: &[&str] = &[
            "insufficient_quota",
            "insufficient_balance",
            "billing_hard_limit_reached",
        ];
        self.codes.iter().any(|code| QUOTA.contains(&code.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn finds_errors_in_every_shape() {
        let check = |body: Value, want: Option<(&str, Again)>| {
            let found = VendorError::find(&body).map(|error| (error.message.clone(), error.again()));
            assert_eq!(
                found.as_ref().map(|(message, again)| (message.as_str(), *again)),
                want,
                "{body}"
            );
        };
        check(
            json!({"error": {"message": "m", "code": 429}}),
            Some(("m", Again::Maybe)),
        );
        check(
            json!({"error": {"message": "m", "type": "Insufficient_Quota"}}),
            Some(("m", Again::No)),
        );
        check(json!({"error": "text"}), Some(("text", Again::Maybe)));
        check(json!({"message": "m", "status": 400}), Some(("m", Again::No)));
        check(
            json!({"error": {"what": 1}}),
            Some(("{\"what\":1}", Again::Maybe)),
        );
        check(json!({"error": null, "choices": []}), None);
        check(json!({"choices": []}), None);
        check(json!({}), None);
        check(json!([]), None);
    }
}

//! What requests cost.

use conversation::Usage;
use serde::{Deserialize, Serialize};

/// Prices of a model per million tokens.
///
/// A model without a price has no [`Price`]; zero is never reported for an unknown one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// For prompt tokens that came from the vendor's cache.
    pub cache_hit: f64,
    /// For other prompt tokens.
    pub input: f64,
    /// For tokens of the answer.
    pub output: f64,
    /// The currency of all three.
    pub currency: Currency,
}

/// A currency that vendors bill in. Amounts are never converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Currency {
    /// US dollar.
    Usd,
    /// Chinese yuan.
    Cny,
}

impl Price {
    /// Gives the cost of a request in [`Price::currency`].
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
    pub fn cost(&self, usage: Usage) -> f64 {
        let part = |tokens: u64, price: f64| tokens as f64 * price / 1_000_000.0;
        part(usage.cached, self.cache_hit)
            + part(usage.missed(), self.input)
            + part(usage.output, self.output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_tokens_are_cheaper() {
        let price = Price {
            cache_hit: 0.5,
            input: 2.0,
            output: 8.0,
            currency: Currency::Usd,
        };
        let usage = Usage {
            input: 3_000_000,
            cached: 2_000_000,
            output: 500_000,
        };
        assert!((price.cost(usage) - 7.0).abs() < 1e-9);
    }
}

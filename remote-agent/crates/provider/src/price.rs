//! What requests cost.

use conversation::{Cost, Usage};
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
    /// Whether they are halved outside of the hours in which DeepSeek asks the full price.
    #[serde(default)]
    pub half_off_peak: bool,
}

/// Full hours of a day at UTC+8 in which DeepSeek asks the full price: from the first up to the second.
const PEAK_HOURS: [(u64, u64); 2] = [(9, 12), (14, 18)];

/// A currency that vendors bill in. Amounts are never converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Currency {
    /// US dollar.
    Usd,
    /// Chinese yuan.
    Cny,
}

impl Currency {
    /// Gives its code (ISO 4217).
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Usd => "USD",
            Self::Cny => "CNY",
        }
    }
}

impl Price {
    /// Gives the cost of a request at full price in [`Price::currency`].
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
    pub fn cost(&self, usage: Usage) -> f64 {
        let part = |tokens: u64, price: f64| tokens as f64 * price / 1_000_000.0;
        part(usage.cached, self.cache_hit)
            + part(usage.missed(), self.input)
            + part(usage.output, self.output)
    }

    /// Gives the cost of a request that was answered at `at` (milliseconds since the Unix epoch) in whole millionths,
    /// as it is recorded.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "prices and counts are not negative, and a cast saturates"
    )]
    pub fn charge(&self, usage: Usage, at: u64) -> Cost {
        let full = self.cost(usage) * 1_000_000.0;
        let micros = if self.half_off_peak && !is_peak(at) {
            full / 2.0
        } else {
            full
        };
        Cost {
            currency: self.currency.code().to_owned(),
            micros: micros.round() as u64,
        }
    }
}

/// Says whether a time (milliseconds since the Unix epoch) is one of full prices.
fn is_peak(at: u64) -> bool {
    let hour = (at / 3_600_000 + 8) % 24;
    PEAK_HOURS.iter().any(|(from, to)| (*from..*to).contains(&hour))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_tokens_are_cheaper_and_so_are_quiet_hours() {
        let price = Price {
            cache_hit: 0.5,
            input: 2.0,
            output: 8.0,
            currency: Currency::Usd,
            half_off_peak: false,
        };
        let usage = Usage {
            input: 3_000_000,
            cached: 2_000_000,
            output: 500_000,
        };
        assert!((price.cost(usage) - 7.0).abs() < 1e-9);
        let charge = price.charge(usage, 0);
        assert_eq!((charge.currency.as_str(), charge.micros), ("USD", 7_000_000));
        let timed = Price {
            half_off_peak: true,
            ..price
        };
        // The epoch began at 8 in Beijing; the full price is asked from 9 to 12 and from 14 to 18.
        let at = |minutes: u64| timed.charge(usage, minutes * 60_000).micros;
        let full = [60, 239, 360, 599, 24 * 60 + 60];
        let half = [0, 59, 240, 359, 600, 24 * 60];
        assert_eq!(full.map(at), [7_000_000; 5]);
        assert_eq!(half.map(at), [3_500_000; 6]);
    }
}

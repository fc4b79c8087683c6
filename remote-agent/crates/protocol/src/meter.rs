//! What requests to the model took: room in its context window, and money.
//!
//! What is not known is absent. A missing price is never reported as a price of zero.

use serde::{Deserialize, Serialize};

use crate::limits;

/// How full the model's context window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ContextView {
    /// Prompt tokens of the last request whose vendor counted them, cached ones included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<u64>,
    /// How many tokens fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
}

impl ContextView {
    /// Says whether nothing is known.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.used.is_none() && self.window.is_none()
    }

    /// Gives how full it is in whole percent, rounded down; `None` unless both numbers are known.
    #[must_use]
    pub fn percent(&self) -> Option<u64> {
        let (used, window) = (self.used?, self.window.filter(|window| *window > 0)?);
        Some(used.saturating_mul(100) / window)
    }
}

/// An amount of money.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    /// The code of the currency (ISO 4217), such as `USD`.
    #[serde(deserialize_with = "limits::text::<{limits::NAME}, _>")]
    pub currency: String,
    /// How much, in millionths of the currency's unit.
    pub micros: u64,
}

/// What the requests of a session cost.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CostView {
    /// The known costs, one sum for each currency; nothing is converted. Empty while no cost is known.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "limits::list::<{limits::LIST}, _, _>"
    )]
    pub amounts: Vec<Amount>,
    /// How many answers cost something that is not known: the model has no price, or the vendor counted no tokens.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unpriced: u64,
}

impl CostView {
    /// Says whether no request was answered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.amounts.is_empty() && self.unpriced == 0
    }

    /// Gives the sum where there is one: something is known, in one currency. It is a lower bound unless
    /// [`CostView::is_complete`].
    #[must_use]
    pub fn total(&self) -> Option<&Amount> {
        match self.amounts.as_slice() {
            [amount] => Some(amount),
            _ => None,
        }
    }

    /// Says whether the cost of every answer is known.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.unpriced == 0
    }

    /// Counts one answer, at its cost if that is known.
    pub fn add(&mut self, cost: Option<&Amount>) {
        let Some(cost) = cost else {
            self.unpriced = self.unpriced.saturating_add(1);
            return;
        };
        let known = self
            .amounts
            .iter_mut()
            .find(|amount| amount.currency == cost.currency);
        match known {
            Some(amount) => amount.micros = amount.micros.saturating_add(cost.micros),
            None => self.amounts.push(cost.clone()),
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes the field by reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_no_number() {
        let mut cost = CostView::default();
        assert_eq!(
            (cost.total(), cost.is_empty(), cost.is_complete()),
            (None, true, true)
        );
        cost.add(None);
        assert_eq!(
            (cost.total(), cost.is_empty(), cost.is_complete()),
            (None, false, false)
        );
        let dollars = |micros| Amount {
            currency: "USD".into(),
            micros,
        };
        cost.add(Some(&dollars(3)));
        cost.add(Some(&dollars(4)));
        assert_eq!(cost.total(), Some(&dollars(7)));
        cost.add(Some(&Amount {
            currency: "CNY".into(),
            micros: 1,
        }));
        assert_eq!((cost.total(), cost.amounts.len()), (None, 2));
    }

    #[test]
    fn a_share_needs_both_numbers() {
        let share = |used, window| ContextView { used, window }.percent();
        assert_eq!(share(Some(250), Some(1_000)), Some(25));
        assert_eq!(share(Some(1_500), Some(1_000)), Some(150));
        assert_eq!(
            [
                share(None, Some(10)),
                share(Some(1), None),
                share(Some(1), Some(0))
            ],
            [None; 3]
        );
    }
}

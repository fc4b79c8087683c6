//! How full the model's window is (pure).

/// A model's window and the share of it that a conversation may fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    window: u64,
    percent: u8,
}

/// How full the window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// The window's size is not known.
    Unknown,
    /// The conversation is below the limit by so many tokens.
    Below(u64),
    /// The conversation has reached the limit.
    Reached,
}

impl Budget {
    /// States the window in tokens (0 = not known) and the percentage of it that is the limit.
    #[must_use]
    pub fn new(window: u64, percent: u8) -> Self {
        Self {
            window,
            percent: percent.min(100),
        }
    }

    /// Gives the limit in tokens; `None` when the window is not known.
    #[must_use]
    pub fn limit(&self) -> Option<u64> {
        let limit = u128::from(self.window) * u128::from(self.percent) / 100;
        (self.window > 0).then(|| u64::try_from(limit).unwrap_or(u64::MAX))
    }

    /// Says how full the window is with a prompt of so many tokens.
    #[must_use]
    pub fn fill(&self, tokens: u64) -> Fill {
        match self.limit() {
            None => Fill::Unknown,
            Some(limit) if tokens < limit => Fill::Below(limit - tokens),
            Some(_) => Fill::Reached,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_a_share_of_the_window() {
        let budget = Budget::new(32_000, 80);
        assert_eq!(budget.limit(), Some(25_600));
        assert_eq!(budget.fill(25_599), Fill::Below(1));
        assert_eq!(budget.fill(25_600), Fill::Reached);
        assert_eq!(Budget::new(0, 80).fill(7), Fill::Unknown);
        assert_eq!(Budget::new(u64::MAX, 200).limit(), Some(u64::MAX));
    }
}

//! Token counts and what they cost.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Tokens that a request used, as the vendor counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt, cached ones included.
    pub input: u64,
    /// Tokens of the prompt that came from the vendor's prefix cache.
    pub cached: u64,
    /// Tokens of the answer, reasoning included.
    pub output: u64,
}

/// What a request cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// The code of the currency (ISO 4217).
    pub currency: String,
    /// How much, in millionths of the currency's unit.
    pub micros: u64,
}

impl Usage {
    /// Tokens of the prompt that had to be read anew.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.input.saturating_sub(self.cached)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.cached = self.cached.saturating_add(other.cached);
        self.output = self.output.saturating_add(other.output);
    }
}

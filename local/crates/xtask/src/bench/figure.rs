//! A measured value beside its goal, and how it is printed.

use std::fmt;

use serde::Serialize;

/// How a value is compared with its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum Goal {
    /// The limit or less.
    #[serde(rename = "<=")]
    AtMost,
    /// The limit or more.
    #[serde(rename = ">=")]
    AtLeast,
}

/// A value beside its goal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) unit: String,
    pub(crate) goal: Goal,
    pub(crate) limit: f64,
    pub(crate) ok: bool,
    /// How it came about: medians, ranges, what it was compared with.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) note: String,
}

impl Figure {
    /// Judges a value that may be `limit` at most.
    pub(crate) fn at_most(name: &str, value: f64, unit: &str, limit: f64, note: String) -> Self {
        Self {
            name: name.to_owned(),
            value,
            unit: unit.to_owned(),
            goal: Goal::AtMost,
            limit,
            ok: value <= limit,
            note,
        }
    }

    /// Judges a value that must be `limit` at least.
    pub(crate) fn at_least(name: &str, value: f64, unit: &str, limit: f64, note: String) -> Self {
        Self {
            goal: Goal::AtLeast,
            ok: value >= limit,
            ..Self::at_most(name, value, unit, limit, note)
        }
    }

    /// Reads a line that [`Figure`] printed.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["figure", name, value, unit, "goal", goal, limit, "ok" | "short"] = words.as_slice() else {
            return None;
        };
        let (value, limit) = (value.parse().ok()?, limit.parse().ok()?);
        let judge = match *goal {
            "<=" => Self::at_most,
            ">=" => Self::at_least,
            _ => return None,
        };
        Some(judge(name, value, unit, limit, String::new()))
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            value,
            unit,
            limit,
            ..
        } = self;
        let verdict = if self.ok { "ok" } else { "short" };
        let goal = match self.goal {
            Goal::AtMost => "<=",
            Goal::AtLeast => ">=",
        };
        write!(f, "figure {name} {value:.2} {unit} goal {goal} {limit} {verdict}")?;
        if !self.note.is_empty() {
            write!(f, "\n  {}", self.note)?;
        }
        Ok(())
    }
}

/// Values of repeated runs, sorted.
#[derive(Debug, Clone)]
pub(crate) struct Runs(Vec<f64>);

impl Runs {
    /// Sorts them.
    pub(crate) fn new(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    /// Says how many there are.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Gives the middle one, or the mean of the two in the middle; of no runs, not a number.
    pub(crate) fn median(&self) -> f64 {
        let (high, low) = (self.0.len() / 2, self.0.len().saturating_sub(1) / 2);
        match (self.0.get(low), self.0.get(high)) {
            (Some(low), Some(high)) => f64::midpoint(*low, *high),
            _ => f64::NAN,
        }
    }
}

impl fmt::Display for Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(first), Some(last)) = (self.0.first(), self.0.last()) else {
            return f.write_str("no runs");
        };
        write!(f, "{:.2} ({first:.2}..{last:.2})", self.median())
    }
}

/// Times of two things that were measured in turns, in milliseconds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pairs {
    pub(crate) ours: Vec<f64>,
    pub(crate) theirs: Vec<f64>,
}

impl Pairs {
    pub(crate) fn push(&mut self, ours: f64, theirs: f64) {
        self.ours.push(ours);
        self.theirs.push(theirs);
    }

    pub(crate) fn ours(&self) -> Runs {
        Runs::new(self.ours.clone())
    }

    pub(crate) fn theirs(&self) -> Runs {
        Runs::new(self.theirs.clone())
    }

    /// Gives the ratios of each pair; `grace` is taken off our time first.
    pub(crate) fn ratios(&self, grace: f64) -> Runs {
        let pairs = self.ours.iter().zip(&self.theirs);
        Runs::new(pairs.map(|(ours, theirs)| (ours - grace) / theirs).collect())
    }

    /// Judges the median of the ratios. `beside` names what ours is compared with.
    pub(crate) fn ratio(&self, name: &str, limit: f64, grace: f64, beside: &str) -> Figure {
        let ratios = self.ratios(grace);
        let (ours, theirs, count) = (self.ours(), self.theirs(), self.ours.len());
        let grace = if grace > 0.0 {
            format!(" after {grace} ms are taken off ours")
        } else {
            String::new()
        };
        let note = format!(
            "ours {ours} ms, {beside} {theirs} ms, ratios {ratios}{grace}; {count} pairs in turns, median (range)"
        );
        Figure::at_most(name, ratios.median(), "x", limit, note)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_can_be_read_back() {
        let figure = Figure::at_most("a_b", 1.5, "ms", 2.0, "why".to_owned());
        assert_eq!(figure.to_string(), "figure a_b 1.50 ms goal <= 2 ok\n  why");
        let read = Figure::parse(figure.to_string().lines().next().unwrap()).unwrap();
        assert_eq!((read.value, read.limit, read.ok), (1.5, 2.0, true));
        assert!(!Figure::at_most("a", 2.5, "ms", 2.0, String::new()).ok);
        assert_eq!(Figure::parse("  ours 1.50 ms"), None);
        let least = Figure::at_least("c", 0.96, "x", 0.97, String::new());
        assert_eq!(least.to_string(), "figure c 0.96 x goal >= 0.97 short");
        assert_eq!(Figure::parse(&least.to_string()), Some(least));
    }

    #[test]
    fn what_was_not_measured_is_short() {
        let nothing = Pairs::default().ratio("a", 1.2, 0.0, "ssh");
        assert!(nothing.value.is_nan() && !nothing.ok);
    }

    #[test]
    fn medians_are_of_the_pairs() {
        let mut pairs = Pairs::default();
        pairs.push(20.0, 10.0);
        pairs.push(900.0, 300.0);
        pairs.push(10.0, 10.0);
        assert_eq!(pairs.ratios(0.0).median(), 2.0);
        assert_eq!(pairs.ours().median(), 20.0);
        assert_eq!(Runs::new(vec![1.0, 2.0]).median(), 1.5);
    }
}

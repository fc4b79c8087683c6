//! Judges measured numbers against their limits and against the list of exceptions, which may only shrink.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

/// A number that has a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Rule {
    FileLines,
    FunctionLines,
    StructFields,
    StructBools,
    EnumVariants,
    MachinePaths,
}

impl Rule {
    /// The limits of docs/ARCHITECTURE.md, section 12.
    fn limit(self) -> usize {
        match self {
            Self::FileLines => 600,
            Self::FunctionLines => 70,
            Self::StructFields | Self::EnumVariants => 15,
            Self::StructBools => 2,
            Self::MachinePaths => 0,
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FileLines => "file-lines",
            Self::FunctionLines => "function-lines",
            Self::StructFields => "struct-fields",
            Self::StructBools => "struct-bools",
            Self::EnumVariants => "enum-variants",
            Self::MachinePaths => "machine-paths",
        })
    }
}

/// A number found in the source.
pub(super) struct Measure {
    pub(super) rule: Rule,
    /// A path, with `::name` behind it for something inside the file.
    pub(super) item: String,
    pub(super) value: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    exception: Vec<Exception>,
}

/// A line of `tidy/exceptions.toml`.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Exception {
    rule: Rule,
    item: String,
    number: usize,
    reason: String,
}

/// Reads the list; its entries for rules other than `rules` are somebody else's business.
pub(super) fn load(rules: &[Rule]) -> Vec<Exception> {
    let file: File = toml::from_str(&super::read("local/crates/xtask/tidy/exceptions.toml")).unwrap();
    file.exception
        .into_iter()
        .filter(|exception| rules.contains(&exception.rule))
        .collect()
}

/// Finds numbers above their limit or exception, and exceptions that are larger than needed.
pub(super) fn judge(measures: &[Measure], exceptions: &[Exception]) -> Vec<String> {
    let mut largest: BTreeMap<(Rule, &str), usize> = BTreeMap::new();
    for measure in measures {
        let value = largest.entry((measure.rule, &measure.item)).or_default();
        *value = measure.value.max(*value);
    }
    let mut violations = Vec::new();
    for exception in exceptions {
        let Exception {
            rule,
            item,
            number,
            reason,
        } = exception;
        let value = largest.remove(&(*rule, item.as_str())).unwrap_or(0);
        if reason.trim().is_empty() {
            violations.push(format!("exception {rule} {item}: it gives no reason"));
        }
        if value <= rule.limit() {
            violations.push(format!(
                "exception {rule} {item}: no longer needed, it is {value} now: remove it"
            ));
        } else if value < *number {
            violations.push(format!(
                "exception {rule} {item}: lower the number from {number} to {value}"
            ));
        } else if value > *number {
            violations.push(format!(
                "{item}: {rule} is {value}, and its exception says {number}"
            ));
        }
    }
    let over = largest
        .into_iter()
        .filter(|((rule, _), value)| *value > rule.limit());
    violations.extend(
        over.map(|((rule, item), value)| format!("{item}: {rule} is {value}, the limit is {}", rule.limit())),
    );
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[usize], exception: Option<usize>, expected: &[&str]) {
        let item = "a.rs::f".to_owned();
        let rule = Rule::FunctionLines;
        let measures: Vec<_> = values
            .iter()
            .map(|value| Measure {
                rule,
                item: item.clone(),
                value: *value,
            })
            .collect();
        let exceptions: Vec<_> = exception
            .map(|number| Exception {
                rule,
                item,
                number,
                reason: "why".to_owned(),
            })
            .into_iter()
            .collect();
        assert_eq!(judge(&measures, &exceptions), expected);
    }

    #[test]
    fn without_an_exception_the_limit_holds() {
        check(&[70], None, &[]);
        check(&[71], None, &["a.rs::f: function-lines is 71, the limit is 70"]);
        check(
            &[3, 90, 5],
            None,
            &["a.rs::f: function-lines is 90, the limit is 70"],
        );
    }

    #[test]
    fn an_exception_fits_exactly() {
        check(&[80], Some(80), &[]);
        check(
            &[81],
            Some(80),
            &["a.rs::f: function-lines is 81, and its exception says 80"],
        );
        check(
            &[79],
            Some(80),
            &["exception function-lines a.rs::f: lower the number from 80 to 79"],
        );
        check(
            &[70],
            Some(80),
            &["exception function-lines a.rs::f: no longer needed, it is 70 now: remove it"],
        );
        check(
            &[],
            Some(80),
            &["exception function-lines a.rs::f: no longer needed, it is 0 now: remove it"],
        );
    }

    #[test]
    fn an_exception_needs_a_reason() {
        let exception = Exception {
            rule: Rule::FileLines,
            item: "a.rs".to_owned(),
            number: 700,
            reason: " ".to_owned(),
        };
        let measure = Measure {
            rule: Rule::FileLines,
            item: "a.rs".to_owned(),
            value: 700,
        };
        assert_eq!(
            judge(&[measure], &[exception]),
            ["exception file-lines a.rs: it gives no reason"]
        );
    }
}

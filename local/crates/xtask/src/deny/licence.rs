//! Parses SPDX licence expressions (SPDX specification 2.3, annex D) and the older form with `/` for "or".

use anyhow::{Context as _, bail, ensure};

/// A licence expression.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Expression {
    /// One licence, with its exception if it has one: `Apache-2.0 WITH LLVM-exception`.
    Name(String),
    All(Vec<Expression>),
    Any(Vec<Expression>),
}

impl Expression {
    /// Parses `text`; `AND` binds more tightly than `OR`.
    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        let spaced = text.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
        let mut tokens: Vec<&str> = spaced.split_whitespace().rev().collect();
        let expression = any(&mut tokens)?;
        ensure!(tokens.is_empty(), "unexpected `{}`", tokens.last().unwrap_or(&""));
        Ok(expression)
    }

    /// Tells whether one may use the work when `allowed` says which single licences are acceptable.
    pub(super) fn holds(&self, allowed: &impl Fn(&str) -> bool) -> bool {
        match self {
            Self::Name(name) => allowed(name),
            Self::All(parts) => parts.iter().all(|part| part.holds(allowed)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(allowed)),
        }
    }

    /// Returns the licence if the expression is a single one.
    pub(super) fn into_name(self) -> Option<String> {
        match self {
            Self::Name(name) => Some(name),
            Self::All(_) | Self::Any(_) => None,
        }
    }
}

fn any(tokens: &mut Vec<&str>) -> anyhow::Result<Expression> {
    let mut parts = vec![all(tokens)?];
    while tokens.pop_if(|token| *token == "OR").is_some() {
        parts.push(all(tokens)?);
    }
    Ok(single_or(parts, Expression::Any))
}

fn all(tokens: &mut Vec<&str>) -> anyhow::Result<Expression> {
    let mut parts = vec![one(tokens)?];
    while tokens.pop_if(|token| *token == "AND").is_some() {
        parts.push(one(tokens)?);
    }
    Ok(single_or(parts, Expression::All))
}

fn one(tokens: &mut Vec<&str>) -> anyhow::Result<Expression> {
    let token = tokens.pop().context("the expression ends too early")?;
    if token == "(" {
        let inner = any(tokens)?;
        ensure!(tokens.pop() == Some(")"), "a `)` is missing");
        return Ok(inner);
    }
    if matches!(token, ")" | "AND" | "OR" | "WITH") {
        bail!("unexpected `{token}`");
    }
    if tokens.pop_if(|token| *token == "WITH").is_some() {
        let exception = tokens.pop().context("nothing follows `WITH`")?;
        return Ok(Expression::Name(format!("{token} WITH {exception}")));
    }
    Ok(Expression::Name(token.to_owned()))
}

fn single_or(mut parts: Vec<Expression>, many: fn(Vec<Expression>) -> Expression) -> Expression {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        Some(last) => {
            parts.push(last);
            many(parts)
        }
        None => many(parts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, allowed: &[&str], expected: bool) {
        let expression = Expression::parse(text).unwrap();
        assert_eq!(
            expression.holds(&|name: &str| allowed.contains(&name)),
            expected,
            "{text} with {allowed:?}"
        );
    }

    #[test]
    fn either_side_of_or_is_enough_and_both_sides_of_and_are_needed() {
        check("MIT", &["MIT"], true);
        check("MIT", &["ISC"], false);
        check("MIT OR GPL-3.0", &["MIT"], true);
        check("MIT/GPL-3.0", &["MIT"], true);
        check("MIT / GPL-3.0", &["GPL-3.0"], true);
        check("MIT AND GPL-3.0", &["MIT"], false);
        check("MIT AND ISC", &["MIT", "ISC"], true);
    }

    #[test]
    fn and_binds_more_tightly_than_or_and_brackets_override() {
        check("A OR B AND C", &["A"], true);
        check("A OR B AND C", &["B"], false);
        check("(A OR B) AND C", &["A"], false);
        check("(A OR B) AND C", &["B", "C"], true);
        check("((A) OR (B))", &["B"], true);
    }

    #[test]
    fn an_exception_belongs_to_the_licence_name() {
        check("Apache-2.0 WITH LLVM-exception", &["Apache-2.0"], false);
        check("Apache-2.0 WITH LLVM-exception OR MIT", &["MIT"], true);
    }

    #[test]
    fn broken_expressions_are_errors() {
        for text in [
            "", "OR", "MIT OR", "(MIT", "MIT)", "MIT ISC", "MIT WITH", "AND MIT",
        ] {
            assert!(Expression::parse(text).is_err(), "{text}");
        }
    }
}

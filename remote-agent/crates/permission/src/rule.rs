//! The rule language: `Tool`, `Tool(specifier)`, `Tool=literal`.

use std::{fmt, str::FromStr};

use crate::{error::InvalidRule, mode::Family, request::Request};

/// One permission rule.
///
/// `Bash`, `Edit` and `Read` name families of tools; any other name is one tool's own. A `Bash` specifier ending in
/// `:*` (or, as older files have it, in a blank and a star) is a prefix of whole words; other specifiers are globs
/// over the whole subject, in which `*` also covers `/`. `Bash=text` names exactly that complete command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    text: String,
    tool: ToolName,
    specifier: Specifier,
}

/// The tools a rule is about.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ToolName {
    Family(Family),
    Tool(String),
}

/// The subjects a rule is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Specifier {
    /// Every call.
    Any,
    /// The identical complete subject.
    Literal(String),
    /// Commands that start with these words.
    Prefix(Vec<String>),
    /// Subjects that match as a whole.
    Glob(String),
}

impl Rule {
    /// Reads a rule.
    ///
    /// # Errors
    /// [`InvalidRule`] for an empty tool or specifier, a malformed tool name or unbalanced parentheses.
    pub fn parse(text: &str) -> Result<Self, InvalidRule> {
        let text = text.trim();
        let invalid = |problem| InvalidRule {
            rule: text.to_owned(),
            problem,
        };
        let split = text.find(['(', '=']).unwrap_or(text.len());
        let (name, rest) = text.split_at(split);
        let name = name.trim();
        if name.is_empty() {
            return Err(invalid("names no tool"));
        }
        if !name.chars().all(|c| c.is_alphanumeric() || "_-.*/:".contains(c)) {
            return Err(invalid(
                "has a tool name with characters that tool names do not have",
            ));
        }
        let tool = Family::named(name).map_or_else(|| ToolName::Tool(name.to_owned()), ToolName::Family);
        let specifier = if let Some(literal) = rest.strip_prefix('=') {
            if literal.trim().is_empty() {
                return Err(invalid("has nothing behind `=`"));
            }
            Specifier::Literal(literal.to_owned())
        } else if let Some(inner) = rest.strip_prefix('(') {
            let inner = inner
                .strip_suffix(')')
                .ok_or_else(|| invalid("does not end with a closing parenthesis"))?;
            if inner.trim().is_empty() {
                return Err(invalid("has nothing between its parentheses"));
            }
            let shell = tool == ToolName::Family(Family::Bash) || name == "bash";
            specifier(inner.trim(), shell).ok_or_else(|| invalid("has no command in front of `:*`"))?
        } else {
            Specifier::Any
        };
        Ok(Self {
            text: text.to_owned(),
            tool,
            specifier,
        })
    }

    /// Gives the rule as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn specifier(&self) -> &Specifier {
        &self.specifier
    }

    /// Says whether the rule is about this tool.
    pub(crate) fn names(&self, request: &Request<'_>) -> bool {
        match &self.tool {
            ToolName::Family(family) => *family == request.family,
            ToolName::Tool(name) => name == request.tool,
        }
    }

    pub(crate) fn is_of(&self, family: Family) -> bool {
        self.tool == ToolName::Family(family)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Rule {
    type Err = InvalidRule;

    fn from_str(text: &str) -> Result<Self, InvalidRule> {
        Self::parse(text)
    }
}

fn specifier(inner: &str, shell: bool) -> Option<Specifier> {
    if inner.chars().all(|c| c == '*') {
        return Some(Specifier::Any);
    }
    if !shell {
        return Some(Specifier::Glob(inner.to_owned()));
    }
    let words = |prefix: &str| prefix.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    if let Some(prefix) = inner.strip_suffix(":*") {
        let words = words(prefix);
        return (!words.is_empty()).then_some(Specifier::Prefix(words));
    }
    match inner.strip_suffix(" *") {
        Some(prefix) if !prefix.contains(['*', '?']) => Some(Specifier::Prefix(words(prefix))),
        _ => Some(Specifier::Glob(
            inner.split_whitespace().collect::<Vec<_>>().join(" "),
        )),
    }
}

/// The configured rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleSet {
    /// What runs without a question.
    pub allow: Vec<Rule>,
    /// What always needs an answer.
    pub ask: Vec<Rule>,
    /// What never runs.
    pub deny: Vec<Rule>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> Specifier {
        Rule::parse(text).unwrap().specifier
    }

    #[test]
    fn reads_every_form() {
        assert_eq!(kind(" Bash "), Specifier::Any);
        assert_eq!(kind("Bash(*)"), Specifier::Any);
        assert_eq!(
            kind("Bash(go test:*)"),
            Specifier::Prefix(vec!["go".into(), "test".into()])
        );
        assert_eq!(
            kind("Bash(go  test *)"),
            Specifier::Prefix(vec!["go".into(), "test".into()])
        );
        assert_eq!(kind("Bash(rm -rf*)"), Specifier::Glob("rm -rf*".into()));
        assert_eq!(
            kind("Bash=echo (x) && y"),
            Specifier::Literal("echo (x) && y".into())
        );
        assert_eq!(kind("Bash(echo (x))"), Specifier::Glob("echo (x)".into()));
        assert_eq!(kind("Edit(a:*)"), Specifier::Glob("a:*".into()));
        assert_eq!(kind("bash(ls:*)"), Specifier::Prefix(vec!["ls".into()]));
        assert_eq!(
            Rule::parse("mcp__github__*").unwrap().tool,
            ToolName::Tool("mcp__github__*".into())
        );
    }

    #[test]
    fn refuses_what_could_be_misread() {
        for text in [
            "",
            "  ",
            "Edit()",
            "Edit( )",
            "Bash=",
            "Edit(src",
            "(x)",
            "=x",
            "Bash(:*)",
            "Ba sh",
            "Edit(a) b",
        ] {
            assert!(Rule::parse(text).is_err(), "{text}");
        }
        assert_eq!(
            Rule::parse("Edit(src").unwrap_err().to_string(),
            "permission rule `Edit(src` does not end with a closing parenthesis"
        );
    }
}

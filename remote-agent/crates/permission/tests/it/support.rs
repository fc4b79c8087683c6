//! Short ways to write policies and requests.

use permission::{
    AskReason, Decision, DenyReason, Effect, Family, Grounds, Policy, Preset, Request, Rule, RuleSet,
    Subject, decide, path,
};

/// How a decision ends, without its reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    Allow,
    Ask,
    Deny,
}

pub(crate) const WORKSPACE: &str = "/ws";

pub(crate) fn rules(texts: &[&str]) -> Vec<Rule> {
    texts.iter().map(|text| Rule::parse(text).unwrap()).collect()
}

pub(crate) fn policy(preset: Preset, allow: &[&str], ask: &[&str], deny: &[&str]) -> Policy {
    let places = permission::Places {
        workspace: WORKSPACE.into(),
        home: Some("/home/u".into()),
        ..Default::default()
    };
    let rules = RuleSet {
        allow: rules(allow),
        ask: rules(ask),
        deny: rules(deny),
    };
    Policy {
        preset,
        rules,
        places,
        ..Policy::default()
    }
}

pub(crate) fn bash(text: &str) -> Request<'static> {
    let subjects = vec![Subject::Command {
        text: text.into(),
        directory: WORKSPACE.into(),
    }];
    Request {
        tool: "bash",
        family: Family::Bash,
        effect: Effect::Execute,
        subjects,
    }
}

/// A path without symbolic links.
pub(crate) fn plain_path(raw: &str) -> Subject {
    let cleaned = path::clean(raw, WORKSPACE, Some("/home/u"));
    Subject::Path {
        raw: raw.into(),
        resolved: cleaned.clone(),
        cleaned,
    }
}

pub(crate) fn file<'a>(tool: &'a str, effect: Effect, raw: &str) -> Request<'a> {
    Request {
        tool,
        family: Family::of(tool),
        effect,
        subjects: vec![plain_path(raw)],
    }
}

pub(crate) fn outcome(policy: &Policy, request: &Request<'_>) -> Outcome {
    match decide(policy, request) {
        Decision::Allow { .. } => Outcome::Allow,
        Decision::Ask { .. } => Outcome::Ask,
        Decision::Deny { .. } => Outcome::Deny,
    }
}

pub(crate) fn reason(decision: &Decision) -> String {
    match decision {
        Decision::Allow {
            by: Grounds::Rules(rules),
        } => rules
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(" + "),
        Decision::Allow { by } => format!("{by:?}"),
        Decision::Ask {
            why: AskReason::Rule(rule),
            ..
        } => rule.to_string(),
        Decision::Ask { why, .. } => why.to_string(),
        Decision::Deny {
            why: DenyReason::Rule(rule),
        } => rule.to_string(),
        Decision::Deny { why } => why.to_string(),
    }
}

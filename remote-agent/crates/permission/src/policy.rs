//! The decision.

use crate::{
    command::CommandView,
    decision::{AskReason, Decision, DenyReason, Grounds},
    grants::{Grant, Grants},
    mode::{Effect, Family, Mode, Preset},
    path::{Places, clean, covers, parent, touches},
    pattern,
    request::{Request, Subject},
    rule::{Rule, RuleSet, Specifier},
    shell::{Unparsable, is_read_only},
};

/// Everything a decision depends on, beside the request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// How much runs without asking.
    pub preset: Preset,
    /// What happens to writing calls that no rule names.
    pub mode: Mode,
    /// The configured rules.
    pub rules: RuleSet,
    /// What the user has granted in this session.
    pub grants: Grants,
    /// Where relative paths in rules lead.
    pub places: Places,
}

impl Policy {
    /// Gives the deny rule that keeps `subject` from being read, if there is one.
    ///
    /// Tools that list or search a folder ask this for every file they come across.
    #[must_use]
    pub fn hides(&self, subject: &Subject) -> Option<&Rule> {
        let Subject::Path {
            raw,
            cleaned,
            resolved,
        } = subject
        else {
            return None;
        };
        self.rules.deny.iter().find(|rule| {
            rule.is_of(Family::Read) && names_path(rule.specifier(), raw, [cleaned, resolved], &self.places)
        })
    }
}

/// Decides whether a call runs.
pub fn decide(policy: &Policy, request: &Request<'_>) -> Decision {
    let call = Call::new(policy, request);
    if let Some(rule) = policy.rules.deny.iter().find(|rule| call.is_named_by(rule)) {
        return Decision::Deny {
            why: DenyReason::Rule(rule.clone()),
        };
    }
    if call.is_granted() {
        return Decision::Allow { by: Grounds::Grant };
    }
    if policy.preset != Preset::FullAccess
        && let Some(rule) = policy.rules.ask.iter().find(|rule| call.is_named_by(rule))
    {
        return call.ask(AskReason::Rule(rule.clone()));
    }
    if let Some(rules) = call.allowing_rules() {
        return Decision::Allow {
            by: Grounds::Rules(rules),
        };
    }
    call.fall_back()
}

/// A request with its command lines read.
struct Call<'a> {
    policy: &'a Policy,
    request: &'a Request<'a>,
    commands: Vec<CommandView<'a>>,
}

impl<'a> Call<'a> {
    fn new(policy: &'a Policy, request: &'a Request<'a>) -> Self {
        let commands = request.subjects.iter().filter_map(|subject| match subject {
            Subject::Command { text, directory } => Some(CommandView::new(text, directory, &policy.places)),
            Subject::Path { .. } | Subject::Text(_) => None,
        });
        Self {
            policy,
            request,
            commands: commands.collect(),
        }
    }

    /// Says whether a deny or ask rule names this call.
    ///
    /// Beside the tools of its own name, a `Read(…)` rule names file changes and commands that mention the path, and
    /// an `Edit(…)` rule names redirections into it.
    fn is_named_by(&self, rule: &Rule) -> bool {
        let named = rule.names(self.request);
        let specifier = rule.specifier();
        if named && *specifier == Specifier::Any {
            return true;
        }
        let places = &self.policy.places;
        let in_commands = self.commands.iter().any(|command| match specifier {
            _ if named => command.is_named_by(specifier),
            Specifier::Glob(pattern) if rule.is_of(Family::Read) => command.mentions(pattern, places),
            Specifier::Glob(pattern) if rule.is_of(Family::Edit) => command.writes(pattern, places),
            _ => false,
        });
        let reads = named || (rule.is_of(Family::Read) && self.request.family == Family::Edit);
        in_commands
            || self.request.subjects.iter().any(|subject| match subject {
                Subject::Command { .. } => false,
                Subject::Path {
                    raw,
                    cleaned,
                    resolved,
                } => reads && names_path(specifier, raw, [cleaned, resolved], places),
                Subject::Text(text) => named && names_text(specifier, text),
            })
    }

    fn is_granted(&self) -> bool {
        let grants = &self.policy.grants;
        if grants.cover(self.request) {
            return true;
        }
        let specifiers: Vec<Specifier> = grants.list().iter().filter_map(command_specifier).collect();
        let specifiers: Vec<&Specifier> = specifiers.iter().collect();
        let all_commands = self.commands.len() == self.request.subjects.len() && !self.commands.is_empty();
        all_commands
            && self
                .commands
                .iter()
                .all(|command| command.covered_by(&specifiers).is_some())
    }

    /// Gives the allow rules that together cover the whole call.
    fn allowing_rules(&self) -> Option<Vec<Rule>> {
        // A rule for all commands does not mean those that a deny rule cannot see.
        let hidden = self.hides_its_name();
        let rules: Vec<&Rule> = self
            .policy
            .rules
            .allow
            .iter()
            .filter(|rule| rule.names(self.request) && !(hidden && *rule.specifier() == Specifier::Any))
            .collect();
        // A rule for all paths means all paths inside the writable roots.
        let outside = self.request.effect == Effect::WriteOutside;
        let bare = rules.iter().find(|rule| *rule.specifier() == Specifier::Any);
        if let Some(rule) = bare.filter(|_| !outside && self.problem().is_none()) {
            return Some(vec![(*rule).clone()]);
        }
        let specifiers: Vec<&Specifier> = rules.iter().map(|rule| rule.specifier()).collect();
        let mut needed: Vec<usize> = Vec::new();
        for command in &self.commands {
            needed.extend(command.covered_by(&specifiers)?);
        }
        for subject in &self.request.subjects {
            let covering = |specifier: &&Specifier| allows(specifier, subject, &self.policy.places);
            if !matches!(subject, Subject::Command { .. }) {
                needed.push(specifiers.iter().position(covering)?);
            }
        }
        needed.sort_unstable();
        needed.dedup();
        (!needed.is_empty()).then(|| needed.into_iter().map(|at| rules[at].clone()).collect())
    }

    fn problem(&self) -> Option<&Unparsable> {
        self.commands.iter().find_map(CommandView::problem)
    }

    /// Says whether there are deny rules about calls of this kind.
    fn could_be_denied(&self) -> bool {
        self.policy.rules.deny.iter().any(|rule| rule.names(self.request))
    }

    /// Says whether a denied command could be in it under a name that is made at run time.
    fn hides_its_name(&self) -> bool {
        self.commands.iter().any(CommandView::name_is_made) && self.could_be_denied()
    }

    /// Decides a call that no rule and no grant settles.
    fn fall_back(&self) -> Decision {
        let Policy { preset, mode, .. } = self.policy;
        let effect = self.request.effect;
        if effect == Effect::Read || (effect == Effect::Execute && self.only_reads()) {
            return Decision::Allow { by: Grounds::Reading };
        }
        if *mode == Mode::Deny {
            return Decision::Deny {
                why: DenyReason::Mode,
            };
        }
        if let Some(problem) = self.problem()
            && (*preset != Preset::FullAccess || self.could_be_denied())
        {
            return self.ask(AskReason::Unparsable(problem.clone()));
        }
        if self.hides_its_name() {
            let problem =
                Unparsable::new("the name of a command is made at run time, and some commands are denied");
            return self.ask(AskReason::Unparsable(problem));
        }
        match (preset, effect) {
            (Preset::FullAccess, _)
            | (Preset::WorkspaceWrite, Effect::Read | Effect::WriteInside | Effect::Execute) => {
                Decision::Allow {
                    by: Grounds::Preset(*preset),
                }
            }
            (_, Effect::WriteOutside) => self.ask(AskReason::Outside(self.directory())),
            (Preset::ReadOnly, _) => self.ask(AskReason::Preset(*preset)),
        }
    }

    fn only_reads(&self) -> bool {
        let reads =
            |subject: &Subject| matches!(subject, Subject::Command { text, .. } if is_read_only(text));
        !self.request.subjects.is_empty() && self.request.subjects.iter().all(reads)
    }

    fn ask(&self, why: AskReason) -> Decision {
        Decision::Ask {
            why,
            suggested: self.suggestion(),
        }
    }

    fn suggestion(&self) -> Grant {
        if let Some(command) = self.commands.first() {
            return command.suggestion();
        }
        match self.request.family {
            Family::Edit if self.directory() != "/" => Grant::Directory(self.directory()),
            _ => Grant::Tool(self.request.tool.to_owned()),
        }
    }

    /// Gives the folder of the first path that no grant covers yet.
    fn directory(&self) -> String {
        let resolved = self.request.subjects.iter().filter_map(|subject| match subject {
            Subject::Path { resolved, .. } => Some(resolved.as_str()),
            Subject::Command { .. } | Subject::Text(_) => None,
        });
        let granted = |path: &&str| {
            let covered =
                |grant: &Grant| matches!(grant, Grant::Directory(d) if crate::path::is_inside(path, d));
            !self.policy.grants.list().iter().any(covered)
        };
        resolved
            .clone()
            .find(granted)
            .or_else(|| resolved.clone().next())
            .map_or("/", parent)
            .to_owned()
    }
}

/// Says whether a deny or ask specifier names a path under any spelling. A bare rule is not about paths.
fn names_path(specifier: &Specifier, raw: &str, spellings: [&String; 2], places: &Places) -> bool {
    let [cleaned, resolved] = spellings;
    match specifier {
        Specifier::Glob(pattern) => touches(pattern, raw, &[cleaned, resolved], places),
        Specifier::Literal(literal) => {
            let literal = clean(literal, &places.workspace, places.home.as_deref());
            [cleaned, resolved].contains(&&literal)
        }
        Specifier::Any | Specifier::Prefix(_) => false,
    }
}

fn names_text(specifier: &Specifier, text: &str) -> bool {
    match specifier {
        Specifier::Glob(glob) => pattern::matches(glob, text),
        Specifier::Literal(literal) => literal == text,
        Specifier::Any | Specifier::Prefix(_) => false,
    }
}

/// Says whether an allow specifier covers a subject that is no command.
fn allows(specifier: &Specifier, subject: &Subject, places: &Places) -> bool {
    match (specifier, subject) {
        (
            Specifier::Glob(glob),
            Subject::Path {
                cleaned, resolved, ..
            },
        ) => covers(glob, cleaned, resolved, places),
        (
            Specifier::Literal(literal),
            Subject::Path {
                cleaned, resolved, ..
            },
        ) => {
            let literal = clean(literal, &places.workspace, places.home.as_deref());
            literal == *cleaned && literal == *resolved
        }
        (_, Subject::Text(text)) => names_text(specifier, text),
        _ => false,
    }
}

fn command_specifier(grant: &Grant) -> Option<Specifier> {
    match grant {
        Grant::Command(text) => Some(Specifier::Literal(text.clone())),
        Grant::CommandPrefix(words) if !words.is_empty() => Some(Specifier::Prefix(words.clone())),
        Grant::CommandPrefix(_) | Grant::Directory(_) | Grant::Tool(_) => None,
    }
}

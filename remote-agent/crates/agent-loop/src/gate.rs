//! May this call run? Policy decides, a person is asked if policy says so. The only caller of [`SessionPort::ask`].

use conversation::{CallOutcome, Effect, ToolCall};
use permission::{Decision, Family, Grounds, Policy, Request};
use serde_json::Value;
use tools::{Subject, Tool, ToolContext};

use crate::{Approval, SessionGone, SessionPort, Verdict, access::Permit};

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Gate {
    /// It may run.
    Open {
        /// On what grounds.
        permit: Permit,
        /// The preset in force when that was decided.
        preset: permission::Preset,
        /// What it acts on.
        subjects: Vec<Subject>,
    },
    /// It does not run; this is its result.
    Shut(CallOutcome, String),
}

/// One call before the gate.
pub(crate) struct Asking<'a> {
    pub(crate) call: &'a ToolCall,
    pub(crate) tool: &'a dyn Tool,
    pub(crate) args: &'a Value,
    pub(crate) tools: &'a ToolContext,
}

impl Asking<'_> {
    /// Decides, asking a person where policy says so.
    pub(crate) async fn decide(&self, port: &dyn SessionPort) -> Result<Gate, SessionGone> {
        let policy = port.policy();
        let subjects = self.tool.subjects(self.args, self.tools);
        let open = |permit| Gate::Open {
            permit,
            preset: policy.preset,
            subjects: subjects.clone(),
        };
        let (why, suggested) = match permission::decide(&policy, &self.request(&subjects)) {
            Decision::Allow {
                by: Grounds::Reading | Grounds::Preset(_),
            } => return Ok(open(Permit::Preset)),
            Decision::Allow {
                by: Grounds::Rules(_) | Grounds::Grant,
            } => return Ok(open(Permit::Approved)),
            Decision::Deny { why } => {
                let text = format!(
                    "blocked: {why}. It is on the deny list: do not retry it, and do not look for a way around it."
                );
                return Ok(Gate::Shut(CallOutcome::Denied, text));
            }
            Decision::Ask { why, suggested } => (why, suggested),
        };
        let approval = Approval {
            call: self.call.id.clone(),
            tool: self.call.name.clone(),
            subject: describe(&subjects),
            reason: why.to_string(),
            scope: suggested,
        };
        Ok(match port.ask(approval).await? {
            Verdict::Allowed => open(Permit::Approved),
            Verdict::Refused => Gate::Shut(
                CallOutcome::Denied,
                format!(
                    "blocked: this tool call was not approved ({why}). Do not repeat it; ask or find another way."
                ),
            ),
            Verdict::Withdrawn => Gate::Shut(CallOutcome::Cancelled, CANCELLED.to_owned()),
        })
    }

    fn request(&self, subjects: &[Subject]) -> Request<'_> {
        let name = self.tool.spec().name.as_str();
        let effect = match self.tool.effect() {
            Effect::Read => permission::Effect::Read,
            Effect::Execute => permission::Effect::Execute,
            Effect::Write if subjects.iter().all(is_inside) => permission::Effect::WriteInside,
            Effect::Write => permission::Effect::WriteOutside,
        };
        Request {
            tool: name,
            family: Family::of(name),
            effect,
            subjects: subjects.iter().map(subject).collect(),
        }
    }
}

/// The result of a call that was stopped before it ran.
pub(crate) const CANCELLED: &str = "cancelled: the turn was stopped before this call started";

/// Says whether policy lets a call run without asking, for scheduling. Asks nobody.
pub(crate) fn runs_freely(policy: &Policy, asking: &Asking<'_>) -> bool {
    let subjects = asking.tool.subjects(asking.args, asking.tools);
    permission::decide(policy, &asking.request(&subjects)).is_allowed()
}

fn is_inside(subject: &Subject) -> bool {
    match subject {
        Subject::Path(path) => path.inside_write_roots,
        Subject::Command { .. } | Subject::Text(_) => true,
    }
}

fn subject(subject: &Subject) -> permission::Subject {
    match subject {
        Subject::Path(path) => permission::Subject::Path {
            raw: path.raw.clone(),
            cleaned: path.cleaned.to_string(),
            resolved: path.resolved.display().to_string(),
        },
        Subject::Command { text, directory } => permission::Subject::Command {
            text: text.clone(),
            directory: directory.display().to_string(),
        },
        Subject::Text(text) => permission::Subject::Text(text.clone()),
    }
}

/// Writes what a call acts on, for a person.
fn describe(subjects: &[Subject]) -> String {
    let one = |subject: &Subject| match subject {
        Subject::Path(path) => path.cleaned.to_string(),
        Subject::Command { text, .. } | Subject::Text(text) => text.clone(),
    };
    subjects.iter().map(one).collect::<Vec<_>>().join("\n")
}

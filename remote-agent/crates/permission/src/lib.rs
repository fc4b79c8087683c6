//! Decides for each tool call whether it runs, needs an answer from the user, or is refused.
//!
//! The crate is pure: the same policy and request give the same decision; it reads no clock, no disk and starts
//! nothing. Whoever calls it resolves paths first. It is the policy layer; the sandbox below enforces.
//!
//! Order of precedence: deny rules, session grants, ask rules, allow rules, then the preset.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | change when we ask before running | [`policy`] |
//! | change the rule syntax | [`rule`], [`pattern`] |
//! | change how a command line is taken apart | [`shell`] |
//! | change what a path rule matches | [`path`] |
//! | add a preset or a tool family | [`mode`] |
//! | change what a user may grant for a session | [`grants`] |

pub mod decision;
pub mod error;
pub mod grants;
pub mod mode;
pub mod path;
pub mod pattern;
pub mod policy;
pub mod request;
pub mod rule;
pub mod shell;

mod command;

pub use decision::{AskReason, Decision, DenyReason, Grounds};
pub use error::{InvalidRule, UnknownName};
pub use grants::{Grant, Grants};
pub use mode::{Effect, Family, Mode, Preset};
pub use path::{PathCase, Places};
pub use policy::{Policy, decide};
pub use request::{Request, Subject};
pub use rule::{Rule, RuleSet};

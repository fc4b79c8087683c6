//! `[permissions]`

use super::{Kind, choice, table};

choice! {
    /// How much a session may do without asking, loosest first.
    pub enum PresetName, default WorkspaceWrite {
        /// Everything but what a deny rule names, without a sandbox.
        FullAccess = "danger-full-access",
        /// Reads, writes in the workspace, and commands in the sandbox.
        WorkspaceWrite = "workspace-write",
        /// Reads.
        ReadOnly = "read-only",
    }
}

choice! {
    /// What happens to writing calls that no rule names, loosest first.
    pub enum Fallback, default Ask {
        /// The preset decides.
        Allow = "allow",
        /// The preset decides, asking where it needs to.
        Ask = "ask",
        /// They are refused.
        Deny = "deny",
    }
}

table! {
    /// What runs without asking. A project can only make this stricter.
    pub struct Permissions {
        /// How much a session may do without asking: `danger-full-access`, `workspace-write` or `read-only`.
        /// `--permission-mode` wins.
        preset: PresetName = PresetName::default(),
            Kind::Choice(PresetName::WORDS, &[("ask", "read-only"), ("auto", "workspace-write"), ("yolo", "workspace-write")]), Stricter;
        /// What happens to writing calls that no rule names: `allow` and `ask` leave them to the preset, `deny`
        /// refuses them.
        mode: Fallback = Fallback::default(), Kind::Choice(Fallback::WORDS, &[]), Stricter;
        /// Rules for calls that run without a question, such as `Bash(git status:*)` or `Edit(docs/**)`.
        allow: Vec<String> = Vec::new(), Kind::TextList, UserOnly;
        /// Rules for calls that always need an answer.
        ask: Vec<String> = Vec::new(), Kind::TextList, Adds;
        /// Rules for calls that never run, whatever the preset.
        deny: Vec<String> = Vec::new(), Kind::TextList, Adds;
    }
    later &[];
}

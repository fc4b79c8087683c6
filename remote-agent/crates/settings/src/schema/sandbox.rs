//! `[sandbox]`

use super::{Kind, choice, table};

choice! {
    /// Whether commands are confined, loosest first.
    pub enum Confinement, default Enforce {
        /// They are not.
        Off = "off",
        /// They are; where that is impossible they do not run.
        Enforce = "enforce",
    }
}

table! {
    /// What commands and file tools can reach, beneath permissions. A project can only make this stricter.
    pub struct Sandbox {
        /// Whether commands are confined: `enforce`, or `off`.
        bash: Confinement = Confinement::default(), Kind::Choice(Confinement::WORDS, &[]), Stricter;
        /// Whether confined commands reach the network.
        network: bool = true, Kind::Bool, Stricter;
        /// The folder that file tools may change. Empty means the working directory.
        workspace_root: Option<String> = None, Kind::Text, InsideProject;
        /// More folders that may be changed. `${NAME}` and `${NAME:-default}` are expanded, `~` is not.
        allow_write: Vec<String> = Vec::new(), Kind::TextList, InsideProject;
        /// Files and folders that no tool may read, list or search. Expanded like `allow_write`.
        forbid_read: Vec<String> = Vec::new(), Kind::TextList, Adds;
    }
    later &[];
}

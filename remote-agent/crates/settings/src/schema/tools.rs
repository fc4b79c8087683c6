//! `[tools]`

use super::{Key, Kind, later, table};

table! {
    /// How the tools behave.
    pub struct Tools {
        /// The tools the model is given. Empty means all; `ask` is always there. A project can only leave some out.
        enabled: Vec<String> = Vec::new(), Kind::TextList, Narrows;
        /// After how many seconds a command in the foreground is stopped. 0 means never.
        bash_timeout_seconds: u64 = 120, Kind::Integer(0, 604_800);
    }
    later &[
        Key::later("mcp_startup_timeout_seconds", Kind::Integer(0, i64::MAX), &["How long an MCP server may take to start."]),
        Key::later("mcp_call_timeout_seconds", Kind::Integer(0, i64::MAX), &["How long a call to one may take."]),
        Key::later("background_jobs", Kind::Table(&later::BACKGROUND_JOBS), &["Commands in the background."]),
        Key::later("shell", Kind::Table(&later::SHELL), &["Which shell runs commands."]),
        Key::later("search", Kind::Table(&later::SEARCH), &["How files are searched."]),
    ];
}

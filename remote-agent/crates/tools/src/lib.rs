//! The tools a model can call: the trait, the registry and the built-in ones.
//!
//! A tool gets arguments that passed its schema and a [`ToolContext`], and answers with text for the model. It knows
//! nothing about approval, sessions or the loop that calls it; what a rule must see of a call is in [`Tool::subjects`].
//!
//! | I want to… | Open |
//! | --- | --- |
//! | add a tool | `builtin/`, one file each, and the list in `builtin.rs` |
//! | see what the model is told about tools | [`ToolSpec`](conversation::ToolSpec)s in each file of `builtin/` |
//! | change how wrong arguments are answered | `validate.rs` |
//! | see where a path argument leads and who may write there | `paths.rs` |
//! | see why a link that is swapped in is not followed | `anchor.rs` |
//! | see when a file counts as read | [`Observed`] (`observed.rs`) |
//! | see how a file is replaced without losing its mode, owner or links | `publish.rs` |
//! | see how text is found in files with other line ends | `replace.rs` |
//! | change how long results are cut | `output.rs` |
//! | see how the shell's folder and variables survive between calls | [`ShellState`] (`shell_state.rs`) |
//!
//! Absences: no path that leaves the write roots is written, no text of a model becomes an option of another program,
//! and no other folder ever takes the place of a missing workspace.

mod anchor;
mod budget;
mod builtin;
mod context;
mod error;
mod observed;
mod output;
mod paths;
mod publish;
mod registry;
mod replace;
mod shell_state;
mod spec;
mod tool;
mod validate;

pub use builtin::builtin;
pub use context::{FileAccess, KeepCopy, NoCopies, ShellContext, ToolContext, WriteScope};
pub use error::ToolError;
pub use observed::Observed;
pub use output::MAX_CONTENT;
pub use registry::{Registry, Rejection};
pub use shell_state::{SHELL_FOLDER, ShellState};
pub use tool::{BoxFuture, PathSubject, Subject, Tool, ToolResult};

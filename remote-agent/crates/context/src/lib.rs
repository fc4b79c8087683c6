//! What the model is given before and beside the conversation, and how large it is.
//!
//! Everything here is pure: no files, no network, no clock. The prefix of a session's requests (system message and
//! tools) is made once and must then keep its bytes, since vendors' caches pay only for what stays the same; so nothing
//! in it depends on paths, dates or order of registration.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | change what the model is told about its job | `prompt/base.md` |
//! | change what stands in the system message, or in what order | `assemble.rs` |
//! | tell the model something about host or workspace | `session_context.rs` |
//! | know why a prefix cache missed | `prefix.rs` |
//! | know how many tokens something is | `tokens.rs` |
//! | know how full the window is | `budget.rs` |

mod assemble;
mod budget;
mod hash;
mod prefix;
mod prompt;
mod session_context;
mod tokens;

pub use assemble::{Instruction, SystemParts, system};
pub use budget::{Budget, Fill};
pub use prefix::{PrefixChange, PrefixShape};
pub use prompt::BASE_PROMPT;
pub use session_context::{Environment, SessionContext};
pub use tokens::{Estimator, estimate_messages, estimate_prefix, estimate_text};

//! One turn: ask the model, run its tools, repeat until it stops.
//!
//! The loop knows neither who is watching nor how anything is stored. It reports to a [`SessionPort`], which writes
//! each step down before the next one begins, and asks it for approval.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | follow a turn | [`run_turn`] in `turn.rs` |
//! | change how an answer is put together | `stream.rs` |
//! | change what runs in parallel | `dispatch.rs` |
//! | change when a call needs approval | `gate.rs` (mechanism), the `permission` crate (policy) |
//! | change how the model's own questions reach a person | `run_tool.rs`; the questions are made in the `tools` crate |
//! | change what a call may touch once it may run | `access.rs` |
//! | change how a tool is run | `run_tool.rs` |

mod access;
mod dispatch;
mod event;
mod gate;
mod options;
mod ports;
mod run_tool;
mod stream;
mod turn;

pub use event::TurnEvent;
pub use options::{ModelOptions, TurnInput, TurnOptions};
pub use ports::{Approval, Inquiry, PortFuture, SessionGone, SessionPort, Verdict};
pub use turn::run_turn;

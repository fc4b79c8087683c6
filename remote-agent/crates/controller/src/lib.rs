//! One session: commands in, events out.
//!
//! ```text
//! client ──▶ SessionHandle ──▶ Actor ──▶ Session::step (pure) ──▶ effects: log, then publish, then act
//!                                ▲                                    │
//!                                └──── reports of the running turn ◀──┘
//! ```
//!
//! | I want to… | Open |
//! | --- | --- |
//! | change what a command does | `session/mod.rs` and its neighbours (pure) |
//! | change what happens on cancel, or when a turn dies | `session/turns.rs` |
//! | change how questions are answered | `session/prompts.rs` |
//! | see how effects are performed | `effects.rs` |
//! | see how followers are fed | `feed.rs` |
//! | change what the wire shows of a record | `projection.rs` |
//! | change how sessions are opened, resumed, listed | `manager.rs`, `open.rs` |
//! | change how a daemon drains | `life.rs`, `manager.rs`, the last branch of `actor.rs` |
//! | know what the composition root must provide | [`Assembler`] in `parts.rs` |

mod actor;
mod effects;
mod feed;
mod handle;
mod life;
mod manager;
mod open;
mod parts;
mod port;
mod projection;
mod session;

pub use feed::Subscription;
pub use handle::SessionHandle;
pub use manager::{Manager, ManagerOptions};
pub use parts::{AssembleFuture, Assembler, SessionParts, Wanted};

//! A model server that follows a script, for tests and for the demonstration.
//!
//! It is a real HTTP server that speaks OpenAI chat completions (`POST /v1/chat/completions`, streaming and not,
//! `GET /v1/models`) and knows nothing of the agent's own provider code, so that neither can copy the other's
//! mistakes. What it says is a [`Scenario`]; how it spells it is a [`Spelling`]; what goes wrong is a [`Fault`].
//!
//! ```
//! # async fn doc() -> Result<(), scripted_model::Error> {
//! use scripted_model::{Fault, Scenario, ScriptedModel};
//! let scenario = Scenario::new()
//!     .call("bash", &serde_json::json!({"command": "cargo test"}))
//!     .say("All tests pass.")
//!     .fault(0, Fault::status(503));
//! let model = ScriptedModel::start(scenario).await?;
//! let endpoint = model.base_url(); // http://127.0.0.1:PORT/v1
//! # let _used = endpoint;
//! model.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! | I want to… | Open |
//! | --- | --- |
//! | say what the model answers | `scenario.rs` |
//! | make a request fail | `fault.rs` |
//! | spell a correct answer oddly | `spelling.rs` |
//! | hold an answer until a test says so | `gate.rs` |
//! | refuse requests that a strict vendor refuses | `strict.rs` |
//! | know what a prefix cache would have saved | `meter.rs` |
//! | look at the requests that came in | `record.rs` |

mod answer;
mod body;
mod chunks;
mod error;
mod fault;
mod framing;
mod gate;
mod meter;
mod record;
mod scenario;
mod script;
mod server;
mod spelling;
mod strict;

pub use chunks::wire_bytes;
pub use error::Error;
pub use fault::{ErrorFraming, Fault};
pub use gate::Gate;
pub use meter::{Meter, Metered};
pub use record::RecordedRequest;
pub use scenario::{Part, Reply, Scenario, When};
pub use server::ScriptedModel;
pub use spelling::{CallSpelling, Framing, LineEnd, Spelling, UsageSpelling};
pub use strict::ReasoningRule;

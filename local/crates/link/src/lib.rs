//! One live, supervised connection to one agent, on a host behind SSH or in this process.
//!
//! ```text
//! Link::open ─► supervisor ─► dial (transport) ─► attach: the socket of the last visit, else bootstrap
//!                   ▲                                 │
//!                   │ backoff, retry, wake            ▼
//!                   └──────── a drop ◄──────── Live: one SSH connection carries everything
//! ```
//!
//! A front end holds an [`AgentLink`] and asks its [`client::Agent`]; requests wait while the link is down and go on
//! when it is up again. What it shows is a [`LinkState`]. Nothing here knows screens, sessions or settings.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | see every state and what leads from one to the next | `state.rs` |
//! | change when it dials again | `backoff.rs` |
//! | change how a dead peer or a hung agent is noticed | `liveness.rs` |
//! | change what counts as a change of this machine's network | `network.rs`, `network/kernel.rs` |
//! | follow one attempt: dial, attach, bootstrap | `attempt.rs` |
//! | see how the agent's socket is reached | `wire.rs`, `bridge.rs` |
//! | change which connection carries a byte stream | `streams.rs` |
//! | see how forwards go through the agent | `carrier.rs` |
//! | change which ports of a host are offered to be forwarded | `ports.rs` |
//! | go over to a newer agent | [`upgrade()`] in `upgrade.rs` |
//! | see what is remembered of a host | `visits.rs` |
//! | change what counts as another machine under the same name | `machine.rs` |
//! | know what an error means for a person and an exit code | `error.rs` |
//! | use the agent in this process | `local.rs` |
//! | change what is asked of a model's vendor for a host | `broker/policy.rs` |
//! | change what becomes of such a request when the link drops | `broker/machine.rs` |
//!
//! Port forwards are `forward`'s; a link only tells them which connection to use.

mod agent_link;
mod attempt;
mod backoff;
mod bridge;
mod broker;
mod carrier;
mod error;
mod handle;
mod host;
mod liveness;
mod local;
mod machine;
mod network;
mod ports;
mod progress;
mod prompt;
mod state;
mod streams;
mod supervisor;
mod terminal;
mod upgrade;
mod visits;
mod wire;
mod workspace;

pub use agent_link::AgentLink;
pub use bootstrap::{Arrival, Stay, Via};
pub use broker::{BrokerOptions, BrokerState, Endpoint, Key, Refusal, RefusalKind};
pub use error::{BridgeRefusal, Error, ErrorKind, ExitClass};
pub use forward::{
    Error as ForwardError, Forwards, LastError as LastForwardError, RuleId, RuleSnapshot, RuleState,
    Spec as ForwardSpec,
};
pub use handle::{Link, Patience, Ready};
pub use host::{Host, InstallOptions, LinkOptions, Timings};
pub use local::LocalLink;
pub use machine::{HostIdentity, OtherMachine};
pub use network::{NetworkChange, NetworkWatch};
pub use ports::{read_rule, rule_for, rule_instead, rule_trouble};
pub use progress::Stage;
pub use prompt::{
    Answer, DenyAll, HostKeyAnswer, HostKeyQuestion, KnownKey, Prompter, SecretKind, SecretQuestion,
};
pub use state::{Health, LinkState};
pub use terminal::{AgentTerminal, AgentTerminalInput, AgentTerminalOutput};
pub use upgrade::{Drain, Other, Upgrade, upgrade};
pub use visits::{forget_machine, known_machine};

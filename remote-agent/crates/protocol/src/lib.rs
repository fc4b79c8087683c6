//! The wire between a front end and an agent: types only, no I/O, no runtime.
//!
//! Requests and answers are JSON over HTTP; events are JSON in server-sent events. `docs/PROTOCOL.md` describes the
//! calls and carries a hash of this folder, so the two change together.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | see what a client can ask for | [`command`] |
//! | see what a client is told | [`event`] |
//! | see what a fresh screen gets, and how events change it | [`snapshot`] |
//! | see what the model asks a person, and the answers | [`question`] |
//! | see how a request reaches who has the key | [`broker`] |
//! | see how context and cost are told | [`meter`] |
//! | see what a byte stream can lead to | [`stream`] |
//! | see how listening ports are told | [`ports`] |
//! | see what goes over a terminal's stream | [`terminal`] |
//! | know a limit | [`limits`] |
//! | know what an error code means | [`error`] |

pub mod broker;
pub mod command;
pub mod content;
pub mod error;
pub mod event;
pub mod hello;
pub mod ids;
pub mod limits;
pub mod meter;
pub mod ports;
pub mod query;
pub mod question;
pub mod snapshot;
pub mod stream;
pub mod terminal;

pub use broker::{AnswerReceipt, BrokerEvent, BrokerRequest, Credentials};
pub use command::{Answer, Command, CommandRequest, PromptCommand, Receipt, SessionCommand, TurnCommand};
pub use content::{CallOutcome, CallView, Outcome, Preset, UsageView};
pub use error::{ErrorBody, ErrorCode, ErrorResponse};
pub use event::{
    Delta, DeltaTarget, Event, EventEnvelope, Frame, PromptEvent, SessionEvent, ToolEvent, TurnEvent,
};
pub use hello::{Build, Hello, Identity, VersionRange};
pub use ids::{BrokerId, CommandId, InstanceId, PromptId, SessionId, TurnId};
pub use meter::{Amount, ContextView, CostView};
pub use ports::{ListeningPort, PortList, PortProcess};
pub use query::{
    DrainReply, DrainRequest, HistoryPage, OpenSession, SessionInfo, SessionList, ShutdownReply,
    ShutdownRequest,
};
pub use question::{PromptKind, Question, QuestionOption, Reply};
pub use snapshot::{Applied, ApplyError, Item, OpenPrompt, Phase, Snapshot, ToolState, Wait};
pub use stream::{ListenAt, ListenLine, StreamTarget, TerminalOpen};
pub use terminal::{TerminalDecoder, TerminalEnd, TerminalInput, TerminalOutput, TerminalSize};

//! Opening, listing and paging; requests that change no session.

use serde::{Deserialize, Serialize};

use crate::{
    broker::Credentials, content::Preset, event::EventEnvelope, ids::SessionId, limits, snapshot::Phase,
};

/// `POST /v1/sessions`: opens a new session, or resumes one that exists.
///
/// Opening is idempotent: an id that exists with the same request gives that session, with another one a conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenSession {
    /// The session's id, chosen by the client.
    pub session: SessionId,
    /// The workspace folder on the agent's machine, absolute or from `~`. It must exist. `None` resumes an existing
    /// session wherever it is.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "limits::maybe_text::<{limits::PATH}, _>"
    )]
    pub workspace: Option<String>,
    /// The model reference; the agent's default when absent.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "limits::maybe_text::<{limits::NAME}, _>"
    )]
    pub model: Option<String>,
    /// What it may do without asking; the default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
    /// Whose credentials it asks models with. Absent: those of the host for a new session, and as before for one that is
    /// resumed. A session that exists changes to what is asked for as soon as no turn runs in it. It does not count for
    /// whether two requests are the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<Credentials>,
}

/// One session in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionInfo {
    /// The session.
    pub session: SessionId,
    /// Its workspace folder.
    #[serde(deserialize_with = "limits::text::<{limits::PATH}, _>")]
    pub workspace: String,
    /// The first words of its first request; empty before that.
    #[serde(default, deserialize_with = "limits::text::<{limits::LINE}, _>")]
    pub title: String,
    /// When it last changed, in milliseconds since the Unix epoch.
    pub changed_at: u64,
    /// What it does now; `None` when this daemon has not opened it and it was not closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// How many turns were asked for, as far as the end of its log tells; `None` when that says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// The socket of another daemon that has it open.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "limits::maybe_text::<{limits::PATH}, _>"
    )]
    pub held_by: Option<String>,
}

/// `GET /v1/sessions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionList {
    /// The sessions, the most recently changed first.
    #[serde(deserialize_with = "limits::list::<{limits::LIST}, _, _>")]
    pub sessions: Vec<SessionInfo>,
}

/// `GET /v1/sessions/{id}/history?after=N&limit=M`: a page of events from disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryPage {
    /// The events, in order.
    #[serde(deserialize_with = "limits::list::<{limits::LIST}, _, _>")]
    pub events: Vec<EventEnvelope>,
    /// The number of the newest event of the session.
    pub newest: u64,
}

/// `POST /v1/shutdown`: asks the daemon to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShutdownRequest {
    /// End even while turns run; they are recorded as interrupted.
    #[serde(default)]
    pub force: bool,
}

/// `POST /v1/drain`: asks the daemon to finish its turns, to take no new session, and then to end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrainRequest {
    /// The socket of the daemon that takes over. Whatever this one does not take any more is passed on to it.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "limits::maybe_text::<{limits::PATH}, _>"
    )]
    pub successor: Option<String>,
}

/// The answer to a drain request. The daemon drains from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrainReply {
    /// Sessions whose turns are being finished. Empty: it ends at once.
    #[serde(deserialize_with = "limits::list::<{limits::LIST}, _, _>")]
    pub running: Vec<SessionId>,
}

/// The answer to a shutdown request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShutdownReply {
    /// Whether the daemon ends now.
    pub stopping: bool,
    /// Sessions with a running turn.
    #[serde(deserialize_with = "limits::list::<{limits::LIST}, _, _>")]
    pub running: Vec<SessionId>,
}

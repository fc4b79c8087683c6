//! Opening a session: new, or taken up again from its log.

use std::path::Path;

use protocol::{Credentials, ErrorBody, ErrorCode, InstanceId, OpenSession, Preset, SessionId, Snapshot};
use session_store::{
    Lease, Log, Model, Notice, Record, Replayed, SessionDir, Sessions, StoreError, Stored,
    record::SessionRecord, recover, replay,
};
use sha2::{Digest as _, Sha256};
use stdx::AbsPath;

use crate::{handle::hex, parts::SessionParts, projection};

/// A session on disk whose only writer is this process.
#[derive(Debug)]
pub(crate) struct Opened {
    /// Keeps other writers out while it lives.
    pub(crate) lease: Lease,
    /// Its log.
    pub(crate) log: Log,
    /// What its records add up to, recovery included.
    pub(crate) state: Replayed,
    /// The same as front ends see it.
    pub(crate) view: Snapshot,
    /// Whether a turn was cut off by the end of its daemon.
    pub(crate) recovered: bool,
    /// When its newest record was written.
    pub(crate) changed_at: u64,
    /// The first words of its first request.
    pub(crate) title: String,
}

/// Hashes a request to open a session, so that the same id with another request is noticed.
pub(crate) fn request_hash(request: &OpenSession) -> String {
    // Whose credentials are used belongs to the link that a session is opened over, not to what it is.
    let same = OpenSession {
        credentials: None,
        ..request.clone()
    };
    hex(&Sha256::digest(serde_json::to_vec(&same).unwrap_or_default()))
}

/// Checks a workspace as a client wrote it: absolute or from `~`, existing, a folder that can be entered. Nothing
/// ever takes its place.
pub(crate) fn workspace(wanted: &str, user_home: &AbsPath) -> Result<AbsPath, ErrorBody> {
    let bad = |why: &str, hint: &str| {
        ErrorBody::new(ErrorCode::Workspace, format!("workspace {wanted} {why}")).hint(hint.to_owned())
    };
    let path = match wanted.strip_prefix('~') {
        Some("") => user_home.clone(),
        Some(rest) if rest.starts_with('/') => user_home.resolve(rest.trim_start_matches('/')),
        Some(_) => return Err(bad("names another user's home", "write the whole path")),
        None => AbsPath::new(wanted)
            .map_err(|_| bad("is not absolute", "write the whole path, or begin with ~/"))?,
    };
    let found = path.canonicalize().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => bad("does not exist", "create it first, or name another one"),
        _ => bad(&format!("cannot be entered: {error}"), "check its permissions"),
    })?;
    if !found.is_dir() {
        return Err(bad("is not a folder", "name the folder that holds the work"));
    }
    // Entering needs the search bit, which canonicalize does not ask of the folder itself.
    std::fs::read_dir(found.join("."))
        .map_err(|error| bad(&format!("cannot be entered: {error}"), "check its permissions"))?;
    AbsPath::new(found).map_err(|_| bad("is not absolute", "write the whole path"))
}

/// What a new session starts with.
#[derive(Debug)]
pub(crate) struct Birth<'a> {
    pub(crate) session: SessionId,
    pub(crate) request: String,
    pub(crate) workspace: &'a AbsPath,
    pub(crate) preset: Preset,
    pub(crate) credentials: Credentials,
    pub(crate) parts: &'a SessionParts,
}

/// Makes a session on disk. Its first records are synced before anybody hears of it.
pub(crate) fn create(
    sessions: &Sessions,
    birth: &Birth<'_>,
    holder: &session_store::Holder,
) -> Result<Opened, StoreError> {
    let dir = sessions.create(birth.workspace, &birth.session.to_string())?;
    let lease = Lease::acquire(&dir.path, holder)?;
    let mut log = Log::create(&dir.path)?;
    let records = [
        SessionRecord::Opened {
            id: birth.session.to_string(),
            request: birth.request.clone(),
            workspace: birth.workspace.to_string(),
            model: birth.parts.model.clone(),
            preset: birth.preset.name().to_owned(),
            context_window: birth.parts.context_window(),
            parent: None,
        },
        SessionRecord::Prefix {
            system: birth.parts.system.clone(),
            context: birth.parts.context.clone(),
        },
    ];
    let change = (!birth.credentials.is_host()).then(|| SessionRecord::CredentialsChanged {
        credentials: birth.credentials.name().to_owned(),
    });
    let mut stored = Vec::new();
    for record in records.into_iter().chain(change) {
        stored.push(log.append(&Record::Session(record), stdx::clock::unix_millis())?);
    }
    log.sync()?;
    Ok(opened(lease, log, &stored, false, birth.session))
}

/// Takes a session up again: closes what a dead daemon left open, on disk, before anybody hears of it.
///
/// `None` when it has no record: a daemon died before the first one, so nobody was told that the session exists.
pub(crate) fn resume(
    dir: &SessionDir,
    session: SessionId,
    instance: InstanceId,
    holder: &session_store::Holder,
) -> Result<Option<(Opened, Vec<Notice>)>, StoreError> {
    let lease = Lease::acquire(&dir.path, holder)?;
    let (mut log, mut stored, notices) = match Log::open(&dir.path) {
        Err(StoreError::Missing(_)) => return Ok(None),
        other => other?,
    };
    if stored.is_empty() {
        return Ok(None);
    }
    let records = recover(&replay(&stored));
    let recovered = !records.is_empty();
    let resumed = Record::Session(SessionRecord::Resumed {
        instance: instance.to_string(),
    });
    for record in records.iter().chain([&resumed]) {
        stored.push(log.append(record, stdx::clock::unix_millis())?);
    }
    log.sync()?;
    Ok(Some((opened(lease, log, &stored, recovered, session), notices)))
}

impl Opened {
    /// Records what is not as its log says: the credentials, if others are asked for; the prefix, if the daemon died between its first two records, and what is
    /// known of the model, if the settings say something else today.
    pub(crate) fn bring_up_to_date(
        &mut self,
        parts: &SessionParts,
        credentials: Credentials,
    ) -> Result<(), StoreError> {
        if projection::credentials(&self.state) != credentials {
            self.record(SessionRecord::CredentialsChanged {
                credentials: credentials.name().to_owned(),
            })?;
        }
        if self.state.prefix.is_none() {
            self.record(SessionRecord::Prefix {
                system: parts.system.clone(),
                context: parts.context.clone(),
            })?;
        }
        let model = Model {
            reference: parts.model.clone(),
            context_window: parts.context_window(),
        };
        if self.state.model.as_ref() != Some(&model) {
            self.record(SessionRecord::ModelChanged {
                model: model.reference,
                context_window: model.context_window,
            })?;
        }
        Ok(())
    }

    fn record(&mut self, record: SessionRecord) -> Result<(), StoreError> {
        let record = Record::Session(record);
        let stored = self.log.append(&record, stdx::clock::unix_millis())?;
        self.log.sync()?;
        self.state.apply(&stored);
        self.changed_at = stored.at;
        // A log numbers without holes, so the event fits.
        let _ = self.view.apply(&projection::event(stored.n, stored.at, &record));
        Ok(())
    }
}

fn opened(lease: Lease, log: Log, stored: &[Stored], recovered: bool, session: SessionId) -> Opened {
    let mut view = Snapshot::empty(session);
    for entry in stored {
        // A log numbers without holes, so every event fits.
        let _ = view.apply(&projection::event(entry.n, entry.at, &entry.record));
    }
    let title = view.items.iter().find_map(|item| match item {
        protocol::Item::User { text, .. } => Some(crate::effects::title(text)),
        _ => None,
    });
    Opened {
        lease,
        log,
        state: replay(stored),
        view,
        recovered,
        changed_at: stored.last().map_or(0, |entry| entry.at),
        title: title.unwrap_or_default(),
    }
}

/// Says why a session could not be opened.
pub(crate) fn store_error(session: SessionId, error: &StoreError) -> ErrorBody {
    match error {
        StoreError::Held { holder } => {
            let socket = holder.as_ref().and_then(|holder| holder.socket.as_deref());
            // A program that works alone has none.
            let (place, hint) = match socket.filter(|socket| !socket.is_empty()) {
                Some(socket) => (
                    format!("in another daemon ({socket})"),
                    "attach to that daemon, or stop it first",
                ),
                None => ("in another program".to_owned(), "leave it there first"),
            };
            let message = format!("session {session} is open {place}: {error}");
            ErrorBody {
                socket: socket.filter(|socket| !socket.is_empty()).map(str::to_owned),
                ..ErrorBody::new(ErrorCode::HeldElsewhere, message).hint(hint)
            }
        }
        StoreError::BadId(_) | StoreError::NoSession(_) => {
            ErrorBody::new(ErrorCode::NotFound, error.to_string())
        }
        _ => ErrorBody::new(
            ErrorCode::Internal,
            format!("could not open session {session}: {}", chain(error)),
        ),
    }
}

/// Writes an error with its causes.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

/// Says whether a folder still is where a session's log says.
pub(crate) fn still_there(path: &str) -> Result<AbsPath, ErrorBody> {
    let gone = || {
        ErrorBody::new(
            ErrorCode::Workspace,
            format!("the workspace of the session, {path}, cannot be entered any more"),
        )
        .hint("bring the folder back, or open a new session elsewhere")
    };
    let workspace = AbsPath::new(path).map_err(|_| gone())?;
    std::fs::read_dir(Path::new(path)).map_err(|_| gone())?;
    Ok(workspace)
}

//! What a list of sessions shows, from the ends of a log.

use std::{collections::BTreeSet, fs::File, io, sync::Arc};

use serde_json::Value;

use crate::{
    Lease, Record, SessionDir,
    blob::Blobs,
    line::Envelope,
    log::LOG_FILE,
    reader::{self, Section},
    record::{SessionRecord, TurnRecord},
    scan::{self, Item, Lines},
};

/// How much of a log's start is searched for its title.
const HEAD: u64 = 256 * 1024;
/// How much of a log's end is looked at; at least the last record is whole in it.
const TAIL: u64 = 128 * 1024;
/// The most bytes of a title.
const TITLE: usize = 80;

/// A session in a list. What the log does not tell, because it is missing or damaged, is `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Where it is.
    pub session: SessionDir,
    /// The absolute workspace folder.
    pub workspace: Option<String>,
    /// When it was opened, in milliseconds since the Unix epoch.
    pub opened_at: Option<u64>,
    /// When its last record was written, in milliseconds since the Unix epoch.
    pub last_at: Option<u64>,
    /// The number of its last record.
    pub last: u64,
    /// The first thing asked for: one line of at most 80 bytes, a cut marked by `…`.
    pub title: Option<String>,
    /// How many turns were asked for, as far as the end of the log tells.
    pub turns: Option<u64>,
    /// Whether a turn was asked for and has not ended.
    pub open_turn: bool,
    /// Whether it was closed by a command.
    pub closed: bool,
    /// The socket of the daemon that has it open, or had it open when it was killed.
    pub held_by: Option<String>,
}

impl Summary {
    /// Reads the ends of the session's log. `None` for a session that never began: no line of its log is whole, so
    /// nobody was told that it exists.
    pub(crate) fn read(session: SessionDir) -> Option<Self> {
        let path = session.path.join(LOG_FILE);
        let mut summary = Self {
            session,
            workspace: None,
            opened_at: None,
            last_at: None,
            last: 0,
            title: None,
            turns: None,
            open_turn: false,
            closed: false,
            held_by: None,
        };
        let read = File::open(&path).and_then(|file| {
            let length = file.metadata()?.len();
            let file = Arc::new(file);
            summary.read_head(&file, length)?;
            summary.read_tail(&file, length)
        });
        summary.held_by = Lease::last_holder(&summary.session.path).and_then(|holder| holder.socket);
        match read {
            Ok(begun) => begun.then_some(summary),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "could not read a session log");
                Some(summary)
            }
        }
    }

    fn read_head(&mut self, file: &Arc<File>, length: u64) -> io::Result<()> {
        let blobs = Blobs::of_session(&self.session.path);
        let mut lines = Lines::new(Section::new(file, 0, length.min(HEAD)), 0);
        while self.title.is_none()
            && let Some(line) = lines.next_line()?
        {
            for (_, envelope) in scan::find(&line.bytes).records {
                // Anything else may be a large blob, which a list does not need.
                if matches!(envelope.kind.as_str(), "session.opened" | "turn.submitted") {
                    self.take_head(envelope, &blobs);
                }
            }
        }
        Ok(())
    }

    fn take_head(&mut self, envelope: Envelope, blobs: &Blobs) {
        let (n, at) = (envelope.n, envelope.at);
        let item = Item {
            n,
            at,
            line: 0,
            offset: None,
            entry: scan::Entry::Line(envelope),
        };
        match reader::decode(item, blobs).0.record {
            Record::Session(SessionRecord::Opened { workspace, .. }) if self.opened_at.is_none() => {
                self.workspace = Some(workspace);
                self.opened_at = Some(at);
            }
            Record::Turn(TurnRecord::Submitted { text, .. }) if self.title.is_none() => {
                self.title = Some(stdx::bounded::one_line(&text, TITLE));
            }
            _ => {}
        }
    }

    /// Also says whether there is a whole line.
    fn read_tail(&mut self, file: &Arc<File>, length: u64) -> io::Result<bool> {
        let start = length.saturating_sub(TAIL);
        let mut lines = Lines::new(Section::new(file, start, length), start);
        let mut open = BTreeSet::new();
        let mut begun = false;
        self.turns = (start == 0).then_some(0);
        while let Some(line) = lines.next_line()? {
            begun |= line.terminated;
            for (_, envelope) in scan::find(&line.bytes).records {
                begun = true;
                self.last = self.last.max(envelope.n);
                self.last_at = Some(envelope.at);
                self.closed = envelope.kind == "session.closed";
                // Turns are numbered from 1 without holes.
                self.turns = self.turns.max(note_turn(&envelope, &mut open));
            }
        }
        self.open_turn = !open.is_empty();
        Ok(begun)
    }
}

/// Keeps the set of turns that have not ended, and gives the turn that a record belongs to.
fn note_turn(envelope: &Envelope, open: &mut BTreeSet<u64>) -> Option<u64> {
    let data: Value = serde_json::from_str(envelope.data.get()).unwrap_or_default();
    let turn = data.get("turn").and_then(Value::as_u64)?;
    if envelope.kind == "turn.ended" {
        open.remove(&turn);
    } else {
        open.insert(turn);
    }
    Some(turn)
}

//! `reasonix remote fs edit`: a file of a host in the person's editor. What the person wrote is never lost.

mod draft;

use std::process::ExitStatus;

use files::{Cancel, Cause, Error, Expected, Get, Mode, Put, State, Transfer};
use sftp::name::split;

use self::draft::Draft;
use super::{editor, of_one, open, place::Place, show, show::Bar, way::Reached};
use crate::{
    args::FsEditArgs,
    exit::Exit,
    headless::{Signal, Signals},
    invocation::Invocation,
    report::Failure,
};

/// The permissions of a file that is made.
const NEW: u32 = 0o644;

/// Edits.
pub(super) async fn run(invocation: &Invocation, args: &FsEditArgs) -> Result<Exit, Failure> {
    let place = Place::with_path(&args.place)?;
    let editor = editor::find(invocation)?;
    let mut signals = Signals::new()?;
    let cancel = Cancel::new();
    let opening = async {
        let reached = open(invocation, &place.host, &cancel).await?;
        match fetch(invocation, &reached, &place).await {
            Ok(fetched) => Ok((reached, fetched)),
            Err(failure) => {
                reached.close().await;
                Err(failure)
            }
        }
    };
    let (reached, fetched) = tokio::select! {
        biased;
        _signal = signals.next() => return Ok(Exit::Interrupted),
        opened = opening => opened?,
    };
    let edit = Edit {
        invocation,
        place,
        fetched,
        force: args.force,
    };
    let status = match edit.in_editor(&editor, &mut signals).await {
        Ok(status) => status,
        Err(failure) => {
            reached.close().await;
            return Err(failure);
        }
    };
    edit.finish(reached, status, &mut signals).await
}

/// What is edited.
struct Fetched {
    draft: Draft,
    /// The state of the host's file; `None` where there is none.
    state: Option<State>,
    /// The full path on the host.
    path: Vec<u8>,
}

struct Edit<'a> {
    invocation: &'a Invocation,
    place: Place,
    fetched: Fetched,
    force: bool,
}

/// Brings the file here, for this user alone.
async fn fetch(invocation: &Invocation, reached: &Reached, place: &Place) -> Result<Fetched, Failure> {
    let failed = |error: Error| of_one(reached, &error);
    let path = reached.files.resolve(&place.path).await.map_err(failed)?;
    invocation.make_home()?;
    let draft = Draft::create(&invocation.home, split(&path).1).await?;
    let get = Get {
        from: path.clone(),
        to: draft.file().to_path_buf(),
        transfer: Transfer::default(),
        hash: true,
    };
    let bar = Bar::new();
    let fetched = bar
        .during(reached.files.get(&get, &bar.progress, &Cancel::new()))
        .await;
    let state = match fetched {
        Ok(outcome) => outcome.state,
        Err(error) if error.is_missing() => {
            show::say(&format!(
                "{} does not exist; it is made when something is written",
                place.shown()
            ));
            None
        }
        Err(error) => {
            draft.remove().await;
            return Err(failed(error));
        }
    };
    draft.begin().await?;
    Ok(Fetched { draft, state, path })
}

impl Edit<'_> {
    /// Waits for the editor. Ctrl-C is the editor's.
    async fn in_editor(
        &self,
        editor: &std::ffi::OsString,
        signals: &mut Signals,
    ) -> Result<ExitStatus, Failure> {
        let name = sftp::name::show(editor.as_encoded_bytes());
        let failed = |error: std::io::Error| {
            let failure = Failure::new(
                Exit::Failed,
                format!("could not start the editor {name}: {error}"),
            );
            failure.hint("set VISUAL or EDITOR to one that is there")
        };
        let draft = &self.fetched.draft;
        let mut child = editor::start(self.invocation, editor, draft.file()).map_err(failed)?;
        loop {
            tokio::select! {
                biased;
                ended = child.wait() => return ended.map_err(failed),
                signal = signals.next() => match signal {
                    Signal::Interrupt => {}
                    Signal::Leave => {
                        // The terminal is gone, and with it most likely the editor.
                        return Err(self.kept(Failure::new(Exit::Interrupted, "ended while the editor was open")).await);
                    }
                },
            }
        }
    }

    /// Writes back what changed.
    async fn finish(
        self,
        reached: Reached,
        status: ExitStatus,
        signals: &mut Signals,
    ) -> Result<Exit, Failure> {
        let shown = self.place.shown();
        if !status.success() {
            reached.close().await;
            let failure = Failure::new(
                Exit::Failed,
                format!("the editor ended with {status}; {shown} is as it was"),
            );
            return Err(self.kept(failure).await);
        }
        match self.fetched.draft.is_changed().await {
            Ok(true) => {}
            Ok(false) => {
                reached.close().await;
                self.fetched.draft.remove().await;
                show::say(&format!("{shown}: not changed, nothing is written"));
                return Ok(Exit::Success);
            }
            Err(error) => {
                reached.close().await;
                let message = format!("could not read what the editor left: {error}; {shown} is as it was");
                return Err(self.kept(Failure::new(Exit::Failed, message)).await);
            }
        }
        let written = tokio::select! {
            biased;
            _signal = signals.next() => {
                // Whether it arrived is not known now.
                let failure = Failure::new(Exit::Interrupted, format!("interrupted while {shown} was written"));
                return Err(self.kept(failure).await);
            }
            written = self.write_back(reached) => written,
        };
        match written {
            Ok(()) => {
                self.fetched.draft.remove().await;
                show::say(&format!("{shown}: written"));
                Ok(Exit::Success)
            }
            Err(failure) => Err(self.kept(failure).await),
        }
    }

    /// Writes back; a connection that was lost while the editor was open is opened again.
    async fn write_back(&self, reached: Reached) -> Result<(), Failure> {
        let error = match self.put(&reached).await {
            Err(error) if error.is_lost() => error,
            result => {
                let result = self.judge(&reached, result).await;
                reached.close().await;
                return result;
            }
        };
        show::say(&format!(
            "{}: the connection was lost; trying again",
            reached.name
        ));
        tracing::debug!(%error, "lost while an editor was open");
        reached.close().await;
        let again = Reached::open(self.invocation, &self.place.host).await?;
        let result = self.put(&again).await;
        let result = self.judge(&again, result).await;
        again.close().await;
        result
    }

    async fn put(&self, reached: &Reached) -> Result<(), Error> {
        let Fetched { draft, state, path } = &self.fetched;
        let put = Put {
            from: draft.file().to_path_buf(),
            to: path.clone(),
            transfer: Transfer {
                times: false,
                ..Transfer::default()
            },
            mode: if state.is_some() {
                Mode::Target
            } else {
                Mode::Exact(NEW)
            },
            expected: match state {
                _ if self.force => Expected::Anything,
                Some(state) => Expected::Is(*state),
                None => Expected::Missing,
            },
        };
        let bar = Bar::new();
        let sent = bar
            .during(reached.files.put(&put, &bar.progress, &Cancel::new()))
            .await;
        sent.map(drop)
    }

    /// Says what a failure means for the person.
    async fn judge(&self, reached: &Reached, result: Result<(), Error>) -> Result<(), Failure> {
        let error = match result {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        if !matches!(error.cause(), Cause::Conflict { .. }) {
            return Err(reached.failure(&error));
        }
        // It may have arrived before the connection was lost.
        if self.is_there(reached).await {
            return Ok(());
        }
        let shown = self.place.shown();
        let message = format!(
            "{shown} was changed on {} while you edited it; nothing is written",
            self.place.host
        );
        let file = show::word(self.fetched.draft.file().as_os_str().as_encoded_bytes());
        let place = show::word(shown.as_bytes());
        let hint = format!(
            "compare: reasonix remote fs cat {place} | diff - {file}; write yours over it: reasonix remote fs put {file} {place}"
        );
        Err(Failure::new(Exit::Failed, message)
            .hint(hint)
            .on(&self.place.host))
    }

    /// Says whether the host's file is what the person wrote.
    async fn is_there(&self, reached: &Reached) -> bool {
        let there = reached.files.state(&self.fetched.path, true).await;
        let hash = there.ok().flatten().and_then(|state| state.hash);
        hash.is_some() && hash == self.fetched.draft.hash().await
    }

    /// Keeps the text and says where.
    async fn kept(&self, mut failure: Failure) -> Failure {
        let draft = &self.fetched.draft;
        // One that cannot be read may still hold something.
        if matches!(draft.is_changed().await, Ok(false)) {
            draft.remove().await;
            return failure;
        }
        let Some(left) = draft.left().await else {
            draft.remove().await;
            return failure;
        };
        let shown = show::name(left.as_os_str().as_encoded_bytes());
        failure
            .message
            .push_str(&format!("\n  your text is kept in {shown}"));
        if failure.hint.is_none() && left == draft.file() {
            let (file, place) = (
                show::word(left.as_os_str().as_encoded_bytes()),
                show::word(self.place.shown().as_bytes()),
            );
            failure.hint = Some(format!("reasonix remote fs put {file} {place} writes it"));
        }
        failure
    }
}

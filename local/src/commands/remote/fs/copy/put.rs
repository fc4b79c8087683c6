//! `reasonix remote fs put`: where each file goes, as cp(1) has it.

use std::{
    ffi::OsString,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use files::{Cancel, Error, Expected, Kind, Mode, Outcome, Put, Transfer};
use sftp::name::{join, show};

use super::run::{Copy, Job};
use crate::{
    args::FsPutArgs,
    commands::remote::fs::{open, place::Place, show::Bar, way::Reached},
    exit::Exit,
    invocation::Invocation,
    report::Failure,
};

/// Copies to a host.
pub(in super::super) async fn put(
    invocation: &Invocation,
    args: &FsPutArgs,
    cancel: Cancel,
) -> Result<Exit, Failure> {
    let (sources, place) = arguments(&args.places)?;
    // Before anything is dialled.
    stdx::task::blocking({
        let (sources, recursive) = (sources.clone(), args.copy.recursive);
        move || look(&sources, recursive)
    })
    .await?;
    let reached = open(invocation, &place.host, &cancel).await?;
    let copies = match plan(&reached, sources, &place, args).await {
        Ok(copies) => copies,
        Err(failure) => {
            reached.close().await;
            return Err(failure);
        }
    };
    let job = Job {
        invocation,
        cancel: &cancel,
        copies,
        json: args.copy.json,
    };
    job.run(reached).await
}

impl Copy for Put {
    async fn run(&self, reached: &Reached, bar: &Bar, cancel: &Cancel) -> Result<Outcome, Error> {
        reached.files.put(self, &bar.progress, cancel).await
    }
}

fn arguments(texts: &[OsString]) -> Result<(Vec<PathBuf>, Place), Failure> {
    let bad = |text: &OsString| {
        let message = format!("{} is no place on a host", show(text.as_bytes()));
        Failure::new(Exit::Usage, message)
            .hint("write HOST:PATH as the last word, as in `put notes.txt box:`")
    };
    let Some((last, before)) = texts.split_last() else {
        return Err(bad(&OsString::new()));
    };
    if !Place::is_on_host(last) {
        return Err(bad(last));
    }
    Ok((before.iter().map(PathBuf::from).collect(), Place::parse(last)?))
}

/// Says early what cannot be copied.
fn look(sources: &[PathBuf], recursive: bool) -> Result<(), Failure> {
    for source in sources {
        let shown = show(source.as_os_str().as_bytes());
        let found = std::fs::metadata(source).map_err(|error| {
            let failure = Failure::new(
                Exit::Failed,
                format!("could not read {shown} on this machine: {error}"),
            );
            if Place::is_on_host(source.as_os_str()) {
                failure.hint("`put` copies files of this machine; only the last word is a place on a host")
            } else {
                failure.hint("check the spelling, and that you may read it")
            }
        })?;
        if found.is_dir() && !recursive {
            let message = format!("{shown} is a folder");
            return Err(
                Failure::new(Exit::Usage, message).hint("`-r` copies folders with all that is in them")
            );
        }
    }
    Ok(())
}

async fn plan(
    reached: &Reached,
    sources: Vec<PathBuf>,
    place: &Place,
    args: &FsPutArgs,
) -> Result<Vec<Put>, Failure> {
    let is_folder = match reached.files.stat(&place.path, true).await {
        Ok(entry) => entry.kind() == Kind::Folder,
        Err(error) if error.is_missing() => false,
        Err(error) => return Err(reached.failure(&error)),
    };
    if (sources.len() > 1 || place.path.ends_with(b"/")) && !is_folder {
        let message = format!("{} is no folder", place.shown());
        return Err(Failure::new(Exit::Usage, message).hint("make the folder first, or name a single file"));
    }
    let copies = sources.into_iter().map(|from| {
        let to = if is_folder {
            join(&place.path, &file_name(&from)?)
        } else {
            place.path.clone()
        };
        Ok(Put {
            from,
            to,
            transfer: Transfer {
                recursive: args.copy.recursive,
                ..Transfer::default()
            },
            mode: Mode::Target,
            expected: Expected::Anything,
        })
    });
    copies.collect()
}

/// Gives the name by which a file is put into a folder; that of `.` is the folder's own.
fn file_name(path: &Path) -> Result<Vec<u8>, Failure> {
    let real = match path.file_name() {
        Some(name) => return Ok(name.as_bytes().to_vec()),
        None => std::fs::canonicalize(path),
    };
    let name = real
        .ok()
        .and_then(|path| path.file_name().map(|name| name.as_bytes().to_vec()));
    name.ok_or_else(|| {
        let message = format!("{} has no name of its own", show(path.as_os_str().as_bytes()));
        Failure::new(Exit::Usage, message).hint("give the copy a name that does not exist yet")
    })
}

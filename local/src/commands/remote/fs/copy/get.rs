//! `reasonix remote fs get`: where each file goes, as cp(1) has it.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use files::{Cancel, Error, Get, Outcome, Transfer};
use sftp::name::{is_plain, show, split};

use super::run::{Copy, Job};
use crate::{
    args::FsGetArgs,
    commands::remote::fs::{
        found, open,
        place::{Place, one_host},
        show::Bar,
        way::Reached,
    },
    exit::Exit,
    invocation::Invocation,
    report::Failure,
};

/// Copies from a host.
pub(in super::super) async fn get(
    invocation: &Invocation,
    args: &FsGetArgs,
    cancel: Cancel,
) -> Result<Exit, Failure> {
    let (places, to) = arguments(&args.places)?;
    let reached = open(invocation, one_host(&places)?, &cancel).await?;
    let copies = match plan(&reached, &places, &to, args).await {
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

impl Copy for Get {
    async fn run(&self, reached: &Reached, bar: &Bar, cancel: &Cancel) -> Result<Outcome, Error> {
        reached.files.get(self, &bar.progress, cancel).await
    }
}

/// The last argument is the target where it is of this machine; else it is the current folder.
fn arguments(texts: &[OsString]) -> Result<(Vec<Place>, PathBuf), Failure> {
    let (from, to) = match texts.split_last() {
        Some((last, before)) if !before.is_empty() && !Place::is_on_host(last) => {
            (before, PathBuf::from(last))
        }
        _ => (texts, PathBuf::from(".")),
    };
    let places = from.iter().map(|text| {
        if Place::is_on_host(text) {
            return Place::parse(text);
        }
        let message = format!("{} is no file of a host", show(text.as_bytes()));
        Err(Failure::new(Exit::Usage, message)
            .hint("write HOST:PATH for what is copied, and the local target last"))
    });
    Ok((places.collect::<Result<_, _>>()?, to))
}

async fn plan(reached: &Reached, places: &[Place], to: &Path, args: &FsGetArgs) -> Result<Vec<Get>, Failure> {
    let mut sources = Vec::new();
    for place in places {
        sources.extend(found(reached, &place.path).await?);
    }
    let looked = to.to_path_buf();
    let is_folder = stdx::task::blocking(move || looked.is_dir()).await;
    let must_be = sources.len() > 1 || to.as_os_str().as_bytes().ends_with(b"/");
    if must_be && !is_folder {
        let message = format!("{} is no folder", show(to.as_os_str().as_bytes()));
        return Err(Failure::new(Exit::Usage, message).hint("make the folder first, or name a single file"));
    }
    let copies = sources.into_iter().map(|from| {
        let to = if is_folder {
            to.join(file_name(&from)?)
        } else {
            to.to_path_buf()
        };
        Ok(Get {
            from,
            to,
            transfer: Transfer {
                recursive: args.copy.recursive,
                ..Transfer::default()
            },
            hash: false,
        })
    });
    copies.collect()
}

/// Gives the name by which a file of the host is put into a folder.
fn file_name(path: &[u8]) -> Result<OsString, Failure> {
    let name = split(path).1;
    if is_plain(name) {
        return Ok(OsStr::from_bytes(name).to_owned());
    }
    let message = format!("{} has no name of its own", show(path));
    Err(Failure::new(Exit::Usage, message).hint("give the copy a name that does not exist yet"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_comes_last_and_may_be_missing() {
        let read = |texts: &[&str]| {
            let texts: Vec<OsString> = texts.iter().map(OsString::from).collect();
            let (places, to) = arguments(&texts)?;
            let paths = places
                .iter()
                .map(|place| String::from_utf8(place.path.clone()).unwrap());
            Ok::<_, Failure>((paths.collect::<Vec<_>>(), to.display().to_string()))
        };
        let expect =
            |paths: &[&str], to: &str| (paths.iter().map(|&path| path.to_owned()).collect(), to.to_owned());
        assert_eq!(read(&["box:a"]).unwrap(), expect(&["a"], "."));
        assert_eq!(read(&["box:a", "x"]).unwrap(), expect(&["a"], "x"));
        assert_eq!(
            read(&["box:a", "box:b", "./c:d"]).unwrap(),
            expect(&["a", "b"], "./c:d")
        );
        assert_eq!(read(&["box:a", "box:b"]).unwrap(), expect(&["a", "b"], "."));
        for bad in [&["a"][..], &["a", "b"], &["box", "b"]] {
            assert_eq!(read(bad).unwrap_err().exit, Exit::Usage, "{bad:?}");
        }
        assert_eq!(file_name(b"/a/b/").unwrap(), OsString::from("b"));
        assert!(file_name(b"/").is_err() && file_name(b"/a/..").is_err());
    }
}

//! `reasonix remote fs cat`: files of a host on standard output.

use std::io::{self, Write as _};

use super::{
    found, of_one,
    place::{Place, one_host},
    way::Reached,
};
use crate::{args::FsCatArgs, exit::Exit, invocation::Invocation, report::Failure};

/// Prints.
pub(super) async fn run(invocation: &Invocation, args: &FsCatArgs) -> Result<Exit, Failure> {
    let places = args.places.iter().map(|text| Place::with_path(text));
    let places: Vec<Place> = places.collect::<Result<_, _>>()?;
    let reached = Reached::open(invocation, one_host(&places)?).await?;
    let outcome = all(&reached, &places).await;
    reached.close().await;
    outcome
}

/// Why printing ended.
enum Stop {
    Failed(files::Error),
    /// Standard output could not be written.
    Output(io::Error),
}

impl From<files::Error> for Stop {
    fn from(error: files::Error) -> Self {
        Self::Failed(error)
    }
}

async fn all(reached: &Reached, places: &[Place]) -> Result<Exit, Failure> {
    for place in places {
        for path in found(reached, &place.path).await? {
            match one(reached, &path).await {
                Ok(()) => {}
                Err(Stop::Failed(error)) => return Err(of_one(reached, &error)),
                // `… | head` has seen enough.
                Err(Stop::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                    return Ok(Exit::Success);
                }
                Err(Stop::Output(error)) => {
                    let message = format!("could not write to standard output: {error}");
                    return Err(Failure::new(Exit::Failed, message));
                }
            }
        }
    }
    Ok(Exit::Success)
}

async fn one(reached: &Reached, path: &[u8]) -> Result<(), Stop> {
    let reader = reached.files.read(path, 0..u64::MAX).await?;
    reader.copy(written).await?;
    Ok(())
}

/// Standard output may be a pipe whose reader takes its time.
async fn written(bytes: impl AsRef<[u8]> + Send + 'static) -> Result<(), Stop> {
    let written = stdx::task::blocking(move || {
        let mut out = io::stdout().lock();
        out.write_all(bytes.as_ref()).and_then(|()| out.flush())
    });
    written.await.map_err(Stop::Output)
}

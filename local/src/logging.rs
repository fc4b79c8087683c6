//! Where logs go: standard error for commands, a rotating file for the daemon.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

/// The size at which a log file is put aside.
const ROTATE_AT: u64 = 5 * 1024 * 1024;
/// How many files are kept, the current one included.
const KEEP: usize = 5;

/// Logs to standard error: warnings, and more with `-v` or `REASONIX_LOG`.
pub(crate) fn to_stderr(verbose: u8, filter: Option<&str>) {
    without_library_records();
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(env_filter(verbose, filter, "warn"))
        .with_writer(io::stderr);
    // A second subscriber in one process cannot happen outside tests, and would only leave the first in place.
    drop(
        subscriber
            .with_ansi(false)
            .with_target(false)
            .log_internal_errors(false)
            .try_init(),
    );
}

/// Logs to a file that is put aside when it is full: five files of 5 MB.
///
/// # Errors
/// When the file cannot be opened.
pub(crate) fn to_file(path: &Path, verbose: u8, filter: Option<&str>) -> io::Result<()> {
    without_library_records();
    let writer = Rotating(Mutex::new(Current::open(path)?));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(env_filter(verbose, filter, "info"))
        .with_writer(writer);
    // As for `to_stderr`. What cannot be written is not reported: the report would go to standard error, which is the
    // same file, and printing there ends the thread when it fails.
    drop(subscriber.with_ansi(false).log_internal_errors(false).try_init());
    Ok(())
}

/// Says that nobody reads what libraries write through `log`: what matters of it comes as errors. The feature that is set for
/// it leaves its texts out of the program.
fn without_library_records() {
    log::set_max_level(log::LevelFilter::Off);
}

fn env_filter(verbose: u8, filter: Option<&str>, quiet: &str) -> EnvFilter {
    let level = match verbose {
        0 => quiet,
        1 => "info",
        _ => "debug",
    };
    let wanted = filter.filter(|filter| !filter.trim().is_empty());
    wanted
        .and_then(|filter| EnvFilter::try_new(filter).ok())
        .unwrap_or_else(|| EnvFilter::new(level))
}

/// A log file that is put aside when it is full.
struct Rotating(Mutex<Current>);

struct Current {
    path: PathBuf,
    file: File,
    size: u64,
}

impl Current {
    fn open(path: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            // It may be the first file below Reasonix's own folder, which is nobody else's business.
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(path)?;
        let size = file.metadata()?.len();
        Ok(Self {
            path: path.to_owned(),
            file,
            size,
        })
    }

    fn rotate(&mut self) -> io::Result<()> {
        let aside = |n: usize| self.path.with_extension(format!("log.{n}"));
        for n in (1..KEEP - 1).rev() {
            // A file that is not there has nothing to keep.
            drop(fs::rename(aside(n), aside(n + 1)));
        }
        match fs::rename(&self.path, aside(1)) {
            // Somebody removed the file, which makes room as well.
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        *self = Self::open(&self.path)?;
        Ok(())
    }
}

impl Write for &Rotating {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if current.size + bytes.len() as u64 > ROTATE_AT {
            current.rotate()?;
        }
        current.file.write_all(bytes)?;
        current.size += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).file.flush()
    }
}

impl<'a> MakeWriter<'a> for Rotating {
    type Writer = &'a Self;
    fn make_writer(&'a self) -> &'a Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn folders_made_for_a_log_belong_to_their_owner() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("home/logs/screen.log");
        Current::open(&path).unwrap();
        for made in [path.as_path(), path.parent().unwrap(), &dir.path().join("home")] {
            let mode = fs::metadata(made).unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{}: {mode:o}", made.display());
        }
    }

    #[test]
    fn keeps_five_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("daemon.log");
        let log = Rotating(Mutex::new(Current::open(&path).unwrap()));
        let block = vec![b'x'; 1024 * 1024];
        for _ in 0..40 {
            (&log).write_all(&block).unwrap();
        }
        let mut names: Vec<_> = fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(
            names,
            [
                "daemon.log",
                "daemon.log.1",
                "daemon.log.2",
                "daemon.log.3",
                "daemon.log.4"
            ]
        );
        assert!(fs::metadata(&path).unwrap().len() <= ROTATE_AT);
    }
}

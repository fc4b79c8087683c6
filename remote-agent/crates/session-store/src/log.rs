//! The writer of a session's log.
//!
//! The session folder holds `log.jsonl`, `blobs/`, and a `log.torn-<n>` for each unfinished last line that was cut
//! off. The bytes of a line are described in `line.rs`. The caller holds the session's [`crate::Lease`]; the log
//! itself does not look for other writers.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use crate::{
    LogReader, Notice, Problem, Record, StoreError, Stored,
    blob::{BlobRef, Blobs, make_dir, sync_dir},
    error::io_error,
    line::{self, LINE_MAX},
    reader::{self, Index},
    scan::Tail,
};

/// The log's file name in its session folder.
pub(crate) const LOG_FILE: &str = "log.jsonl";

/// The one writer of a session's log. Its calls block on the disk.
#[derive(Debug)]
pub struct Log {
    dir: PathBuf,
    file: File,
    reader: LogReader,
    blobs: Blobs,
    /// The number of the last record.
    last: u64,
    /// Where the last whole line ends.
    end: u64,
    state: State,
}

/// How the file stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Everything written is on disk.
    Synced,
    /// Lines were written since the last sync.
    Written,
    /// A failed write left part of a line after `end`, and cutting it off failed as well.
    HalfLine,
    /// A sync failed: the kernel may have dropped the pages, so later syncs would prove nothing.
    SyncLost,
}

impl Log {
    /// Makes an empty log in the session folder `dir`, and the folder where it is missing; both are on disk when
    /// this returns. An empty log, which a crash may leave before the first record, is taken as it is.
    ///
    /// # Errors
    /// [`StoreError::Exists`] when there are records, [`StoreError::Io`] when the system refuses.
    pub fn create(dir: &Path) -> Result<Self, StoreError> {
        make_dir(dir)?;
        let path = dir.join(LOG_FILE);
        let file = open_file(&path, true).map_err(io_error("create", &path))?;
        if file.metadata().map_err(io_error("read", &path))?.len() > 0 {
            return Err(StoreError::Exists(path));
        }
        file.sync_all().map_err(io_error("sync", &path))?;
        sync_dir(dir)?;
        Self::on(file, dir)
    }

    /// Opens the log in the session folder `dir` and reads all of it.
    ///
    /// The records come with numbers from 1 without holes; a lost one is there as [`crate::DAMAGED`]. An unfinished
    /// last line is moved to `log.torn-<n>`; no other byte is changed, whatever is wrong. Each problem gives a notice.
    ///
    /// # Errors
    /// [`StoreError::Missing`] without a log, [`StoreError::Io`] when the system refuses.
    pub fn open(dir: &Path) -> Result<(Self, Vec<Stored>, Vec<Notice>), StoreError> {
        let path = dir.join(LOG_FILE);
        let file = match open_file(&path, false) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(StoreError::Missing(dir.to_owned()));
            }
            other => other.map_err(io_error("open", &path))?,
        };
        let mut log = Self::on(file, dir)?;
        let mut records = Vec::new();
        let blobs = log.blobs.clone();
        let mut end = log.reader.scan_all(&mut |scan, item| {
            let line = item.line;
            let (stored, _, problem) = reader::decode(item, &blobs);
            records.push(stored);
            if let Some(problem) = problem {
                scan.note(line, problem);
            }
        })?;
        log.last = end.last;
        log.end = end.end;
        if let Some(tail) = end.tail
            && let Some(problem) = log.mend_tail(&tail)?
        {
            end.notices.push(tail.line, problem);
        }
        Ok((log, records, end.notices.into_vec()))
    }

    fn on(file: File, dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join(LOG_FILE);
        let end = file.metadata().map_err(io_error("read", &path))?.len();
        let readable = file.try_clone().map_err(io_error("open", &path))?;
        let reader = LogReader::new(readable, dir, Index::up_to(end));
        let blobs = Blobs::of_session(dir);
        Ok(Self {
            dir: dir.to_owned(),
            file,
            reader,
            blobs,
            last: 0,
            end,
            state: State::Written,
        })
    }

    /// Gives a reader that sees every record from the moment it is written.
    #[must_use]
    pub fn reader(&self) -> LogReader {
        self.reader.clone()
    }

    /// Gives the number of the last record; 0 for an empty log.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Writes a record with the next number. `at` is in milliseconds since the Unix epoch.
    ///
    /// The line is one `write`; it survives this process, and a power cut only after [`Log::sync`]. Content too large
    /// for a line is synced before the line that names it.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the disk is full or fails: nothing of the record is left, its number is not used, and
    /// the log can be written again when there is room. [`StoreError::SyncLost`] after a failed sync.
    pub fn append(&mut self, record: &Record, at: u64) -> Result<Stored, StoreError> {
        match self.state {
            State::SyncLost => return Err(StoreError::SyncLost(self.path())),
            State::HalfLine => self.cut_half_line()?,
            State::Synced | State::Written => {}
        }
        let n = self.last + 1;
        let line = self.encode(n, at, record)?;
        if let Err(error) = write_once(&mut self.file, &line) {
            self.state = State::HalfLine;
            // The reason of the failed write matters more than that of a failed cut, which is tried again.
            if let Err(cut) = self.cut_half_line() {
                tracing::warn!(error = %cut, "could not cut a half-written log line");
            }
            return Err(io_error("append to", &self.path())(error));
        }
        let start = self.end;
        self.end += line.len() as u64;
        self.last = n;
        self.state = State::Written;
        self.reader.advance(n, start, self.end);
        Ok(Stored {
            n,
            at,
            record: record.clone(),
        })
    }

    /// Makes everything that was appended survive a power cut (`fdatasync`).
    ///
    /// # Errors
    /// [`StoreError::Io`] when the disk fails. What is on disk is then unknown, so the log takes no more records;
    /// opening it again shows what is there.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        match self.state {
            State::Synced => return Ok(()),
            State::SyncLost => return Err(StoreError::SyncLost(self.path())),
            State::Written | State::HalfLine => {}
        }
        if let Err(error) = self.file.sync_data() {
            self.state = State::SyncLost;
            return Err(io_error("sync", &self.path())(error));
        }
        if self.state == State::Written {
            self.state = State::Synced;
        }
        Ok(())
    }

    fn encode(&self, n: u64, at: u64, record: &Record) -> Result<Vec<u8>, StoreError> {
        let (kind, data) = line::split(record)?;
        // Data of an unknown kind that happens to look like a reference must not be taken for one.
        let ambiguous = matches!(record, Record::Unknown { data, .. } if BlobRef::recognise(data).is_some());
        let line = line::encode(n, at, &kind, &data)?;
        if line.len() <= LINE_MAX && !ambiguous {
            return Ok(line);
        }
        line::encode(n, at, &kind, &self.blobs.put(data.as_bytes())?.to_json())
    }

    fn cut_half_line(&mut self) -> Result<(), StoreError> {
        self.file
            .set_len(self.end)
            .map_err(io_error("shorten", &self.path()))?;
        self.state = State::Written;
        Ok(())
    }

    /// Moves an unfinished last line aside, and ends a last record that lacks only its line feed.
    fn mend_tail(&mut self, tail: &Tail) -> Result<Option<Problem>, StoreError> {
        let torn = tail.end - tail.sound_end;
        let mut problem = None;
        if torn > 0 {
            let kept = self.keep_torn(tail)?;
            problem = Some(Problem::Torn {
                bytes: torn,
                kept: Some(kept),
            });
        }
        self.end = tail.sound_end;
        self.file
            .set_len(self.end)
            .map_err(io_error("shorten", &self.path()))?;
        if tail.needs_feed {
            write_once(&mut self.file, b"\n").map_err(io_error("append to", &self.path()))?;
            self.end += 1;
        }
        self.reader.set_end(self.end);
        Ok(problem)
    }

    fn keep_torn(&self, tail: &Tail) -> Result<PathBuf, StoreError> {
        let (mut file, path) = self.new_torn_file()?;
        let mut source = &self.file;
        source
            .seek(SeekFrom::Start(tail.sound_end))
            .map_err(io_error("read", &self.path()))?;
        let copied = io::copy(&mut source.take(tail.end - tail.sound_end), &mut file);
        if let Err(error) = copied.and_then(|_| file.sync_all()) {
            // Half a copy helps nobody, and the log still has the bytes.
            drop(fs::remove_file(&path));
            return Err(io_error("write", &path)(error));
        }
        Ok(path)
    }

    /// Makes `log.torn-<n>` for the first `n` from the torn record's number on that is free.
    fn new_torn_file(&self) -> Result<(File, PathBuf), StoreError> {
        let mut n = self.last + 1;
        loop {
            let path = self.dir.join(format!("log.torn-{n}"));
            match OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path)
            {
                Ok(file) => return Ok((file, path)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => n += 1,
                Err(error) => return Err(io_error("create", &path)(error)),
            }
        }
    }

    fn path(&self) -> PathBuf {
        self.dir.join(LOG_FILE)
    }
}

fn open_file(path: &Path, create: bool) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .append(true)
        .create(create)
        .mode(0o600)
        .open(path)
}

/// Writes `bytes` with one system call. A short write is an error: on a regular file it means that there is no room,
/// and asking again for the exact reason could kill the process (SIGXFSZ at a file size limit).
fn write_once(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    loop {
        return match file.write(bytes) {
            Ok(count) if count == bytes.len() => Ok(()),
            Ok(count) => {
                let reason = format!("only {count} of {} bytes had room", bytes.len());
                Err(io::Error::new(ErrorKind::StorageFull, reason))
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
    }
}

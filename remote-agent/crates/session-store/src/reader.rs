//! Reading a log at any number, while its writer goes on.

use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::FileExt as _,
    path::Path,
    sync::{Arc, PoisonError, RwLock},
};

use crate::{
    DAMAGED, FORMAT_VERSION, Notice, Problem, Record, StoreError, Stored,
    blob::{BlobRef, Blobs},
    error::io_error,
    line,
    log::LOG_FILE,
    scan::{Entry, Item, Scan, ScanEnd},
};

/// Every so many records the index knows a byte position.
const STRIDE: u64 = 64;
/// A page ends after this many bytes of data, so that large contents do not pile up in memory.
const PAGE_BYTES: usize = 8 * 1024 * 1024;

/// Reads a session's log. Clones share one sparse index; all of them may be used from any thread.
///
/// The calls block on the disk, so async code runs them through `stdx::task::blocking`.
#[derive(Debug, Clone)]
pub struct LogReader {
    file: Arc<File>,
    dir: Arc<Path>,
    blobs: Blobs,
    index: Arc<RwLock<Index>>,
}

impl LogReader {
    /// Opens the log in the session folder `dir` without being its writer. The reader sees what is there now, and
    /// changes nothing, also not an unfinished last line.
    ///
    /// # Errors
    /// [`StoreError::Missing`] without a log, [`StoreError::Io`] when it cannot be read.
    pub fn open(dir: &Path) -> Result<(Self, Vec<Notice>), StoreError> {
        let path = dir.join(LOG_FILE);
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(StoreError::Missing(dir.to_owned()));
            }
            other => other.map_err(io_error("open", &path))?,
        };
        let length = file.metadata().map_err(io_error("read", &path))?.len();
        let reader = Self::new(file, dir, Index::up_to(length));
        let mut end = reader.scan_all(&mut |_, _| {})?;
        if let Some(tail) = end.tail.filter(|tail| tail.sound_end < tail.end) {
            let bytes = tail.end - tail.sound_end;
            end.notices.push(tail.line, Problem::Torn { bytes, kept: None });
        }
        Ok((reader, end.notices.into_vec()))
    }

    pub(crate) fn new(file: File, dir: &Path, index: Index) -> Self {
        let index = Arc::new(RwLock::new(index));
        Self {
            file: Arc::new(file),
            dir: dir.into(),
            blobs: Blobs::of_session(dir),
            index,
        }
    }

    /// Reads the whole file, fills the index, and shows each item to `see`.
    pub(crate) fn scan_all(
        &self,
        see: &mut dyn FnMut(&mut Scan<Section>, Item),
    ) -> Result<ScanEnd, StoreError> {
        let mut index = Index::up_to(self.index(|index| index.end));
        let mut scan = Scan::new(Section::new(&self.file, 0, index.end), 0, 1);
        while let Some(item) = scan
            .next_item()
            .map_err(io_error("read", &self.dir.join(LOG_FILE)))?
        {
            if let Some(offset) = item.offset {
                index.note(item.n, offset);
            }
            see(&mut scan, item);
        }
        let end = scan.into_end();
        index.last = end.last;
        *self.index.write().unwrap_or_else(PoisonError::into_inner) = index;
        Ok(end)
    }

    /// Gives the number of the last record; 0 for an empty log.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.index(|index| index.last)
    }

    /// Gives records from number `after + 1` on, at most `limit` of them, without holes: a lost one is there as
    /// [`DAMAGED`]. Fewer than `limit` may come where the contents are large; none means that there are no more.
    ///
    /// The cost depends on what is read, not on the length of the log.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the file cannot be read.
    pub fn read(&self, after: u64, limit: usize) -> Result<Vec<Stored>, StoreError> {
        let (last, end, (first, offset)) =
            self.index(|index| (index.last, index.end, index.before(after.saturating_add(1))));
        let mut out = Vec::new();
        if after >= last || limit == 0 {
            return Ok(out);
        }
        let mut scan = Scan::new(Section::new(&self.file, offset, end), offset, first);
        let mut bytes = 0;
        while let Some(item) = scan
            .next_item()
            .map_err(io_error("read", &self.dir.join(LOG_FILE)))?
        {
            if item.n <= after {
                continue;
            }
            let (stored, size, _) = decode(item, &self.blobs);
            out.push(stored);
            bytes += size;
            if out.len() >= limit || bytes >= PAGE_BYTES {
                break;
            }
        }
        Ok(out)
    }

    fn index<T>(&self, look: impl FnOnce(&Index) -> T) -> T {
        look(&self.index.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes a record that was written visible to every reader.
    pub(crate) fn advance(&self, n: u64, offset: u64, end: u64) {
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        index.note(n, offset);
        index.last = n;
        index.end = end;
    }

    /// Moves the end of what readers look at, after the end of the file was mended.
    pub(crate) fn set_end(&self, end: u64) {
        self.index.write().unwrap_or_else(PoisonError::into_inner).end = end;
    }
}

/// Makes the record of an item; also gives the size of its data in bytes, and what is wrong with it.
pub(crate) fn decode(item: Item, blobs: &Blobs) -> (Stored, usize, Option<Problem>) {
    let n = item.n;
    let stored = |record| Stored {
        n,
        at: item.at,
        record,
    };
    let unknown = |kind: &str, data| Record::Unknown {
        kind: kind.to_owned(),
        data,
    };
    let envelope = match item.entry {
        Entry::Line(envelope) => envelope,
        Entry::Lost => {
            return (
                stored(unknown(
                    DAMAGED,
                    serde_json::Value::Object(serde_json::Map::new()),
                )),
                0,
                None,
            );
        }
    };
    let kind = envelope.kind;
    let mut size = envelope.data.get().len();
    // The text was parsed once already, as a part of its line.
    let mut data = serde_json::from_str(envelope.data.get()).unwrap_or_default();
    if let Some(blob) = BlobRef::recognise(&data) {
        match blobs.get(&blob) {
            Ok(content) => {
                size = usize::try_from(blob.bytes).unwrap_or(usize::MAX);
                data = content;
            }
            Err(reason) => {
                let problem = Problem::Blob {
                    n,
                    name: blob.name,
                    reason,
                };
                return (stored(unknown(&kind, data)), size, Some(problem));
            }
        }
    }
    if envelope.v > FORMAT_VERSION {
        return (
            stored(unknown(&kind, data)),
            size,
            Some(Problem::Newer {
                n,
                version: envelope.v,
            }),
        );
    }
    let (record, reason) = line::join(&kind, data);
    // A fork copies a lost record as it is; that is no new problem.
    let problem = reason
        .filter(|_| kind != DAMAGED)
        .map(|reason| Problem::Unreadable { n, kind, reason });
    (stored(record), size, problem)
}

/// Where in the file some of the records are.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// Numbers and offsets, rising, [`STRIDE`] or more numbers apart.
    places: Vec<(u64, u64)>,
    last: u64,
    /// Readers look no further than this, so they never see half a line.
    end: u64,
}

impl Index {
    /// An index of nothing, for a file of `end` bytes.
    pub(crate) fn up_to(end: u64) -> Self {
        Self {
            end,
            ..Self::default()
        }
    }

    fn note(&mut self, n: u64, offset: u64) {
        if self.places.last().is_none_or(|(place, _)| n >= place + STRIDE) {
            self.places.push((n, offset));
        }
    }

    /// Gives a number and its offset from which record `n` can be reached.
    fn before(&self, n: u64) -> (u64, u64) {
        let after = self.places.partition_point(|(place, _)| *place <= n);
        after.checked_sub(1).map_or((1, 0), |place| self.places[place])
    }
}

/// A part of a file, read by position so that readers do not disturb each other.
#[derive(Debug)]
pub(crate) struct Section {
    file: Arc<File>,
    at: u64,
    end: u64,
}

impl Section {
    pub(crate) fn new(file: &Arc<File>, at: u64, end: u64) -> Self {
        Self {
            file: Arc::clone(file),
            at,
            end,
        }
    }
}

impl Read for Section {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = usize::try_from(self.end.saturating_sub(self.at))
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let count = self.file.read_at(&mut buffer[..room], self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_starts_a_read_within_one_stride() {
        let mut index = Index::default();
        for n in 1..=1000 {
            index.note(n, n * 100);
        }
        for n in 1..=1000 {
            let (first, offset) = index.before(n);
            assert!(
                first <= n && n - first < STRIDE && offset == first * 100,
                "record {n} starts at {first}"
            );
        }
        assert!(index.places.len() <= 1000 / 64 + 1);
        assert_eq!(Index::default().before(5), (1, 0));
    }
}

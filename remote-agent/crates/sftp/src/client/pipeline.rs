//! Many reads or writes of one file under way at a time, in order.

use std::{collections::VecDeque, fmt, ops::Range, pin::Pin};

use bytes::Bytes;

use super::{Error, File};

type Answer<T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send>>;

/// Reads a range of a file from front to back, with reads under way ahead of the reader.
pub struct Pull<'a> {
    file: &'a File,
    range: Range<u64>,
    chunk: u32,
    depth: usize,
    under_way: VecDeque<(u64, u32, Answer<Bytes>)>,
}

/// Writes to a file from front to back, with writes under way behind the writer.
pub struct Push<'a> {
    file: &'a File,
    next: u64,
    depth: usize,
    under_way: VecDeque<Answer<()>>,
}

impl<'a> Pull<'a> {
    /// Prepares to read `range`, in pieces of `chunk` bytes of which up to `depth` are under way. The end may lie
    /// behind the end of the file.
    #[must_use]
    pub fn new(file: &'a File, range: Range<u64>, chunk: u32, depth: usize) -> Self {
        Self {
            file,
            range,
            chunk: chunk.max(1),
            depth: depth.max(1),
            under_way: VecDeque::new(),
        }
    }

    /// Gives the next bytes; `None` is the end of the range or of the file.
    ///
    /// Not safe to cancel and go on: bytes may be lost with the future.
    ///
    /// # Errors
    /// As the server answers.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        while self.under_way.len() < self.depth && !self.range.is_empty() {
            let length = u64::from(self.chunk).min(self.range.end - self.range.start);
            let length = u32::try_from(length).unwrap_or(self.chunk);
            let answer = self.file.begin_read(self.range.start, length).await?;
            self.under_way
                .push_back((self.range.start, length, Box::pin(answer)));
            self.range.start += u64::from(length);
        }
        let Some((offset, length, answer)) = self.under_way.pop_front() else {
            return Ok(None);
        };
        let bytes = answer.await?;
        if bytes.is_empty() {
            self.range.start = self.range.end;
            self.under_way.clear();
            return Ok(None);
        }
        let got = u32::try_from(bytes.len()).unwrap_or(length);
        if got < length {
            // A server may give less than is there: the rest is asked for before what follows is handed over.
            let (offset, length) = (offset + u64::from(got), length - got);
            let answer = self.file.begin_read(offset, length).await?;
            self.under_way.push_front((offset, length, Box::pin(answer)));
        }
        Ok(Some(bytes))
    }
}

impl<'a> Push<'a> {
    /// Prepares to write from `offset` on, with up to `depth` pieces under way.
    #[must_use]
    pub fn new(file: &'a File, offset: u64, depth: usize) -> Self {
        Self {
            file,
            next: offset,
            depth: depth.max(1),
            under_way: VecDeque::new(),
        }
    }

    /// Sends the next bytes, at most [`super::Client::write_size`], and waits for earlier ones where `depth` are under way.
    ///
    /// # Errors
    /// As the server answers to this or an earlier piece.
    pub async fn push(&mut self, bytes: Bytes) -> Result<(), Error> {
        while self.under_way.len() >= self.depth {
            self.settle().await?;
        }
        let length = bytes.len() as u64;
        let answer = self.file.begin_write(self.next, bytes).await?;
        self.under_way.push_back(Box::pin(answer));
        self.next += length;
        Ok(())
    }

    /// Waits until everything is written.
    ///
    /// # Errors
    /// As the server answers.
    pub async fn finish(mut self) -> Result<(), Error> {
        while !self.under_way.is_empty() {
            self.settle().await?;
        }
        Ok(())
    }

    async fn settle(&mut self) -> Result<(), Error> {
        match self.under_way.pop_front() {
            Some(answer) => answer.await,
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Pull<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pull")
            .field("range", &self.range)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Push<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Push")
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}

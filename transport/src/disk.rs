//! Files on a disk that may not answer, as a network file system whose server is away. Nothing waits for it for ever.

use std::{
    fs::{self, File, Metadata},
    io::{self, Read},
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::Path,
    time::Duration,
};

/// The largest file that is read, in bytes. Lists of a hundred thousand hosts have that size.
pub(crate) const LARGEST: u64 = 16 << 20;

/// Runs `work`, which blocks on files, beside the runtime's threads.
///
/// # Errors
/// `TimedOut` where it takes longer than `limit`. Its thread stays until the disk answers: the kernel lets nobody call
/// it off.
pub(crate) async fn within<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let done = tokio::time::timeout(limit, stdx::task::blocking(work)).await;
    done.map_err(|_| {
        let message = format!("the disk did not answer within {} s", limit.as_secs_f32());
        io::Error::new(io::ErrorKind::TimedOut, message)
    })
}

/// Reads a file whole. `/dev/null` is an empty file, as OpenSSH takes it. Blocks.
///
/// # Errors
/// It cannot be read, has more than [`LARGEST`] bytes, or is a folder, pipe or other device: those have no end, or none
/// that comes by itself.
pub(crate) fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    let kind = fs::metadata(path)?;
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if is_null(&kind) {
        return Ok(Vec::new());
    }
    if !kind.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is no regular file",
        ));
    }
    read_limited(&File::open(path)?)
}

/// Reads an open file to its end.
///
/// # Errors
/// As it comes, or it has more than [`LARGEST`] bytes.
pub(crate) fn read_limited(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        let message = format!("it is larger than {} MiB", LARGEST >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// Says whether this is the device that is always empty, under whatever name.
pub(crate) fn is_null(kind: &Metadata) -> bool {
    kind.file_type().is_char_device()
        && fs::metadata("/dev/null").is_ok_and(|null| null.rdev() == kind.rdev())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_with_an_end_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("small"), "text").unwrap();
        assert_eq!(read_whole(&at("small")).unwrap(), b"text");
        assert_eq!(read_whole(Path::new("/dev/null")).unwrap(), b"");
        // No disk is filled: the file has a hole.
        File::create(at("large")).unwrap().set_len(LARGEST + 1).unwrap();
        let mut command = stdx::process::blocking_command("/usr/bin/mkfifo");
        assert!(command.arg(at("pipe")).status().unwrap().success());
        for (path, words) in [
            (at("large"), "larger than 16 MiB"),
            (at("pipe"), "no regular file"),
            ("/dev/zero".into(), "no regular file"),
            (folder.path().to_owned(), "directory"),
        ] {
            let error = read_whole(&path).unwrap_err().to_string();
            assert!(error.contains(words), "{}: {error}", path.display());
        }
    }

    #[tokio::test]
    async fn a_disk_that_does_not_answer_is_given_up() {
        let (answer, asked) = std::sync::mpsc::channel::<()>();
        let error = within(Duration::from_millis(50), move || asked.recv())
            .await
            .unwrap_err();
        assert_eq!(error.to_string(), "the disk did not answer within 0.05 s");
        drop(answer);
    }
}

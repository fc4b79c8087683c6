//! The configuration files of this machine, and what else reading them asks of it.

use std::{
    fs::File,
    io::{ErrorKind::NotFound, Read},
    net::IpAddr,
    os::unix::{
        ffi::OsStrExt,
        fs::{FileTypeExt, MetadataExt},
    },
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::runtime::Handle;

use super::{config_error, lookup::canonical_name, run::run};
use crate::{
    AddressFamily, Error, ErrorKind, ResolveOptions, Stage, Target, disk,
    ssh_config::{Alias, Level, Machine, Pairs, Query, SourceFile, aliases, read as read_config},
};

/// How long a command of `Match exec` may take.
const COMMAND: Duration = Duration::from_secs(10);
/// How long a name look-up for `CanonicalizeHostname` may take.
const LOOK_UP: Duration = Duration::from_secs(5);

/// How much of a configuration file is read; more is no configuration.
const MAX_BYTES: u64 = 4 << 20;

/// Lists the hosts that the user's configuration names, in order, each once, with file and line.
///
/// # Errors
/// [`ErrorKind::Config`] where a file exists and cannot be read, or not within 20 s. A file that does not exist names nothing.
pub async fn configured_aliases(options: &ResolveOptions) -> Result<Vec<Alias>, Error> {
    aliases_within(options, super::openssh::DEADLINE).await
}

async fn aliases_within(options: &ResolveOptions, limit: Duration) -> Result<Vec<Alias>, Error> {
    let own = options.home.join(".ssh/config");
    let file = options.config_file.clone().unwrap_or(own);
    let fail = |message: String| {
        Error::new(
            ErrorKind::Config,
            Stage::Config,
            file.display().to_string(),
            message,
        )
    };
    let (path, options) = (file.clone(), options.clone());
    let found = disk::within(limit, move || {
        let local = Local {
            options: &options,
            runtime: Handle::current(),
        };
        let text = read(&path, options.config_file.is_none())?;
        Ok(text.map_or_else(Vec::new, |text| aliases(&text, &path, &local)))
    });
    match found.await {
        Ok(found) => found.map_err(fail),
        Err(error) => Err(fail("the OpenSSH configuration could not be read".to_owned())
            .with_hint("it, or a file that it includes, may be a pipe or lie on a disk that hangs")
            .with_source(error)),
    }
}

/// Reads a configuration file. `None`: it does not exist, or is a folder.
///
/// # Errors
/// In words, with the file: it cannot be read, is too large, or (where `checked`) somebody else could have written it.
pub(super) fn read(path: &Path, checked: bool) -> Result<Option<String>, String> {
    let fail = |why: String| format!("{}: {why}", path.display());
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == NotFound => return Ok(None),
        Err(error) => return Err(fail(format!("could not read it: {error}"))),
    };
    let metadata = file.metadata().map_err(|error| fail(error.to_string()))?;
    let own = rustix::process::getuid().as_raw();
    if checked && ((metadata.uid() != 0 && metadata.uid() != own) || metadata.mode() & 0o022 != 0) {
        return Err(fail(format!(
            "bad owner or permissions: owned by {}, mode {:o}; only you may be able to write it",
            metadata.uid(),
            metadata.mode() & 0o7777
        )));
    }
    if metadata.is_dir() {
        return Ok(None);
    }
    let kind = metadata.file_type();
    if (kind.is_char_device() || kind.is_block_device()) && !disk::is_null(&metadata) {
        return Err(fail("it is a device".to_owned()));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| fail(format!("could not read it: {error}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(fail(format!("larger than {} MiB", MAX_BYTES >> 20)));
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// Reads the configuration files with the own parser.
///
/// # Errors
/// [`ErrorKind::Config`] with file, line and word.
pub(super) async fn pairs(target: &Target, options: &ResolveOptions) -> Result<Pairs, Error> {
    let (named, target, options) = (target, target.clone(), options.clone());
    let read = disk::within(super::openssh::DEADLINE, move || {
        let fail = |message: String| config_error(&target, message);
        let own = options.home.join(".ssh/config");
        let places = match &options.config_file {
            Some(file) => vec![(file.clone(), Level::User, false)],
            None => vec![
                (own, Level::User, true),
                (PathBuf::from("/etc/ssh/ssh_config"), Level::System, false),
            ],
        };
        let mut files = Vec::new();
        for (path, level, checked) in places {
            match read(&path, checked).map_err(fail)? {
                Some(text) => files.push(SourceFile { path, text, level }),
                None if options.config_file.is_some() && !path.is_dir() => {
                    return Err(fail(format!("{}: no such file", path.display())));
                }
                None => {}
            }
        }
        let query = Query {
            target: &target,
            local_user: &options.local_user,
            home: &options.home.to_string_lossy(),
            environment: &options.environment,
        };
        let local = Local {
            options: &options,
            runtime: Handle::current(),
        };
        read_config(&files, &options.overrides, query, &local)
    });
    read.await.unwrap_or_else(|error| {
        let message = "the OpenSSH configuration could not be read";
        Err(config_error(named, message)
            .with_hint("a file that it names, a 'Match exec' line or a name look-up may hang")
            .with_source(error))
    })
}

/// This machine, as reading a configuration sees it. Used where blocking is allowed.
struct Local<'a> {
    options: &'a ResolveOptions,
    runtime: Handle,
}

impl Machine for Local<'_> {
    fn included(&self, pattern: &str, level: Level) -> Result<Vec<(PathBuf, String)>, String> {
        let pattern = match (pattern.strip_prefix('~'), level) {
            (None, Level::User) => self.options.home.join(".ssh").join(pattern),
            (None, Level::System) => Path::new("/etc/ssh").join(pattern),
            (Some(_), Level::System) => {
                return Err(format!("bad include path {pattern}: the system has no home"));
            }
            (Some(rest), Level::User) if rest.is_empty() || rest.starts_with('/') => {
                self.options.home.join(rest.trim_start_matches('/'))
            }
            (Some(rest), Level::User) => {
                let (user, rest) = rest.split_once('/').unwrap_or((rest, ""));
                let home = home_of(user).ok_or_else(|| format!("no user {user} is known here"))?;
                home.join(rest.trim_start_matches('/'))
            }
        };
        let mut files = Vec::new();
        for path in expand(&pattern) {
            if let Some(text) = read(&path, true)? {
                files.push((path, text));
            }
        }
        Ok(files)
    }

    /// Runs it as OpenSSH does: by the user's shell, without input and with the output thrown away.
    fn succeeds(&self, command: &str) -> Result<bool, String> {
        let environment = &self.options.environment;
        let shell = environment.iter().find(|(name, _)| name == "SHELL");
        let shell = shell.map_or("/bin/sh", |(_, shell)| shell.as_str());
        let mut process = stdx::process::command(shell);
        process.arg("-c").arg(command).envs(environment.iter().cloned());
        let output = self
            .runtime
            .block_on(run(&mut process, COMMAND))
            .map_err(|error| error.to_string())?;
        match output.status.code() {
            Some(code) => Ok(code == 0),
            None => Err(format!("it ended by itself: {}", output.status)),
        }
    }

    fn own_addresses(&self) -> Option<Vec<IpAddr>> {
        let v4 = std::fs::read_to_string("/proc/net/fib_trie").ok()?;
        let v6 = std::fs::read_to_string("/proc/net/if_inet6").unwrap_or_default();
        Some(addresses(&v4, &v6))
    }

    fn canonical_name(&self, name: &str, family: AddressFamily) -> Option<String> {
        self.runtime.block_on(canonical_name(name, family, LOOK_UP))
    }
}

/// Reads this machine's addresses from what the kernel says about routes (`/proc/net/fib_trie`) and interfaces
/// (`/proc/net/if_inet6`).
fn addresses(v4: &str, v6: &str) -> Vec<IpAddr> {
    let mut found = Vec::new();
    let mut last: Option<IpAddr> = None;
    for line in v4.lines().map(str::trim) {
        if let Some(address) = line.strip_prefix("|-- ") {
            last = address.parse().ok();
        } else if line == "/32 host LOCAL"
            && let Some(address) = last.take()
            && !found.contains(&address)
        {
            found.push(address);
        }
    }
    let hex = |line: &str| u128::from_str_radix(line.split(' ').next()?, 16).ok();
    found.extend(v6.lines().filter_map(hex).map(|bits| IpAddr::V6(bits.into())));
    found
}

/// Finds the home of another user, for `~name`.
pub(crate) fn home_of(user: &str) -> Option<PathBuf> {
    let accounts = std::fs::read("/etc/passwd").ok()?;
    String::from_utf8_lossy(&accounts).lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next()? == user)
            .then(|| fields.nth(4).map(PathBuf::from))
            .flatten()
    })
}

/// Finds the files that a pattern of glob(7) names, sorted by name.
fn expand(pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from("/")];
    for part in pattern.components().skip(1) {
        let name = part.as_os_str().as_bytes();
        if !name.iter().any(|byte| b"*?[\\".contains(byte)) {
            found.iter_mut().for_each(|path| path.push(part));
            continue;
        }
        let mut next = Vec::new();
        let entries = found.iter().filter_map(|path| std::fs::read_dir(path).ok());
        for entry in entries.flatten().flatten() {
            let file_name = entry.file_name();
            let hidden = file_name.as_bytes().starts_with(b".") && !name.starts_with(b".");
            if !hidden && fits(name, file_name.as_bytes()) {
                next.push(entry.path());
            }
        }
        next.sort();
        found = next;
    }
    found
}

/// Matches one part of a path: `*`, `?`, `[a-z]`, `[!a-z]` and a backslash before an ordinary character.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        if n == name.len()
            && pattern
                .get(p..)
                .is_none_or(|rest| rest.iter().all(|&c| c == b'*'))
        {
            return true;
        }
        if pattern.get(p) == Some(&b'*') {
            star = Some((p, n));
            p += 1;
            continue;
        }
        if let Some(taken) = name
            .get(n)
            .and_then(|&c| one(pattern.get(p..).unwrap_or_default(), c))
        {
            p += taken;
            n += 1;
            continue;
        }
        // Let the last star take one character more.
        match star {
            Some((at, taken)) if taken < name.len() => {
                p = at + 1;
                n = taken + 1;
                star = Some((at, n));
            }
            _ => return false,
        }
    }
}

/// Says how much of the pattern stands for the character `c`, if it does.
fn one(pattern: &[u8], c: u8) -> Option<usize> {
    match *pattern.first()? {
        b'?' => Some(1),
        b'\\' if pattern.len() > 1 => (pattern[1] == c).then_some(2),
        b'[' => {
            let negated = matches!(pattern.get(1), Some(b'!' | b'^'));
            let start = 1 + usize::from(negated);
            // A ']' right at the beginning is one of the characters.
            let end = start + 1 + pattern.get(start + 1..)?.iter().position(|&c| c == b']')?;
            let mut set = &pattern[start..end];
            let mut hit = false;
            while let Some(&low) = set.first() {
                let range = set.get(2).filter(|_| set.get(1) == Some(&b'-'));
                hit |= range.map_or(low == c, |&high| (low..=high).contains(&c));
                set = &set[if range.is_some() { 3 } else { 1 }..];
            }
            (hit != negated).then_some(end + 1)
        }
        literal => (literal == c).then_some(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_file_names() {
        let check = |pattern: &str, name: &str, expected: bool| {
            assert_eq!(
                fits(pattern.as_bytes(), name.as_bytes()),
                expected,
                "{pattern} {name}"
            );
        };
        check("*.conf", "a.conf", true);
        check("*.conf", "a.config", false);
        check("a*b*c", "aXbYbZc", true);
        check("a*b*c", "aXbYbZ", false);
        check("?-x", "1-x", true);
        check("[0-9][!a]-x", "1b-x", true);
        check("[0-9][!a]-x", "1a-x", false);
        check("[]x]", "]", true);
        check("[a", "[a", false);
        check("\\*", "*", true);
        check("\\*", "a", false);
        check("*", "", true);
        check("", "a", false);
    }

    #[tokio::test]
    async fn a_configuration_that_hangs_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let ssh = folder.path().join(".ssh");
        std::fs::create_dir(&ssh).unwrap();
        let pipe = ssh.join("config.pipe");
        let mut command = stdx::process::blocking_command("/usr/bin/mkfifo");
        assert!(command.arg(&pipe).status().unwrap().success());
        std::fs::write(ssh.join("config"), "Include config.pipe\nHost one\n").unwrap();
        let options = ResolveOptions {
            shown_as: None,
            home: folder.path().to_owned(),
            local_user: "me".to_owned(),
            ssh_program: None,
            config_file: None,
            agent_socket: None,
            environment: Vec::new(),
            overrides: Vec::new(),
        };
        let error = aliases_within(&options, Duration::from_millis(100)).await;
        // Whoever waits for it gets an empty file, or the runtime would wait for them at its end.
        drop(File::options().read(true).write(true).open(&pipe).unwrap());
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(
            error.to_string().contains(&*ssh.join("config").to_string_lossy()),
            "{error}"
        );
        assert!(error.hint().is_some());
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.contains("within 0.1 s"), "{cause}");
    }

    #[tokio::test]
    async fn a_device_is_no_configuration() {
        let read = |path: &str| read(Path::new(path), false);
        assert_eq!(read("/dev/null"), Ok(Some(String::new())));
        assert_eq!(read("/dev/zero"), Err("/dev/zero: it is a device".to_owned()));
    }

    #[test]
    fn addresses_of_this_machine() {
        let v4 = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 10.0.0.0\n        /24 link UNICAST\n     |-- 10.0.0.7\n        /32 host LOCAL\n\
                  Local:\n     |-- 10.0.0.7\n        /32 host LOCAL\n     |-- 10.0.0.255\n        /32 link BROADCAST\n";
        let v6 = "00000000000000000000000000000001 01 80 10 80       lo\n";
        let expected: [IpAddr; 2] = ["10.0.0.7", "::1"].map(|text| text.parse().unwrap());
        assert_eq!(addresses(v4, v6), expected);
    }
}

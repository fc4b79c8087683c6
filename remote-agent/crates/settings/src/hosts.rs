//! Adds and removes hosts in the user's file, leaving every other character of it alone.
//!
//! The text is changed around the places that the parser gives, and the result is read again before it is written:
//! if anything but the one host differs, the change is refused.

use std::{fs, io, ops::Range, path::Path};

use stdx::atomic_write::atomic_write;
use toml::de::{DeTable, DeValue};

use crate::error::Error;

/// A host to add. What is `None` is not written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewHost {
    /// What commands will call it.
    pub name: String,
    /// Its address or ssh_config alias.
    pub host: Option<String>,
    /// Its SSH port.
    pub port: Option<u16>,
    /// The user there.
    pub user: Option<String>,
    /// The path of a private key.
    pub identity_file: Option<String>,
    /// Hosts to go through.
    pub proxy_jump: Option<String>,
    /// The workspace there.
    pub workspace: Option<String>,
    /// How the program gets there: `auto`, `upload` or `never`.
    pub install: Option<String>,
}

/// Adds a host at the end of the file, which is created if it is missing.
///
/// # Errors
/// [`Error::HostExists`] for a name that is taken; [`Error::Refused`] if the file is no TOML, or lists its hosts in a form
/// that cannot be extended; [`Error::Unreadable`] and [`Error::Unwritable`] for the file.
pub fn add_host(file: &Path, host: &NewHost) -> Result<(), Error> {
    let old = read(file)?;
    let refuse = |reason: String| Error::Refused {
        path: file.to_owned(),
        reason,
    };
    let before = parse(&old).map_err(refuse)?;
    if host.name.is_empty()
        || host
            .name
            .contains(|c: char| c.is_whitespace() || c.is_control() || "/:@[]".contains(c))
    {
        return Err(refuse(format!(
            "\"{}\" is not a name for a host: it must be one word without / : @ [ ]",
            host.name.escape_debug()
        )));
    }
    if hosts(&before)
        .iter()
        .any(|known| name_of(known) == Some(&host.name))
    {
        return Err(Error::HostExists {
            path: file.to_owned(),
            name: host.name.clone(),
        });
    }
    let entry = entry(host);
    let mut new = old.clone();
    if !new.is_empty() && !new.ends_with('\n') {
        new.push('\n');
    }
    if !new.is_empty() {
        new.push('\n');
    }
    new.push_str("[[remote.hosts]]\n");
    new.push_str(&entry.to_string());
    let inline = "its hosts are written in one line; write each as a [[remote.hosts]] table".to_owned();
    let after = parse(&new).map_err(|_| refuse(inline.clone()))?;
    let mut expected = hosts(&before);
    expected.push(toml::Value::Table(entry));
    verify(&before, &after, &expected).ok_or_else(|| refuse(inline))?;
    write(file, &new)
}

/// Removes a host with the comment directly above it, and says whether it was there.
///
/// # Errors
/// Like [`add_host`].
pub fn remove_host(file: &Path, name: &str) -> Result<bool, Error> {
    let old = read(file)?;
    let refuse = |reason: String| Error::Refused {
        path: file.to_owned(),
        reason,
    };
    let before = parse(&old).map_err(refuse)?;
    let Some(index) = hosts(&before).iter().position(|host| name_of(host) == Some(name)) else {
        return Ok(false);
    };
    let inline = || refuse("its hosts are written in one line; remove the entry by hand".to_owned());
    let range = range_of_host(&old, index).ok_or_else(inline)?;
    let mut new = old.clone();
    new.replace_range(range, "");
    let after = parse(&new).map_err(refuse)?;
    let mut expected = hosts(&before);
    expected.remove(index);
    verify(&before, &after, &expected).ok_or_else(inline)?;
    write(file, &new)?;
    Ok(true)
}

fn entry(host: &NewHost) -> toml::Table {
    let texts = [
        ("name", Some(&host.name)),
        ("host", host.host.as_ref()),
        ("user", host.user.as_ref()),
        ("identity_file", host.identity_file.as_ref()),
        ("proxy_jump", host.proxy_jump.as_ref()),
        ("workspace", host.workspace.as_ref()),
        ("install", host.install.as_ref()),
    ];
    let mut table = toml::Table::new();
    for (key, value) in texts {
        if let Some(value) = value {
            table.insert(key.to_owned(), toml::Value::String(value.clone()));
        }
    }
    if let Some(port) = host.port {
        table.insert("port".to_owned(), toml::Value::Integer(port.into()));
    }
    table
}

/// Gives the range of the text that makes up the host: the comment directly above it, its heading, its keys and
/// sub-tables, and the blank line behind.
fn range_of_host(text: &str, index: usize) -> Option<Range<usize>> {
    let document = DeTable::parse(text).ok()?;
    let remote = document.get_ref().get("remote")?.get_ref();
    let DeValue::Table(remote) = remote else {
        return None;
    };
    let DeValue::Array(hosts) = remote.get("hosts")?.get_ref() else {
        return None;
    };
    range_of_table(text, hosts.get(index)?)
}

/// Gives the range of the text that makes up an entry of an array of tables, in the same way.
pub(crate) fn range_of_table(text: &str, table: &toml::Spanned<DeValue<'_>>) -> Option<Range<usize>> {
    let header = table.span();
    if !text.get(header.clone())?.trim_start().starts_with("[[") {
        return None;
    }
    let start_of_line = |at: usize| text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let mut start = start_of_line(header.start);
    while start > 0 {
        let above = start_of_line(start - 1);
        if !text[above..start].trim_start().starts_with('#') {
            break;
        }
        start = above;
    }
    let last = last_byte(table.get_ref()).max(header.end);
    let end = text[last..]
        .find('\n')
        .map_or(text.len(), |newline| last + newline + 1);
    let blank = text[end..]
        .split_inclusive('\n')
        .next()
        .filter(|line| line.trim().is_empty())
        .map_or(0, str::len);
    Some(start..end + blank)
}

/// Gives the end of the last value in `value`.
pub(crate) fn last_byte(value: &DeValue<'_>) -> usize {
    let of = |item: &toml::Spanned<DeValue<'_>>| item.span().end.max(last_byte(item.get_ref()));
    match value {
        DeValue::Table(table) => table.values().map(of).max().unwrap_or(0),
        DeValue::Array(items) => items.iter().map(of).max().unwrap_or(0),
        _ => 0,
    }
}

/// Says whether `after` is `before` with these hosts.
pub(crate) fn verify(before: &toml::Table, after: &toml::Table, expected: &[toml::Value]) -> Option<()> {
    (hosts(after) == expected && without_hosts(before) == without_hosts(after)).then_some(())
}

fn without_hosts(document: &toml::Table) -> toml::Table {
    let mut document = document.clone();
    if let Some(toml::Value::Table(remote)) = document.get_mut("remote") {
        remote.remove("hosts");
        if remote.is_empty() {
            document.remove("remote");
        }
    }
    document
}

pub(crate) fn hosts(document: &toml::Table) -> Vec<toml::Value> {
    let hosts = document.get("remote").and_then(|remote| remote.get("hosts"));
    hosts.and_then(toml::Value::as_array).cloned().unwrap_or_default()
}

pub(crate) fn name_of(host: &toml::Value) -> Option<&str> {
    host.get("name").and_then(toml::Value::as_str)
}

pub(crate) fn parse(text: &str) -> Result<toml::Table, String> {
    text.parse::<toml::Table>()
        .map_err(|error| format!("it is not TOML: {}", error.message().trim()))
}

pub(crate) fn read(file: &Path) -> Result<String, Error> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(source) => Err(Error::Unreadable {
            path: file.to_owned(),
            source,
        }),
    }
}

pub(crate) fn write(file: &Path, text: &str) -> Result<(), Error> {
    use std::os::unix::fs::PermissionsExt as _;
    // A file that is a link, as in a dotfiles repository, stays one; its mode stays too.
    let target = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let mode = fs::metadata(&target).map_or(0o600, |metadata| metadata.permissions().mode() & 0o777);
    atomic_write(&target, text.as_bytes(), mode).map_err(|source| Error::Unwritable {
        path: file.to_owned(),
        source,
    })
}

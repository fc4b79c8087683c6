//! Adds and removes forwards of a host in the user's file, leaving every other character of it alone, as for hosts.

use std::path::Path;

use toml::de::{DeTable, DeValue};

use crate::{
    error::Error,
    hosts::{hosts, last_byte, name_of, parse, range_of_table, read, verify, write},
    schema::{Forward, ForwardKind, Via},
};

/// Adds a forward to a host that is written down in the file, and says whether that changed it: a forward with the same
/// `type`, `bind` and `target` is there at most once.
///
/// # Errors
/// [`Error::Refused`] if the host is not in the file, or is written in a form that cannot be extended;
/// [`Error::Unreadable`] and [`Error::Unwritable`] for the file.
pub fn add_forward(file: &Path, host: &str, forward: &Forward) -> Result<bool, Error> {
    let old = read(file)?;
    let refuse = |reason: String| refused(file, reason);
    let before = parse(&old).map_err(refuse)?;
    let index = index_of(&before, host).ok_or_else(|| unknown(file, host))?;
    let mut expected = hosts(&before);
    if forwards(&expected, index)
        .iter()
        .any(|known| is_same(known, forward))
    {
        return Ok(false);
    }
    let inline = || {
        refused(
            file,
            format!("{host} is written in one line; add the forward by hand"),
        )
    };
    let end = end_of_host(&old, index).ok_or_else(inline)?;
    let entry = entry(forward);
    let break_before = if old[..end].ends_with('\n') { "" } else { "\n" };
    let mut new = old.clone();
    new.insert_str(end, &format!("{break_before}[[remote.hosts.forwards]]\n{entry}"));
    let after = parse(&new).map_err(|_| inline())?;
    let toml::Value::Table(table) = expected.get_mut(index).ok_or_else(inline)? else {
        return Err(inline());
    };
    let list = table
        .entry("forwards")
        .or_insert_with(|| toml::Value::Array(Vec::new()));
    list.as_array_mut()
        .ok_or_else(inline)?
        .push(toml::Value::Table(entry));
    verify(&before, &after, &expected).ok_or_else(inline)?;
    write(file, &new)?;
    Ok(true)
}

/// Removes the forwards of a host that `is_meant` picks, with the comment directly above each, and says how many there were.
///
/// # Errors
/// Like [`add_forward`].
pub fn remove_forward(file: &Path, host: &str, is_meant: impl Fn(&Forward) -> bool) -> Result<usize, Error> {
    let old = read(file)?;
    let before = parse(&old).map_err(|reason| refused(file, reason))?;
    let index = index_of(&before, host).ok_or_else(|| unknown(file, host))?;
    let mut expected = hosts(&before);
    let all = forwards(&expected, index);
    let meant = |value: &toml::Value| known(value).is_some_and(|forward| is_meant(&forward));
    let numbers: Vec<usize> = (0..all.len()).filter(|&number| meant(&all[number])).collect();
    if numbers.is_empty() {
        return Ok(0);
    }
    let inline = || {
        refused(
            file,
            format!("the forwards of {host} are written in one line; remove it by hand"),
        )
    };
    let mut new = old.clone();
    for &number in numbers.iter().rev() {
        let range = range_of_forward(&new, index, number).ok_or_else(inline)?;
        new.replace_range(range, "");
    }
    let after = parse(&new).map_err(|reason| refused(file, reason))?;
    let kept: Vec<toml::Value> = all.iter().filter(|value| !meant(value)).cloned().collect();
    if let Some(toml::Value::Table(table)) = expected.get_mut(index) {
        if kept.is_empty() {
            table.remove("forwards");
        } else {
            table.insert("forwards".to_owned(), toml::Value::Array(kept));
        }
    }
    verify(&before, &after, &expected).ok_or_else(inline)?;
    write(file, &new)?;
    Ok(numbers.len())
}

fn refused(file: &Path, reason: String) -> Error {
    Error::Refused {
        path: file.to_owned(),
        reason,
    }
}

fn unknown(file: &Path, host: &str) -> Error {
    refused(file, format!("there is no host named \"{host}\""))
}

fn index_of(document: &toml::Table, host: &str) -> Option<usize> {
    hosts(document)
        .iter()
        .position(|known| name_of(known) == Some(host))
}

fn forwards(hosts: &[toml::Value], index: usize) -> Vec<toml::Value> {
    let list = hosts.get(index).and_then(|host| host.get("forwards"));
    list.and_then(toml::Value::as_array).cloned().unwrap_or_default()
}

/// Reads an entry as far as it says what is forwarded.
fn known(value: &toml::Value) -> Option<Forward> {
    let text = |key: &str| value.get(key).and_then(toml::Value::as_str);
    let kind = match text("type") {
        None | Some("local") => ForwardKind::Local,
        Some("remote") => ForwardKind::Remote,
        Some("dynamic") => ForwardKind::Dynamic,
        Some(_) => return None,
    };
    Some(Forward {
        r#type: kind,
        bind: text("bind")?.to_owned(),
        target: text("target").map(str::to_owned),
        via: Via::default(),
    })
}

fn is_same(value: &toml::Value, forward: &Forward) -> bool {
    known(value).is_some_and(|known| {
        (known.r#type, &known.bind, &known.target) == (forward.r#type, &forward.bind, &forward.target)
    })
}

fn entry(forward: &Forward) -> toml::Table {
    let text = |text: &str| toml::Value::String(text.to_owned());
    let mut table = toml::Table::new();
    if forward.r#type != ForwardKind::default() {
        table.insert("type".to_owned(), text(forward.r#type.word()));
    }
    table.insert("bind".to_owned(), text(&forward.bind));
    if let Some(target) = &forward.target {
        table.insert("target".to_owned(), text(target));
    }
    if forward.via != Via::default() {
        table.insert("via".to_owned(), text(forward.via.word()));
    }
    table
}

/// Gives the place behind the last line that belongs to a host.
fn end_of_host(text: &str, index: usize) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let host = host(document.get_ref(), index)?;
    let header = host.span();
    if !text.get(header.clone())?.trim_start().starts_with("[[") {
        return None;
    }
    let last = last_byte(host.get_ref()).max(header.end);
    Some(
        text[last..]
            .find('\n')
            .map_or(text.len(), |newline| last + newline + 1),
    )
}

fn range_of_forward(text: &str, index: usize, number: usize) -> Option<std::ops::Range<usize>> {
    let document = DeTable::parse(text).ok()?;
    let DeValue::Table(host) = host(document.get_ref(), index)?.get_ref() else {
        return None;
    };
    let DeValue::Array(forwards) = host.get("forwards")?.get_ref() else {
        return None;
    };
    range_of_table(text, forwards.get(number)?)
}

fn host<'a, 'text>(document: &'a DeTable<'text>, index: usize) -> Option<&'a toml::Spanned<DeValue<'text>>> {
    let DeValue::Table(remote) = document.get("remote")?.get_ref() else {
        return None;
    };
    let DeValue::Array(hosts) = remote.get("hosts")?.get_ref() else {
        return None;
    };
    hosts.get(index)
}

//! `reasonix remote fs ls`: names, and what is known of them.

use std::ffi::OsStr;

use files::{Entry, Kind};
use serde_json::{Value, json};
use sftp::server::mode_text;

use super::{found, place::Place, place::one_host, show as print, way::Reached};
use crate::{
    args::FsLsArgs,
    exit::Exit,
    invocation::Invocation,
    report::{Failure, SCHEMA},
    terminal,
};

/// Lists.
pub(super) async fn run(invocation: &Invocation, args: &FsLsArgs) -> Result<Exit, Failure> {
    let places: Vec<Place> = parsed(&args.places)?;
    let reached = Reached::open(invocation, one_host(&places)?).await?;
    let outcome = list(&reached, &places, args).await;
    reached.close().await;
    outcome
}

fn parsed(texts: &[std::ffi::OsString]) -> Result<Vec<Place>, Failure> {
    texts.iter().map(|text| Place::parse(OsStr::new(text))).collect()
}

/// What is listed together.
struct Group {
    /// The folder; `None` for names that stand for themselves.
    folder: Option<Vec<u8>>,
    entries: Vec<Entry>,
}

async fn list(reached: &Reached, places: &[Place], args: &FsLsArgs) -> Result<Exit, Failure> {
    let files = &reached.files;
    let mut alone = Group {
        folder: None,
        entries: Vec::new(),
    };
    let mut folders = Vec::new();
    for place in places {
        for path in found(reached, &place.path).await? {
            let failed = |error: files::Error| reached.failure(&error);
            // What a link leads to is asked for, as `ls` does; a link that leads nowhere is listed itself.
            match files.stat(&path, true).await {
                Ok(entry) if entry.kind() == Kind::Folder => folders.push(path),
                Ok(_) | Err(_) => alone
                    .entries
                    .push(files.stat(&path, false).await.map_err(failed)?),
            }
        }
    }
    let mut groups = Vec::new();
    if !alone.entries.is_empty() {
        groups.push(alone);
    }
    for folder in folders {
        let listed = files.list(&folder).await;
        let mut entries = listed.map_err(|error| reached.failure(&error))?;
        entries.retain(|entry| args.all || !entry.name.starts_with(b"."));
        groups.push(Group {
            folder: Some(folder),
            entries,
        });
    }
    print_groups(reached, &groups, args);
    Ok(Exit::Success)
}

fn print_groups(reached: &Reached, groups: &[Group], args: &FsLsArgs) {
    if args.format.json {
        let value = json!({
            "host": reached.name,
            "groups": groups.iter().map(group_json).collect::<Vec<_>>(),
            "schema": SCHEMA,
        });
        return terminal::line(&value.to_string());
    }
    let mut bytes = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        if let (Some(folder), true, false) = (&group.folder, groups.len() > 1, args.format.null) {
            let gap = if number > 0 { "\n" } else { "" };
            bytes.extend(format!("{gap}{}:\n", print::name(folder)).into_bytes());
        }
        let width = group
            .entries
            .iter()
            .map(|entry| size(entry).len())
            .max()
            .unwrap_or(0);
        for entry in &group.entries {
            if args.format.null {
                bytes.extend(&entry.name);
                bytes.push(0);
            } else if args.long {
                bytes.extend(long(entry, width).into_bytes());
            } else {
                bytes.extend(format!("{}\n", print::name(&entry.name)).into_bytes());
            }
        }
    }
    terminal::bytes(&bytes);
}

fn size(entry: &Entry) -> String {
    entry.attributes.size.unwrap_or(0).to_string()
}

/// Writes a line as `ls -ln` does, with a time that means the same everywhere.
fn long(entry: &Entry, width: usize) -> String {
    let attributes = &entry.attributes;
    let owner = attributes.owner.map_or_else(
        || format!("{:>5} {:>5}", "?", "?"),
        |owner| format!("{:>5} {:>5}", owner.user, owner.group),
    );
    let target = entry.target.as_ref();
    let target = target.map_or_else(String::new, |target| format!(" -> {}", print::name(target)));
    format!(
        "{} {owner} {:>width$} {} {}{target}\n",
        mode_text(attributes.mode.unwrap_or(0)),
        size(entry),
        modified(entry).unwrap_or_else(|| "-".repeat(20)),
        print::name(&entry.name),
    )
}

/// Gives the time of the last change as RFC 3339, to the second.
fn modified(entry: &Entry) -> Option<String> {
    let times = entry.attributes.times?;
    let stamp = stdx::clock::rfc3339(u64::from(times.modified) * 1000);
    Some(format!("{}Z", stamp.get(..19)?))
}

fn group_json(group: &Group) -> Value {
    let mut value = json!({"entries": group.entries.iter().map(entry_json).collect::<Vec<_>>()});
    if let (Some(folder), Some(object)) = (&group.folder, value.as_object_mut()) {
        print::put_name(object, "folder", folder);
    }
    value
}

fn entry_json(entry: &Entry) -> Value {
    let attributes = &entry.attributes;
    let kind = match entry.kind() {
        Kind::File => "file",
        Kind::Folder => "folder",
        Kind::Link => "link",
        Kind::Pipe => "pipe",
        Kind::Socket => "socket",
        Kind::Device => "device",
        Kind::Unknown => "unknown",
    };
    let mut object = serde_json::Map::new();
    print::put_name(&mut object, "name", &entry.name);
    object.insert("kind".to_owned(), json!(kind));
    object.insert("size".to_owned(), json!(attributes.size));
    object.insert(
        "mode".to_owned(),
        json!(attributes.permissions().map(|mode| format!("{mode:04o}"))),
    );
    object.insert("user".to_owned(), json!(attributes.owner.map(|owner| owner.user)));
    object.insert(
        "group".to_owned(),
        json!(attributes.owner.map(|owner| owner.group)),
    );
    object.insert("modified".to_owned(), json!(modified(entry)));
    if let Some(target) = &entry.target {
        print::put_name(&mut object, "target", target);
    }
    Value::Object(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_that_of_ls() {
        let entry = Entry {
            name: b"a\n\xff".to_vec(),
            attributes: sftp::Attributes {
                size: Some(42),
                owner: Some(sftp::packet::Owner { user: 1000, group: 5 }),
                mode: Some(0o120_777),
                times: Some(sftp::packet::Times {
                    accessed: 0,
                    modified: 1_000_000_000,
                }),
            },
            target: Some(b"../b c".to_vec()),
        };
        assert_eq!(
            long(&entry, 4),
            "lrwxrwxrwx  1000     5   42 2001-09-09T01:46:40Z a\\n\\xff -> ../b c\n"
        );
        let value = entry_json(&entry);
        assert_eq!(value["name"], "a\n\u{fffd}");
        assert_eq!(value["name_hex"], "610aff");
        assert_eq!((&value["mode"], value.get("target_hex")), (&json!("0777"), None));
    }
}

//! Adds a provider to the user's file, leaving every other character of it alone. As with hosts, the result is read
//! again before it is written.

use std::path::Path;

use crate::{
    error::Error,
    hosts::{parse, read, write},
};

/// A provider to add. What is `None` is not written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewProvider {
    /// What `default_model` and `--model` call it.
    pub name: String,
    /// The endpoint's address.
    pub base_url: String,
    /// Its model.
    pub model: String,
    /// The name of the key in Reasonix's `.env`.
    pub api_key_env: Option<String>,
}

/// Adds a provider at the end of the file, which is created if it is missing.
///
/// # Errors
/// [`Error::Refused`] if the file is no TOML, already has a provider of this name, or lists its providers in a form
/// that cannot be extended; [`Error::Unreadable`] and [`Error::Unwritable`] for the file.
pub fn add_provider(file: &Path, provider: &NewProvider) -> Result<(), Error> {
    let refuse = |reason: String| Error::Refused {
        path: file.to_owned(),
        reason,
    };
    let old = read(file)?;
    let mut wanted = parse(&old).map_err(refuse)?;
    let entry = toml::Value::Table(
        entries(provider)
            .map(|(key, value)| (key.to_owned(), value))
            .collect(),
    );
    let known = wanted
        .entry("providers")
        .or_insert_with(|| toml::Value::Array(Vec::new()));
    let inline =
        || refuse("its providers are written in one line; write each as a [[providers]] table".to_owned());
    let known = known.as_array_mut().ok_or_else(inline)?;
    let is_same =
        |other: &toml::Value| other.get("name").and_then(toml::Value::as_str) == Some(&provider.name);
    if known.iter().any(is_same) {
        return Err(refuse(format!(
            "there is already a provider named \"{}\"",
            provider.name
        )));
    }
    known.push(entry);
    let mut new = old.clone();
    if !new.is_empty() {
        new.push_str(if new.ends_with('\n') { "\n" } else { "\n\n" });
    }
    new.push_str("[[providers]]\n");
    for (key, value) in entries(provider) {
        new.push_str(&format!("{key} = {value}\n"));
    }
    let after = parse(&new).map_err(|_| inline())?;
    if after != wanted {
        return Err(inline());
    }
    write(file, &new)
}

/// Names the model that is used where none is asked for. Says `false`, and changes nothing, when the file names
/// another one already.
///
/// # Errors
/// Like [`add_provider`].
pub fn set_default_model(file: &Path, reference: &str) -> Result<bool, Error> {
    let refuse = |reason: String| Error::Refused {
        path: file.to_owned(),
        reason,
    };
    let old = read(file)?;
    let mut wanted = parse(&old).map_err(refuse)?;
    if let Some(named) = wanted.get("default_model") {
        return Ok(named.as_str() == Some(reference));
    }
    let value = toml::Value::String(reference.to_owned());
    // A key of the top level stands before every table.
    let line = format!("default_model = {value}\n");
    let new = if old.is_empty() {
        line
    } else {
        format!("{line}\n{old}")
    };
    wanted.insert("default_model".to_owned(), value);
    match parse(&new) {
        Ok(after) if after == wanted => write(file, &new).map(|()| true),
        _ => Err(refuse("the default model could not be added".to_owned())),
    }
}

/// Names another model in place of the one that the file names, and leaves the rest of its line and of the file alone.
/// Where the file names none, it is added as [`set_default_model`] does.
///
/// # Errors
/// Like [`add_provider`]; [`Error::Refused`] also where the old name is written in a way that cannot be replaced.
pub fn replace_default_model(file: &Path, reference: &str) -> Result<(), Error> {
    if set_default_model(file, reference)? {
        return Ok(());
    }
    let refuse = |reason: String| Error::Refused {
        path: file.to_owned(),
        reason,
    };
    let old = read(file)?;
    let mut wanted = parse(&old).map_err(refuse)?;
    let value = toml::Value::String(reference.to_owned());
    let is_named = |line: &str| {
        let key = line.split('=').next().unwrap_or_default();
        key.trim().trim_matches(['"', '\'']) == "default_model"
    };
    // The first one stands in the top level, or what is made of it is not what is wanted.
    let mut lines: Vec<&str> = old.split('\n').collect();
    let found = lines.iter().position(|line| is_named(line));
    let named = found.map(|at| format!("default_model = {value}{}", behind_value(lines[at])));
    if let (Some(at), Some(named)) = (found, &named) {
        lines[at] = named;
    }
    let new = lines.join("\n");
    wanted.insert("default_model".to_owned(), value);
    match parse(&new) {
        Ok(after) if after == wanted => write(file, &new),
        _ => Err(refuse(format!(
            "write `default_model = \"{reference}\"` there by hand: the old one could not be replaced"
        ))),
    }
}

/// Gives what follows a quoted value on its line: a comment, as a rule.
fn behind_value(line: &str) -> &str {
    let value = line.split_once('=').map_or("", |(_, value)| value.trim_start());
    let quote = value.chars().next().unwrap_or_default();
    let inner = value.get(quote.len_utf8()..).unwrap_or_default();
    inner.split_once(quote).map_or("", |(_, behind)| behind)
}

/// Lists what is written, in the order in which a person would.
fn entries(provider: &NewProvider) -> impl Iterator<Item = (&'static str, toml::Value)> {
    let texts = [
        ("name", Some(&provider.name)),
        ("base_url", Some(&provider.base_url)),
        ("model", Some(&provider.model)),
        ("api_key_env", provider.api_key_env.as_ref()),
    ];
    texts
        .into_iter()
        .filter_map(|(key, value)| Some((key, toml::Value::String(value?.clone()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local() -> NewProvider {
        NewProvider {
            name: "local".to_owned(),
            base_url: "http://127.0.0.1:11434/v1".to_owned(),
            model: "q \"x\"".to_owned(),
            api_key_env: None,
        }
    }

    #[test]
    fn what_was_there_stays_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        let text = "# Mine.\n[agent]\ntemperature = 0.5 # warm";
        std::fs::write(&file, text).unwrap();
        assert!(set_default_model(&file, "local").unwrap());
        add_provider(&file, &local()).unwrap();
        let now = std::fs::read_to_string(&file).unwrap();
        assert!(
            now.starts_with(&format!("default_model = \"local\"\n\n{text}\n\n[[providers]]\n")),
            "{now}"
        );
        assert!(set_default_model(&file, "local").unwrap());
        assert!(
            !set_default_model(&file, "other").unwrap(),
            "a choice that was made stays"
        );
        assert!(add_provider(&file, &local()).is_err(), "twice");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), now);
    }

    #[test]
    fn the_default_is_replaced_where_it_stands() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        let rows = [
            ("", "default_model = \"b/m\"\n"),
            ("default_model = \"a\"\n", "default_model = \"b/m\"\n"),
            (
                "# default_model = 'a' # fast\ndefault_model = 'a' # fast\n[agent]\n",
                "# default_model = 'a' # fast\ndefault_model = \"b/m\" # fast\n[agent]\n",
            ),
            ("\"default_model\"='a'", "default_model = \"b/m\""),
        ];
        for (before, after) in rows {
            std::fs::write(&file, before).unwrap();
            replace_default_model(&file, "b/m").unwrap();
            assert_eq!(std::fs::read_to_string(&file).unwrap(), after);
        }
        let odd = "default_model = \"\"\"\na\"\"\"\n";
        std::fs::write(&file, odd).unwrap();
        assert!(replace_default_model(&file, "b/m").is_err());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), odd);
    }

    #[test]
    fn a_missing_file_is_made_for_its_owner_and_a_list_in_one_line_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        add_provider(&file, &local()).unwrap();
        assert_eq!(
            std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
        let text = "providers = [{name = \"a\", base_url = \"http://a\", model = \"m\"}]\n";
        std::fs::write(&file, text).unwrap();
        assert!(add_provider(&file, &local()).is_err());
        std::fs::write(&file, "providers = 1\n").unwrap();
        assert!(add_provider(&file, &local()).is_err());
        std::fs::write(&file, "= broken").unwrap();
        assert!(add_provider(&file, &local()).is_err());
        assert!(set_default_model(&file, "local").is_err());
    }
}

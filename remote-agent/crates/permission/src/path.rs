//! Paths as rules see them: compared as text, after `.`, `..`, doubled separators and `~` are gone.

use crate::pattern;

/// Whether names that differ only in case are the same file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PathCase {
    /// They are different files.
    #[default]
    Sensitive,
    /// They are the same file, so deny and ask rules ignore case.
    Insensitive,
}

/// Where relative paths and `~` in rules lead.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// The workspace root, absolute and free of symbolic links.
    pub workspace: String,
    /// The home directory, absolute.
    pub home: Option<String>,
    /// How the file system compares names.
    pub case: PathCase,
}

/// Makes `raw` absolute against `base` and removes `.`, `..`, doubled and trailing separators, without looking at
/// any file. `~` and `~/…` lead to `home`.
#[must_use]
pub fn clean(raw: &str, base: &str, home: Option<&str>) -> String {
    let from_home = raw
        .strip_prefix('~')
        .filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let joined = match (from_home, home) {
        (Some(rest), Some(home)) => format!("{home}/{rest}"),
        _ if raw.starts_with('/') => raw.to_owned(),
        _ => format!("{base}/{raw}"),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in joined.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Says whether a deny or ask pattern names the path under any of its spellings.
///
/// A pattern that starts with `**/` also names files directly in the root and files outside the workspace; one that
/// ends with `/**` also names the folder itself, since listing or searching the folder shows what is in it.
pub(crate) fn touches(pattern: &str, raw: &str, spellings: &[&str], places: &Places) -> bool {
    let home = places.home.as_deref();
    let mut patterns = vec![clean(pattern, &places.workspace, home)];
    if let Some(rest) = pattern.strip_prefix("**/") {
        patterns.push(clean(rest, &places.workspace, home));
        patterns.push(clean(pattern, "", home));
    }
    let folders: Vec<String> = patterns
        .iter()
        .filter_map(|p| p.strip_suffix("/**"))
        .map(str::to_owned)
        .collect();
    patterns.extend(folders);
    let fold = |text: &str| match places.case {
        PathCase::Sensitive => text.to_owned(),
        PathCase::Insensitive => text.to_lowercase(),
    };
    let matches = |pattern: &str, text: &str| pattern::matches(&fold(pattern), &fold(text));
    matches(pattern, raw)
        || patterns
            .iter()
            .any(|pattern| spellings.iter().any(|path| matches(pattern, path)))
}

/// Says whether an allow pattern covers the path: neither `..` nor a symbolic link may lead out of what was allowed,
/// so both the cleaned and the resolved spelling must match.
pub(crate) fn covers(pattern: &str, cleaned: &str, resolved: &str, places: &Places) -> bool {
    let home = places.home.as_deref();
    let mut patterns = vec![clean(pattern, &places.workspace, home)];
    if let Some(rest) = pattern.strip_prefix("**/") {
        patterns.push(clean(rest, &places.workspace, home));
    }
    [cleaned, resolved]
        .iter()
        .all(|path| patterns.iter().any(|pattern| pattern::matches(pattern, path)))
}

/// Says whether `path` is `folder` or lies in it.
pub(crate) fn is_inside(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Gives the folder that contains `path`.
pub(crate) fn parent(path: &str) -> &str {
    match path.trim_end_matches('/').rsplit_once('/') {
        Some(("", _)) | None => "/",
        Some((folder, _)) => folder,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cleaning_is_lexical() {
        for (raw, expected) in [
            ("a", "/ws/a"),
            ("./a//b/", "/ws/a/b"),
            ("sub/../.env", "/ws/.env"),
            ("../../../../x", "/x"),
            ("~/k", "/home/u/k"),
            ("~", "/home/u"),
            ("~other/k", "/ws/~other/k"),
            ("/etc/./passwd", "/etc/passwd"),
            ("", "/ws"),
        ] {
            assert_eq!(clean(raw, "/ws", Some("/home/u")), expected, "{raw}");
        }
    }

    #[test]
    fn inside_is_by_whole_names() {
        assert!(is_inside("/ws/a", "/ws"));
        assert!(is_inside("/ws", "/ws/"));
        assert!(!is_inside("/ws2", "/ws"));
        assert!(is_inside("/x", "/"));
        assert_eq!(parent("/a/b"), "/a");
        assert_eq!(parent("/a"), "/");
    }
}

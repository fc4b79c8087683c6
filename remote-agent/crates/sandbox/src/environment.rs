//! The environment of children: stated, without agents, without anything that waits for a person.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
};

use crate::Locales;

/// Variables that lead to a person's keys, or make a non-interactive shell run a start-up file.
const REMOVED: &[&str] = &[
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "SSH_ASKPASS",
    "GPG_AGENT_INFO",
    "BASH_ENV",
    "ENV",
];

/// Values that keep pagers, editors and prompts from waiting for somebody.
const SWITCHED_OFF: &[(&str, &str)] = &[
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GH_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("AWS_PAGER", ""),
    ("EDITOR", "true"),
    ("VISUAL", "true"),
    ("GIT_EDITOR", "true"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GCM_INTERACTIVE", "never"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("PIP_NO_INPUT", "1"),
];

/// Used when the base names no folders at all.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The complete environment of a child.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Environment(BTreeMap<OsString, OsString>);

impl Environment {
    /// Makes an environment from `base`, which the caller has already cleared of secrets: agent sockets go, pagers,
    /// editors and prompts are switched off, and a usable UTF-8 locale is there.
    pub fn new(base: impl IntoIterator<Item = (OsString, OsString)>, locales: &Locales) -> Self {
        let mut vars: BTreeMap<_, _> = base.into_iter().collect();
        for name in REMOVED {
            vars.remove(OsStr::new(name));
        }
        for (name, value) in SWITCHED_OFF {
            vars.insert(name.into(), value.into());
        }
        vars.entry("PATH".into()).or_insert_with(|| DEFAULT_PATH.into());
        ensure_utf8(&mut vars, locales);
        Self(vars)
    }

    /// Takes back an environment that a shell of an earlier command ended with, exactly as it is.
    pub fn restored(vars: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self(vars.into_iter().collect())
    }

    /// Sets a variable.
    #[must_use]
    pub fn with(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.0.insert(name.into(), value.into());
        self
    }

    /// Removes a variable.
    #[must_use]
    pub fn without(mut self, name: impl AsRef<OsStr>) -> Self {
        self.0.remove(name.as_ref());
        self
    }

    /// Gives a variable.
    #[must_use]
    pub fn value(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        self.0.get(name.as_ref()).map(OsString::as_os_str)
    }

    /// Lists the variables, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

/// Values may be private, so only names are shown.
impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Replaces a locale that is missing on the host, or cannot show every character, by one that can.
fn ensure_utf8(vars: &mut BTreeMap<OsString, OsString>, locales: &Locales) {
    let wanted = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .filter_map(|name| vars.get(OsStr::new(name)))
        .find(|value| !value.is_empty())
        .map(|value| value.to_string_lossy().into_owned());
    if wanted.is_some_and(|name| locales.is_usable(&name)) {
        return;
    }
    vars.retain(|name, _| !name.to_string_lossy().starts_with("LC_"));
    vars.insert("LANG".into(), locales.fallback().into());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(base: &[(&str, &str)], want: &[(&str, Option<&str>)]) {
        let base = base
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let got = Environment::new(base, &Locales::from_names(["C.utf8", "de_DE.utf8"]));
        for (name, value) in want {
            assert_eq!(got.value(name), value.map(OsStr::new), "{name}");
        }
    }

    #[test]
    fn switches_waiting_off() {
        check(
            &[
                ("PAGER", "less"),
                ("EDITOR", "vim"),
                ("SSH_AUTH_SOCK", "/x"),
                ("A", "b"),
            ],
            &[
                ("PAGER", Some("cat")),
                ("GIT_EDITOR", Some("true")),
                ("SSH_AUTH_SOCK", None),
                ("A", Some("b")),
            ],
        );
        check(
            &[],
            &[("PATH", Some(DEFAULT_PATH)), ("GIT_TERMINAL_PROMPT", Some("0"))],
        );
    }

    #[test]
    fn gives_a_utf8_locale() {
        check(&[], &[("LANG", Some("C.UTF-8"))]);
        check(&[("LANG", "C")], &[("LANG", Some("C.UTF-8"))]);
        check(
            &[("LC_ALL", "POSIX"), ("LANG", "de_DE.UTF-8")],
            &[("LANG", Some("C.UTF-8")), ("LC_ALL", None)],
        );
        check(&[("LANG", "de_DE.UTF-8")], &[("LANG", Some("de_DE.UTF-8"))]);
        check(
            &[("LANG", "fr_FR.UTF-8"), ("LC_TIME", "fr_FR.UTF-8")],
            &[("LANG", Some("C.UTF-8")), ("LC_TIME", None)],
        );
    }

    #[test]
    fn debug_shows_no_value() {
        let shown = format!("{:?}", Environment::default().with("TOKEN", "hunter2"));
        assert!(shown.contains("TOKEN") && !shown.contains("hunter2"));
    }
}

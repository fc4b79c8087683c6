//! Which locales a host has, so that children get one that can show every file name.

use std::{collections::BTreeSet, ffi::OsStr, process::Stdio, time::Duration};

/// How long `locale -a` may take before the host counts as unknown.
const PROBE_LIMIT: Duration = Duration::from_secs(3);

/// The locales installed on the host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Locales {
    /// Normalised names; empty when the host could not be asked.
    names: BTreeSet<String>,
}

impl Locales {
    /// Asks `locale -a`, found through `search_path`. A host without that program counts as unknown.
    pub async fn probe(search_path: &OsStr) -> Self {
        let mut command = stdx::process::command("locale");
        command.arg("-a").env("PATH", search_path).stdout(Stdio::piped());
        match tokio::time::timeout(PROBE_LIMIT, command.output()).await {
            Ok(Ok(output)) => Self::from_names(String::from_utf8_lossy(&output.stdout).lines()),
            Ok(Err(_)) | Err(_) => Self::default(),
        }
    }

    /// Makes the set from names as `locale -a` prints them.
    #[must_use]
    pub fn from_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            names: names.into_iter().map(normalised).collect(),
        }
    }

    /// Says whether `name` is a UTF-8 locale that exists here. On an unknown host every UTF-8 name passes.
    #[must_use]
    pub fn is_usable(&self, name: &str) -> bool {
        let name = normalised(name);
        name.contains("utf8") && (self.names.is_empty() || self.names.contains(&name))
    }

    /// Gives the UTF-8 locale to use when the wanted one is missing.
    #[must_use]
    pub fn fallback(&self) -> &'static str {
        let preferred = ["C.UTF-8", "en_US.UTF-8", "POSIX.UTF-8"];
        preferred
            .into_iter()
            .find(|name| self.is_usable(name))
            .unwrap_or(preferred[0])
    }
}

/// Writes `de_DE.UTF-8` and `de_DE.utf8` alike.
fn normalised(name: &str) -> String {
    name.trim().to_ascii_lowercase().replace("utf-8", "utf8")
}

#[cfg(test)]
mod tests {
    use super::Locales;

    #[test]
    fn knows_usable_and_fallback() {
        let host = Locales::from_names(["C", "C.utf8", "POSIX"]);
        assert!(host.is_usable("C.UTF-8") && !host.is_usable("de_DE.UTF-8") && !host.is_usable("C"));
        assert_eq!(host.fallback(), "C.UTF-8");
        assert_eq!(Locales::from_names(["en_US.UTF-8"]).fallback(), "en_US.UTF-8");
        assert!(Locales::default().is_usable("de_DE.UTF-8"));
        assert!(!Locales::default().is_usable("de_DE.ISO-8859-1"));
    }
}

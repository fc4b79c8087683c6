//! Which listeners a person let other machines reach: `REASONIX_HOME/public-forwards.json`, rules for each host.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
};

use forward::{Spec, Via};
use stdx::atomic_write::atomic_write;

use crate::invocation::Invocation;

/// What the file holds.
type Rules = BTreeMap<String, BTreeSet<String>>;

/// What was agreed to for one host.
#[derive(Debug, Clone)]
pub(crate) struct Consents {
    file: PathBuf,
    host: String,
}

/// Gives what is agreed to: the rule, whoever carries it.
pub(crate) fn text(spec: &Spec) -> String {
    let spec = Spec {
        via: Via::Auto,
        ..spec.clone()
    };
    spec.to_string()
}

impl Consents {
    pub(crate) fn of(invocation: &Invocation, host: &str) -> Self {
        Self {
            file: invocation.home.join("public-forwards.json"),
            host: host.to_owned(),
        }
    }

    /// Gives the file, for people who want to take something back.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Says whether a rule was agreed to. A file that cannot be read agrees to nothing.
    pub(crate) async fn has(&self, rule: &str) -> bool {
        let file = self.file.clone();
        let rules = stdx::task::blocking(move || read(&file)).await;
        rules.is_ok_and(|rules| rules.get(&self.host).is_some_and(|rules| rules.contains(rule)))
    }

    /// Writes down that a rule was agreed to.
    pub(crate) async fn remember(&self, rule: &str) -> io::Result<()> {
        let (file, host, rule) = (self.file.clone(), self.host.clone(), rule.to_owned());
        stdx::task::blocking(move || {
            let mut rules = read(&file)?;
            if !rules.entry(host).or_default().insert(rule) {
                return Ok(());
            }
            atomic_write(&file, &serde_json::to_vec_pretty(&rules)?, 0o600)
        })
        .await
    }
}

fn read(file: &Path) -> io::Result<Rules> {
    match std::fs::read(file) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Rules::new()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[tokio::test]
    async fn a_consent_is_for_one_host_and_rule_and_for_this_user_alone() {
        let home = stdx::PrivateFolder::create(&std::env::temp_dir(), "rx-consent-").unwrap();
        let file = home.path().join("public-forwards.json");
        let of = |host: &str| Consents {
            file: file.clone(),
            host: host.to_owned(),
        };
        let rule = text(&"L:*:8080:db:5432 via=agent".parse().unwrap());
        assert_eq!(rule, "L:*:8080:db:5432");
        assert!(!of("box").has(&rule).await);
        of("box").remember(&rule).await.unwrap();
        of("box").remember(&rule).await.unwrap();
        assert!(of("box").has(&rule).await);
        assert!(!of("other").has(&rule).await && !of("box").has("L:*:8081:db:5432").await);
        assert_eq!(
            std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );

        // Nothing of a file that is broken is lost or believed.
        std::fs::write(&file, "{").unwrap();
        assert!(!of("box").has(&rule).await);
        assert!(of("box").remember(&rule).await.is_err());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "{");
    }
}

//! Passwords and passphrases that a person keeps in Reasonix's `.env` (`password_env`, `passphrase_env` of a host).

use std::{path::PathBuf, sync::Arc};

use link::{Answer, HostKeyAnswer, HostKeyQuestion, Prompter, SecretKind, SecretQuestion};
use settings::{EnvFile, schema::RemoteHost};
use stdx::Secret;

/// Answers the first question for a secret from the file; everything else, and a secret that was wrong, is for the
/// person.
pub(crate) struct Stored {
    /// The host that the secrets are for, as questions name it. A host on the way never gets them.
    host: String,
    file: PathBuf,
    password: Option<String>,
    passphrase: Option<String>,
    person: Arc<dyn Prompter>,
}

impl Stored {
    /// Puts what is kept for `host` before the person. Nothing is read before it is asked for.
    pub(crate) fn before(person: Arc<dyn Prompter>, host: &RemoteHost, file: PathBuf) -> Arc<dyn Prompter> {
        let (password, passphrase) = (&host.login.password_env, &host.login.passphrase_env);
        if password.is_none() && passphrase.is_none() {
            return person;
        }
        Arc::new(Self {
            host: host.name.clone(),
            file,
            password: password.clone(),
            passphrase: passphrase.clone(),
            person,
        })
    }

    /// Gives the name of the entry that answers a question.
    fn entry(&self, question: &SecretQuestion) -> Option<&str> {
        if question.host != self.host || question.round > 1 || question.echo {
            return None;
        }
        match &question.kind {
            SecretKind::Password => self.password.as_deref(),
            SecretKind::Passphrase { .. } => self.passphrase.as_deref(),
            // With PAM the password is one of the host's own questions. A one-time code is not called so.
            SecretKind::Challenge => self
                .password
                .as_deref()
                .filter(|_| is_for_password(&question.label)),
        }
    }

    /// Reads the secret. What keeps it from being read is told, and the person is asked instead.
    async fn look_up(&self, question: &SecretQuestion) -> Option<Secret> {
        let entry = self.entry(question)?.to_owned();
        let file = self.file.clone();
        let found = stdx::task::blocking(move || {
            let entries = EnvFile::load(&file).map_err(|error| error.to_string())?;
            let found = entries.get(&entry).cloned();
            found.ok_or_else(|| format!("{} has no entry {entry}", file.display()))
        });
        match found.await {
            Ok(secret) => Some(secret),
            Err(why) => {
                self.person.notice(&format!(
                    "the secret kept for {} cannot be used: {why}",
                    self.host
                ));
                None
            }
        }
    }
}

/// Says whether a host's question is the one that OpenSSH's PAM module asks for the account's password.
fn is_for_password(label: &str) -> bool {
    let label = label.to_ascii_lowercase();
    label.contains("password") && !label.contains("new") && !label.contains("one-time")
}

impl Prompter for Stored {
    fn host_key<'a>(&'a self, question: &'a HostKeyQuestion) -> Answer<'a, HostKeyAnswer> {
        self.person.host_key(question)
    }

    fn secret<'a>(&'a self, question: &'a SecretQuestion) -> Answer<'a, Option<Secret>> {
        Box::pin(async move {
            match self.look_up(question).await {
                Some(secret) => Some(secret),
                None => self.person.secret(question).await,
            }
        })
    }

    fn confirm<'a>(&'a self, question: &'a str) -> Answer<'a, bool> {
        self.person.confirm(question)
    }

    fn notice(&self, text: &str) {
        self.person.notice(text);
    }

    fn banner(&self, host: &str, text: &str) {
        self.person.banner(host, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Person;

    impl Prompter for Person {
        fn secret<'a>(&'a self, _question: &'a SecretQuestion) -> Answer<'a, Option<Secret>> {
            Box::pin(std::future::ready(Some(Secret::new("typed".to_owned()))))
        }
    }

    fn question(kind: SecretKind, label: &str) -> SecretQuestion {
        SecretQuestion {
            kind,
            host: "lab".to_owned(),
            label: label.to_owned(),
            instructions: String::new(),
            echo: false,
            round: 1,
        }
    }

    #[tokio::test]
    async fn the_host_gets_its_secret_once_and_nobody_else_gets_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".env");
        std::fs::write(&file, "PW=kept\nPP=kept too\n").unwrap();
        let mut host = RemoteHost {
            name: "lab".to_owned(),
            ..RemoteHost::default()
        };
        host.login.password_env = Some("PW".to_owned());
        host.login.passphrase_env = Some("PP".to_owned());
        let prompter = Stored::before(Arc::new(Person), &host, file.clone());
        let check = async |question: SecretQuestion, want: &str| {
            let given = prompter.secret(&question).await.unwrap();
            assert_eq!(given.expose(), want, "{question:?}");
        };
        let password = || question(SecretKind::Password, "password");
        check(password(), "kept").await;
        let again = SecretQuestion {
            round: 2,
            ..password()
        };
        check(again, "typed").await;
        let bastion = SecretQuestion {
            host: "bastion".to_owned(),
            ..password()
        };
        check(bastion, "typed").await;
        let key = SecretKind::Passphrase {
            file: "id_ed25519".into(),
        };
        check(question(key, "passphrase"), "kept too").await;
        check(question(SecretKind::Challenge, "me@lab's Password: "), "kept").await;
        check(question(SecretKind::Challenge, "Verification code: "), "typed").await;
        check(question(SecretKind::Challenge, "New password: "), "typed").await;
        std::fs::write(&file, "OTHER=x\n").unwrap();
        check(password(), "typed").await;
    }
}

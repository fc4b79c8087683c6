//! Passwords, one-time codes and several steps with PAM: a real `sshd` under a name of its own, so that its PAM service
//! is ours, and an account that exists for one test.

use std::{
    os::unix::fs::PermissionsExt as _,
    sync::{Arc, Mutex},
};

use ring::hmac;
use stdx::Secret;
use transport::{
    Answer, ErrorKind, Prompter, Resolved, SecretKind, SecretQuestion,
    testing::{PamService, RealSshd, SshdOptions, TestAccount, wait_until},
};

use crate::support::{Client, Scripted};

const PASSWORD: &str = "correct horse";

/// A host with PAM and one account.
struct World {
    client: Client,
    account: TestAccount,
    service: PamService,
    code: OneTimeCode,
}

/// The secret of a time-based one-time code (RFC 6238), as google-authenticator keeps it.
struct OneTimeCode([u8; 20]);

impl OneTimeCode {
    fn base32(&self) -> String {
        let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
        let mut text = String::new();
        for chunk in self.0.chunks(5) {
            let bits = chunk
                .iter()
                .fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
            for place in (0..8).rev() {
                text.push(char::from(
                    digits[usize::try_from(bits >> (5 * place) & 31).unwrap()],
                ));
            }
        }
        text
    }

    fn now(&self) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &self.0);
        let count = stdx::clock::unix_millis() / 30_000;
        let tag = hmac::sign(&key, &count.to_be_bytes());
        let tag = tag.as_ref();
        let start = usize::from(tag[19] & 15);
        let number = u32::from_be_bytes(tag[start..start + 4].try_into().unwrap()) & 0x7fff_ffff;
        format!("{:06}", number % 1_000_000)
    }
}

/// The rules of a service that asks for the password, says something, and asks for a code.
const TWO_FACTORS: &str = "auth requisite pam_unix.so nodelay\n\
    auth optional pam_echo.so [Welcome %u]\n\
    auth required pam_google_authenticator.so user=root secret=SECRETS/${USER} echo_verification_code\n\
    account required pam_unix.so\npassword required pam_unix.so\nsession required pam_permit.so\n";
const PASSWORD_ONLY: &str = "auth required pam_unix.so nodelay\naccount required pam_unix.so\n\
    password required pam_unix.so\nsession required pam_permit.so\n";

impl World {
    async fn new(rules: &str) -> Option<Self> {
        if !TestAccount::may_be_made() {
            return None;
        }
        let client = Client::new();
        let account = TestAccount::create(PASSWORD).await.unwrap();
        let code = OneTimeCode(*b"twenty bytes for it!");
        let secrets = client.path("codes");
        std::fs::create_dir(&secrets).unwrap();
        let file = secrets.join(account.name());
        std::fs::write(
            &file,
            format!("{}\n\" WINDOW_SIZE 17\n\" TOTP_AUTH\n", code.base32()),
        )
        .unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let rules = rules.replace("SECRETS", secrets.to_str().unwrap());
        let service = PamService::create(client.folder.path(), &rules).unwrap();
        Some(Self {
            client,
            account,
            service,
            code,
        })
    }

    async fn host(&self, config: &[&str]) -> (RealSshd, Resolved) {
        let lines = config.iter().map(|&line| line.to_owned());
        let options = SshdOptions {
            authorized_keys: vec![self.client.key.public()],
            config: lines.chain(["UsePAM yes".to_owned()]).collect(),
            program: Some(self.service.program().to_owned()),
            ..SshdOptions::default()
        };
        let host = RealSshd::start(options).await.unwrap();
        self.client.trust(&host.known_hosts());
        let mut resolved = self.client.resolved(host.address());
        resolved.endpoint.user = self.account.name().to_owned();
        (host, resolved)
    }

    fn without_key(&self, resolved: &Resolved) -> Resolved {
        let mut resolved = resolved.clone();
        resolved.identity.files.clear();
        resolved
    }

    /// Somebody who knows the password and has the device.
    fn person(&self, wrong_passwords: usize) -> Person {
        Person(Arc::new(Mutex::new(Known {
            wrong_passwords,
            code: OneTimeCode(self.code.0),
            asked: Vec::new(),
            notices: Vec::new(),
        })))
    }
}

#[derive(Clone)]
struct Person(Arc<Mutex<Known>>);

struct Known {
    wrong_passwords: usize,
    code: OneTimeCode,
    asked: Vec<SecretQuestion>,
    notices: Vec<String>,
}

impl Person {
    fn asked(&self) -> Vec<SecretQuestion> {
        self.0.lock().unwrap().asked.clone()
    }
}

impl Prompter for Person {
    fn secret<'a>(&'a self, question: &'a SecretQuestion) -> Answer<'a, Option<Secret>> {
        let mut known = self.0.lock().unwrap();
        known.asked.push(question.clone());
        let label = question.label.to_ascii_lowercase();
        let answer = if label.contains("code") {
            Some(known.code.now())
        } else if label.contains("new password") {
            Some("another horse 7".to_owned())
        } else if label.contains("password") && known.wrong_passwords > 0 {
            known.wrong_passwords -= 1;
            Some("wrong".to_owned())
        } else {
            label.contains("password").then(|| PASSWORD.to_owned())
        };
        Box::pin(std::future::ready(answer.map(Secret::new)))
    }

    fn notice(&self, text: &str) {
        self.0.lock().unwrap().notices.push(text.to_owned());
    }
}

fn count(log: &str, words: &str) -> usize {
    log.matches(words).count()
}

/// Waits until the host has written a line so often, and gives its log.
async fn written(host: &RealSshd, words: &str, times: usize) -> String {
    let what = format!("{words} {times} times");
    let log = wait_until(&what, || async {
        let log = host.log();
        (count(&log, words) >= times).then_some(log)
    });
    log.await
        .unwrap_or_else(|error| panic!("{error}: {}", host.log()))
}

#[tokio::test]
async fn pam_asks_for_a_password_and_then_for_a_code() {
    let Some(world) = World::new(TWO_FACTORS).await else {
        return;
    };
    let (host, resolved) = world.host(&["KbdInteractiveAuthentication yes"]).await;
    let resolved = world.without_key(&resolved);
    let person = world.person(1);
    let connection = world
        .client
        .connect_with(&resolved, person.clone())
        .await
        .unwrap();
    let login = connection.login();
    assert_eq!(login.methods, ["keyboard-interactive"]);
    assert!(login.one_time_factor);
    let asked: Vec<_> = person
        .asked()
        .into_iter()
        .map(|asked| (asked.label, asked.echo, asked.round))
        .collect();
    assert_eq!(
        asked,
        [
            ("Password: ".to_owned(), false, 1),
            ("Password: ".to_owned(), false, 2),
            // sshd puts what a module says before the next question.
            (
                format!("Welcome {}\nVerification code: ", world.account.name()),
                true,
                2
            ),
        ]
    );
    let log = written(&host, "Accepted keyboard-interactive/pam", 1).await;
    assert_eq!(count(&log, "Failed keyboard-interactive/pam"), 1, "{log}");
    assert_eq!(count(&log, "Accepted keyboard-interactive/pam"), 1, "{log}");

    // Nothing of it is kept: a login that nobody answers is none.
    let error = world.client.connect(&resolved).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NeedsPerson);
    assert!(
        error.to_string().contains("an answer to \"Password:\""),
        "{error}"
    );
}

#[tokio::test]
async fn one_typed_password_is_one_attempt_for_a_host_with_pam() {
    let Some(world) = World::new(PASSWORD_ONLY).await else {
        return;
    };
    let (host, resolved) = world.host(&["PasswordAuthentication yes"]).await;
    let mut resolved = world.without_key(&resolved);
    let person = world.person(1);
    let connection = world
        .client
        .connect_with(&resolved, person.clone())
        .await
        .unwrap();
    assert_eq!(connection.login().methods, ["password"]);
    assert!(!connection.login().one_time_factor);
    let rounds: Vec<_> = person
        .asked()
        .into_iter()
        .map(|asked| (asked.kind, asked.round))
        .collect();
    assert_eq!(rounds, [(SecretKind::Password, 1), (SecretKind::Password, 2)]);
    let log = written(&host, "Accepted password", 1).await;
    assert_eq!(
        (count(&log, "Failed password"), count(&log, "Accepted password")),
        (1, 1),
        "{log}"
    );

    // Kept, because it was right; the host sees one attempt for the next login.
    world.client.connect(&resolved).await.unwrap();
    let log = written(&host, "Accepted password", 2).await;
    assert_eq!(
        (count(&log, "Failed password"), count(&log, "Accepted password")),
        (1, 2),
        "{log}"
    );

    // A kept one that is wrong by now is sent once, and never again.
    let endpoint = &resolved.endpoint;
    let secrets = &world.client.options.secrets;
    secrets.remember_password(
        &endpoint.user,
        &endpoint.host_name,
        endpoint.port,
        Secret::new("old"),
    );
    for failures in [2, 2] {
        let error = world.client.connect(&resolved).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NeedsPerson, "{error}");
        let log = written(&host, "Failed password", failures).await;
        assert_eq!(count(&log, "Failed password"), failures, "{log}");
    }

    // NumberOfPasswordPrompts.
    resolved.methods.password_prompts = 1;
    let person = world.person(5);
    let error = world
        .client
        .connect_with(&resolved, person.clone())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AuthRefused, "{error}");
    assert_eq!(person.asked().len(), 1);
}

#[tokio::test]
async fn an_expired_password_is_changed_in_the_host_s_own_words() {
    let Some(world) = World::new(PASSWORD_ONLY).await else {
        return;
    };
    let expire = ["-d", "0", world.account.name()];
    let mut command = stdx::process::command("/usr/bin/chage");
    assert!(command.args(expire).status().await.unwrap().success());
    let (_host, resolved) = world.host(&["KbdInteractiveAuthentication yes"]).await;
    let resolved = world.without_key(&resolved);
    let person = world.person(0);
    let connection = world
        .client
        .connect_with(&resolved, person.clone())
        .await
        .unwrap();
    assert_eq!(connection.login().methods, ["keyboard-interactive"]);
    let labels: Vec<_> = person.asked().into_iter().map(|asked| asked.label).collect();
    let new = labels
        .iter()
        .filter(|label| label.to_ascii_lowercase().contains("new password"));
    assert_eq!(new.count(), 2, "{labels:?}");
}

#[tokio::test]
async fn several_steps_in_any_order() {
    let Some(world) = World::new(TWO_FACTORS).await else {
        return;
    };
    for steps in [
        ["publickey", "keyboard-interactive"],
        ["keyboard-interactive", "publickey"],
    ] {
        let wanted = format!("AuthenticationMethods {}", steps.join(","));
        let (_host, resolved) = world.host(&["KbdInteractiveAuthentication yes", &wanted]).await;
        let person = world.person(0);
        let connection = world
            .client
            .connect_with(&resolved, person.clone())
            .await
            .unwrap();
        let login = connection.login();
        assert_eq!(login.methods, steps);
        assert!(login.one_time_factor && login.key.is_none());
        let labels: Vec<_> = person.asked().into_iter().map(|asked| asked.label).collect();
        assert!(
            labels.len() == 2 && labels[1].ends_with("Verification code: "),
            "{labels:?}"
        );
        let error = world.client.connect(&resolved).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NeedsPerson);
        assert!(error.to_string().contains("keyboard-interactive"), "{error}");
    }
}

/// RA-05 with a real host.
#[tokio::test]
async fn a_key_and_a_password_in_either_order() {
    let Some(world) = World::new(PASSWORD_ONLY).await else {
        return;
    };
    for steps in [["publickey", "password"], ["password", "publickey"]] {
        let wanted = format!("AuthenticationMethods {}", steps.join(","));
        let (host, resolved) = world
            .host(&[
                "PasswordAuthentication yes",
                "KbdInteractiveAuthentication yes",
                &wanted,
            ])
            .await;
        let alone = world.client.connect(&resolved).await.unwrap_err();
        assert_eq!(alone.kind(), ErrorKind::NeedsPerson);
        assert!(alone.to_string().contains("needs password"), "{alone}");
        let person = world.person(1);
        let connection = world
            .client
            .connect_with(&resolved, person.clone())
            .await
            .unwrap();
        assert_eq!(connection.login().methods, steps);
        assert_eq!(person.asked().len(), 2);
        let log = written(&host, "Failed password", 1).await;
        assert_eq!(count(&log, "Failed password"), 1, "{log}");
        assert_eq!(
            count(&log, "keyboard-interactive for"),
            0,
            "never the wrong method: {log}"
        );
        // The password is kept; a key that is missing is named.
        let error = world
            .client
            .connect(&world.without_key(&resolved))
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AuthRefused, "{error}");
        assert!(error.to_string().contains("it takes publickey"), "{error}");
        world.client.connect(&resolved).await.unwrap();
    }
}

#[tokio::test]
async fn the_configuration_says_which_methods_are_tried_and_in_which_order() {
    let Some(world) = World::new(PASSWORD_ONLY).await else {
        return;
    };
    let lines = ["PasswordAuthentication yes", "KbdInteractiveAuthentication yes"];
    let (host, resolved) = world.host(&lines).await;
    let tried = async |order: &[&str], identity: bool, answers: &[&str]| {
        let mut resolved = if identity {
            resolved.clone()
        } else {
            world.without_key(&resolved)
        };
        resolved.methods.order = order.iter().map(|&name| name.to_owned()).collect();
        let client = Client {
            options: transport::ConnectOptions {
                secrets: transport::SecretMemory::default(),
                ..world.client.options.clone()
            },
            ..Client::new()
        };
        std::fs::copy(world.client.path("known_hosts"), client.path("known_hosts")).unwrap();
        let person = Scripted::secrets(answers);
        let login = client
            .connect_with(&resolved, person)
            .await
            .map(|connection| connection.login().methods.clone());
        login.map_err(|error| format!("{error} / {}", error.hint().unwrap_or_default()))
    };
    let all = ["publickey", "keyboard-interactive", "password"];
    assert_eq!(tried(&all, true, &[]).await.unwrap(), ["publickey"]);
    let password_first = ["password", "publickey"];
    assert_eq!(
        tried(&password_first, true, &[PASSWORD]).await.unwrap(),
        ["password"]
    );
    assert_eq!(
        tried(&all, false, &[PASSWORD]).await.unwrap(),
        ["keyboard-interactive"]
    );
    assert_eq!(
        tried(&["password"], false, &[PASSWORD]).await.unwrap(),
        ["password"]
    );
    let before = host.log().len();
    let refused = tried(&["publickey"], false, &[PASSWORD]).await.unwrap_err();
    assert!(
        refused.contains("does not allow password or keyboard-interactive")
            && refused.contains("PreferredAuthentications"),
        "{refused}"
    );
    assert_eq!(count(&host.log()[before..], "Failed password"), 0);
}

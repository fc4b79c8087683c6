//! Logging in: keys from files and from an agent, passwords, questions, several steps.

use std::os::unix::fs::PermissionsExt as _;

use transport::{
    ErrorKind, SecretKind,
    testing::{
        KeyAgent, KeyKind, KeyPair, LoginStep, Question, RealSshd, SshdOptions, TestServer,
        TestServerOptions, wait_until,
    },
};

use crate::support::{Client, Scripted, server_options, sshd_options};

const KINDS: [KeyKind; 3] = [KeyKind::Ed25519, KeyKind::Rsa2048, KeyKind::EcdsaP256];

async fn trusting(client: &Client, options: TestServerOptions) -> TestServer {
    let server = TestServer::start(options).await.unwrap();
    client.trust(&server.known_hosts());
    server
}

fn asked(prompt: &str, answer: &str, echo: bool) -> Question {
    Question {
        prompt: prompt.into(),
        echo,
        answer: answer.into(),
    }
}

#[tokio::test]
async fn keys_of_every_kind_from_files_and_from_an_agent() {
    for kind in KINDS {
        let client = Client::new();
        let public = KeyPair::keygen(&client.path("key"), kind, "").await.unwrap();
        let real = RealSshd::start(SshdOptions {
            authorized_keys: vec![public.clone()],
            ..sshd_options(&client)
        })
        .await
        .unwrap();
        let options = TestServerOptions {
            authorized_keys: vec![public],
            ..server_options(&client)
        };
        let embedded = TestServer::start(options).await.unwrap();
        client.trust(&format!("{}{}", real.known_hosts(), embedded.known_hosts()));
        let agent = KeyAgent::start(client.folder.path()).await.unwrap();
        agent.add(&client.path("key")).await.unwrap();
        for address in [real.address(), embedded.address()] {
            let mut from_file = client.resolved(address);
            from_file.identity.files = vec![client.path("key")];
            let connection = client.connect(&from_file).await.unwrap();
            assert_eq!(connection.login().methods, ["publickey"]);

            let mut from_agent = client.resolved(address);
            from_agent.identity.files.clear();
            from_agent.identity.only_files = false;
            from_agent.identity.agent = Some(agent.socket().to_owned());
            client.connect(&from_agent).await.unwrap();
        }
    }
}

#[tokio::test]
async fn an_encrypted_key_is_opened_only_when_the_host_takes_it() {
    let mut client = Client::new();
    let public = KeyPair::keygen(&client.path("locked"), KeyKind::Ed25519, "open sesame")
        .await
        .unwrap();
    KeyPair::keygen(&client.path("useless"), KeyKind::Ed25519, "other")
        .await
        .unwrap();
    std::fs::remove_file(client.path("locked.pub")).unwrap();
    let options = TestServerOptions {
        authorized_keys: vec![public],
        ..server_options(&client)
    };
    let server = trusting(&client, options).await;
    let mut resolved = client.resolved(server.address());
    resolved.identity.files = vec![client.path("useless"), client.path("locked")];

    let error = client.connect(&resolved).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NeedsPerson);
    assert!(error.to_string().contains("locked"), "{error}");

    let person = Scripted::secrets(&["wrong", "open sesame"]);
    client.connect_with(&resolved, person.clone()).await.unwrap();
    let rounds: Vec<_> = person
        .asked()
        .iter()
        .map(|question| (question.kind.clone(), question.round))
        .collect();
    let kind = SecretKind::Passphrase {
        file: client.path("locked"),
    };
    assert_eq!(
        rounds,
        [(kind.clone(), 1), (kind, 2)],
        "one question a try, none for the key that is not taken"
    );

    // Typed once, kept for the next connection; a fresh memory asks again.
    client.connect(&resolved).await.unwrap();
    client.options.secrets = transport::SecretMemory::default();
    assert_eq!(
        client.connect(&resolved).await.unwrap_err().kind(),
        ErrorKind::NeedsPerson
    );
}

#[tokio::test]
async fn one_typed_password_is_one_attempt() {
    let client = Client::new();
    let options = TestServerOptions {
        login: vec![LoginStep::Password("right".into())],
        ..server_options(&client)
    };
    let server = trusting(&client, options).await;
    let resolved = client.resolved(server.address());

    let error = client.connect(&resolved).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NeedsPerson);
    assert!(
        error.to_string().contains("password") && server.attempts().is_empty(),
        "{error}"
    );

    let person = Scripted::secrets(&["wrong", "right"]);
    let connection = client.connect_with(&resolved, person.clone()).await.unwrap();
    assert_eq!(connection.login().methods, ["password"]);
    assert_eq!(server.attempts(), ["password", "password"]);
    assert_eq!(
        person
            .asked()
            .iter()
            .map(|question| question.round)
            .collect::<Vec<_>>(),
        [1, 2]
    );

    // Remembered for the next connection.
    client.connect(&resolved).await.unwrap();
}

#[tokio::test]
async fn three_wrong_passwords_are_enough() {
    let client = Client::new();
    let options = TestServerOptions {
        login: vec![LoginStep::Password("right".into())],
        ..server_options(&client)
    };
    let server = trusting(&client, options).await;
    let person = Scripted::secrets(&["a", "b", "c", "d"]);
    let error = client
        .connect_with(&client.resolved(server.address()), person)
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), server.attempts().len()),
        (ErrorKind::AuthRefused, 3)
    );
    assert!(!error.is_retryable());
}

#[tokio::test]
async fn questions_in_rounds_and_a_round_without_questions() {
    let client = Client::new();
    let rounds = vec![
        vec![
            asked("Password: ", "secret", false),
            asked("Code: ", "123456", true),
        ],
        vec![],
        vec![asked("Really? ", "yes", true)],
    ];
    let options = TestServerOptions {
        login: vec![LoginStep::Questions(rounds)],
        ..server_options(&client)
    };
    let server = trusting(&client, options).await;
    let person = Scripted::secrets(&["secret", "123456", "yes"]);
    let connection = client
        .connect_with(&client.resolved(server.address()), person.clone())
        .await
        .unwrap();
    assert!(connection.login().one_time_factor);
    let labels: Vec<_> = person
        .asked()
        .iter()
        .map(|question| (question.label.clone(), question.echo))
        .collect();
    assert_eq!(
        labels,
        [
            ("Password: ".into(), false),
            ("Code: ".into(), true),
            ("Really? ".to_owned(), true)
        ]
    );
    assert_eq!(
        person.notices(),
        ["round 2"],
        "the words of a round without questions are shown"
    );
    let error = client
        .connect(&client.resolved(server.address()))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NeedsPerson, "answers are never kept");
}

/// RA-05, both orders.
#[tokio::test]
async fn a_partial_success_is_followed() {
    let password = LoginStep::Password("second".into());
    for (login, methods) in [
        (
            vec![LoginStep::PublicKey, password.clone()],
            ["publickey", "password"],
        ),
        (vec![password, LoginStep::PublicKey], ["password", "publickey"]),
    ] {
        let client = Client::new();
        let server = trusting(
            &client,
            TestServerOptions {
                login,
                ..server_options(&client)
            },
        )
        .await;
        let resolved = client.resolved(server.address());
        let connection = client
            .connect_with(&resolved, Scripted::secrets(&["second"]))
            .await
            .unwrap();
        assert_eq!(connection.login().methods, methods);

        let alone = Client {
            options: transport::ConnectOptions::default(),
            ..client
        };
        let error = alone.connect(&resolved).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NeedsPerson);
        assert!(error.to_string().contains("password"), "{error}");
    }
}

#[tokio::test]
async fn a_real_sshd_may_want_two_keys() {
    let client = Client::new();
    let second = KeyPair::keygen(&client.path("second"), KeyKind::EcdsaP256, "")
        .await
        .unwrap();
    let mut options = sshd_options(&client);
    options.authorized_keys.push(second);
    options
        .config
        .push("AuthenticationMethods publickey,publickey".into());
    let server = RealSshd::start(options).await.unwrap();
    client.trust(&server.known_hosts());
    let mut resolved = client.resolved(server.address());
    let error = client.connect(&resolved).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AuthRefused);
    resolved.identity.files.push(client.path("second"));
    assert_eq!(
        client.connect(&resolved).await.unwrap().login().methods,
        ["publickey", "publickey"]
    );
}

/// RA-06.
#[tokio::test]
async fn only_the_named_key_is_offered() {
    let client = Client::new();
    let agent = KeyAgent::start(client.folder.path()).await.unwrap();
    for index in 0..8 {
        let file = client.path(&format!("unrelated{index}"));
        KeyPair::generate(KeyKind::Ed25519).unwrap().write(&file).unwrap();
        agent.add(&file).await.unwrap();
    }
    let mut options = sshd_options(&client);
    options.config.push("MaxAuthTries 3".into());
    let server = RealSshd::start(options).await.unwrap();
    client.trust(&server.known_hosts());
    let mut resolved = client.resolved(server.address());
    for agent_socket in [Some(agent.socket().to_owned()), None] {
        resolved.identity.agent = agent_socket;
        let before = server.log().len();
        client.connect(&resolved).await.unwrap();
        let log = server.log().split_off(before);
        assert_eq!(log.matches("Accepted publickey").count(), 1, "{log}");
        assert!(!log.contains("Failed publickey"), "{log}");
    }

    resolved.identity.agent = Some(agent.socket().to_owned());
    resolved.identity.only_files = false;
    let error = client.connect(&resolved).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AuthRefused, "{error}");
    assert!(error.to_string().to_lowercase().contains("too many"), "{error}");
    assert!(error.hint().unwrap().contains("IdentitiesOnly"), "{error:?}");
}

#[tokio::test]
async fn the_agent_signs_for_a_key_that_is_only_named_by_its_public_half() {
    let client = Client::new();
    let agent = KeyAgent::start(client.folder.path()).await.unwrap();
    agent.add(&client.path("id")).await.unwrap();
    std::fs::write(client.path("id.pub"), client.key.public()).unwrap();
    std::fs::remove_file(client.path("id")).unwrap();
    let server = trusting(&client, server_options(&client)).await;
    let mut resolved = client.resolved(server.address());
    assert_eq!(
        client.connect(&resolved).await.unwrap_err().kind(),
        ErrorKind::AuthRefused
    );
    resolved.identity.agent = Some(agent.socket().to_owned());
    client.connect(&resolved).await.unwrap();
}

#[tokio::test]
async fn a_refused_login_names_what_was_offered() {
    let client = Client::new();
    let server = trusting(
        &client,
        TestServerOptions {
            authorized_keys: vec![],
            ..server_options(&client)
        },
    )
    .await;
    let mut resolved = client.resolved(server.address());
    std::fs::write(client.path("broken"), "no key").unwrap();
    resolved.identity.files.push(client.path("broken"));
    resolved.identity.agent = Some(client.path("no-agent"));
    let error = client.connect(&resolved).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AuthRefused);
    for piece in ["id", "broken", "no-agent", "publickey"] {
        assert!(error.to_string().contains(piece), "{piece} in {error}");
    }
    resolved.identity.files = vec![client.path("missing")];
    resolved.identity.agent = None;
    let error = client.connect(&resolved).await.unwrap_err();
    for piece in ["nothing was offered", "no key agent", "/missing"] {
        assert!(error.to_string().contains(piece), "{piece} in {error}");
    }
    for piece in ["--identity-file", "ssh-keygen", "ssh-add"] {
        assert!(error.hint().unwrap().contains(piece), "{piece} in {error:?}");
    }
    std::fs::set_permissions(client.path("id"), std::fs::Permissions::from_mode(0o644)).unwrap();
    resolved.identity.files = vec![client.path("id")];
    let error = client.connect(&resolved).await.unwrap_err();
    let command = format!("`chmod 600 {}`", client.path("id").display());
    assert!(error.hint().unwrap().contains(&command), "{error:?}");
}

#[tokio::test]
async fn the_key_that_was_enough_is_offered_at_once_the_next_time() {
    let mut client = Client::new();
    KeyPair::keygen(&client.path("other"), KeyKind::EcdsaP256, "")
        .await
        .unwrap();
    let server = RealSshd::start(SshdOptions {
        config: vec!["LogLevel DEBUG1".into()],
        ..sshd_options(&client)
    })
    .await
    .unwrap();
    client.trust(&server.known_hosts());
    let mut resolved = client.resolved(server.address());
    resolved.identity.files = vec![client.path("other"), client.path("id")];
    let asked = |method: &str| {
        server
            .log()
            .matches(&format!("service ssh-connection method {method} "))
            .count()
    };
    let login = client.connect(&resolved).await.unwrap().login().clone();
    // One offer is refused; the other is asked about, then signed.
    assert_eq!((asked("none"), asked("publickey")), (1, 3));
    let key = login.key.unwrap();
    assert!(key.starts_with("ssh-ed25519 "), "{key}");

    client.options.first_key = Some(key.clone());
    let again = client.connect(&resolved).await.unwrap();
    assert_eq!(again.login().key.as_ref(), Some(&key));
    assert_eq!(
        (asked("none"), asked("publickey")),
        (1, 5),
        "asked and signed, no more"
    );

    // What is remembered may be wrong by now.
    client.options.first_key = Some("ssh-ed25519 AAAA".into());
    client.connect(&resolved).await.unwrap();
    assert_eq!((asked("none"), asked("publickey")), (2, 8));
    let public = std::fs::read_to_string(client.path("other.pub")).unwrap();
    let words: Vec<&str> = public.split_whitespace().take(2).collect();
    client.options.first_key = Some(words.join(" "));
    client.connect(&resolved).await.unwrap();
    assert_eq!(
        (asked("none"), asked("publickey")),
        (2, 11),
        "refused, and the host's answer says what it takes"
    );
}

#[tokio::test]
async fn a_first_key_does_not_stand_in_the_way_of_a_password() {
    let mut client = Client::new();
    let options = TestServerOptions {
        authorized_keys: Vec::new(),
        login: vec![LoginStep::Password("secret".into())],
        ..server_options(&client)
    };
    let server = trusting(&client, options).await;
    let resolved = client.resolved(server.address());
    client.options.first_key = Some(client.key.public());
    let person = Scripted::secrets(&["secret"]);
    let connection = client.connect_with(&resolved, person).await.unwrap();
    let login = connection.login();
    assert_eq!(
        (login.methods.as_slice(), &login.key),
        (&["password".to_owned()][..], &None)
    );
}

/// sshd takes the keys in any order; others do not.
#[tokio::test]
async fn a_key_that_was_refused_may_be_what_the_host_wants_next() {
    let client = Client::new();
    let second = KeyPair::generate(KeyKind::EcdsaP256).unwrap();
    second.write(&client.path("second")).unwrap();
    let options = TestServerOptions {
        authorized_keys: vec![client.key.public(), second.public()],
        login: vec![
            LoginStep::ThisKey(client.key.public()),
            LoginStep::ThisKey(second.public()),
        ],
        ..server_options(&client)
    };
    let server = trusting(&client, options).await;
    let mut resolved = client.resolved(server.address());
    resolved.identity.files = vec![client.path("second"), client.path("id")];
    let connection = client.connect(&resolved).await.unwrap();
    assert_eq!(connection.login().methods, ["publickey", "publickey"]);
    // Without the second there is an end to it.
    resolved.identity.files = vec![client.path("id")];
    let error = client.connect(&resolved).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AuthRefused, "{error}");
}

#[tokio::test]
async fn a_host_that_lists_questions_and_has_none_is_asked_once() {
    let client = Client::new();
    let host = RealSshd::start(SshdOptions {
        config: vec![
            "KbdInteractiveAuthentication yes".into(),
            "LogLevel DEBUG1".into(),
        ],
        ..SshdOptions::default()
    })
    .await
    .unwrap();
    client.trust(&host.known_hosts());
    let mut resolved = client.resolved(host.address());
    resolved.identity.files.clear();
    let person = Scripted::secrets(&["never asked"]);
    let error = client.connect_with(&resolved, person.clone()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AuthRefused, "{error}");
    assert!(person.asked().is_empty());
    let log = wait_until("the host to see the end", || async {
        let log = host.log();
        log.contains("Connection closed").then_some(log)
    })
    .await
    .unwrap();
    assert_eq!(log.matches("method keyboard-interactive ").count(), 1, "{log}");
}

//! Login shells and what they print.

use bootstrap::{Arrival, ErrorKind, Stage};

use crate::{
    host::Host,
    stand_in::{go, name, path, program, wanted},
};

pub(crate) async fn works(host: &Host, label: &str) {
    let program = program(20_000);
    let mut wanted = wanted(host, &program);
    wanted.workspace = Some("~".into());
    let ready = go(host, &wanted)
        .await
        .unwrap_or_else(|error| panic!("{label}: {error} {:?}", error.details()));
    assert_eq!(ready.arrival, Arrival::Installed, "{label}");
    assert_eq!(std::fs::read(path(host, &program)).unwrap(), program, "{label}");
    assert_eq!(host.files(), [name(&program)], "{label}");
    assert_eq!(
        ready.workspace.as_deref(),
        host.home().canonicalize().unwrap().to_str(),
        "{label}"
    );
    // The second visit finds it.
    assert_eq!(
        go(host, &wanted).await.unwrap().arrival,
        Arrival::Launched,
        "{label}"
    );
}

#[tokio::test]
async fn every_login_shell_works() {
    for shell in ["/bin/bash", "/bin/dash", "/usr/bin/fish", "/bin/tcsh", "/bin/zsh"] {
        works(&Host::with_shell(shell), shell).await;
    }
}

#[tokio::test]
async fn startup_noise_does_not_matter() {
    let summary =
        r#"i=0; while [ $i -lt 20 ]; do printf '\033[1;32mWelcome\033[0m to host %s\n' $i; i=$((i+1)); done"#;
    let table = [
        ("summary", summary.to_owned()),
        ("stderr", format!("{{ {summary}; }} >&2")),
        ("no final newline", "printf 'last login: yesterday'".to_owned()),
        ("nul", r"printf 'a\000b\n\000'".to_owned()),
        (
            "json",
            r#"echo '{"instance":"x","pid":1}'; printf '{"os":"Plan9"}'"#.to_owned(),
        ),
        ("not utf-8", r"printf '\377\376\n'".to_owned()),
        ("many bytes", "head -c 300000 /dev/zero | tr '\\000' x".to_owned()),
        (
            "a megabyte on both outputs, without an end",
            "head -c 1200000 /dev/zero | tr '\\000' x; head -c 1200000 /dev/zero >&2".to_owned(),
        ),
        (
            "late",
            "sleep 0.2; echo late; (sleep 0.2; echo later; echo later >&2) &".to_owned(),
        ),
        ("another shell", "exec /usr/bin/fish \"$@\"".to_owned()),
        ("verbose shell", "export SHELLOPTS; set -v; set -x".to_owned()),
        (
            "small path",
            "PATH=/nonexistent; export PATH; CDPATH=/tmp:/; export CDPATH".to_owned(),
        ),
        (
            "another umask and locale",
            "umask 000; LC_ALL=de_DE.UTF-8; export LC_ALL".to_owned(),
        ),
    ];
    for (label, startup) in table {
        works(&Host::with_startup(&startup), label).await;
    }
}

#[tokio::test]
async fn noise_is_told_and_a_wrong_clock_is_seen() {
    let host = Host::with_startup("echo Welcome; echo; echo motd >&2");
    host.fake("date", "echo 1000000000");
    let ready = go(&host, &wanted(&host, &program(20_000))).await.unwrap();
    let exchange = ready.probe.exchange;
    assert_eq!(exchange.noise, ["Welcome"]);
    assert_eq!(exchange.stderr_noise, ["motd"]);
    assert!(exchange.skew.unwrap() < -500_000_000, "{exchange:?}");
    let quiet = Host::new();
    let ready = go(&quiet, &wanted(&quiet, &program(20_000))).await.unwrap();
    let exchange = ready.probe.exchange;
    assert_eq!(
        (exchange.skew, exchange.noise.len(), exchange.stderr_noise.len()),
        (Some(0), 0, 0)
    );
}

#[tokio::test]
async fn an_account_without_a_shell_is_quoted() {
    for (shell, words) in [
        ("/usr/sbin/nologin", "This account is currently not available"),
        ("/bin/rbash", "restricted"),
        ("/bin/false", "did not run /bin/sh"),
    ] {
        let host = Host::with_shell(shell);
        let error = go(&host, &wanted(&host, &program(20_000))).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NoShell(_)), "{error:?}");
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(
            (error.stage(), error.exit_code(), host.execs()),
            (Stage::Probe, 5, 1)
        );
        assert!(error.hint().is_some() && error.status().is_some());
        assert!(host.files().is_empty());
    }
}

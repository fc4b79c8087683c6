//! A host that is not known, one that wants a password, one that goes away and comes back.

use std::{fs, path::PathBuf, time::Duration};

use scripted_model::{Reply, Scenario, ScriptedModel};
use tokio::process::Command;
use transport::testing::{LoginStep, TestServer, TestServerOptions};

use super::rig::Terminal;
use crate::rig::{HostOptions, Rig, end_daemons, program};

/// A laptop, and a host behind an embedded SSH server that can be told how to log in.
pub(super) struct Embedded {
    server: TestServer,
    _model: ScriptedModel,
    dir: tempfile::TempDir,
}

impl Embedded {
    /// Makes a host `box` whose key is known and which lets in whoever passes `login`.
    pub(super) async fn new(scenario: Scenario, login: Vec<LoginStep>) -> Self {
        let dir = tempfile::Builder::new().prefix("rx-e2e-").tempdir().unwrap();
        for folder in ["laptop/.reasonix", "laptop/work", "host/.reasonix", "host/work"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        let model = ScriptedModel::start(scenario).await.unwrap();
        let server = TestServer::start(TestServerOptions {
            login,
            ..TestServerOptions::new(dir.path().join("host"))
        })
        .await
        .unwrap();
        let host = Self {
            server,
            _model: model,
            dir,
        };
        host.configure();
        host
    }

    fn configure(&self) {
        let model = format!(
            "default_model = \"scripted\"\n[[providers]]\nname = \"scripted\"\nbase_url = \"{}\"\nmodel = \"m\"\n[sandbox]\nbash = \"off\"\n[serve]\nidle_exit = \"60s\"\n",
            self._model.base_url()
        );
        fs::write(self.file("host/.reasonix/config.toml"), model).unwrap();
        let laptop = format!(
            "[[remote.hosts]]\nname = \"box\"\nhost = \"127.0.0.1\"\nport = {}\nuser = \"me\"\nworkspace = \"{}\"\nuse_ssh_config = false\n",
            self.server.address().port(),
            self.file("host/work").display(),
        );
        fs::write(self.file("laptop/.reasonix/config.toml"), laptop).unwrap();
        fs::write(
            self.file("laptop/.reasonix/known_hosts"),
            self.server.known_hosts(),
        )
        .unwrap();
    }

    /// Gives the attempts to log in so far.
    pub(super) fn attempts(&self) -> Vec<String> {
        self.server.attempts()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Prepares the program on the laptop.
    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = stdx::process::command(program());
        command.args(args).current_dir(self.file("laptop/work"));
        command
            .env("HOME", self.file("laptop"))
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("LANG", "C.UTF-8");
        command
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        end_daemons(self.dir.path());
    }
}

/// Opens the screen on a host.
async fn open(rig: &Rig) -> Terminal {
    Terminal::open(&rig.command(&["--remote", "box"]), 100, 30).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_host_key_is_shown_and_remembered_when_the_person_says_so() {
    let rig = Rig::new(Scenario::new().say("I am there."), HostOptions::installed()).await;
    fs::remove_file(rig.known_hosts()).unwrap();
    let terminal = open(&rig).await;
    let screen = terminal.see("trust and remember").await;
    assert!(screen.contains("SHA256:"), "{screen}");
    terminal.answer("trust and remember", "r").await;
    terminal.see("ready").await;
    terminal.write("hello").await;
    terminal.keys(&["Enter"]).await;
    terminal.see("I am there.").await;
    assert!(rig.known_hosts().exists());
    terminal.keys(&["C-d"]).await;
    assert_eq!(terminal.exit_code().await, 0);
    terminal.assert_restored().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_key_that_is_refused_ends_in_a_sentence_and_a_choice() {
    let rig = Rig::new(Scenario::new(), HostOptions::installed()).await;
    fs::remove_file(rig.known_hosts()).unwrap();
    let terminal = open(&rig).await;
    // By habit.
    terminal.answer("trust and remember", "Enter").await;
    let screen = terminal.see("No connection to").await;
    assert!(
        screen.contains("try again") && screen.contains("quit"),
        "{screen}"
    );
    terminal.answer("No connection to", "q").await;
    assert_eq!(terminal.exit_code().await, 4);
    terminal.assert_restored().await;
    assert!(!rig.known_hosts().exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_key_that_changed_is_never_offered_for_trust() {
    let rig = Rig::new(Scenario::new(), HostOptions::installed()).await;
    let other = transport::testing::KeyPair::generate(transport::testing::KeyKind::Ed25519).unwrap();
    rig.trust(&other.public());
    let terminal = open(&rig).await;
    let screen = terminal.see("No connection to").await;
    assert!(
        screen.contains("changed") && !screen.contains("trust and remember"),
        "{screen}"
    );
    terminal.answer("No connection to", "q").await;
    assert_eq!(terminal.exit_code().await, 4);
    terminal.assert_restored().await;
}

/// Waits until a dialog takes what is typed, and takes back what was typed to see that.
pub(super) async fn hears(terminal: &Terminal, question: &str) {
    terminal.see(question).await;
    let is_typed = |screen: &str| screen.contains('•');
    terminal.press_until("x", "a letter", is_typed).await;
    terminal
        .press_until("C-u", "no letter", |screen| !is_typed(screen))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_is_asked_for_until_it_is_right_and_never_shown() {
    let login = vec![LoginStep::Password("correct horse".to_owned())];
    let host = Embedded::new(Scenario::new().say("Logged in."), login).await;
    let terminal = Terminal::open(&host.command(&["--remote", "box"]), 100, 30).await;
    hears(&terminal, "Password for").await;
    terminal.write("wrong horse").await;
    let screen = terminal.see("•••••••••••").await;
    assert!(!screen.contains("horse"), "{screen}");
    terminal.keys(&["Enter"]).await;
    hears(&terminal, "The last password was wrong").await;
    // As from a password manager.
    terminal.paste("correct horse").await;
    terminal.see("•••••••••••••").await;
    terminal.keys(&["Enter"]).await;
    terminal.see("ready").await;
    terminal.write("hello").await;
    terminal.keys(&["Enter"]).await;
    terminal.see("Logged in.").await;
    terminal.keys(&["C-d"]).await;
    assert_eq!(terminal.exit_code().await, 0);
    let everything = terminal.everything().await;
    assert!(!everything.contains("horse"), "{everything}");
    terminal.assert_restored().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn typing_goes_on_while_the_host_is_away_and_what_was_sent_arrives_once() {
    let scenario = Scenario::new()
        .reply(Reply::new().say("First ").gate("away").say("answer."))
        .say("Second answer.");
    let rig = Rig::new(scenario, HostOptions::installed()).await;
    let terminal = open(&rig).await;
    terminal.see("ready").await;
    terminal.write("first").await;
    terminal.keys(&["Enter"]).await;
    terminal.see("First").await;

    rig.proxy.black_hole(true);
    rig.proxy.cut();
    terminal
        .wait_for("the loss of the host", |screen| {
            screen.contains("Lost ") || screen.contains("Connecting to") || screen.contains("connecting")
        })
        .await;
    terminal.write("second").await;
    terminal.see("second").await;
    terminal.keys(&["Enter"]).await;
    terminal.see("queued").await;
    rig.model.gate("away").open();

    rig.proxy.restore();
    rig.proxy.cut();
    terminal.keys(&["C-r"]).await;
    terminal.see("First answer.").await;
    let screen = terminal.see("Second answer.").await;
    assert!(!screen.contains("queued"), "{screen}");
    assert_eq!(rig.model.requests().len(), 2, "each text was sent once");
    terminal.keys(&["C-d"]).await;
    assert_eq!(terminal.exit_code().await, 0);
    terminal.assert_restored().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_never_answers_can_be_left_at_once() {
    let rig = Rig::new(Scenario::new(), HostOptions::installed()).await;
    rig.proxy.black_hole(true);
    let terminal = open(&rig).await;
    terminal.see("onnecting").await;
    terminal.write("typed meanwhile").await;
    terminal.see("typed meanwhile").await;
    // The first clears the text, the second warns, the third leaves.
    for _ in 0..3 {
        terminal.keys(&["C-c"]).await;
        tokio::time::sleep(Duration::ZERO).await;
    }
    terminal.exit_code().await;
    terminal.assert_restored().await;
}

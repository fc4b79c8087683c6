//! What only a person can decide: each ends in a sentence and a choice on the screen, and the choice works.

use std::{fs, path::PathBuf};

use scripted_model::{Reply, Scenario};
use transport::testing::{KeyKind, KeyPair, LoginStep};

use super::{
    hosts::{Embedded, hears},
    rig::Terminal,
    work::ask,
};
use crate::{
    rig::{HostOptions, Rig, edit, eventually},
    trust::fingerprint,
};

async fn open(rig: &Rig, args: &[&str]) -> Terminal {
    Terminal::open(&rig.command(args), 100, 30).await
}

/// Asserts that a dialog holds words, wherever its lines break.
fn assert_says(screen: &str, words: &[&str]) {
    let joined =
        |text: &str| -> String { text.chars().filter(|&c| !c.is_whitespace() && c != '│').collect() };
    let said = joined(screen);
    for word in words {
        assert!(said.contains(&joined(word)), "{word}: {screen}");
    }
}

async fn leave(terminal: &Terminal, code: i32) {
    terminal.answer("No connection to", "q").await;
    assert_eq!(terminal.exit_code().await, code);
    terminal.assert_restored().await;
}

/// A host with the program, and the folder that is missing there.
async fn without_workspace(scenario: Scenario) -> (Rig, PathBuf, String) {
    let rig = Rig::new(scenario, HostOptions::installed()).await;
    let folder = rig.work().join("not yet/it's \"$here\"");
    let form = format!("box:{}", folder.display());
    (rig, folder, form)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_that_is_missing_is_made_when_the_person_says_so() {
    let (rig, folder, form) = without_workspace(Scenario::new().say("Here I am.")).await;
    let terminal = open(&rig, &["--remote", &form]).await;
    let screen = terminal.see("does not exist").await;
    assert_says(&screen, &[folder.to_str().unwrap()]);
    assert!(
        !folder.exists() && rig.daemon().is_none(),
        "nothing without a yes"
    );
    terminal.answer("Make it?", "y").await;
    terminal.see("ready").await;
    assert!(folder.is_dir());
    ask(&terminal, "hello").await;
    terminal.see("Here I am.").await;
    terminal.keys(&["C-d"]).await;
    assert_eq!(terminal.exit_code().await, 0);
    terminal.assert_restored().await;

    // Now the agent runs and the way to it is known: it is the agent that says what is missing.
    let other = rig.work().join("another");
    let terminal = open(&rig, &["--remote", &format!("box:{}", other.display())]).await;
    terminal.answer("Make it?", "y").await;
    terminal.see("ready").await;
    assert!(other.is_dir());
    terminal.keys(&["C-d"]).await;
    assert_eq!(terminal.exit_code().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_that_is_missing_stays_missing_when_the_person_says_no() {
    let (rig, folder, form) = without_workspace(Scenario::new()).await;
    let terminal = open(&rig, &["--remote", &form]).await;
    // By habit.
    terminal.answer("Make it?", "Enter").await;
    let screen = terminal.see("No connection to").await;
    assert!(screen.contains("does not exist"), "{screen}");
    assert!(!rig.work().join("not yet").exists());
    assert!(rig.daemon().is_none(), "no agent is started for nothing");
    // Made by hand meanwhile.
    fs::create_dir_all(&folder).unwrap();
    terminal.answer("No connection to", "r").await;
    terminal.see("ready").await;
    terminal.keys(&["C-d"]).await;
    assert_eq!(terminal.exit_code().await, 0);

    let terminal = open(&rig, &["--remote", &format!("box:{}/no", rig.work().display())]).await;
    terminal.answer("Make it?", "n").await;
    let screen = terminal.see("This session cannot be shown").await;
    assert!(screen.contains("does not exist"), "{screen}");
    assert!(!rig.work().join("no").exists());
    terminal.answer("This session cannot be shown", "q").await;
    terminal.exit_code().await;
    terminal.assert_restored().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_on_a_terminal_offers_to_make_the_workspace_too() {
    let (rig, folder, form) = without_workspace(Scenario::new().say("One.").say("Two.")).await;
    let other = rig.work().join("another");
    let warm = format!("box:{}", other.display());
    for (form, folder, words) in [(&form, &folder, "One."), (&warm, &other, "Two.")] {
        let terminal = Terminal::open(&rig.command(&["run", "--remote", form, "go"]), 200, 30).await;
        terminal.see("Make it? [y/N]").await;
        terminal.write("y").await;
        terminal.keys(&["Enter"]).await;
        terminal.see(words).await;
        assert_eq!(terminal.exit_code().await, 0);
        assert!(folder.is_dir());
    }
    let form = format!("{warm}/no");
    let terminal = Terminal::open(&rig.command(&["run", "--remote", &form, "go"]), 200, 30).await;
    terminal.see("Make it? [y/N]").await;
    terminal.keys(&["Enter"]).await;
    assert_eq!(terminal.exit_code().await, 2);
    terminal.see("hint: ").await;
    assert!(!other.join("no").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_key_names_file_line_and_both_keys_and_may_be_tried_again() {
    let rig = Rig::new(Scenario::new(), HostOptions::installed()).await;
    let right = fs::read_to_string(rig.known_hosts()).unwrap();
    let other = KeyPair::generate(KeyKind::Ed25519).unwrap().public();
    rig.trust(&other);
    let wrong = format!("# mine\n\n{}", fs::read_to_string(rig.known_hosts()).unwrap());
    fs::write(rig.known_hosts(), &wrong).unwrap();
    let terminal = open(&rig, &["--remote", "box"]).await;
    let screen = terminal.see("No connection to").await;
    let words = [
        "changed".to_owned(),
        rig.known_hosts().display().to_string(),
        "line 3".to_owned(),
        fingerprint(&other).await,
        fingerprint(&rig.sshd.host_keys()[0]).await,
        "try again".to_owned(),
        "quit".to_owned(),
    ];
    assert_says(&screen, &words.each_ref().map(String::as_str));
    // Nothing goes on behind the dialog, and trying again without a change comes to the same.
    terminal.answer("No connection to", "r").await;
    terminal.see("No connection to").await;
    assert_eq!(rig.proxy.connections(), 2);
    assert_eq!(fs::read_to_string(rig.known_hosts()).unwrap(), wrong);
    fs::write(rig.known_hosts(), &right).unwrap();
    terminal.answer("No connection to", "r").await;
    terminal.see("ready").await;
    terminal.keys(&["C-d"]).await;
    assert_eq!(terminal.exit_code().await, 0);
    terminal.assert_restored().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_machine_that_answers_a_reconnect_is_told_and_ends_with_its_code() {
    let scenario = Scenario::new().reply(Reply::new().say("Begun. ").gate("end").say("Ended."));
    let rig = Rig::new(scenario, HostOptions::installed()).await;
    let terminal = open(&rig, &["--remote", "box"]).await;
    terminal.see("ready").await;
    ask(&terminal, "go").await;
    terminal.see("Begun.").await;
    let impostor = rig.another_sshd().await;
    rig.proxy.retarget(impostor.address());
    rig.proxy.cut();
    let screen = terminal.see("No connection to").await;
    assert!(screen.contains("changed"), "{screen}");
    assert!(!impostor.log().contains("publickey"), "{}", impostor.log());
    // The real one is back.
    rig.proxy.retarget(rig.sshd.address());
    rig.model.gate("end").open();
    terminal.answer("No connection to", "r").await;
    terminal.see("Ended.").await;

    rig.proxy.retarget(impostor.address());
    rig.proxy.cut();
    terminal.see("No connection to").await;
    leave(&terminal, 4).await;
    let screen = terminal.screen().await;
    assert_says(&screen, &["reasonix attach --remote box"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_login_is_a_sentence_and_works_again_when_the_key_is_mended() {
    let rig = Rig::new(Scenario::new(), HostOptions::installed()).await;
    let key = rig.laptop().parent().unwrap().join("ssh/key");
    let right = fs::read(&key).unwrap();
    KeyPair::generate(KeyKind::Ed25519).unwrap().write(&key).unwrap();
    let terminal = open(&rig, &["--remote", "box"]).await;
    let screen = terminal.see("No connection to").await;
    assert_says(&screen, &[key.to_str().unwrap(), "try again", "quit"]);
    // One attempt: nothing dials again behind the dialog.
    assert_eq!(rig.proxy.connections(), 1);
    fs::write(&key, right).unwrap();
    terminal.answer("No connection to", "r").await;
    terminal.see("ready").await;
    terminal.keys(&["C-d"]).await;
    assert_eq!(terminal.exit_code().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_where_nothing_may_be_installed_says_so_and_stays_as_it_is() {
    let rig = Rig::new(Scenario::new(), HostOptions::default()).await;
    let config = rig.laptop().join(".reasonix/config.toml");
    edit(
        &config,
        "use_ssh_config = false",
        "use_ssh_config = false\ninstall = \"never\"",
    );
    let terminal = open(&rig, &["--remote", "box"]).await;
    let screen = terminal.see("No connection to").await;
    let words = [
        "no usable reasonix is installed",
        "install = \"auto\"",
        "try again",
        "quit",
    ];
    assert_says(&screen, &words);
    leave(&terminal, 5).await;
    assert!(!rig.programs().exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passphrase_is_asked_for_by_the_name_of_its_key_until_it_is_right() {
    let rig = Rig::new(Scenario::new(), HostOptions::installed()).await;
    let key = rig.laptop().parent().unwrap().join("ssh/key");
    let protect = stdx::process::command("/usr/bin/ssh-keygen")
        .args(["-q", "-p", "-P", "", "-N", "open sesame", "-f"])
        .arg(&key)
        .output()
        .await
        .unwrap();
    assert!(protect.status.success(), "{protect:?}");
    let terminal = open(&rig, &["--remote", "box"]).await;
    hears(&terminal, "Passphrase").await;
    let screen = terminal.screen().await;
    assert_says(&screen, &[key.to_str().unwrap()]);
    terminal.write("open barley").await;
    terminal.keys(&["Enter"]).await;
    hears(&terminal, "The last passphrase was wrong").await;
    let screen = terminal.screen().await;
    assert_says(&screen, &[key.to_str().unwrap()]);
    terminal.write("open sesame").await;
    terminal.keys(&["Enter"]).await;
    terminal.see("ready").await;
    // A reconnect does not ask again.
    let before = rig.proxy.connections();
    rig.proxy.cut();
    eventually("dialled again", || rig.proxy.connections() > before).await;
    terminal.see("ready").await;
    terminal.keys(&["C-d"]).await;
    assert_eq!(terminal.exit_code().await, 0);
    let everything = terminal.everything().await;
    assert!(!everything.contains("open "), "{everything}");
    assert!(!rig.sshd.log().contains("Failed"), "{}", rig.sshd.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn each_password_that_is_typed_is_one_attempt() {
    let login = vec![LoginStep::Password("correct horse".to_owned())];
    let host = Embedded::new(Scenario::new(), login).await;
    let terminal = Terminal::open(&host.command(&["--remote", "box"]), 100, 30).await;
    for question in ["Password for", "The last password was wrong"] {
        hears(&terminal, question).await;
        terminal.write("wrong horse").await;
        terminal.keys(&["Enter"]).await;
    }
    let passwords = || {
        let attempts = host.attempts();
        attempts
            .iter()
            .filter(|attempt| attempt.starts_with("password"))
            .count()
    };
    eventually("the second attempt", || passwords() == 2).await;
    hears(&terminal, "The last password was wrong").await;
    assert_eq!(passwords(), 2, "{:?}", host.attempts());
    terminal.write("correct horse").await;
    terminal.keys(&["Enter"]).await;
    terminal.see("ready").await;
    assert_eq!(passwords(), 3, "{:?}", host.attempts());
    terminal.keys(&["C-d"]).await;
    assert_eq!(terminal.exit_code().await, 0);
}

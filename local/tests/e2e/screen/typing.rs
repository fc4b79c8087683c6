//! What is typed and pasted arrives as it was.

use scripted_model::Scenario;

use super::{
    rig::Terminal,
    work::{ask, open},
};
use crate::local_rig::LocalRig;

async fn leave(terminal: &Terminal) {
    terminal.keys(&["C-d"]).await;
    assert_eq!(terminal.exit_code().await, 0);
    terminal.assert_restored().await;
}

/// Gives the newest text of the person in the newest request.
fn asked(rig: &LocalRig) -> String {
    let request = rig.model.requests().last().unwrap().clone();
    let messages = request.body["messages"].as_array().unwrap().clone();
    let message = messages
        .iter()
        .rfind(|message| message["role"] == "user")
        .unwrap();
    match &message["content"] {
        serde_json::Value::String(text) => text.clone(),
        parts => parts[0]["text"].as_str().unwrap().to_owned(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wide_and_combining_characters_are_typed_shown_and_sent() {
    let answer = "好的，我来看。 👩‍💻 e\u{301}";
    let rig = LocalRig::new(Scenario::new().say(answer)).await;
    let terminal = open(&rig, 60, 20).await;
    let text = "请修复测试 한국어 かな é";
    ask(&terminal, text).await;
    let screen = terminal.see("好的，我来看。").await;
    assert!(screen.contains(text), "{screen}");
    assert_eq!(asked(&rig), text);
    leave(&terminal).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wide_characters_wrap_whole_and_can_be_taken_back_one_by_one() {
    let rig = LocalRig::new(Scenario::new().say("Yes.")).await;
    let terminal = open(&rig, 30, 12).await;
    let text = "漢".repeat(40);
    terminal.write(&text).await;
    terminal
        .wait_for("forty characters", |screen| screen.matches('漢').count() == 40)
        .await;
    for _ in 0..10 {
        terminal.keys(&["BSpace"]).await;
    }
    terminal
        .wait_for("thirty characters", |screen| screen.matches('漢').count() == 30)
        .await;
    terminal.keys(&["Enter"]).await;
    terminal.see("Yes.").await;
    assert_eq!(asked(&rig), "漢".repeat(30));
    leave(&terminal).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_megabyte_is_pasted_as_a_block_and_arrives_whole() {
    let rig = LocalRig::new(Scenario::new().say("Read.")).await;
    let terminal = open(&rig, 100, 30).await;
    let line = "0123456789 abcdefghij klmnopqrst uvwxyz 漢字\n";
    let text = line.repeat(1024 * 1024 / line.len());
    terminal.write("Read this: ").await;
    terminal.paste(&text).await;
    let screen = terminal.see("[paste #1").await;
    assert!(!screen.contains("0123456789"), "{screen}");
    terminal.keys(&["Enter"]).await;
    terminal.see("Read.").await;
    let sent = asked(&rig);
    assert!(sent.starts_with("Read this: "), "{}", &sent[..40]);
    assert!(
        sent.contains(text.trim_end()),
        "{} of {} bytes",
        sent.len(),
        text.len()
    );
    leave(&terminal).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pasted_line_end_does_not_send() {
    let rig = LocalRig::new(Scenario::new().say("Both.")).await;
    let terminal = open(&rig, 100, 30).await;
    terminal.paste("one\ntwo\n").await;
    terminal.see("two").await;
    assert_eq!(rig.model.requests().len(), 0);
    terminal.keys(&["Enter"]).await;
    terminal.see("Both.").await;
    assert!(asked(&rig).starts_with("one\ntwo"), "{:?}", asked(&rig));
    leave(&terminal).await;
}

use link::{HostKeyQuestion, KnownKey, LinkState, SecretKind};
use protocol::{Command, OpenPrompt, PromptCommand, PromptKind, Question, QuestionOption, Reply};
use tokio::sync::oneshot;

use super::*;
use crate::testing::{Harness, approval, failure};

fn host_key(known: Vec<KnownKey>) -> (crate::Question, oneshot::Receiver<link::HostKeyAnswer>) {
    let (sender, receiver) = oneshot::channel();
    let question = HostKeyQuestion {
        host: "box".to_owned(),
        listed_as: "[10.0.0.7]:2222".to_owned(),
        algorithm: "ssh-ed25519".to_owned(),
        fingerprint: "SHA256:uNiVztksCsDhcc0u9e8BrrlXQwBBkDm1tYW8Jl1Pg4k".to_owned(),
        known_otherwise: known,
    };
    (crate::Question::HostKey(question, sender), receiver)
}

fn secret(round: u32, kind: SecretKind, instructions: &str, echo: bool) -> crate::Question {
    let (sample, _gone) = sample_secret();
    let crate::Question::Secret(question, sender) = sample else {
        panic!("another question");
    };
    let question = link::SecretQuestion {
        kind,
        round,
        instructions: instructions.to_owned(),
        echo,
        ..question
    };
    crate::Question::Secret(question, sender)
}

fn ask(questions: Vec<Question>) -> OpenPrompt {
    OpenPrompt {
        tool: "ask".to_owned(),
        scope: None,
        kind: PromptKind::Question { questions },
        ..approval(1, "")
    }
}

fn question() -> Question {
    let option = |label: &str, description: &str| QuestionOption {
        label: label.to_owned(),
        description: description.to_owned(),
    };
    Question {
        header: "Database".to_owned(),
        text: "Which database should the service use?".to_owned(),
        options: vec![
            option("SQLite", "One file, nothing to run."),
            option("PostgreSQL", ""),
        ],
        multi_select: false,
        free_text: false,
    }
}

fn several() -> Question {
    Question {
        multi_select: true,
        ..question()
    }
}

fn open_question() -> Question {
    Question {
        free_text: true,
        ..question()
    }
}

fn replies(harness: &Harness) -> Vec<Reply> {
    match harness.sent().last().map(|sent| sent.command.clone()) {
        Some(Command::Prompt(PromptCommand::Reply { replies, .. })) => replies,
        other => panic!("{other:?}"),
    }
}

#[test]
fn approval_is_shown_with_what_it_is_about() {
    let harness = Harness::new(80, 24)
        .turn(1, "run the tests")
        .asks("cargo test --workspace\nrm -rf target");
    insta::assert_snapshot!("approval", harness.screen());
    let sent = harness.keys("a").sent();
    let answer = PromptCommand::Answer {
        prompt: protocol::PromptId(1),
        answer: protocol::Answer::AllowSession,
    };
    assert_eq!(sent[0].command, Command::Prompt(answer));
}

#[test]
fn a_long_command_scrolls_and_nothing_in_it_steers_the_terminal() {
    let command: Vec<String> = (1..=40)
        .map(|line| format!("step {line} \u{1b}[31m\u{202e}"))
        .collect();
    let harness = Harness::new(60, 16).turn(1, "work").asks(&command.join("\n"));
    let first = harness.screen();
    assert!(
        !first.contains('\u{1b}') && !first.contains('\u{202e}'),
        "{first:?}"
    );
    assert!(
        first.contains("step 1 ") && !first.contains("step 40") && first.contains("more lines"),
        "{first}"
    );
    let last = harness.keys("<end>").screen();
    assert!(last.contains("step 40"), "{last}");
}

#[test]
fn without_a_scope_there_is_no_answer_for_the_session() {
    let prompt = OpenPrompt {
        scope: None,
        ..approval(1, "ls")
    };
    let harness = Harness::new(80, 24).turn(1, "work").prompts(prompt).after(1000);
    assert!(!harness.screen().contains("for this session"));
    let harness = harness.keys("a2");
    assert!(harness.sent().is_empty() && !harness.model.overlays.is_empty());
}

#[test]
fn a_question_is_answered_by_a_number_or_in_own_words() {
    let begin = || {
        Harness::new(80, 24)
            .turn(1, "set it up")
            .prompts(ask(vec![open_question()]))
            .after(1000)
    };
    insta::assert_snapshot!("question", begin().keys("<down>").screen());
    assert_eq!(replies(&begin().keys("2")), [Reply::option("PostgreSQL")]);
    assert_eq!(
        replies(&begin().keys("<down><enter>")),
        [Reply::option("PostgreSQL")]
    );
    let typing = begin().keys("<down><down>both, j and k");
    insta::assert_snapshot!("question_in_own_words", typing.screen());
    assert_eq!(replies(&typing.keys("<enter>")), [Reply::words("both, j and k")]);
    let declined = begin().keys("<esc>").sent();
    let deny = PromptCommand::Answer {
        prompt: protocol::PromptId(1),
        answer: protocol::Answer::Deny,
    };
    assert_eq!(declined[0].command, Command::Prompt(deny));
}

#[test]
fn several_may_be_chosen_and_questions_follow_each_other() {
    let harness = Harness::new(80, 24)
        .turn(1, "set it up")
        .prompts(ask(vec![several(), question()]))
        .after(1000)
        .keys("<space><down><space>");
    insta::assert_snapshot!("question_multiple", harness.screen());
    let harness = harness.keys("<enter>");
    assert!(harness.sent().is_empty());
    let harness = harness.keys("<enter>");
    let both = Reply {
        chosen: vec!["SQLite".to_owned(), "PostgreSQL".to_owned()],
        text: None,
    };
    assert_eq!(replies(&harness), [both, Reply::option("SQLite")]);
}

#[test]
fn an_unknown_host_key_is_refused_unless_a_person_says_otherwise() {
    let answered = |keys: &str| {
        let (question, mut answer) = host_key(Vec::new());
        let harness = Harness::new(80, 24).question(question).after(1000).keys(keys);
        assert!(harness.model.overlays.is_empty());
        answer.try_recv().unwrap()
    };
    assert_eq!(answered("r"), link::HostKeyAnswer::Remember);
    assert_eq!(answered("o"), link::HostKeyAnswer::Once);
    assert_eq!(answered("<enter>"), link::HostKeyAnswer::Refuse);
    assert_eq!(answered("<esc>"), link::HostKeyAnswer::Refuse);
    // What OpenSSH wants typed trusts nothing here and leaves nothing for the composer.
    assert_eq!(answered("yes<enter>"), link::HostKeyAnswer::Refuse);
    let (question, _answer) = host_key(Vec::new());
    insta::assert_snapshot!("host_key", Harness::new(80, 24).question(question).screen());
    let known = KnownKey {
        algorithm: "ssh-rsa".to_owned(),
        fingerprint: "SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8".to_owned(),
        file: "/home/me/.ssh/known_hosts".into(),
        line: 12,
    };
    let (question, _answer) = host_key(vec![known]);
    insta::assert_snapshot!(
        "host_key_known_otherwise",
        Harness::new(80, 24).question(question).screen()
    );
}

#[test]
fn ctrl_c_refuses_a_host_key_and_goes_on() {
    let (question, mut answer) = host_key(Vec::new());
    let harness = Harness::new(80, 24).question(question).keys("<ctrl+c>");
    assert!(answer.try_recv().is_err(), "a dropped sender is a refusal");
    assert!(harness.model.overlays.is_empty() && !harness.quits());
}

#[test]
fn a_password_is_not_shown() {
    let (question, mut answer) = sample_secret();
    let harness = Harness::new(80, 24)
        .question(question)
        .after(1000)
        .keys("hunter2<backspace>3");
    let screen = harness.screen();
    insta::assert_snapshot!("password", screen);
    assert!(!screen.contains("hunter"));
    let harness = harness.keys("<enter>");
    assert_eq!(
        answer
            .try_recv()
            .unwrap()
            .map(|secret| secret.expose().to_owned()),
        Some("hunter3".to_owned())
    );
    assert!(!harness.screen().contains("hunter"));
}

#[test]
fn what_a_host_says_beside_its_question_is_made_safe() {
    let instructions = "Enter the code\u{1b}]0;title\u{7} of \u{202e}your token";
    let question = secret(2, SecretKind::Challenge, instructions, true);
    let harness = Harness::new(80, 24).question(question);
    // Its asker is gone, so it is away with the next look; it is drawn before that.
    let screen = harness.screen();
    assert!(screen.contains("The host asks again"), "{screen}");
    assert!(!screen.contains('\u{1b}') && !screen.contains('\u{202e}'));
    let passphrase = SecretKind::Passphrase {
        file: "/home/me/.ssh/id_ed25519".into(),
    };
    let screen = Harness::new(80, 24)
        .question(secret(1, passphrase, "", false))
        .screen();
    assert!(screen.contains("/home/me/.ssh/id_ed25519"), "{screen}");
}

#[test]
fn leaving_with_a_running_turn_is_confirmed() {
    let harness = Harness::new(80, 24).turn(1, "work").keys("<ctrl+d>");
    insta::assert_snapshot!("confirm_leaving", harness.screen());
    assert!(!harness.keys("<enter>").quits());
}

#[test]
fn full_access_is_confirmed() {
    insta::assert_snapshot!(
        "confirm_full_access",
        Harness::new(80, 24).keys("<ctrl+y>").screen()
    );
}

#[test]
fn the_link_may_ask_yes_or_no() {
    let (sender, mut answer) = oneshot::channel();
    let question = crate::Question::Confirm("Replace the program on the host?".to_owned(), sender);
    let harness = Harness::new(80, 24).question(question).after(1000).keys("y");
    assert_eq!(answer.try_recv(), Ok(true));
    assert!(harness.model.overlays.is_empty());
}

#[test]
fn a_failed_link_is_told_in_a_sentence_with_a_choice() {
    let harness = Harness::new(80, 24).link(LinkState::Failed(failure()));
    insta::assert_snapshot!("failure", harness.screen());
}

#[test]
fn sessions_and_help_cover_the_screen() {
    let harness = Harness::new(80, 24).keys("?");
    assert!(harness.screen().contains("/resume"), "{}", harness.screen());
    let harness = harness.keys("<esc>");
    assert!(harness.model.overlays.is_empty());
}

#[test]
fn pastes_go_into_fields_and_small_screens_are_drawn() {
    let (question, mut answer) = sample_secret();
    let harness = Harness::new(80, 24)
        .question(question)
        .after(1000)
        .paste("pasted secret\nrest");
    let sizes = [(0, 0), (1, 1), (2, 9), (9, 2), (12, 5)];
    let harness = sizes.iter().fold(harness, |harness, (width, height)| {
        let harness = harness.resize(*width, *height);
        drop(harness.screen());
        harness
    });
    drop(harness.keys("<enter>"));
    let secret = answer.try_recv().unwrap().unwrap();
    assert_eq!(secret.expose(), "pasted secret");
}

use std::time::Duration;

use link::LinkState;
use protocol::{
    Answer, Command, CommandId, ErrorBody, ErrorCode, Event, Outcome, Preset, PromptCommand, PromptEvent,
    PromptId, SessionCommand, SessionEvent, TurnCommand, TurnEvent, TurnId, UsageView,
};

use super::*;
use crate::{
    Opening,
    msg::SessionNews,
    testing::{Harness, approval, broken, failure, live, options},
};

fn texts(harness: &Harness) -> Vec<String> {
    let sent = harness.sent().into_iter();
    sent.filter_map(|request| match request.command {
        Command::Turn(TurnCommand::Submit { text, .. }) => Some(text),
        _ => None,
    })
    .collect()
}

fn waiting() -> LinkState {
    LinkState::Waiting {
        next_try: stdx::clock::monotonic() + Duration::from_secs(5),
        cause: failure(),
        attempts: 1,
    }
}

fn ended(outcome: Outcome) -> Event {
    Event::Turn(TurnEvent::Ended {
        turn: TurnId(1),
        outcome,
        usage: UsageView::default(),
    })
}

#[test]
fn what_is_typed_before_the_link_is_live_is_sent_once_when_it_is() {
    let state = LinkState::Connecting(link::Stage::Dialing);
    let harness = Harness::with(&options(), Some("box"), state, (80, 24)).keys("one<enter>two<enter>");
    assert!(texts(&harness).is_empty());
    let screen = harness.screen();
    assert!(screen.contains("one") && screen.contains("two"), "{screen}");
    let harness = harness.link(live()).open();
    assert_eq!(texts(&harness), ["one"]);
    let harness = harness.receipt(5);
    assert_eq!(texts(&harness), ["one", "two"]);
}

#[test]
fn a_submit_without_receipt_is_sent_again_with_its_id() {
    let harness = Harness::new(80, 24).keys("one<enter>");
    let first = harness.sent();
    let harness = harness.link(waiting()).undelivered(broken());
    assert_eq!(harness.sent().len(), 1, "nothing is sent while the link is down");
    assert!(harness.screen().contains("one"));
    let harness = harness.link(live());
    assert_eq!(harness.sent(), [first.clone(), first].concat());
    // Its event comes, and it is in the transcript once.
    let harness = harness.turn(1, "one");
    assert_eq!(harness.screen().matches("one").count(), 1, "{}", harness.screen());
}

#[test]
fn a_refused_submit_comes_back_into_the_composer() {
    let refusal = ErrorBody::new(ErrorCode::TooLarge, "the request is too large").hint("shorten it");
    let harness = Harness::new(80, 24)
        .keys("one<enter>")
        .undelivered(client::Error::Agent(refusal));
    let screen = harness.screen();
    assert!(
        screen.contains("Not sent: the request is too large") && screen.contains("shorten it"),
        "{screen}"
    );
    assert!(!harness.model.composer.is_empty());
    assert_eq!(harness.model.outbox.undelivered(), 0);
}

#[test]
fn ctrl_c_goes_down_the_ladder() {
    let harness = Harness::new(80, 24).turn(1, "work").keys("draft<ctrl+c>");
    let cancel = Command::Turn(TurnCommand::Cancel { turn: TurnId(1) });
    assert_eq!(
        harness.sent().last().map(|sent| sent.command.clone()),
        Some(cancel)
    );
    assert!(harness.status().contains("stopping"), "{}", harness.status());
    // The agent does not react; the next presses do not wait for it.
    let harness = harness.keys("<ctrl+c>");
    assert!(harness.model.composer.is_empty() && !harness.quits());
    let harness = harness.keys("<ctrl+c>");
    assert!(
        harness.status().contains("Ctrl-C again leaves"),
        "{}",
        harness.status()
    );
    // A turn still runs: leaving says so first, and the same key confirms.
    let harness = harness.keys("<ctrl+c>");
    assert!(!harness.quits());
    let screen = harness.screen();
    assert!(screen.contains("running on box, and goes on there"), "{screen}");
    assert!(
        screen.contains("Come back with: reasonix attach --remote box"),
        "{screen}"
    );
    assert!(harness.keys("<ctrl+c>").quits());
}

#[test]
fn ctrl_c_leaves_while_connecting_and_late_second_presses_do_not() {
    let state = LinkState::Connecting(link::Stage::Dialing);
    let begin = || Harness::with(&options(), Some("box"), state.clone(), (80, 24));
    assert!(begin().keys("<ctrl+c><ctrl+c>").quits());
    assert!(!begin().keys("<ctrl+c>").after(2000).keys("<ctrl+c>").quits());
    assert!(!begin().keys("<ctrl+c>x<ctrl+c><ctrl+c>").quits());
    assert!(begin().keys("<ctrl+d>").quits());
    // What is typed and not delivered is named before it is lost.
    let typed = begin().keys("task<enter><ctrl+d>");
    assert!(!typed.quits());
    assert!(typed.screen().contains("has not reached the agent"));
    assert!(typed.keys("y").quits());
}

#[test]
fn ctrl_c_in_a_question_stops_the_turn_and_answers_nothing() {
    let harness = Harness::new(80, 24)
        .turn(1, "work")
        .asks("rm -r target")
        .keys("<ctrl+c>");
    let sent = harness.sent();
    assert_eq!(sent.len(), 1);
    assert_eq!(
        sent[0].command,
        Command::Turn(TurnCommand::Cancel { turn: TurnId(1) })
    );
    let withdrawn = PromptEvent::Withdrawn {
        prompt: PromptId(1),
        reason: "the turn was cancelled".to_owned(),
    };
    let harness = harness.agent(Event::Prompt(withdrawn));
    assert!(harness.model.overlays.is_empty());
}

#[test]
fn typing_ahead_approves_nothing() {
    let harness = Harness::new(80, 24).turn(1, "work").prompts(approval(1, "rm"));
    // Each key makes the dialog wait anew: somebody is typing.
    let harness = harness.keys("y").after(200).keys("<enter>").after(299).keys("a");
    assert!(harness.sent().is_empty() && !harness.model.overlays.is_empty());
    let harness = harness.after(300).keys("<enter>");
    let answer = PromptCommand::Answer {
        prompt: PromptId(1),
        answer: Answer::AllowOnce,
    };
    assert_eq!(harness.sent()[0].command, Command::Prompt(answer));
    // It is gone at once and does not come back while its answer is on its way.
    assert!(harness.model.overlays.is_empty());
    let harness = harness.streams(7, 0, "meanwhile");
    assert!(harness.model.overlays.is_empty());
}

#[test]
fn the_rest_of_a_password_is_no_prompt_when_its_question_goes_away() {
    let (question, answer) = crate::overlays::sample_secret();
    let harness = Harness::new(80, 24).question(question).after(300).keys("hunt");
    drop(answer);
    // The next thing that happens takes the dialog away; the person types on, without looking.
    let harness = harness.msg(Msg::Tick);
    assert!(harness.model.overlays.is_empty());
    let harness = harness.keys("er").after(1400).keys("2<enter>").paste("3");
    assert!(harness.model.composer.is_empty() && harness.sent().is_empty());
    let harness = harness.after(1500).keys("hello");
    assert!(harness.screen().contains("hello"));
    // One that nothing was typed into takes nothing with it.
    let (question, answer) = crate::overlays::sample_secret();
    let harness = Harness::new(80, 24).question(question).after(300);
    drop(answer);
    let harness = harness.msg(Msg::Tick).keys("hello");
    assert!(harness.screen().contains("hello"));
}

#[test]
fn an_approval_shows_what_cannot_be_seen() {
    let harness = Harness::new(80, 24)
        .turn(1, "work")
        .prompts(approval(1, "rm\u{200b} -rf a"));
    assert!(harness.screen().contains("│ rm\u{fffd} -rf a"));
}

#[test]
fn questions_come_one_after_the_other_and_close_when_answered_elsewhere() {
    let harness = Harness::new(80, 24)
        .turn(1, "work")
        .asks("first command")
        .prompts(approval(2, "second command"));
    assert!(harness.screen().contains("first command"));
    let answered = PromptEvent::Answered {
        prompt: PromptId(1),
        answer: Answer::AllowOnce,
        replies: Vec::new(),
        command: CommandId::fresh(),
    };
    let harness = harness.agent(Event::Prompt(answered));
    let screen = harness.screen();
    assert!(screen.contains("second command") && !screen.contains("first command"));
    let harness = harness.after(1000).keys("n").after(0);
    assert!(harness.screen().contains("answered from elsewhere: allowed once"));
}

#[test]
fn full_access_is_asked_for_and_left_without_asking() {
    let preset = |harness: &Harness| match harness.sent().last().map(|sent| sent.command.clone()) {
        Some(Command::Session(SessionCommand::SetPreset { preset })) => Some(preset),
        _ => None,
    };
    let changed = |preset| {
        Event::Session(SessionEvent::PresetChanged {
            preset,
            command: CommandId::fresh(),
        })
    };
    let harness = Harness::new(80, 24).keys("<shift+tab>");
    assert!(harness.screen().contains("Full access?"));
    assert_eq!(preset(&harness), None);
    let harness = harness.keys("<enter>");
    assert_eq!(
        (preset(&harness), harness.model.overlays.is_empty()),
        (None, true)
    );
    let harness = harness.keys("<ctrl+y>y");
    assert_eq!(preset(&harness), Some(Preset::DangerFullAccess));
    let harness = harness.agent(changed(Preset::DangerFullAccess));
    assert!(harness.status().contains("FULL ACCESS"));
    let harness = harness.keys("<ctrl+y>");
    assert_eq!(preset(&harness), Some(Preset::WorkspaceWrite));
    let harness = harness
        .agent(changed(Preset::DangerFullAccess))
        .keys("<shift+tab>");
    assert_eq!(preset(&harness), Some(Preset::ReadOnly));
}

#[test]
fn a_failed_link_gives_a_choice_and_goes_when_it_is_live_again() {
    let harness = Harness::new(80, 24)
        .link(LinkState::Failed(failure()))
        .after(1000);
    assert!(harness.screen().contains("No connection to box"));
    let harness = harness.keys("r");
    assert!(
        harness
            .effects
            .iter()
            .any(|effect| matches!(effect, Effect::Retry))
    );
    let harness = harness.link(LinkState::Failed(failure())).link(live());
    assert!(harness.model.overlays.is_empty());
    let harness = harness
        .link(LinkState::Failed(failure()))
        .after(1000)
        .keys("<esc>still typing");
    assert!(harness.screen().contains("still typing") && !harness.quits());
    let harness = harness.link(LinkState::Failed(failure())).after(1000).keys("q");
    let why = harness.effects.iter().find_map(|effect| match effect {
        Effect::Quit(why) => Some(why),
        _ => None,
    });
    assert!(matches!(why, Some(crate::Why::Failed(_))));
}

#[test]
fn a_link_that_failed_before_there_was_a_screen_is_told_about() {
    let harness = Harness::with(&options(), Some("box"), LinkState::Failed(failure()), (80, 24));
    assert!(harness.screen().contains("No connection to box"));
}

#[test]
fn what_is_sent_after_the_end_of_a_session_begins_a_new_one() {
    let harness = Harness::new(80, 24)
        .news(SessionNews::Closed)
        .keys("again<enter>");
    assert_ne!(harness.model.session.id(), crate::testing::session());
    let screen = harness.screen();
    assert!(
        screen.contains("this is a new one") && screen.contains("again"),
        "{screen}"
    );
    // In the same folder, and sent once it is open.
    let folder = harness.model.session.wanted.open.workspace.clone();
    assert_eq!(folder.as_deref(), Some("/srv/app"));
    assert!(texts(&harness).is_empty());
}

#[test]
fn a_question_whose_asker_gave_up_goes_away() {
    let (question, answer) = crate::overlays::sample_secret();
    let harness = Harness::new(80, 24).question(question);
    assert!(!harness.model.overlays.is_empty());
    drop(answer);
    let harness = harness.link(waiting());
    assert!(harness.model.overlays.is_empty());
}

#[test]
fn picking_opens_what_was_picked_or_a_new_session() {
    let mut picking = options();
    picking.opening = Opening::Pick;
    let begin = || Harness::with(&picking, Some("box"), live(), (80, 24));
    let harness = begin();
    assert!(matches!(harness.effects.as_slice(), [Effect::ListSessions]));
    let info = |title: &str| protocol::SessionInfo {
        held_by: None,
        session: crate::testing::session(),
        workspace: "/srv/app".to_owned(),
        title: title.to_owned(),
        changed_at: 0,
        phase: None,
        turns: Some(1),
    };
    let list = || Msg::Done(Done::Sessions(Ok(vec![info("fix the test")])));
    let harness = harness.msg(list());
    assert!(harness.screen().contains("fix the test"));
    let harness = harness.keys("<enter>");
    assert_eq!(harness.model.session.id(), crate::testing::session());
    assert!(matches!(harness.effects.last(), Some(Effect::Follow(_))));
    let harness = begin().msg(list()).keys("<esc>");
    assert_ne!(harness.model.session.id(), crate::testing::session());
    assert!(matches!(harness.effects.last(), Some(Effect::Follow(_))));
    // Nothing to pick from.
    let harness = begin().msg(Msg::Done(Done::Sessions(Ok(Vec::new()))));
    assert!(matches!(harness.effects.last(), Some(Effect::Follow(_))));
}

#[test]
fn a_turn_that_failed_leaves_the_screen_ready() {
    let outcome = Outcome::Failed {
        kind: "model_access".to_owned(),
        message: "the provider refused the key".to_owned(),
        hint: Some("reasonix key".to_owned()),
    };
    let harness = Harness::new(80, 24).turn(1, "work").agent(ended(outcome));
    assert!(harness.status().contains("ready"), "{}", harness.status());
    assert!(harness.screen().contains("refused the key"));
}

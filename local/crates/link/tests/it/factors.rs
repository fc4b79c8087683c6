//! Hosts that ask for a code each time somebody logs in.

use std::sync::{Arc, Mutex};

use link::{Answer, ErrorKind, Link, LinkState, NetworkChange, Patience, Prompter, SecretQuestion};
use stdx::Secret;
use tokio::sync::{Semaphore, watch};
use transport::testing::{LoginStep, Question};

use crate::bench::{Bench, PATIENCE, live, state};

/// Somebody with a code, who answers when the test lets them.
struct Person {
    questions: watch::Sender<Vec<SecretQuestion>>,
    lets: Semaphore,
    answer: Mutex<Option<&'static str>>,
}

impl Person {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            questions: watch::Sender::default(),
            lets: Semaphore::new(0),
            answer: Mutex::new(Some("123456")),
        })
    }

    fn asked(&self) -> usize {
        self.questions.borrow().len()
    }

    async fn wait_asked(&self, times: usize) {
        let mut questions = self.questions.subscribe();
        let asked = questions.wait_for(|questions| questions.len() >= times);
        drop(tokio::time::timeout(PATIENCE, asked).await.unwrap().unwrap());
    }
}

impl Prompter for Person {
    fn secret<'a>(&'a self, question: &'a SecretQuestion) -> Answer<'a, Option<Secret>> {
        self.questions
            .send_modify(|questions| questions.push(question.clone()));
        Box::pin(async {
            self.lets.acquire().await.unwrap().forget();
            self.answer.lock().unwrap().map(Secret::new)
        })
    }
}

async fn with_code() -> (Bench, Arc<Person>) {
    let question = Question {
        prompt: "Code: ".into(),
        echo: false,
        answer: "123456".into(),
    };
    let mut bench = Bench::with(|options| {
        options.login = vec![LoginStep::PublicKey, LoginStep::Questions(vec![vec![question]])];
    })
    .await;
    let person = Person::new();
    bench.prompter = Arc::<Person>::clone(&person);
    (bench, person)
}

async fn prompting(link: &Link) {
    state(link, "a question", |state| matches!(state, LinkState::Prompting)).await;
}

/// How often a code was asked for, as the server has it.
fn codes(bench: &Bench) -> usize {
    let crate::bench::Server::Embedded(server) = &bench.server else {
        panic!("the embedded one")
    };
    server
        .attempts()
        .iter()
        .filter(|attempt| *attempt == "keyboard-interactive")
        .count()
}

#[tokio::test]
async fn after_a_drop_a_code_is_asked_for_once_and_the_question_says_why() {
    let (bench, person) = with_code().await;
    person.lets.add_permits(1);
    let (link, _) = bench.live().await;
    assert_eq!(
        person.questions.borrow()[0].instructions,
        "round 1",
        "nothing was lost yet"
    );
    bench.proxy.cut();
    person.wait_asked(2).await;
    prompting(&link).await;
    let why = person.questions.borrow()[1].instructions.clone();
    assert!(why.starts_with("The connection to testhost was lost ("), "{why}");
    assert!(why.ends_with("To connect again it asks anew.\nround 1"), "{why}");
    person.lets.add_permits(1);
    live(&link).await;
    assert_eq!((person.asked(), codes(&bench)), (2, 2));
    // What else uses the host does it on this connection.
    link.agent().hello().await.unwrap();
    let out = link
        .connection()
        .unwrap()
        .exec("true")
        .await
        .unwrap()
        .wait()
        .await
        .unwrap();
    assert!(out.success());
    assert_eq!(codes(&bench), 2);
}

#[tokio::test]
async fn a_code_that_nobody_types_costs_one_attempt() {
    let (bench, person) = with_code().await;
    person.lets.add_permits(1);
    let (link, _) = bench.live().await;
    bench.proxy.cut();
    person.wait_asked(2).await;
    prompting(&link).await;
    // Nothing that happens to this machine dials again over the head of who is being asked.
    link.woke();
    for change in [
        NetworkChange::Moved,
        NetworkChange::Elsewhere,
        NetworkChange::Moved,
    ] {
        link.network_changed(change);
    }
    link.retry_now();
    let patience = Patience::For(std::time::Duration::from_millis(300));
    link.wait_live(patience).await.unwrap_err();
    assert!(matches!(&*link.states().borrow(), LinkState::Prompting));
    assert_eq!(
        (person.asked(), codes(&bench), bench.proxy.connections()),
        (2, 2, 2)
    );
}

#[tokio::test]
async fn where_nobody_can_answer_the_link_waits_for_a_person_and_says_so() {
    let (bench, person) = with_code().await;
    person.lets.add_permits(10);
    let (link, _) = bench.live().await;
    // The person leaves.
    *person.answer.lock().unwrap() = None;
    bench.proxy.cut();
    let failed = state(&link, "failure", |state| matches!(state, LinkState::Failed(_))).await;
    let cause = failed.cause().unwrap();
    let ErrorKind::Ssh(error) = cause.kind() else {
        panic!("{cause}")
    };
    assert_eq!(error.kind(), transport::ErrorKind::NeedsPerson);
    assert_eq!(cause.exit_class().code(), 4);
    assert!(cause.to_string().contains("Code:"), "{cause}");
    link.woke();
    link.network_changed(NetworkChange::Moved);
    link.wait_live(Patience::FirstTry).await.unwrap_err();
    assert_eq!((codes(&bench), bench.proxy.connections()), (2, 2));
    // The person is back.
    *person.answer.lock().unwrap() = Some("123456");
    link.retry_now();
    live(&link).await;
}

#[tokio::test]
async fn a_remembered_password_that_is_refused_is_forgotten_and_asked_for_once() {
    let mut bench = Bench::with(|options| options.login = vec![LoginStep::Password("123456".into())]).await;
    let person = Person::new();
    bench.prompter = Arc::<Person>::clone(&person);
    let options = bench.options();
    let link::Host::Resolved(resolved) = &options.host else {
        panic!("resolved by hand")
    };
    let endpoint = resolved.endpoint.clone();
    let old = Secret::new("the one of before");
    options
        .ssh
        .secrets
        .remember_password(&endpoint.user, &endpoint.host_name, endpoint.port, old);
    person.lets.add_permits(1);
    let link = Link::open(options, &bench.scope);
    live(&link).await;
    assert_eq!((person.asked(), bench.server.logins()), (1, 2));
    bench.proxy.cut();
    state(&link, "loss", |state| !state.is_live()).await;
    live(&link).await;
    assert_eq!((person.asked(), bench.server.logins()), (1, 3));
    // Whoever goes offline takes the password along.
    link.disconnect();
    state(&link, "offline", |state| matches!(state, LinkState::Offline)).await;
    person.lets.add_permits(1);
    link.retry_now();
    live(&link).await;
    assert_eq!((person.asked(), bench.server.logins()), (2, 4));
}

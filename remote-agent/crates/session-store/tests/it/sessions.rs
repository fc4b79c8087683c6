//! Finding and listing sessions.

use std::fs;

use session_store::{LINE_MAX, Log, Record, Sessions, StoreError, record::SessionRecord};
use stdx::AbsPath;

use crate::samples::{
    AT, by, call_finished, ended, folder, opened, partial, scenario, started, submitted, write_all,
};

const A: &str = "0190b1c2-0000-7000-8000-00000000000a";
const B: &str = "0190b1c2-0000-7000-8000-00000000000b";
const C: &str = "0290b1c2-0000-7000-8000-00000000000c";

fn workspace(path: &str) -> AbsPath {
    AbsPath::new(path).unwrap()
}

fn write_session(sessions: &Sessions, path: &str, id: &str, records: &[Record]) -> Log {
    let session = sessions.create(&workspace(path), id).unwrap();
    let mut log = Log::create(&session.path).unwrap();
    write_all(&mut log, records);
    log
}

#[test]
fn sessions_are_found_by_id_and_by_unique_prefix() {
    let folder = folder();
    let sessions = Sessions::new(folder.path().join("sessions"));
    assert_eq!(sessions.list().unwrap(), []);
    for (path, id) in [("/srv/app", A), ("/srv/app", B), ("/srv/汉字", C)] {
        let made = sessions.create(&workspace(path), &id.to_uppercase()).unwrap();
        assert_eq!(made, sessions.create(&workspace(path), id).unwrap());
        assert_eq!(sessions.get(id).unwrap(), Some(made.clone()));
        assert_eq!(sessions.find(&id.to_uppercase()).unwrap(), made);
    }
    assert_eq!(sessions.find("029").unwrap().id, C);
    let error = sessions.find("0190B1").unwrap_err();
    assert!(
        matches!(&error, StoreError::Ambiguous { matches, .. } if *matches == [A, B]),
        "{error}"
    );
    for wanted in ["", "ff", "..", "0190b1c2-0000-7000-8000-00000000000a/.."] {
        assert!(
            matches!(sessions.find(wanted), Err(StoreError::NoSession(_))),
            "{wanted:?}"
        );
    }
    for id in ["", "..", "../../etc", "0190"] {
        assert!(
            matches!(
                sessions.create(&workspace("/srv/app"), id),
                Err(StoreError::BadId(_))
            ),
            "{id:?}"
        );
        assert!(matches!(sessions.get(id), Err(StoreError::BadId(_))), "{id:?}");
    }
}

#[test]
fn a_list_tells_titles_times_and_open_turns_and_skips_what_is_no_session() {
    let folder = folder();
    let sessions = Sessions::new(folder.path());
    write_session(&sessions, "/srv/app", A, &scenario());
    let closed = Record::Session(SessionRecord::Closed { by: by("c") });
    let done = [opened(), submitted(1, "all\n done"), started(1), ended(1), closed];
    write_session(&sessions, "/srv/other", B, &done);
    sessions.create(&workspace("/srv/app"), C).unwrap();
    fs::create_dir_all(folder.path().join("-srv-app/not-a-session")).unwrap();
    fs::write(folder.path().join("stray"), "").unwrap();
    let list = sessions.list().unwrap();
    let ids: Vec<&str> = list.iter().map(|summary| summary.session.id.as_str()).collect();
    assert_eq!(ids, [A, B], "what never began is no session");
    assert_eq!([list[0].turns, list[1].turns], [Some(3), Some(1)]);
    assert_eq!(list[0].title.as_deref(), Some("fix the test 👩‍💻"));
    assert_eq!(list[0].workspace.as_deref(), Some("/srv/app"));
    assert_eq!(
        (list[0].opened_at, list[0].last_at, list[0].last),
        (Some(AT), Some(AT + 39), 40)
    );
    assert!(list[0].open_turn && !list[0].closed);
    assert_eq!(list[1].title.as_deref(), Some("all done"));
    assert!(!list[1].open_turn && list[1].closed);
    assert_eq!(sessions.list_in(&workspace("/srv/other")).unwrap(), list[1..2]);
    assert_eq!(sessions.list_in(&workspace("/nowhere")).unwrap(), []);
}

#[test]
fn titles_are_cut_at_characters_whatever_their_width() {
    for text in ["汉", "é", "👩‍💻", "a汉", "ab👩"] {
        let folder = folder();
        let sessions = Sessions::new(folder.path());
        write_session(
            &sessions,
            "/srv/app",
            A,
            &[opened(), submitted(1, &text.repeat(100))],
        );
        let list = sessions.list().unwrap();
        let title = list[0].title.as_ref().unwrap();
        assert!(
            title.len() <= 80 && title.len() > 70 && title.ends_with('…'),
            "{title}"
        );
        assert!(
            text.repeat(100).starts_with(title.trim_end_matches('…')),
            "{title}"
        );
        assert!(list[0].open_turn);
    }
}

#[test]
fn a_list_is_right_for_long_logs_large_first_messages_and_damaged_ends() {
    let folder = folder();
    let sessions = Sessions::new(folder.path());
    let mut records = vec![opened(), submitted(1, &"long ".repeat(LINE_MAX)), started(1)];
    records.extend((0..40).map(|n| call_finished(1, n, 0, &"x".repeat(LINE_MAX - 1000))));
    records.push(partial(1, 1, 0, "end"));
    let log = write_session(&sessions, "/srv/app", A, &records);
    let path = sessions.get(A).unwrap().unwrap().path.join("log.jsonl");
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend(b"{\"v\":1,\"n\":45,\"at\"");
    fs::write(&path, bytes).unwrap();
    let list = sessions.list().unwrap();
    assert!(list[0].title.as_ref().unwrap().starts_with("long long"));
    assert_eq!((list[0].last, list[0].open_turn), (log.last(), true));
    assert_eq!(list[0].last_at, Some(AT + log.last() - 1));
    assert_eq!(list[0].turns, Some(1));
}

#[test]
fn only_sessions_with_a_whole_line_are_listed_and_unreadable_ones_are_not_hidden() {
    let folder = folder();
    let sessions = Sessions::new(folder.path());
    let log = |id: &str, text: &[u8]| {
        let session = sessions.create(&workspace("/srv/app"), id).unwrap();
        fs::write(session.path.join("log.jsonl"), text).unwrap();
    };
    let listed = || {
        let list = sessions.list().unwrap();
        list.into_iter()
            .map(|summary| (summary.session.id, summary.turns))
            .collect::<Vec<_>>()
    };
    for torn in [&b""[..], b"{\"v\":1,\"n\":1,\"at\""] {
        log(A, torn);
        assert_eq!(listed(), []);
    }
    log(A, b"not a record at all\n");
    assert_eq!(listed(), [(A.to_owned(), Some(0))], "damage is shown, not hidden");
    write_session(&sessions, "/srv/app", B, &[opened()]);
    assert_eq!(listed()[0], (B.to_owned(), Some(0)));
}

//! One line of each record kind, byte for byte. A file here is never changed: old logs must go on decoding. A new
//! form of a kind gets a new file.

use std::{collections::BTreeSet, fs, path::PathBuf};

use session_store::{Log, Record};

use crate::samples::{AT, folder, one_of_each};

fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/golden")
        .join(format!("{name}.json"))
}

#[test]
fn every_kind_is_written_as_ever() {
    let mut wrong = Vec::new();
    for (name, record) in one_of_each() {
        let folder = folder();
        let mut log = Log::create(folder.path()).unwrap();
        log.append(&record, AT).unwrap();
        let written = fs::read_to_string(folder.path().join("log.jsonl")).unwrap();
        if fs::read_to_string(golden(name)).ok().as_deref() != Some(&written) {
            wrong.push(format!("{}: {written}", golden(name).display()));
        }
    }
    assert!(
        wrong.is_empty(),
        "these lines differ from their golden files:\n{}",
        wrong.concat()
    );
}

#[test]
fn every_golden_line_decodes() {
    for (name, record) in one_of_each() {
        let folder = folder();
        if name == "blob" {
            // The content is not golden; it is made by the same record.
            Log::create(folder.path()).unwrap().append(&record, AT).unwrap();
        }
        fs::copy(golden(name), folder.path().join("log.jsonl")).unwrap();
        let (_, records, notices) = Log::open(folder.path()).unwrap();
        assert_eq!(notices, [], "{name}");
        assert_eq!(records.len(), 1, "{name}");
        assert_eq!(
            (records[0].n, records[0].at, &records[0].record),
            (1, AT, &record),
            "{name}"
        );
    }
}

#[test]
fn every_golden_file_belongs_to_a_sample() {
    let samples: BTreeSet<String> = one_of_each()
        .iter()
        .map(|(name, _)| format!("{name}.json"))
        .collect();
    let entries = fs::read_dir(golden("x").parent().unwrap()).unwrap();
    let files: BTreeSet<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(files, samples);
}

#[test]
fn every_variant_has_a_golden_line() {
    // A new variant makes this match incomplete: add its sample and its golden file, then its arm.
    use session_store::record::{CallRecord as C, PromptRecord as P, SessionRecord as S, TurnRecord as T};
    let kinds: BTreeSet<&str> = one_of_each()
        .iter()
        .map(|(_, record)| match record {
            Record::Session(S::Opened { .. }) => "session.opened",
            Record::Session(S::Prefix { .. }) => "session.prefix",
            Record::Session(S::ModelChanged { .. }) => "session.model_changed",
            Record::Session(S::PresetChanged { .. }) => "session.preset_changed",
            Record::Session(S::CredentialsChanged { .. }) => "session.credentials_changed",
            Record::Session(S::Ignored { .. }) => "session.ignored",
            Record::Session(S::Resumed { .. }) => "session.resumed",
            Record::Session(S::Closed { .. }) => "session.closed",
            Record::Turn(T::Submitted { .. }) => "turn.submitted",
            Record::Turn(T::Started { .. }) => "turn.started",
            Record::Turn(T::Partial { .. }) => "turn.partial",
            Record::Turn(T::Discarded { .. }) => "turn.discarded",
            Record::Turn(T::Waiting { .. }) => "turn.waiting",
            Record::Turn(T::WentOn { .. }) => "turn.went_on",
            Record::Turn(T::AskedAgain { .. }) => "turn.asked_again",
            Record::Turn(T::Assistant { .. }) => "turn.assistant",
            Record::Turn(T::CancelRequested { .. }) => "turn.cancel_requested",
            Record::Turn(T::Ended { .. }) => "turn.ended",
            Record::Call(C::Started { .. }) => "call.started",
            Record::Call(C::Finished { .. }) => "call.finished",
            Record::Prompt(P::Opened { .. }) => "prompt.opened",
            Record::Prompt(P::Answered { .. }) => "prompt.answered",
            Record::Prompt(P::Withdrawn { .. }) => "prompt.withdrawn",
            Record::Unknown { .. } => "unknown",
        })
        .collect();
    assert_eq!(kinds.len(), 23);
}

//! Old files must decode; what is written today must equal the files.
//!
//! A file that no sample writes any more stays: it is what an older build sends. To write the files of new samples,
//! run the tests once with `GOLDEN_WRITE=1` in the environment of the build; existing files are never overwritten.

use std::{collections::BTreeSet, fs, path::PathBuf};

use protocol::{
    AnswerReceipt, BrokerEvent, BrokerRequest, CommandRequest, DrainReply, DrainRequest, ErrorResponse,
    Frame, Hello, HistoryPage, OpenSession, Outcome, Phase, PortList, Receipt, SessionList, ShutdownReply,
    ShutdownRequest,
    broker::{AnswerEnd, AnswerHead},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::samples;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden")
}

/// Decodes as the type that the file name starts with, and encodes again.
fn round_trip(name: &str, json: &str) -> Value {
    fn through<T: Serialize + DeserializeOwned>(json: &str) -> serde_json::Result<Value> {
        serde_json::to_value(serde_json::from_str::<T>(json)?)
    }
    let kind = name.split('-').next().unwrap();
    let value = match kind {
        "frame" => through::<Frame>(json),
        "command_request" => through::<CommandRequest>(json),
        "outcome" => through::<Outcome>(json),
        "phase" => through::<Phase>(json),
        "error" => through::<ErrorResponse>(json),
        "hello" => through::<Hello>(json),
        "open_session" => through::<OpenSession>(json),
        "session_list" => through::<SessionList>(json),
        "history_page" => through::<HistoryPage>(json),
        "shutdown_request" => through::<ShutdownRequest>(json),
        "shutdown_reply" => through::<ShutdownReply>(json),
        "drain_request" => through::<DrainRequest>(json),
        "drain_reply" => through::<DrainReply>(json),
        "port_list" => through::<PortList>(json),
        "broker_request" => through::<BrokerRequest>(json),
        "broker_event" => through::<BrokerEvent>(json),
        "answer_head" => through::<AnswerHead>(json),
        "answer_end" => through::<AnswerEnd>(json),
        "answer_receipt" => through::<AnswerReceipt>(json),
        "receipt" => through::<Receipt>(json),
        other => panic!("{name}: no wire type is called {other}"),
    };
    value.unwrap_or_else(|error| panic!("{name} does not decode: {error}"))
}

#[test]
fn every_sample_equals_its_file() {
    for (kind, variant, value) in samples::all() {
        let name = format!("{kind}-{variant}.json");
        let path = folder().join(&name);
        if option_env!("GOLDEN_WRITE").is_some() && !path.exists() {
            let text = serde_json::to_string_pretty(&value).unwrap() + "\n";
            fs::write(&path, text).unwrap();
        }
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let file: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value, file, "{name}");
        assert_eq!(round_trip(&name, &text), value, "{name} after decoding");
    }
}

#[test]
fn every_file_decodes_as_something_known() {
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let again = round_trip(&name, &text).to_string();
        for word in [
            r#""type":"unknown""#,
            r#""topic":"unknown""#,
            r#""frame":"unknown""#,
        ] {
            assert!(!again.contains(word), "{name} decodes to {again}");
        }
    }
}

#[test]
fn samples_have_names_of_their_own() {
    let names: Vec<_> = samples::all()
        .into_iter()
        .map(|(kind, variant, _)| format!("{kind}-{variant}"))
        .collect();
    let set: BTreeSet<_> = names.iter().collect();
    assert_eq!(set.len(), names.len());
}

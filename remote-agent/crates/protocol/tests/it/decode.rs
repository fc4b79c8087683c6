//! Whatever arrives, decoding answers; it never panics.

use proptest::{collection::vec, prelude::*};
use protocol::{CommandRequest, ErrorResponse, Frame, Hello, HistoryPage, OpenSession, Snapshot};
use serde_json::Value;

use crate::samples;

fn decode_as_everything(bytes: &[u8]) {
    // Only the absence of a panic is of interest; what decodes must also encode.
    if let Ok(frame) = serde_json::from_slice::<Frame>(bytes) {
        serde_json::to_vec(&frame).unwrap();
    }
    if let Ok(request) = serde_json::from_slice::<CommandRequest>(bytes) {
        serde_json::to_vec(&request).unwrap();
    }
    if let Ok(snapshot) = serde_json::from_slice::<Snapshot>(bytes) {
        serde_json::to_vec(&snapshot).unwrap();
    }
    drop(serde_json::from_slice::<ErrorResponse>(bytes));
    drop(serde_json::from_slice::<Hello>(bytes));
    drop(serde_json::from_slice::<HistoryPage>(bytes));
    drop(serde_json::from_slice::<OpenSession>(bytes));
}

fn any_json() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        "[a-z_]{1,8}",
        Just("frame".to_owned()),
        Just("event".to_owned()),
        Just("topic".to_owned()),
        Just("turn".to_owned()),
        Just("type".to_owned()),
        Just("delta".to_owned()),
        Just("snapshot".to_owned()),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 6, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            vec((word.clone(), inner), 0..6).prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// Gives the paths of all values inside, the value itself included.
fn pointers(value: &Value, at: &str, out: &mut Vec<String>) {
    out.push(at.to_owned());
    match value {
        Value::Object(object) => {
            for (key, inner) in object {
                pointers(inner, &format!("{at}/{key}"), out);
            }
        }
        Value::Array(list) => {
            for (index, inner) in list.iter().enumerate() {
                pointers(inner, &format!("{at}/{index}"), out);
            }
        }
        _ => {}
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..200)) {
        decode_as_everything(&bytes);
    }

    #[test]
    fn arbitrary_json_never_panics(value in any_json()) {
        decode_as_everything(value.to_string().as_bytes());
    }

    #[test]
    fn a_sample_with_one_value_replaced_never_panics(
        which in any::<prop::sample::Index>(),
        place in any::<prop::sample::Index>(),
        other in any_json(),
    ) {
        let samples = samples::all();
        let mut value = samples[which.index(samples.len())].2.clone();
        let mut places = Vec::new();
        pointers(&value, "", &mut places);
        *value.pointer_mut(&places[place.index(places.len())]).unwrap() = other;
        decode_as_everything(value.to_string().as_bytes());
    }

    #[test]
    fn a_sample_cut_anywhere_never_panics_and_never_decodes(
        which in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let samples = samples::all();
        let text = samples[which.index(samples.len())].2.to_string();
        let bytes = &text.as_bytes()[..cut.index(text.len())];
        decode_as_everything(bytes);
        prop_assert!(serde_json::from_slice::<Frame>(bytes).is_err());
    }
}

#[test]
fn deep_nesting_is_an_error() {
    let deep = r#"{"frame":"x","a":"#.to_owned() + &"[".repeat(100_000) + &"]".repeat(100_000) + "}";
    assert!(serde_json::from_str::<Frame>(&deep).is_err());
}

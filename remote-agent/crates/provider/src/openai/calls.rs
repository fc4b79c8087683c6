//! Tool calls from deltas that vendors cut and number in many ways.

use serde::Deserialize;
use serde_json::Value;

use crate::Call;

/// One element of `delta.tool_calls`.
#[derive(Debug, Deserialize)]
pub(super) struct CallDelta {
    #[serde(default)]
    index: Option<Value>,
    #[serde(default)]
    id: Option<Value>,
    #[serde(default)]
    function: Option<FunctionDelta>,
}

#[derive(Debug, Default, Deserialize)]
struct FunctionDelta {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    arguments: Option<Value>,
}

/// Whether the answer ran into its output limit, so that the last call may be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    No,
    AtLimit,
}

/// The calls of an answer so far.
#[derive(Debug, Default)]
pub(super) struct Calls {
    slots: Vec<Slot>,
}

#[derive(Debug)]
struct Slot {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Calls {
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Adds a delta to the call that it belongs to.
    pub(super) fn add(&mut self, delta: CallDelta) {
        let index = delta.index.as_ref().and_then(Value::as_u64);
        let id = match delta.id {
            Some(Value::String(id)) => id,
            Some(Value::Number(id)) => id.to_string(),
            _ => String::new(),
        };
        let function = delta.function.unwrap_or_default();
        let name = function.name.unwrap_or_default();
        let at = self.find(index, &id, &name);
        let slot = match at.and_then(|at| self.slots.get_mut(at)) {
            Some(slot) => slot,
            None => {
                self.slots.push(Slot {
                    index,
                    id: String::new(),
                    name: String::new(),
                    arguments: String::new(),
                });
                let Some(slot) = self.slots.last_mut() else { return };
                slot
            }
        };
        if slot.id.is_empty() {
            slot.id = id;
        }
        // A name may come whole, again with every delta, or in pieces before the arguments.
        if slot.name != name && slot.arguments.is_empty() {
            slot.name.push_str(&name);
        }
        match function.arguments {
            Some(Value::String(piece)) => slot.arguments.push_str(&piece),
            Some(Value::Null) | None => {}
            Some(whole) => slot.arguments = whole.to_string(),
        }
    }

    /// Finds the call that a delta continues; `None` when it begins one.
    ///
    /// An empty id or name says nothing. A number or id that is already there continues that call, unless a new id comes
    /// with a name: some vendors give every call the number 0.
    fn find(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let begins = |slot: &Slot| !name.is_empty() && !id.is_empty() && !slot.id.is_empty() && slot.id != id;
        if index.is_some() {
            let at = self.slots.iter().rposition(|slot| slot.index == index)?;
            return self.slots.get(at).filter(|slot| !begins(slot)).map(|_| at);
        }
        if !id.is_empty()
            && let Some(at) = self.slots.iter().rposition(|slot| slot.id == id)
        {
            return Some(at);
        }
        let last = self.slots.last()?;
        let continues = if name.is_empty() {
            true
        } else if id.is_empty() {
            // Neither number nor id: the same name again continues arguments that are not complete yet.
            last.name == name && object(&last.arguments).is_err()
        } else {
            false
        };
        continues.then(|| self.slots.len() - 1)
    }

    /// Gives the complete calls in order.
    ///
    /// # Errors
    /// A call without a name, in words.
    pub(super) fn finish(&mut self, cut: Cut) -> Result<Vec<Call>, String> {
        let mut slots = std::mem::take(&mut self.slots);
        if slots.iter().all(|slot| slot.index.is_some()) {
            slots.sort_by_key(|slot| slot.index);
        }
        let finish = |(index, slot): (usize, Slot)| {
            if slot.name.is_empty() {
                return Err(format!("tool call {index} has no name"));
            }
            let (arguments, malformed) = match arguments(&slot.arguments, cut) {
                Ok(arguments) => (arguments, None),
                Err(reason) => ("{}".to_owned(), Some(reason)),
            };
            Ok(Call {
                index,
                name: slot.name,
                arguments,
                malformed,
            })
        };
        slots.into_iter().enumerate().map(finish).collect()
    }
}

/// Gives the arguments as one JSON object, or says to the model why they are none.
fn arguments(text: &str, cut: Cut) -> Result<String, String> {
    if cut == Cut::No && matches!(text.trim(), "" | "null") {
        return Ok("{}".to_owned());
    }
    match (object(text), cut) {
        (Ok(()), _) => Ok(text.to_owned()),
        (Err(reason), Cut::No) => Err(format!("the arguments must be one JSON object, but {reason}")),
        (Err(_), Cut::AtLimit) => {
            Err("the call was cut off by the output limit; send it again, with shorter arguments".to_owned())
        }
    }
}

/// Checks that the text is one JSON object.
fn object(text: &str) -> Result<(), String> {
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(_)) => Ok(()),
        Ok(Value::Array(_)) => Err("they are an array".to_owned()),
        Ok(Value::String(_)) => Err("they are a string".to_owned()),
        Ok(_) => Err("they are a single value".to_owned()),
        Err(error) => Err(format!("they are not valid JSON ({error})")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run(deltas: &[Value]) -> Vec<(String, String)> {
        let mut calls = Calls::default();
        for delta in deltas {
            calls.add(serde_json::from_value(delta.clone()).unwrap());
        }
        calls
            .finish(Cut::No)
            .unwrap()
            .into_iter()
            .map(|call| (call.name, call.arguments))
            .collect()
    }

    fn check(deltas: &[Value], want: &[(&str, &str)]) {
        let want: Vec<_> = want
            .iter()
            .map(|(name, args)| ((*name).to_owned(), (*args).to_owned()))
            .collect();
        assert_eq!(run(deltas), want, "{deltas:?}");
    }

    #[test]
    fn joins_deltas_however_they_are_numbered() {
        let part = |text: &str| json!({"function": {"arguments": text}});
        let named = |name: &str| json!({"function": {"name": name, "arguments": ""}});
        let with = |mut delta: Value, key: &str, value: Value| {
            delta[key] = value;
            delta
        };
        // Neither index nor id: order and names tell calls apart.
        check(
            &[named("a"), part("{\"x\""), part(":1}"), named("b"), part("{}")],
            &[("a", "{\"x\":1}"), ("b", "{}")],
        );
        // A name in pieces.
        check(
            &[
                with(named("re"), "index", json!(0)),
                with(named("ad"), "index", json!(0)),
            ],
            &[("read", "{}")],
        );
        // An id that changes with every delta of the same number.
        let fickle = |id: &str| with(with(part("{}"), "index", json!(0)), "id", json!(id));
        check(
            &[
                with(with(named("a"), "index", json!(0)), "id", json!("1")),
                fickle("2"),
            ],
            &[("a", "{}")],
        );
        // Numbers out of order, and arguments as an object.
        let whole = json!({"index": 0, "id": "q", "function": {"name": "z", "arguments": {"k": [1]}}});
        check(
            &[json!({"index": 2, "function": {"name": "a"}}), whole],
            &[("z", "{\"k\":[1]}"), ("a", "{}")],
        );
        // The same call twice in a row, without index and with ids.
        let same = |id: &str| json!({"id": id, "function": {"name": "a", "arguments": "{}"}});
        check(&[same("1"), same("2")], &[("a", "{}"), ("a", "{}")]);
    }

    #[test]
    fn arguments_are_one_object_or_malformed() {
        let ok =
            |text: &str, want: &str| assert_eq!(arguments(text, Cut::No).as_deref(), Ok(want), "{text:?}");
        ok("", "{}");
        ok(" \n", "{}");
        ok("null", "{}");
        ok("{}", "{}");
        ok(" {\"a\": 1} ", " {\"a\": 1} ");
        let bad = |text: &str, part: &str| {
            let reason = arguments(text, Cut::No).expect_err(text);
            assert!(reason.contains(part), "{reason}");
        };
        bad("[]", "an array");
        bad("\"{}\"", "a string");
        bad("7", "a single value");
        bad("{\"a\":", "not valid JSON");
        bad("{} {}", "not valid JSON");
    }

    #[test]
    fn a_call_cut_by_the_limit_never_runs() {
        for text in ["", "{\"a\":", "nul"] {
            assert!(
                arguments(text, Cut::AtLimit)
                    .expect_err(text)
                    .contains("output limit")
            );
        }
        assert!(arguments("{\"a\":1}", Cut::AtLimit).is_ok());
    }

    #[test]
    fn a_call_needs_a_name() {
        let mut calls = Calls::default();
        calls.add(serde_json::from_value(json!({"index": 0, "function": {"arguments": "{}"}})).unwrap());
        assert!(calls.finish(Cut::No).is_err());
    }
}

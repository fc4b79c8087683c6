//! One line of JSON asks, one line of JSON answers. There is no secret in either.

use serde::{Deserialize, Serialize};

/// The version of this language. Within one, fields and words are only added.
pub(crate) const VERSION: u32 = 1;

/// The longest line, in bytes.
pub(crate) const LONGEST_LINE: usize = 256 * 1024;

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Request {
    /// [`VERSION`].
    pub(crate) v: u32,
    /// What.
    pub(crate) ask: Ask,
}

/// What can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ask {
    /// How the link is.
    Status,
    /// Which forwards there are.
    Forwards,
    /// What listens on the host and is not forwarded.
    Ports,
    /// Open a forward.
    Add(Add),
    /// End a forward.
    Remove {
        /// The rule, or `#` and its number.
        rule: String,
    },
}

/// A forward to open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Add {
    /// The rule as typed.
    pub(crate) rule: String,
    /// Who carries it: `auto`, `ssh` or `agent`.
    pub(crate) via: String,
    /// Whether a person agreed to a listener that other machines can reach.
    #[serde(default)]
    pub(crate) public: bool,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// [`VERSION`].
    pub(crate) v: u32,
    /// What.
    #[serde(flatten)]
    pub(crate) reply: Reply,
}

/// What can be answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reply {
    /// How the link is.
    Status(Status),
    /// The forwards.
    Forwards(Vec<ForwardView>),
    /// What listens on the host; `None` where the agent cannot tell.
    Ports(Option<Vec<PortView>>),
    /// The forward is open.
    Added(ForwardView),
    /// The forward is gone.
    Removed(ForwardView),
    /// It was not done.
    Error(Refused),
}

/// How a front end and its link are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Status {
    /// The front end's process.
    pub(crate) pid: u32,
    /// What it is, such as `screen` or `remote connect`.
    pub(crate) front_end: String,
    /// The host as the person named it.
    pub(crate) host: String,
    /// The state of the link, for people.
    pub(crate) link: String,
    /// Whether the agent answers.
    pub(crate) live: bool,
    /// The newest round trip to the agent, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rtt_ms: Option<u64>,
    /// What goes on with requests to the model that are made here, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) broker: Option<String>,
}

/// A forward as shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ForwardView {
    /// Its number in this front end.
    pub(crate) id: u64,
    /// The rule.
    pub(crate) rule: String,
    /// Where it really listens.
    pub(crate) bound: String,
    /// Who carries it.
    pub(crate) via: String,
    /// How it is doing, in a word.
    pub(crate) state: String,
    /// Connections that are open now.
    pub(crate) open: u64,
    /// Connections so far.
    pub(crate) total: u64,
    /// Bytes that went to the target.
    pub(crate) sent: u64,
    /// Bytes that came back.
    pub(crate) received: u64,
    /// Whether other machines can reach the listener.
    pub(crate) public: bool,
    /// Why it does not work, or why the last connection failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last_error: Option<String>,
    /// What a person should know about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) warning: Option<String>,
}

/// A port on which somebody listens on the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PortView {
    /// The port.
    pub(crate) port: u16,
    /// The rule that forwards it to the same port here.
    pub(crate) rule: String,
    /// The process there, where it can be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) process: Option<String>,
    /// Its process id there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pid: Option<u32>,
}

/// Why something was not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refused {
    /// What happened and why.
    pub(crate) message: String,
    /// What to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
    /// What a person could say to have it done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) offer: Option<Offer>,
}

/// What a person could say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Offer {
    /// Yes, let other machines reach it.
    Public,
    /// Yes, take this rule instead, which listens on a free port.
    Instead(String),
}

impl Refused {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
            offer: None,
        }
    }

    pub(crate) fn hint(mut self, hint: Option<impl Into<String>>) -> Self {
        self.hint = hint.map(Into::into);
        self
    }
}

/// Reads a request. What is wrong with it is one error, which the other side is told.
pub(crate) fn read_request(line: &[u8]) -> Result<Ask, Refused> {
    /// What every version has.
    #[derive(Deserialize)]
    struct Versioned {
        v: u32,
    }
    let bad = |error: serde_json::Error| Refused::new(format!("the request is not understood: {error}"));
    let Versioned { v } = serde_json::from_slice(line).map_err(bad)?;
    if v != VERSION {
        let message = format!("this front end speaks version {VERSION} of the control socket, not {v}");
        return Err(Refused::new(message).hint(Some("use the same build of reasonix for both")));
    }
    let request: Request = serde_json::from_slice(line).map_err(bad)?;
    Ok(request.ask)
}

/// Writes a line.
pub(crate) fn line(value: &impl Serialize) -> Vec<u8> {
    // Neither of the two types can fail to be written.
    let mut bytes = serde_json::to_vec(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_read_back() {
        let add = Add {
            rule: "3000".to_owned(),
            via: "auto".to_owned(),
            public: false,
        };
        let rule = "#3".to_owned();
        for ask in [
            Ask::Status,
            Ask::Forwards,
            Ask::Ports,
            Ask::Add(add),
            Ask::Remove { rule },
        ] {
            let request = Request {
                v: VERSION,
                ask: ask.clone(),
            };
            assert_eq!(read_request(&line(&request)), Ok(ask));
        }
    }

    #[test]
    fn what_is_not_understood_is_one_clear_error() {
        let check = |line: &str, says: &str| {
            let refused = read_request(line.as_bytes()).unwrap_err();
            assert!(refused.message.contains(says), "{line}: {}", refused.message);
            assert!(!refused.message.contains('\n'), "{}", refused.message);
        };
        check("", "not understood");
        check("\u{0}", "not understood");
        check("[]", "not understood");
        check("{}", "missing field `v`");
        check(r#"{"v":1}"#, "missing field `ask`");
        check(r#"{"v":1,"ask":"dance"}"#, "unknown variant `dance`");
        check(r#"{"v":1,"ask":{"add":{"rule":7}}}"#, "invalid type");
        // Another version is named, whatever it would have asked.
        check(r#"{"v":2,"ask":{"song":[]}}"#, "version 1");
        check(r#"{"v":-1,"ask":"status"}"#, "not understood");
    }

    #[test]
    fn an_answer_may_grow() {
        let text = r#"{"v":1,"later":true,"status":{"pid":7,"front_end":"run","host":"box","link":"offline","live":false,"new":1}}"#;
        let answer: Answer = serde_json::from_str(text).unwrap();
        assert!(
            matches!(answer.reply, Reply::Status(Status { pid: 7, .. })),
            "{answer:?}"
        );
    }
}

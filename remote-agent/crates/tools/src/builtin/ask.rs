//! `ask`: questions to the person who uses the agent.
//!
//! The tool makes the questions and words the answers; who is asked, and how long that takes, is the loop's business
//! (`Tool::questions`, `ToolContext::response`).

use std::collections::BTreeSet;

use conversation::{Effect, Question, QuestionOption, Reply, Response, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};
use stdx::bounded::one_line;

use super::arguments;
use crate::{
    BoxFuture, Subject, Tool, ToolContext, ToolError, ToolResult,
    spec::{Parameter, spec},
};

/// Bytes of a header; what is longer is cut.
const HEADER: usize = 60;
/// Bytes of a label; a longer one is refused, since replies name labels.
const LABEL: usize = 200;
/// Bytes of a question or of an option's description; a longer question is refused, a description cut.
const TEXT: usize = 4 * 1024;

/// Asks a person.
pub(super) struct Ask {
    spec: ToolSpec,
}

#[derive(Deserialize)]
struct Args {
    questions: Vec<Asked>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    header: String,
    question: String,
    options: Vec<Choice>,
    #[serde(default)]
    multi_select: bool,
}

#[derive(Deserialize)]
struct Choice {
    label: String,
    #[serde(default)]
    description: String,
}

impl Ask {
    pub(super) fn new() -> Self {
        let description = "Asks the person you work for, and waits for the answer. Use it when a decision is theirs \
            and the files cannot settle it: what they want, which of several real alternatives. Do not ask for \
            permission to use a tool, and do not ask what you can find out. The person chooses among the options or \
            answers in their own words. Where no person can answer, the result says so and you decide.";
        let option = json!({
            "type": "object",
            "properties": {
                "label": {"type": "string", "description": "The answer in one to five words, unlike the others."},
                "description": {"type": "string", "description": "What choosing it means."},
            },
            "required": ["label"],
        });
        let question = json!({
            "type": "object",
            "properties": {
                "header": {"type": "string", "description": "One or two words that name the question."},
                "question": {"type": "string", "description": "The whole question, clear by itself."},
                "options": {
                    "type": "array",
                    "description": "The suggested answers, the one you recommend first.",
                    "items": option,
                    "minItems": 2,
                    "maxItems": 4,
                },
                "multiSelect": {"type": "boolean", "description": "Whether several options may be chosen."},
            },
            "required": ["header", "question", "options"],
        });
        let questions = Parameter {
            name: "questions",
            required: true,
            schema: json!({
                "type": "array",
                "description": "The questions, asked together.",
                "items": question,
                "minItems": 1,
                "maxItems": 3,
            }),
        };
        Self {
            spec: spec("ask", description, [questions]),
        }
    }
}

impl Tool for Ask {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// Asking changes nothing, so it never needs an approval of its own.
    fn effect(&self) -> Effect {
        Effect::Read
    }

    fn subjects(&self, _args: &Value, _cx: &ToolContext) -> Vec<Subject> {
        Vec::new()
    }

    fn questions(&self, args: &Value) -> Result<Vec<Question>, ToolError> {
        let args: Args = arguments(args.clone())?;
        let questions: Vec<Question> = args
            .questions
            .into_iter()
            .enumerate()
            .map(|(index, asked)| question(index, asked))
            .collect::<Result<_, _>>()?;
        let headers: BTreeSet<_> = questions.iter().map(|question| &question.header).collect();
        if headers.len() < questions.len() {
            return Err(wrong("two questions have the same header; give each its own"));
        }
        Ok(questions)
    }

    fn run<'a>(&'a self, args: Value, cx: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            match self.questions(&args) {
                Ok(questions) => ToolResult::ok(result(&questions, cx.response.as_ref())),
                Err(error) => ToolResult::failed(&error),
            }
        })
    }
}

fn question(index: usize, asked: Asked) -> Result<Question, ToolError> {
    let at = format!("/questions/{index}");
    let text = asked.question.trim();
    if text.is_empty() {
        return Err(wrong(&format!("{at}/question is empty")));
    }
    if text.len() > TEXT {
        return Err(wrong(&format!(
            "{at}/question has {} bytes; at most {TEXT} are shown to a person",
            text.len()
        )));
    }
    let header = one_line(asked.header.trim(), HEADER);
    if header.is_empty() {
        return Err(wrong(&format!("{at}/header is empty")));
    }
    let mut options = Vec::new();
    for (place, choice) in asked.options.into_iter().enumerate() {
        let option = option(&format!("{at}/options/{place}"), &choice)?;
        if options
            .iter()
            .any(|other: &QuestionOption| other.label == option.label)
        {
            return Err(wrong(&format!(
                "{at}/options/{place}/label repeats \"{}\"; options must differ",
                option.label
            )));
        }
        options.push(option);
    }
    Ok(Question {
        header,
        text: text.to_owned(),
        options,
        multi_select: asked.multi_select,
        free_text: true,
    })
}

fn option(at: &str, choice: &Choice) -> Result<QuestionOption, ToolError> {
    let label = choice.label.split_whitespace().collect::<Vec<_>>().join(" ");
    if label.is_empty() {
        return Err(wrong(&format!("{at}/label is empty")));
    }
    if label.len() > LABEL {
        return Err(wrong(&format!(
            "{at}/label has {} bytes; at most {LABEL} are allowed, put the rest into its description",
            label.len()
        )));
    }
    Ok(QuestionOption {
        label,
        description: one_line(choice.description.trim(), TEXT),
    })
}

fn wrong(what: &str) -> ToolError {
    ToolError::Argument(format!(
        "argument validation failed for \"ask\": {what}. Nobody was asked."
    ))
}

/// Words what came of the questions, for the model.
fn result(questions: &[Question], response: Option<&Response>) -> String {
    let rest = match response {
        Some(Response::Replied(replies)) => return replied(questions, replies),
        Some(Response::Declined) => {
            "The person was asked and did not choose. Do not ask the same again: decide yourself, and say what you \
             assumed."
        }
        Some(Response::Nobody) | None => {
            "[model assumption] No person can answer now; nobody has seen these questions. Decide yourself: take the \
             most reasonable answer, the one that is easiest to take back if in doubt, go on, and say in your final \
             message what you assumed."
        }
    };
    let asked: Vec<_> = questions
        .iter()
        .map(|question| format!("- {}: {}", question.header, question.text))
        .collect();
    format!("{rest}\nNot answered:\n{}", asked.join("\n"))
}

fn replied(questions: &[Question], replies: &[Reply]) -> String {
    let mut out = "The person answered:".to_owned();
    for (index, question) in questions.iter().enumerate() {
        let answer = answer(replies.get(index));
        out.push_str(&format_one(question, &answer));
    }
    out
}

fn format_one(question: &Question, answer: &str) -> String {
    format!("\n- {}: {}\n  answer: {answer}", question.header, question.text)
}

fn answer(reply: Option<&Reply>) -> String {
    let reply = reply.cloned().unwrap_or_default();
    let words = reply
        .text
        .map(|text| format!("in their own words: {}", text.trim()));
    let parts: Vec<String> = reply.chosen.into_iter().chain(words).collect();
    if parts.is_empty() {
        "(skipped; decide yourself)".to_owned()
    } else {
        parts.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(multi: bool) -> Value {
        json!({"questions": [
            {"header": "Storage", "question": " Where?\n", "multiSelect": multi,
             "options": [{"label": "one  file", "description": "simple\nfast"}, {"label": "汉字"}]},
            {"header": "Name", "question": "Which name?", "options": [{"label": "a"}, {"label": "b"}]},
        ]})
    }

    #[test]
    fn questions_are_what_the_model_wrote_tidied() {
        let questions = Ask::new().questions(&asked(true)).unwrap();
        assert_eq!(questions.len(), 2);
        let first = &questions[0];
        assert_eq!(
            (first.text.as_str(), first.multi_select, first.free_text),
            ("Where?", true, true)
        );
        assert_eq!(first.options[0].label, "one file");
        assert!(!first.options[0].description.contains('\n'));
    }

    #[test]
    fn what_nobody_could_answer_is_refused_with_its_place() {
        let with = |pointer: &str, value: Value| {
            let mut args = asked(false);
            *args.pointer_mut(pointer).unwrap() = value;
            Ask::new().questions(&args).unwrap_err().to_string()
        };
        let cases = [
            (
                "/questions/0/question",
                json!(" "),
                "/questions/0/question is empty",
            ),
            ("/questions/1/header", json!(""), "/questions/1/header is empty"),
            ("/questions/1/header", json!("Storage"), "same header"),
            (
                "/questions/0/options/1/label",
                json!("one file"),
                "/questions/0/options/1/label repeats",
            ),
            ("/questions/0/options/1/label", json!("\n"), "label is empty"),
            (
                "/questions/0/options/1/label",
                json!("x".repeat(LABEL + 1)),
                "at most 200",
            ),
            (
                "/questions/0/question",
                json!("x".repeat(TEXT + 1)),
                "at most 4096",
            ),
        ];
        for (pointer, value, want) in cases {
            let error = with(pointer, value);
            assert!(
                error.contains(want) && error.ends_with("Nobody was asked."),
                "{error}"
            );
        }
    }

    #[test]
    fn the_result_pairs_questions_and_answers() {
        let questions = Ask::new().questions(&asked(true)).unwrap();
        let both = Reply {
            chosen: vec!["one file".to_owned(), "汉字".to_owned()],
            text: Some("but small ".to_owned()),
        };
        assert_eq!(
            result(&questions, Some(&Response::Replied(vec![both]))),
            "The person answered:\n\
             - Storage: Where?\n  answer: one file; 汉字; in their own words: but small\n\
             - Name: Which name?\n  answer: (skipped; decide yourself)"
        );
        let declined = result(&questions, Some(&Response::Declined));
        assert!(declined.contains("did not choose") && declined.ends_with("- Name: Which name?"));
        let nobody = result(&questions, Some(&Response::Nobody));
        assert!(nobody.starts_with("[model assumption] No person can answer now"));
        assert_eq!(nobody, result(&questions, None));
    }
}

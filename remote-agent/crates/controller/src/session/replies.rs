//! Questions of the model: put to a person, answered by one.

use agent_loop::Inquiry;
use conversation::{Question, Reply, Response, TurnId};
use protocol::{Answer, CommandId, ErrorBody, ErrorCode, PromptId};
use session_store::{
    Record,
    record::{CausedBy, PromptRecord},
};

use super::{Effect, Effects, Session};

/// Why a person is asked, where the model wants to know something.
const REASON: &str = "the model asks";

impl Session {
    pub(super) fn on_inquiry(&mut self, turn: TurnId, inquiry: Inquiry, out: &mut Effects) {
        if self.running() != Some(turn) {
            return;
        }
        let PromptId(prompt) = self.next_prompt();
        let texts: Vec<&str> = inquiry
            .questions
            .iter()
            .map(|question| question.text.as_str())
            .collect();
        let record = PromptRecord::Opened {
            prompt,
            turn,
            call: inquiry.call,
            tool: inquiry.tool,
            subject: texts.join("\n"),
            reason: REASON.to_owned(),
            scope: None,
            questions: inquiry.questions,
        };
        self.open_prompt(record, out);
    }

    /// Takes the replies to questions of the model.
    pub(super) fn reply(
        &mut self,
        id: CommandId,
        by: CausedBy,
        prompt: PromptId,
        replies: Vec<protocol::Reply>,
        out: &mut Effects,
    ) {
        let Some(questions) = self.open_questions(prompt) else {
            out.push(Effect::Reply(Err(self.not_open(prompt))));
            return;
        };
        let replies = match checked(questions, replies) {
            Ok(replies) => replies,
            Err(why) => {
                let error = ErrorBody::new(ErrorCode::BadRequest, format!("question {prompt}: {why}"));
                out.push(Effect::Reply(Err(error)));
                return;
            }
        };
        let record = PromptRecord::Answered {
            prompt: prompt.0,
            answer: Answer::Replied.name().to_owned(),
            replies: replies.clone(),
            by,
        };
        self.accept(id, Record::Prompt(record), out);
        out.push(Effect::Respond(prompt, Some(Response::Replied(replies))));
    }

    /// Takes an answer without replies to questions of the model: whatever it is, nothing was chosen.
    pub(super) fn no_reply(
        &mut self,
        id: CommandId,
        by: CausedBy,
        prompt: PromptId,
        answer: Answer,
        out: &mut Effects,
    ) {
        let (answer, response) = match answer {
            Answer::Nobody => (Answer::Nobody, Response::Nobody),
            Answer::Replied => {
                out.push(Effect::Reply(Err(replies_missing(prompt))));
                return;
            }
            // A client that knows no questions shows a request for approval; letting it run chooses nothing either.
            Answer::AllowOnce | Answer::AllowSession | Answer::Deny | Answer::Unknown => {
                (Answer::Deny, Response::Declined)
            }
        };
        let record = PromptRecord::Answered {
            prompt: prompt.0,
            answer: answer.name().to_owned(),
            replies: Vec::new(),
            by,
        };
        self.accept(id, Record::Prompt(record), out);
        out.push(Effect::Respond(prompt, Some(response)));
    }

    /// Gives the questions of an open prompt, none for a request for approval; `None` when it is not open.
    pub(super) fn open_questions(&self, prompt: PromptId) -> Option<&[Question]> {
        let mut open = self.state.phase.prompts.iter();
        let found = open.find(|open| open.prompt == prompt.0)?;
        Some(&found.questions)
    }
}

/// The error for an answer that says that there are replies, and has none.
pub(super) fn replies_missing(prompt: PromptId) -> ErrorBody {
    ErrorBody::new(
        ErrorCode::BadRequest,
        format!("the answer to question {prompt} has no replies"),
    )
    .hint("send prompt.reply with one reply for each question")
}

/// Checks that replies fit their questions, and gives one for each question.
fn checked(questions: &[Question], replies: Vec<protocol::Reply>) -> Result<Vec<Reply>, String> {
    if questions.is_empty() {
        return Err("it waits for an approval, not for replies".to_owned());
    }
    if replies.len() > questions.len() {
        return Err(format!(
            "{} replies to {} questions",
            replies.len(),
            questions.len()
        ));
    }
    let mut replies = replies.into_iter();
    questions
        .iter()
        .map(|question| fits(question, replies.next().unwrap_or_default()))
        .collect()
}

fn fits(question: &Question, reply: protocol::Reply) -> Result<Reply, String> {
    let name = &question.header;
    let protocol::Reply { chosen, text } = reply;
    for (place, label) in chosen.iter().enumerate() {
        if !question.options.iter().any(|option| option.label == *label) {
            return Err(format!("\"{label}\" is no option of \"{name}\""));
        }
        if chosen[..place].contains(label) {
            return Err(format!("\"{label}\" is chosen twice in \"{name}\""));
        }
    }
    if chosen.len() > 1 && !question.multi_select {
        return Err(format!("\"{name}\" takes one option, not {}", chosen.len()));
    }
    let text = text.filter(|text| !text.trim().is_empty());
    if text.is_some() && !question.free_text {
        return Err(format!("\"{name}\" takes only its options"));
    }
    Ok(Reply { chosen, text })
}

//! Questions that wait for a person.

use std::collections::HashMap;

use agent_loop::{Approval, Verdict};
use conversation::TurnId;
use permission::Grant;
use protocol::{Answer, CommandId, ErrorBody, ErrorCode, PromptId};
use session_store::{
    Record,
    record::{CausedBy, PromptRecord},
};

use super::{Effect, Effects, Session};

/// What an answer for the whole session would grant, by question.
pub(crate) type Scopes = HashMap<u64, Grant>;

impl Session {
    /// Gives the number that the next question will have.
    pub(crate) fn next_prompt(&self) -> PromptId {
        PromptId(self.state.counters.prompts + 1)
    }

    pub(super) fn on_ask(&mut self, turn: TurnId, approval: Approval, out: &mut Effects) {
        if self.running() != Some(turn) {
            return;
        }
        let PromptId(prompt) = self.next_prompt();
        let Approval {
            call,
            tool,
            subject,
            reason,
            scope,
        } = approval;
        let shown = Some(scope.to_string());
        self.scopes.insert(prompt, scope);
        let record = PromptRecord::Opened {
            prompt,
            turn,
            call,
            tool,
            subject,
            reason,
            scope: shown,
            questions: Vec::new(),
        };
        self.open_prompt(record, out);
    }

    /// Puts a question on record, where everybody sees it.
    pub(super) fn open_prompt(&mut self, record: PromptRecord, out: &mut Effects) {
        self.append(Record::Prompt(record), out);
        out.push(Effect::Sync);
        if self.stopping() {
            // The question came after the cancel: it is on record, and moot.
            self.withdraw_prompts("the turn is being stopped", out);
        }
    }

    pub(super) fn answer(
        &mut self,
        id: CommandId,
        by: CausedBy,
        prompt: PromptId,
        answer: Answer,
        out: &mut Effects,
    ) {
        match self.open_questions(prompt) {
            None => {
                out.push(Effect::Reply(Err(self.not_open(prompt))));
                return;
            }
            Some(questions) if !questions.is_empty() => return self.no_reply(id, by, prompt, answer, out),
            Some(_) if answer == Answer::Replied => {
                let error = ErrorBody::new(
                    ErrorCode::BadRequest,
                    format!("question {prompt} waits for an approval, not for replies"),
                );
                out.push(Effect::Reply(Err(error)));
                return;
            }
            Some(_) => {}
        }
        let record = PromptRecord::Answered {
            prompt: prompt.0,
            answer: answer.name().to_owned(),
            replies: Vec::new(),
            by,
        };
        self.accept(id, Record::Prompt(record), out);
        let scope = self.scopes.remove(&prompt.0);
        if let (Answer::AllowSession, Some(scope)) = (answer, scope) {
            self.grants.add(scope);
            out.push(Effect::SetPolicy(self.posture()));
        }
        let verdict = match answer {
            Answer::AllowOnce | Answer::AllowSession => Verdict::Allowed,
            Answer::Deny | Answer::Replied | Answer::Nobody | Answer::Unknown => Verdict::Refused,
        };
        out.push(Effect::Answer(prompt, verdict));
    }

    pub(super) fn withdraw_prompts(&mut self, reason: &str, out: &mut Effects) {
        let open: Vec<(u64, bool)> = self
            .state
            .phase
            .prompts
            .iter()
            .map(|open| (open.prompt, open.questions.is_empty()))
            .collect();
        self.scopes.clear();
        for (prompt, approval) in open {
            let record = PromptRecord::Withdrawn {
                prompt,
                reason: reason.to_owned(),
            };
            self.append(Record::Prompt(record), out);
            out.push(if approval {
                Effect::Answer(PromptId(prompt), Verdict::Withdrawn)
            } else {
                Effect::Respond(PromptId(prompt), None)
            });
        }
    }

    pub(super) fn not_open(&self, prompt: PromptId) -> ErrorBody {
        if (1..=self.state.counters.prompts).contains(&prompt.0) {
            let message = format!("question {prompt} is not open any more: it was answered or withdrawn");
            ErrorBody::new(ErrorCode::Conflict, message)
                .hint("the events of the session say how it was answered")
        } else {
            ErrorBody::new(ErrorCode::NotFound, format!("there is no question {prompt}"))
        }
    }
}

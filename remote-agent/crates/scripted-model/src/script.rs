//! Which reply a request takes.

use serde_json::Value;

use crate::{
    Reply, When,
    record::{role, text},
};

/// The replies and which of them are used up.
#[derive(Debug)]
pub(crate) struct Script {
    replies: Vec<(Reply, Use)>,
    repeat: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Fresh,
    Used,
}

impl Script {
    pub(crate) fn new(replies: Vec<Reply>, repeat: bool) -> Self {
        Self {
            replies: replies.into_iter().map(|reply| (reply, Use::Fresh)).collect(),
            repeat,
        }
    }

    pub(crate) fn push(&mut self, reply: Reply) {
        self.replies.push((reply, Use::Fresh));
    }

    /// Counts the replies that nobody took yet.
    pub(crate) fn left(&self) -> usize {
        self.replies
            .iter()
            .filter(|(_, used)| *used == Use::Fresh)
            .count()
    }

    /// Finds the reply for a request without taking it.
    pub(crate) fn peek(&mut self, body: &Value) -> Option<Reply> {
        self.find(body)
            .and_then(|at| self.replies.get(at))
            .map(|(reply, _)| reply.clone())
    }

    /// Takes the reply for a request.
    pub(crate) fn take(&mut self, body: &Value) -> Option<Reply> {
        let at = self.find(body)?;
        let (reply, used) = self.replies.get_mut(at)?;
        *used = Use::Used;
        Some(reply.clone())
    }

    fn find(&mut self, body: &Value) -> Option<usize> {
        self.find_fresh(body).or_else(|| {
            if !self.repeat {
                return None;
            }
            self.replies.iter_mut().for_each(|(_, used)| *used = Use::Fresh);
            self.find_fresh(body)
        })
    }

    fn find_fresh(&self, body: &Value) -> Option<usize> {
        let fresh = |wanted: &dyn Fn(&Reply) -> bool| {
            self.replies
                .iter()
                .position(|(reply, used)| *used == Use::Fresh && wanted(reply))
        };
        fresh(&|reply| reply.when.as_ref().is_some_and(|when| holds(when, body)))
            .or_else(|| fresh(&|reply| reply.when.is_none()))
    }
}

fn holds(when: &When, body: &Value) -> bool {
    let messages = body
        .get("messages")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    match when {
        When::Contains(part) => messages
            .iter()
            .rfind(|message| matches!(role(message), "user" | "tool"))
            .is_some_and(|message| text(message).contains(part)),
        When::AnyContains(part) => messages.iter().any(|message| text(message).contains(part)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(text: &str) -> Value {
        json!({"messages": [{"role": "user", "content": text}]})
    }

    #[test]
    fn takes_the_matching_reply_first_and_the_others_in_order() {
        let replies = vec![
            Reply::new().say("one"),
            Reply::new().say("red").when("red"),
            Reply::new().say("two"),
        ];
        let mut script = Script::new(replies.clone(), false);
        assert_eq!(script.take(&asked("blue")).as_ref(), replies.first());
        assert_eq!(script.peek(&asked("a red one")).as_ref(), replies.get(1));
        assert_eq!(script.take(&asked("a red one")).as_ref(), replies.get(1));
        assert_eq!(script.take(&asked("a red one")).as_ref(), replies.get(2));
        assert_eq!(script.take(&asked("red")), None);
        assert_eq!(script.left(), 0);
    }

    #[test]
    fn repeats_when_told_to() {
        let mut script = Script::new(vec![Reply::new().say("one"), Reply::new().say("two")], true);
        let said: Vec<_> = (0..3).filter_map(|_| script.take(&asked("x"))).collect();
        assert_eq!(said.len(), 3);
        assert_eq!(said.first(), said.get(2));
    }
}

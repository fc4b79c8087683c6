//! Questions of the model at a plain terminal: numbered options, one line for each answer.

use protocol::{Question, Reply};

use crate::ask::visible;

/// Asks one question after the other through `ask`, which shows a text and gives the line that was typed. A line that
/// makes no answer is explained and asked for again. `None` when nothing can be typed any more.
pub(super) fn put(questions: &[Question], mut ask: impl FnMut(&str) -> Option<String>) -> Option<Vec<Reply>> {
    let mut replies = Vec::new();
    for question in questions {
        let mut text = shown(question);
        replies.push(loop {
            match reply(question, &ask(&text)?) {
                Ok(reply) => break reply,
                Err(why) => text = format!("{why}\n{}", how(question)),
            }
        });
    }
    Some(replies)
}

/// Gives the questions in one line, for a log.
pub(super) fn one_line(questions: &[Question]) -> String {
    let texts: Vec<_> = questions.iter().map(|question| visible(&question.text)).collect();
    stdx::bounded::one_line(&texts.join(" / "), 300)
}

fn shown(question: &Question) -> String {
    let mut text = format!("\n[{}] {}\n", visible(&question.header), visible(&question.text));
    for (index, option) in question.options.iter().enumerate() {
        text.push_str(&format!("  {}. {}", index + 1, visible(&option.label)));
        if !option.description.is_empty() {
            text.push_str(&format!(" - {}", visible(&option.description)));
        }
        text.push('\n');
    }
    text + &how(question)
}

fn how(question: &Question) -> String {
    let number = if question.multi_select {
        "numbers with commas between them"
    } else {
        "a number"
    };
    let words = if question.free_text {
        ", or your own words"
    } else {
        ""
    };
    format!("Answer with {number}{words}; nothing leaves it to the model:")
}

/// Reads an answer: numbers of options, else own words.
fn reply(question: &Question, line: &str) -> Result<Reply, String> {
    let line = line.trim();
    if line.is_empty() {
        return Ok(Reply::default());
    }
    let parts = line.split([',', ' ']).filter(|part| !part.is_empty());
    let Ok(numbers) = parts.map(str::parse::<usize>).collect::<Result<Vec<_>, _>>() else {
        return words(question, line);
    };
    let mut chosen = Vec::new();
    for number in numbers {
        let Some(option) = number
            .checked_sub(1)
            .and_then(|index| question.options.get(index))
        else {
            return Err(format!("There is no option {number}."));
        };
        if !chosen.contains(&option.label) {
            chosen.push(option.label.clone());
        }
    }
    if chosen.len() > 1 && !question.multi_select {
        return Err("Only one option can be chosen.".to_owned());
    }
    Ok(Reply { chosen, text: None })
}

fn words(question: &Question, line: &str) -> Result<Reply, String> {
    // Somebody who types a label means the option.
    let option = question
        .options
        .iter()
        .find(|option| option.label.eq_ignore_ascii_case(line));
    match option {
        Some(option) => Ok(Reply::option(option.label.clone())),
        None if !question.free_text => Err("Only the options can be chosen.".to_owned()),
        None if line.len() > protocol::limits::REPLY => Err("That is too long.".to_owned()),
        None => Ok(Reply::words(line)),
    }
}

#[cfg(test)]
mod tests {
    use protocol::QuestionOption;

    use super::*;

    fn several(free_text: bool) -> Question {
        Question {
            multi_select: true,
            ..one(free_text)
        }
    }

    fn one(free_text: bool) -> Question {
        let option = |label: &str, description: &str| QuestionOption {
            label: label.to_owned(),
            description: description.to_owned(),
        };
        Question {
            header: "Storage".to_owned(),
            text: "Where\u{1b}[2J?".to_owned(),
            options: vec![option("SQLite", "one file"), option("Postgres", "")],
            multi_select: false,
            free_text,
        }
    }

    fn many(labels: &[&str]) -> Reply {
        Reply {
            chosen: labels.iter().map(|label| (*label).to_owned()).collect(),
            text: None,
        }
    }

    #[test]
    fn a_line_is_numbers_a_label_or_own_words() {
        let one = one(true);
        assert_eq!(reply(&one, " 2 "), Ok(many(&["Postgres"])));
        assert_eq!(reply(&one, "sqlite"), Ok(many(&["SQLite"])));
        assert_eq!(reply(&one, "a plain file"), Ok(Reply::words("a plain file")));
        assert_eq!(reply(&one, ""), Ok(Reply::default()));
        for wrong in ["0", "3", "1,2"] {
            reply(&one, wrong).unwrap_err();
        }
        let several = several(false);
        assert_eq!(reply(&several, "2, 1 2"), Ok(many(&["Postgres", "SQLite"])));
        reply(&several, "a plain file").unwrap_err();
    }

    #[test]
    fn wrong_lines_are_asked_for_again_and_every_question_is_put() {
        let questions = [one(false), several(true)];
        let mut lines = ["7", "none", "1", "1,2"].into_iter();
        let mut shown = Vec::new();
        let replies = put(&questions, |text| {
            shown.push(text.to_owned());
            lines.next().map(str::to_owned)
        });
        assert_eq!(
            replies,
            Some(vec![many(&["SQLite"]), many(&["SQLite", "Postgres"])])
        );
        assert_eq!(shown.len(), 4);
        assert!(
            shown[0].contains("1. SQLite - one file\n  2. Postgres\n"),
            "{}",
            shown[0]
        );
        assert!(!shown[0].contains('\u{1b}'), "a model cannot steer the terminal");
        assert!(shown[1].starts_with("There is no option 7.\n"), "{}", shown[1]);
    }

    #[test]
    fn a_terminal_that_is_gone_answers_nothing() {
        assert_eq!(put(&[one(true)], |_| None), None);
    }
}

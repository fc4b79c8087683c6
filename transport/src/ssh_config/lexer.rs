//! How a line of a configuration file falls into a keyword and arguments.
//!
//! OpenSSH has two rules: keywords and the conditions of `Match` are divided by blanks, one `=` or double quotes without
//! escapes; arguments by blanks, with both kinds of quotes, escapes and comments.

use std::borrow::Cow;

/// What divides words.
const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];

/// The words of a keyword or of the conditions of `Match`.
#[derive(Clone, Debug)]
pub(super) struct Words<'a> {
    rest: Option<&'a str>,
}

impl<'a> Words<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: Some(text) }
    }

    /// Gives what no word was taken from yet.
    pub(super) fn rest(&self) -> Option<&'a str> {
        self.rest
    }

    /// Takes the next word, which may be empty. `None`: nothing is left, or a quote is not closed.
    pub(super) fn take(&mut self) -> Option<Cow<'a, str>> {
        let text = self.rest.take()?;
        let Some(at) = text.find([' ', '\t', '\r', '\n', '"', '=']) else {
            return Some(Cow::Borrowed(text));
        };
        let (word, from) = text.split_at(at);
        if let Some(quoted) = from.strip_prefix('"') {
            let (inner, after) = quoted.split_once('"')?;
            self.rest = Some(after.trim_start_matches(BLANKS));
            return Some(if word.is_empty() {
                Cow::Borrowed(inner)
            } else {
                Cow::Owned(format!("{word}{inner}"))
            });
        }
        let after = from[1..].trim_start_matches(BLANKS);
        // One '=' at most, wherever the blanks are.
        let second = if from.starts_with('=') {
            None
        } else {
            after.strip_prefix('=')
        };
        self.rest = Some(second.map_or(after, |after| after.trim_start_matches(BLANKS)));
        Some(Cow::Borrowed(word))
    }
}

/// Divides a line into its keyword, in lower case, and the rest. `None`: blank, a comment, or nothing that counts.
///
/// # Errors
/// A keyword without a value.
pub(super) fn keyword(line: &str) -> Result<Option<(String, &str)>, String> {
    let line = line.split('\0').next().unwrap_or_default();
    let mut words = Words::new(line.trim_end_matches([' ', '\t', '\r', '\n', '\u{c}']));
    let mut first = words.take();
    if first.as_deref() == Some("") {
        first = words.take();
    }
    let Some(keyword) = first.filter(|word| !word.is_empty() && !word.starts_with('#')) else {
        return Ok(None);
    };
    let rest = words.rest().unwrap_or_default().trim_start_matches(BLANKS);
    if rest.is_empty() {
        return Err(format!("no value after {keyword}"));
    }
    Ok(Some((keyword.to_ascii_lowercase(), rest)))
}

/// Divides the rest of a line into arguments.
///
/// # Errors
/// A quote that is not closed.
pub(super) fn arguments(text: &str) -> Result<Vec<String>, String> {
    let mut arguments = Vec::new();
    let mut chars = text.chars().peekable();
    loop {
        while chars.next_if(|&c| c == ' ' || c == '\t').is_some() {}
        if matches!(chars.peek(), None | Some('#')) {
            return Ok(arguments);
        }
        let mut argument = String::new();
        let mut quote: Option<char> = None;
        while let Some(c) = chars.next_if(|&c| quote.is_some() || (c != ' ' && c != '\t')) {
            match (c, quote) {
                ('\\', _) => {
                    let escaped =
                        |&next: &char| matches!(next, '"' | '\'' | '\\') || (quote.is_none() && next == ' ');
                    argument.push(chars.next_if(escaped).unwrap_or('\\'));
                }
                ('"' | '\'', None) => quote = Some(c),
                (c, Some(open)) if c == open => quote = None,
                (c, _) => argument.push(c),
            }
        }
        if quote.is_some() {
            return Err(format!(
                "a quote is not closed in {}",
                stdx::bounded::one_line(text, 80)
            ));
        }
        arguments.push(argument);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<(&str, &[&str])>) {
        let got = keyword(line)
            .unwrap()
            .map(|(keyword, rest)| (keyword, arguments(rest).unwrap()));
        let expected = expected.map(|(keyword, words)| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            (keyword.to_owned(), words)
        });
        assert_eq!(got, expected, "{line:?}");
    }

    #[test]
    fn lines_fall_into_words() {
        check("  Port = 22 # why\r", Some(("port", &["22"])));
        check("Port=22", Some(("port", &["22"])));
        check("Port =22", Some(("port", &["22"])));
        check("Port==22", Some(("port", &["=22"])));
        check("\"Port\" 22", Some(("port", &["22"])));
        check(
            "IdentityFile \"a b\" 'c' d\\ e f\"g\"h",
            Some(("identityfile", &["a b", "c", "d e", "fgh"])),
        );
        check("User a#b # c", Some(("user", &["a#b"])));
        check(r#"User "a\"b" \x"#, Some(("user", &["a\"b", "\\x"])));
        check("# no", None);
        check("   ", None);
        check("Ho\"st a", None);
        check("User a\0 b", Some(("user", &["a"])));
        assert!(keyword("Port").is_err() && keyword("Port =  ").is_err());
        assert!(arguments("\"x").is_err() && arguments("'x\\'").is_err());
    }

    #[test]
    fn conditions_fall_into_words_without_escapes() {
        let mut words = Words::new("host=a,b exec \"test -f x\" final");
        let got: Vec<String> = std::iter::from_fn(|| words.take().map(Cow::into_owned)).collect();
        assert_eq!(got, ["host", "a,b", "exec", "test -f x", "final"]);
        assert_eq!(Words::new("\"open").take(), None);
    }
}

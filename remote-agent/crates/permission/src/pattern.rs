//! The glob of rules: `*` is any run of characters including `/`, `?` is one character; the whole subject must match.

/// Says whether `text` matches `pattern`. Time grows with the product of both lengths at worst.
#[must_use]
pub fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    // Where to continue when the characters behind the last star do not fit: the star and the text it covers.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(c) if *c == '?' || *c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((at, covered)) = star else { return false };
                star = Some((at, covered + 1));
                p = at + 1;
                t = covered + 1;
            }
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn whole_subject_must_match() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("*", "", true),
            ("docs/**", "docs/a/b", true),
            ("docs/**", "docs/", true),
            ("docs/**", "docs", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("a?c", "aéc", true),
            ("*.rs", "src/x.rs", true),
            ("*.rs", "src/x.rs ", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b*", "xxbxxaxx", false),
            ("[ab]", "a", false),
            ("[ab]", "[ab]", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn many_stars_end_in_time() {
        assert!(!matches(&"*a".repeat(200), &"a".repeat(199)));
    }
}

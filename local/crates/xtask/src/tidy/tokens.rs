//! Looks for single words that source may not use: `unsafe`, `#[allow]`, `#[ignore]`.
//!
//! Tokens are read rather than items, so that the inside of a macro call is no hiding place.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};

/// Where `unsafe` is thinkable: in the product one folder, and for development the one file that asks the kernel for
/// a TUN device.
const UNSAFE_HOMES: [&str; 2] = [
    "remote-agent/crates/sandbox/src/platform/",
    "local/crates/faultnet/src/tun.rs",
];

/// Finds forbidden words in a file.
fn check(path: &str, text: &str) -> Vec<String> {
    let stream: TokenStream = text
        .parse()
        .unwrap_or_else(|error| panic!("{path} does not parse: {error}"));
    let mut found = Vec::new();
    walk(stream, &mut |finding| found.push(finding));
    if UNSAFE_HOMES.iter().any(|home| path.starts_with(home)) {
        found.retain(|(what, _)| *what != UNSAFE);
    }
    found
        .into_iter()
        .map(|(what, line)| format!("{path}:{line}: {what}"))
        .collect()
}

const UNSAFE: &str = "`unsafe` belongs to sandbox::platform only";
const ALLOW: &str = "write `#[expect(lint, reason = \"…\")]`, not `allow`";
const IGNORE: &str = "an ignored test tests nothing: fix it or remove it";

fn walk(stream: TokenStream, report: &mut impl FnMut((&'static str, usize))) {
    let tokens: Vec<_> = stream.into_iter().collect();
    for (index, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Ident(word) if word == "unsafe" => report((UNSAFE, line(word))),
            TokenTree::Group(group) => {
                let in_attribute = group.delimiter() == Delimiter::Bracket
                    && (ends_with(&tokens[..index], &['#']) || ends_with(&tokens[..index], &['#', '!']));
                if in_attribute {
                    attribute(group.stream(), report);
                }
                walk(group.stream(), report);
            }
            _ => {}
        }
    }
}

fn ends_with(tokens: &[TokenTree], marks: &[char]) -> bool {
    let is_mark =
        |(token, mark): (&TokenTree, &char)| matches!(token, TokenTree::Punct(p) if p.as_char() == *mark);
    tokens.len() >= marks.len() && tokens.iter().rev().zip(marks.iter().rev()).all(is_mark)
}

/// Looks at the name of an attribute, and at the names inside `cfg_attr(…)`.
fn attribute(stream: TokenStream, report: &mut impl FnMut((&'static str, usize))) {
    let tokens: Vec<_> = stream.into_iter().collect();
    let Some(TokenTree::Ident(name)) = tokens.first() else {
        return;
    };
    match name.to_string().as_str() {
        "allow" => report((ALLOW, line(name))),
        "ignore" => report((IGNORE, line(name))),
        "cfg_attr" => {
            let Some(TokenTree::Group(arguments)) = tokens.get(1) else {
                return;
            };
            let arguments: Vec<_> = arguments.stream().into_iter().collect();
            for part in arguments
                .split(|token| matches!(token, TokenTree::Punct(p) if p.as_char() == ','))
                .skip(1)
            {
                attribute(part.iter().cloned().collect(), report);
            }
        }
        _ => {}
    }
}

fn line(word: &Ident) -> usize {
    word.span().start().line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{assert_none, source};

    #[test]
    fn no_file_uses_a_forbidden_word() {
        let found: Vec<_> = source::rust_files()
            .iter()
            .flat_map(|file| check(&file.path, &file.text))
            .collect();
        assert_none(&found);
    }

    #[test]
    fn unsafe_is_found_even_inside_macros() {
        let line = |n| [format!("a.rs:{n}: {UNSAFE}")];
        assert_eq!(check("a.rs", "fn f() {\n    unsafe { g() }\n}"), line(2));
        assert_eq!(check("a.rs", "m!(\n\nunsafe { g() });"), line(3));
        assert_eq!(
            check(
                "a.rs",
                "#![forbid(unsafe_code)] // unsafe\nconst A: &str = \"unsafe\";"
            ),
            [""; 0]
        );
        assert_eq!(
            check(
                "remote-agent/crates/sandbox/src/platform/linux.rs",
                "unsafe fn f() {}"
            ),
            [""; 0]
        );
    }

    #[test]
    fn allow_and_ignore_are_found_as_attributes_only() {
        assert_eq!(
            check("a.rs", "#[allow(dead_code)]\nfn f() {}"),
            [format!("a.rs:1: {ALLOW}")]
        );
        assert_eq!(
            check("a.rs", "#![allow(dead_code)]"),
            [format!("a.rs:1: {ALLOW}")]
        );
        assert_eq!(
            check(
                "a.rs",
                "#[cfg_attr(test, derive(Debug), allow(dead_code))]\nfn f() {}"
            ),
            [format!("a.rs:1: {ALLOW}")]
        );
        assert_eq!(
            check("a.rs", "#[test]\n#[ignore = \"slow\"]\nfn f() {}"),
            [format!("a.rs:2: {IGNORE}")]
        );
        assert_eq!(
            check("a.rs", "use ignore::Walk;\nfn f() { allow(1); vec![ignore] }"),
            [""; 0]
        );
        assert_eq!(
            check("a.rs", "#[expect(dead_code, reason = \"allow\")]\nfn ignore() {}"),
            [""; 0]
        );
    }
}

//! The names that a person gave to hosts.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use super::{
    Level, MAX_DEPTH, Machine,
    lexer::{self, Words},
};

/// A host that a configuration names, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The name, as written.
    pub name: String,
    /// The file.
    pub file: PathBuf,
    /// The line, counted from 1.
    pub line: usize,
}

/// Lists the hosts that a configuration file of the user and what it includes name: the words of `Host` lines and of
/// `Match host` and `Match originalhost` lists that are neither patterns nor negated. In order, each once.
///
/// Lines that OpenSSH would reject are passed over: [`parse_file`](super::parse_file) says what is wrong with them.
#[must_use]
pub fn aliases(text: &str, file: &Path, machine: &dyn Machine) -> Vec<Alias> {
    let mut found = Found {
        machine,
        left: super::MAX_FILES,
        seen: HashSet::new(),
        aliases: Vec::new(),
    };
    found.file(text, file, 0);
    found.aliases
}

struct Found<'a> {
    machine: &'a dyn Machine,
    /// How many files may still be included.
    left: usize,
    seen: HashSet<String>,
    aliases: Vec<Alias>,
}

impl Found<'_> {
    fn file(&mut self, text: &str, file: &Path, depth: usize) {
        for (index, line) in text.lines().enumerate() {
            let Ok(Some((keyword, rest))) = lexer::keyword(line) else {
                continue;
            };
            let words = match keyword.as_str() {
                "host" => lexer::arguments(rest).unwrap_or_default(),
                "match" => names_in_match(rest),
                "include" if depth < MAX_DEPTH => {
                    for pattern in lexer::arguments(rest).unwrap_or_default() {
                        self.include(&pattern, depth);
                    }
                    continue;
                }
                _ => continue,
            };
            for name in words {
                if is_literal(&name) && self.seen.insert(name.clone()) {
                    self.aliases.push(Alias {
                        name,
                        file: file.to_owned(),
                        line: index + 1,
                    });
                }
            }
        }
    }

    fn include(&mut self, pattern: &str, depth: usize) {
        for (path, text) in self.machine.included(pattern, Level::User).unwrap_or_default() {
            if let Some(left) = self.left.checked_sub(1) {
                self.left = left;
                self.file(&text, &path, depth + 1);
            }
        }
    }
}

fn names_in_match(conditions: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut words = Words::new(conditions);
    while let Some(criterion) = words.take().filter(|word| !word.is_empty()) {
        let criterion = criterion.to_ascii_lowercase();
        if criterion.starts_with('#') {
            break;
        }
        if matches!(criterion.trim_start_matches('!'), "all" | "final" | "canonical") {
            continue;
        }
        let Some(value) = words.take() else { break };
        if matches!(criterion.as_str(), "host" | "originalhost") {
            names.extend(value.split(',').map(str::to_owned));
        }
    }
    names
}

/// A name that can be typed: no pattern, and nothing that no host name has.
fn is_literal(name: &str) -> bool {
    !name.contains(['*', '?', '!', ','])
        && name
            .parse()
            .is_ok_and(|target: crate::Target| target.host == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Files;

    impl Machine for Files {
        fn included(&self, pattern: &str, _: Level) -> Result<Vec<(PathBuf, String)>, String> {
            Ok(match pattern {
                "more" => vec![(PathBuf::from("more"), "Host inner\nHost alpha\n".into())],
                "loop" => vec![(PathBuf::from("loop"), "Include loop loop\n".into())],
                _ => return Err("no such file".into()),
            })
        }
    }

    #[test]
    fn names_are_listed_once_in_order_with_their_place() {
        let text = "Host alpha beta* !gamma\n User x\nInclude more missing\nhost = \"delta\" alpha # epsilon\n\
                    Match host zeta,*.eta,!theta exec \"host iota\" originalhost=kappa final\nHost -bad a;b\nHost \"open\nInclude loop\n";
        let got: Vec<_> = aliases(text, Path::new("config"), &Files)
            .into_iter()
            .map(|alias| (alias.name, alias.file.display().to_string(), alias.line))
            .collect();
        let expected = [
            ("alpha", "config", 1),
            ("inner", "more", 1),
            ("delta", "config", 4),
            ("zeta", "config", 5),
            ("kappa", "config", 5),
        ];
        assert_eq!(
            got,
            expected.map(|(name, file, line)| (name.to_owned(), file.to_owned(), line))
        );
    }
}

//! Rules applied to command lines.

use crate::{
    grants::Grant,
    path::{Places, clean, touches},
    pattern,
    rule::Specifier,
    shell::{Expansion, Redirect, Script, Segment, Unparsable, candidates, is_shell, parse},
};

/// Programs whose second word says what they do, so that two words make a sensible grant.
const WITH_SUBCOMMANDS: &[&str] = &[
    "git",
    "cargo",
    "go",
    "npm",
    "pnpm",
    "yarn",
    "bun",
    "docker",
    "kubectl",
    "make",
    "just",
    "gh",
    "pip",
    "uv",
    "poetry",
    "mvn",
    "gradle",
    "dotnet",
    "bazel",
    "systemctl",
];

/// What joins commands.
const OPERATORS: [char; 4] = ['|', '&', ';', '\n'];

/// A command line with everything the rules ask about it.
#[derive(Debug)]
pub(crate) struct CommandView<'a> {
    text: &'a str,
    script: Result<Script, Unparsable>,
    readings: Vec<Reading>,
    /// Whether the name of a command in it is made at run time.
    name_is_made: bool,
    /// The places relative paths may be relative to: the working directory and those the command changes to.
    directories: Vec<String>,
    home: Option<&'a str>,
}

/// One command as a deny or ask rule sees it.
#[derive(Debug)]
struct Reading {
    words: Vec<String>,
    /// The command as written and without quotes.
    texts: [String; 2],
}

impl<'a> CommandView<'a> {
    pub(crate) fn new(text: &'a str, directory: &str, places: &'a Places) -> Self {
        let home = places.home.as_deref();
        let mut view = Self {
            text,
            script: parse(text),
            readings: Vec::new(),
            name_is_made: false,
            directories: Vec::new(),
            home,
        };
        view.directories.push(clean(directory, &places.workspace, home));
        if let Err(problem) = view.read() {
            view.script = Err(problem);
        }
        view
    }

    fn read(&mut self) -> Result<(), Unparsable> {
        let Ok(script) = &self.script else { return Ok(()) };
        let mut found = Vec::new();
        for segment in &script.segments {
            found.extend(candidates(segment)?);
        }
        if found
            .iter()
            .any(|candidate| candidate.words.first().is_some_and(|name| is_shell(name)))
        {
            for text in &script.here_texts {
                for segment in parse(text)?.segments {
                    found.extend(candidates(&segment)?);
                }
            }
        }
        for candidate in found {
            self.name_is_made |= candidate.name_is_made;
            let texts = [candidate.plain_text(), candidate.text];
            self.readings.push(Reading {
                words: candidate.words,
                texts,
            });
        }
        for reading in &self.readings {
            let changes = matches!(reading.words.first().map(String::as_str), Some("cd" | "pushd"));
            let target = reading.words.iter().skip(1).find(|word| !word.starts_with('-'));
            if let (true, Some(target), Some(last)) = (changes, target, self.directories.last()) {
                let directory = clean(target, last, self.home);
                self.directories.push(directory);
            }
        }
        Ok(())
    }

    /// Gives what keeps the text from being read.
    pub(crate) fn problem(&self) -> Option<&Unparsable> {
        self.script.as_ref().err()
    }

    /// Says whether no rule can know every command in it, since a name is made at run time.
    pub(crate) fn name_is_made(&self) -> bool {
        self.name_is_made
    }

    /// Says whether a deny or ask rule for commands names any part of this one.
    pub(crate) fn is_named_by(&self, specifier: &Specifier) -> bool {
        match specifier {
            Specifier::Any => true,
            Specifier::Literal(literal) => self.is_literally(literal),
            Specifier::Prefix(prefix) => self
                .readings
                .iter()
                .any(|reading| reading.words.starts_with(prefix)),
            Specifier::Glob(glob) => {
                let mut texts = self.readings.iter().flat_map(|reading| &reading.texts);
                texts.any(|text| pattern::matches(glob, text)) || self.contains_chain(glob)
            }
        }
    }

    /// Says whether this is the literal command, or a chain of commands that contains it.
    fn is_literally(&self, literal: &str) -> bool {
        let chained = self.script.as_ref().is_ok_and(|script| script.segments.len() > 1);
        literal == self.text
            || (chained
                && self
                    .readings
                    .iter()
                    .any(|reading| reading.texts.iter().any(|text| text == literal)))
            || (literal.contains(OPERATORS) && self.text.contains(literal))
    }

    /// Matches a pattern that contains operators, such as `curl * | sh`, anywhere in the text: no single command can
    /// match it, and adding another command must not get around it.
    fn contains_chain(&self, glob: &str) -> bool {
        let whole = || self.text.split_whitespace().collect::<Vec<_>>().join(" ");
        glob.contains(OPERATORS) && pattern::matches(&format!("*{glob}*"), &whole())
    }

    /// Says whether any word or redirection names a path of this pattern. Names made at run time stay unseen: the
    /// sandbox is what keeps files unreadable.
    pub(crate) fn mentions(&self, pattern: &str, places: &Places) -> bool {
        let words = self
            .readings
            .iter()
            .flat_map(|reading| &reading.words)
            .map(String::as_str);
        words
            .chain(self.redirect_targets(Reach::Any))
            .any(|word| self.is_path_of(word, pattern, places))
    }

    /// Says whether a redirection writes to a path of this pattern.
    pub(crate) fn writes(&self, pattern: &str, places: &Places) -> bool {
        self.redirect_targets(Reach::Written)
            .any(|word| self.is_path_of(word, pattern, places))
    }

    fn redirect_targets(&self, reach: Reach) -> impl Iterator<Item = &str> {
        let segments = self.script.iter().flat_map(|script| &script.segments);
        let redirects = segments.flat_map(|segment| &segment.redirects);
        redirects
            .filter(move |redirect| matches!(reach, Reach::Any) || redirect.writes_file())
            .map(|redirect| redirect.target.plain.as_str())
    }

    fn is_path_of(&self, word: &str, pattern: &str, places: &Places) -> bool {
        // `--file=x`, `if=x` and `-fx` name a path behind the option.
        let behind_equals = word.split_once('=').map(|(_, value)| value);
        let behind_option = word.strip_prefix('-').and_then(|rest| rest.get(1..));
        let spellings = [Some(word), behind_equals, behind_option];
        spellings
            .into_iter()
            .flatten()
            .filter(|text| !text.is_empty())
            .any(|text| {
                let cleaned: Vec<String> = self
                    .directories
                    .iter()
                    .map(|d| clean(text, d, self.home))
                    .collect();
                let cleaned: Vec<&str> = cleaned.iter().map(String::as_str).collect();
                touches(pattern, text, &cleaned, places)
            })
    }

    /// Says whether every command in this text is covered by one of `specifiers`, or the whole by a literal, and
    /// gives the places of those that were needed.
    pub(crate) fn covered_by(&self, specifiers: &[&Specifier]) -> Option<Vec<usize>> {
        let whole = |specifier: &&Specifier| match specifier {
            Specifier::Any => true,
            Specifier::Literal(literal) => literal == self.text,
            Specifier::Prefix(_) | Specifier::Glob(_) => false,
        };
        if let Some(at) = specifiers.iter().position(whole) {
            let readable = self.script.is_ok() || matches!(specifiers[at], Specifier::Literal(_));
            return readable.then(|| vec![at]);
        }
        let segments = &self.script.as_ref().ok()?.segments;
        let mut needed = Vec::new();
        for segment in segments {
            let at = specifiers
                .iter()
                .position(|specifier| covers(specifier, segment))?;
            if !needed.contains(&at) {
                needed.push(at);
            }
        }
        (!segments.is_empty()).then_some(needed)
    }

    /// Proposes what could be granted so that this command is not asked about again.
    pub(crate) fn suggestion(&self) -> Grant {
        let complete = Grant::Command(self.text.to_owned());
        let Ok(Script {
            segments, constructs, ..
        }) = &self.script
        else {
            return complete;
        };
        let [segment] = segments.as_slice() else {
            return complete;
        };
        if constructs.compound || constructs.substitution || !is_bare(segment) {
            return complete;
        }
        let literal = |at: usize| {
            segment
                .words
                .get(at)
                .filter(|word| word.expansion == Expansion::None)
        };
        match (literal(0), literal(1)) {
            (Some(program), Some(verb))
                if WITH_SUBCOMMANDS.contains(&program.plain.as_str()) && is_verb(&verb.plain) =>
            {
                Grant::CommandPrefix(vec![program.plain.clone(), verb.plain.clone()])
            }
            _ => complete,
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Reach {
    Any,
    Written,
}

/// Says whether a prefix or pattern covers a command. Neither covers assignments, which can change what the command
/// does, nor redirections that write a file.
fn covers(specifier: &Specifier, segment: &Segment) -> bool {
    match specifier {
        Specifier::Any | Specifier::Literal(_) => false,
        Specifier::Prefix(prefix) => {
            let same = |(word, wanted): (&crate::shell::Word, &String)| {
                word.expansion == Expansion::None && word.plain == *wanted
            };
            is_bare(segment)
                && segment.words.len() >= prefix.len()
                && segment.words.iter().zip(prefix).all(same)
        }
        Specifier::Glob(glob) => {
            let named = segment
                .words
                .first()
                .is_some_and(|head| head.expansion == Expansion::None);
            is_bare(segment) && named && pattern::matches(glob, &segment.text())
        }
    }
}

fn is_bare(segment: &Segment) -> bool {
    segment.assignments.is_empty()
        && !segment.words.is_empty()
        && !segment.redirects.iter().any(Redirect::writes_file)
}

fn is_verb(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

//! Colours in code: comments, strings, words of the language. A reading aid, not a parser: line by line, and what it
//! does not know stays plain.

use std::ops::Range;

use ratatui_core::{style::Style, text::Span};

use crate::Styles;

/// Lines that are longer stay plain, in bytes.
const MAX_LINE: usize = 1000;

/// What is known of a family of languages.
struct Language {
    names: &'static [&'static str],
    line_comment: &'static [&'static str],
    block_comment: Option<(&'static str, &'static str)>,
    quotes: &'static [char],
    keywords: &'static [&'static str],
}

const C_COMMENT: Option<(&str, &str)> = Some(("/*", "*/"));

const LANGUAGES: &[Language] = &[
    Language {
        names: &["rust", "rs"],
        line_comment: &["//"],
        block_comment: C_COMMENT,
        // A single quote is more often a lifetime than a character.
        quotes: &['"'],
        keywords: &[
            "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern",
            "false", "fn", "for", "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub",
            "ref", "return", "self", "Self", "static", "struct", "super", "trait", "true", "type", "unsafe",
            "use", "where", "while",
        ],
    },
    Language {
        names: &["python", "py"],
        line_comment: &["#"],
        block_comment: None,
        quotes: &['"', '\''],
        keywords: &[
            "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif",
            "else", "except", "False", "finally", "for", "from", "global", "if", "import", "in", "is",
            "lambda", "None", "nonlocal", "not", "or", "pass", "raise", "return", "self", "True", "try",
            "while", "with", "yield",
        ],
    },
    Language {
        names: &["javascript", "js", "jsx", "typescript", "ts", "tsx"],
        line_comment: &["//"],
        block_comment: C_COMMENT,
        quotes: &['"', '\'', '`'],
        keywords: &[
            "async",
            "await",
            "break",
            "case",
            "catch",
            "class",
            "const",
            "continue",
            "default",
            "delete",
            "else",
            "export",
            "extends",
            "false",
            "finally",
            "for",
            "from",
            "function",
            "if",
            "import",
            "in",
            "instanceof",
            "interface",
            "let",
            "new",
            "null",
            "of",
            "return",
            "super",
            "switch",
            "this",
            "throw",
            "true",
            "try",
            "type",
            "typeof",
            "undefined",
            "var",
            "void",
            "while",
            "yield",
        ],
    },
    Language {
        names: &["go", "golang"],
        line_comment: &["//"],
        block_comment: C_COMMENT,
        quotes: &['"', '\'', '`'],
        keywords: &[
            "break",
            "case",
            "chan",
            "const",
            "continue",
            "default",
            "defer",
            "else",
            "false",
            "for",
            "func",
            "go",
            "goto",
            "if",
            "import",
            "interface",
            "map",
            "nil",
            "package",
            "range",
            "return",
            "select",
            "struct",
            "switch",
            "true",
            "type",
            "var",
        ],
    },
    Language {
        names: &[
            "c", "h", "cpp", "c++", "cc", "java", "kotlin", "kt", "csharp", "cs", "swift",
        ],
        line_comment: &["//"],
        block_comment: C_COMMENT,
        quotes: &['"', '\''],
        keywords: &[
            "auto",
            "bool",
            "break",
            "case",
            "catch",
            "char",
            "class",
            "const",
            "continue",
            "default",
            "delete",
            "do",
            "double",
            "else",
            "enum",
            "extends",
            "extern",
            "false",
            "final",
            "float",
            "for",
            "fun",
            "func",
            "if",
            "implements",
            "import",
            "int",
            "interface",
            "let",
            "long",
            "namespace",
            "new",
            "null",
            "nullptr",
            "package",
            "private",
            "protected",
            "public",
            "return",
            "short",
            "sizeof",
            "static",
            "struct",
            "switch",
            "template",
            "this",
            "throw",
            "true",
            "try",
            "typedef",
            "typename",
            "union",
            "unsigned",
            "using",
            "val",
            "var",
            "virtual",
            "void",
            "while",
        ],
    },
    Language {
        names: &["bash", "sh", "shell", "zsh", "console"],
        line_comment: &["#"],
        block_comment: None,
        quotes: &['"', '\''],
        keywords: &[
            "case", "do", "done", "elif", "else", "esac", "export", "fi", "for", "function", "if", "in",
            "local", "return", "then", "until", "while",
        ],
    },
    Language {
        names: &["sql"],
        line_comment: &["--"],
        block_comment: C_COMMENT,
        quotes: &['\''],
        keywords: &[
            "and", "as", "by", "create", "delete", "from", "group", "having", "insert", "into", "join",
            "left", "limit", "not", "null", "on", "or", "order", "select", "set", "table", "union", "update",
            "values", "where", "AND", "AS", "BY", "CREATE", "DELETE", "FROM", "GROUP", "HAVING", "INSERT",
            "INTO", "JOIN", "LEFT", "LIMIT", "NOT", "NULL", "ON", "OR", "ORDER", "SELECT", "SET", "TABLE",
            "UNION", "UPDATE", "VALUES", "WHERE",
        ],
    },
    Language {
        names: &[
            "toml",
            "yaml",
            "yml",
            "ini",
            "conf",
            "dockerfile",
            "makefile",
            "make",
            "json",
            "jsonc",
        ],
        line_comment: &["#"],
        block_comment: None,
        quotes: &['"'],
        keywords: &["false", "null", "true"],
    },
];

/// Colours the lines of one block of code.
pub(super) struct Highlighter<'s> {
    styles: &'s Styles,
    language: Option<&'static Language>,
    is_diff: bool,
    in_comment: bool,
}

impl<'s> Highlighter<'s> {
    pub(super) fn new(name: &str, styles: &'s Styles) -> Self {
        let name = name.to_ascii_lowercase();
        Self {
            styles,
            language: LANGUAGES
                .iter()
                .find(|language| language.names.contains(&name.as_str())),
            is_diff: matches!(name.as_str(), "diff" | "patch"),
            in_comment: false,
        }
    }

    /// Gives the next line in its colours.
    pub(super) fn line<'a>(&mut self, line: &'a str) -> Vec<Span<'a>> {
        if self.is_diff {
            return vec![Span::styled(line, self.diff_style(line))];
        }
        let Some(language) = self.language.filter(|_| line.len() <= MAX_LINE) else {
            return vec![Span::styled(line, self.styles.code.block)];
        };
        // Neighbours of one style stay in one piece, so that a mark is not cut from its letter.
        let mut runs: Vec<(Range<usize>, Style)> = Vec::new();
        let mut at = 0;
        while at < line.len() {
            let (length, style) = self.token(language, line, at);
            match runs.last_mut() {
                Some((run, known)) if *known == style => run.end = at + length,
                _ => runs.push((at..at + length, style)),
            }
            at += length;
        }
        let block = self.styles.code.block;
        runs.into_iter()
            .map(|(run, style)| Span::styled(&line[run], block.patch(style)))
            .collect()
    }

    fn diff_style(&self, line: &str) -> Style {
        let style = match line.as_bytes().first() {
            Some(b'+') => self.styles.diff.added,
            Some(b'-') => self.styles.diff.removed,
            Some(b'@') => self.styles.dim,
            _ => Style::new(),
        };
        self.styles.code.block.patch(style)
    }

    /// Measures what stands at a place and gives its style.
    fn token(&mut self, language: &Language, line: &str, at: usize) -> (usize, Style) {
        let (rest, code) = (&line[at..], &self.styles.code);
        if let Some((open, close)) = language.block_comment
            && (self.in_comment || rest.starts_with(open))
        {
            let from = if self.in_comment { 0 } else { open.len() };
            let end = rest[from..].find(close).map(|end| from + end + close.len());
            self.in_comment = end.is_none();
            return (end.unwrap_or(rest.len()), code.comment);
        }
        let begins_word = at == 0 || line[..at].ends_with(|c: char| c.is_whitespace() || c == ';');
        let is_comment = |mark: &str| rest.starts_with(mark) && (mark != "#" || begins_word);
        if language.line_comment.iter().any(|mark| is_comment(mark)) {
            return (rest.len(), code.comment);
        }
        let first = rest.chars().next().unwrap_or_default();
        if language.quotes.contains(&first) {
            return (string_length(rest, first), code.string);
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        if word == 0 {
            return (first.len_utf8(), Style::new());
        }
        let style = match language.keywords.contains(&&rest[..word]) {
            true => code.keyword,
            false => Style::new(),
        };
        (word, style)
    }
}

/// Measures a string that begins with `quote`, up to its end or the line's.
fn string_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

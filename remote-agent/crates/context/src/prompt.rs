//! The base system prompt.

/// The base system prompt: the model's role and how it is to work.
///
/// It is the same for every session on every host, so that all of them share one cached prefix. Mechanics of single
/// tools stand in the tools' own descriptions, not here.
pub const BASE_PROMPT: &str = include_str!("prompt/base.md");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{hash::short, tokens::estimate_text};

    #[test]
    fn it_is_short_plain_and_stable() {
        let tokens = estimate_text(BASE_PROMPT);
        assert!((600..=1000).contains(&tokens), "{tokens}");
        assert!(BASE_PROMPT.is_ascii());
        assert!(BASE_PROMPT.ends_with(".\n") && !BASE_PROMPT.contains("\n\n\n"));
        // A changed prompt costs every running session its cache once: change it on purpose, and this line with it.
        assert_eq!(short(&[BASE_PROMPT]), "7cbd05768a34b23d");
    }

    #[test]
    fn it_names_each_tool() {
        for tool in [
            "read_file",
            "write_file",
            "edit_file",
            "bash",
            "ls",
            "glob",
            "grep",
        ] {
            assert!(BASE_PROMPT.contains(tool), "{tool}");
        }
    }
}

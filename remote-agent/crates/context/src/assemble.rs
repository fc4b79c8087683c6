//! The system message.

use crate::BASE_PROMPT;

/// What the system message is made of. It is read once when a session starts and kept for its whole life.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemParts<'a> {
    /// Replaces the base prompt; blank means none.
    pub persona: Option<&'a str>,
    /// Rules of the host's owner, which stand before those of the project; blank means none.
    pub host_rules: Option<&'a str>,
    /// Instruction files from the broadest to the most specific.
    pub instructions: &'a [Instruction],
}

/// A file with standing instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// What stands above it, for the model, without a path of the host: `workspace/AGENTS.md (project)`.
    pub heading: String,
    /// Its text.
    pub text: String,
}

/// Writes the system message.
///
/// The common parts come first, so that sessions of different projects share the beginning.
#[must_use]
pub fn system(parts: &SystemParts<'_>) -> String {
    let persona = parts
        .persona
        .filter(|text| !text.trim().is_empty())
        .unwrap_or(BASE_PROMPT);
    let mut out = persona.trim_end().to_owned();
    if let Some(rules) = parts.host_rules.filter(|text| !text.trim().is_empty()) {
        section(&mut out, "# Rules of this host", rules);
    }
    let files: Vec<_> = parts
        .instructions
        .iter()
        .filter(|file| !file.text.trim().is_empty())
        .collect();
    if !files.is_empty() {
        let words = "These files hold standing instructions, from broad to specific. Where two disagree, the later one \
                     holds; what the user says holds over both.";
        section(&mut out, "# Instructions", words);
        for file in files {
            section(&mut out, &format!("## {}", file.heading), &file.text);
        }
    }
    out.push('\n');
    out
}

fn section(out: &mut String, heading: &str, text: &str) {
    for piece in ["\n\n", heading, "\n\n", text.trim()] {
        out.push_str(piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(heading: &str, text: &str) -> Instruction {
        Instruction {
            heading: heading.to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn without_additions_it_is_the_base_prompt() {
        assert_eq!(system(&SystemParts::default()), BASE_PROMPT);
        let blank = SystemParts {
            persona: Some(" "),
            host_rules: Some("\n"),
            instructions: &[file("a", " ")],
        };
        assert_eq!(system(&blank), BASE_PROMPT);
    }

    #[test]
    fn parts_stand_in_the_given_order() {
        let files = [
            file("user/AGENTS.md (user)", "Be kind.\n"),
            file("workspace/REASONIX.md (project)", "Use tabs.\n\n"),
            file("workspace/AGENTS.local.md (local)", "No, spaces."),
        ];
        let parts = SystemParts {
            persona: Some("You are a pirate.\n"),
            host_rules: Some("No sudo."),
            instructions: &files,
        };
        let want = "You are a pirate.\n\n# Rules of this host\n\nNo sudo.\n\n# Instructions\n\nThese files hold standing \
                    instructions, from broad to specific. Where two disagree, the later one holds; what the user says \
                    holds over both.\n\n## user/AGENTS.md (user)\n\nBe kind.\n\n## workspace/REASONIX.md (project)\n\n\
                    Use tabs.\n\n## workspace/AGENTS.local.md (local)\n\nNo, spaces.\n";
        assert_eq!(system(&parts), want);
    }
}

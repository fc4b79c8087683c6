//! What decides the lines of a cell beside its data.

use ratatui::{
    style::{Modifier, Style},
    text::{Line, Span},
};
use richtext::{Breaking, CodeStyles, DiffStyles, Indent, Styles, wrap};

use crate::theme::{Role, Theme};

/// Width, colours and what is unfolded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) width: usize,
    pub(super) theme: Theme,
    pub(super) folds: Folds,
}

/// What is shown whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Folds {
    pub(super) whole_reasoning: bool,
    pub(super) whole_output: bool,
}

impl Look {
    pub(super) fn style(&self, role: Role) -> Style {
        self.theme.style(role)
    }

    /// Gives the styles of Markdown, diffs and output.
    pub(super) fn styles(&self) -> Styles {
        let style = |role| self.theme.style(role);
        let changed = Modifier::BOLD | Modifier::UNDERLINED;
        Styles {
            text: style(Role::Text),
            dim: style(Role::Dim),
            heading: style(Role::Accent),
            quote: style(Role::Dim),
            link: style(Role::Text).add_modifier(Modifier::UNDERLINED),
            code: CodeStyles {
                inline: style(Role::Code),
                block: style(Role::Text),
                keyword: style(Role::Code),
                string: style(Role::Ok),
                comment: style(Role::Dim),
            },
            diff: DiffStyles {
                file: style(Role::Accent),
                added: style(Role::Added),
                removed: style(Role::Removed),
                added_word: style(Role::Added).add_modifier(changed),
                removed_word: style(Role::Removed).add_modifier(changed),
            },
        }
    }

    /// Breaks a text that may be unsafe, behind a marker and with a hanging indent as wide.
    pub(super) fn hanging(&self, marker: Span<'static>, text: &str, style: Style) -> Vec<Line<'static>> {
        let rest = vec![Span::raw(" ".repeat(richtext::width(&marker.content)))];
        let indent = Indent {
            first: vec![marker],
            rest,
        };
        let text = richtext::sanitize(text);
        let text = text.trim_end();
        wrap(&[Span::styled(text, style)], self.width, &indent, Breaking::Words)
    }
}

//! Lines with their styles as text.

use ratatui_core::{
    style::{Color, Modifier, Style},
    text::Line,
};
use richtext::{CodeStyles, DiffStyles, Styles};

/// Styles that can be told apart.
pub(crate) fn styles() -> Styles {
    let fg = |colour| Style::new().fg(colour);
    Styles {
        text: Style::new(),
        dim: fg(Color::DarkGray),
        heading: fg(Color::Cyan),
        quote: fg(Color::Gray),
        link: fg(Color::Blue),
        code: CodeStyles {
            inline: fg(Color::Yellow),
            block: Style::new(),
            keyword: fg(Color::Magenta),
            string: fg(Color::Green),
            comment: fg(Color::DarkGray),
        },
        diff: DiffStyles {
            file: Style::new().add_modifier(Modifier::BOLD),
            added: fg(Color::Green),
            removed: fg(Color::Red),
            added_word: fg(Color::Green).add_modifier(Modifier::REVERSED),
            removed_word: fg(Color::Red).add_modifier(Modifier::REVERSED),
        },
    }
}

/// Gives the text of lines; `·` ends a line that would end in a blank.
pub(crate) fn plain(lines: &[Line<'_>]) -> String {
    let shown = lines.iter().map(|line| {
        let text = line.to_string();
        if text.ends_with(' ') { text + "·" } else { text }
    });
    shown.collect::<Vec<_>>().join("\n")
}

/// Gives the text of lines with `{style:text}` where a style differs from plain.
pub(crate) fn styled(lines: &[Line<'_>]) -> String {
    let mut dump = String::new();
    for line in lines {
        for span in &line.spans {
            let style = line.style.patch(span.style);
            let mut names = Vec::new();
            names.extend(style.fg.map(|colour| colour.to_string()));
            names.extend(style.bg.map(|colour| format!("on {colour}")));
            names.extend(
                style
                    .add_modifier
                    .iter_names()
                    .map(|(name, _)| name.to_lowercase()),
            );
            if names.is_empty() {
                dump.push_str(&span.content);
            } else {
                dump.push_str(&format!("{{{}:{}}}", names.join(" "), span.content));
            }
        }
        dump.push('\n');
    }
    dump
}

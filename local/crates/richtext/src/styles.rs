//! The styles that the renderers use, named by meaning, so that a theme decides the colours.

use ratatui_core::style::Style;

/// Styles of everything; the default has no colours at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Styles {
    /// Running text.
    pub text: Style,
    /// What matters less: markers, rules, addresses, gutters, remarks.
    pub dim: Style,
    /// Headings.
    pub heading: Style,
    /// Quoted text.
    pub quote: Style,
    /// The text of a link.
    pub link: Style,
    /// Code.
    pub code: CodeStyles,
    /// Diffs.
    pub diff: DiffStyles,
}

/// Styles of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CodeStyles {
    /// Code within a sentence.
    pub inline: Style,
    /// A block of code.
    pub block: Style,
    /// Words of the language.
    pub keyword: Style,
    /// Quoted strings.
    pub string: Style,
    /// Comments.
    pub comment: Style,
}

/// Styles of diffs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiffStyles {
    /// The name of a file.
    pub file: Style,
    /// Lines that are only in the new text.
    pub added: Style,
    /// Lines that are only in the old text.
    pub removed: Style,
    /// What differs within an added line.
    pub added_word: Style,
    /// What differs within a removed line.
    pub removed_word: Style,
}

//! Markdown, diffs and terminal output as styled lines of a given width.
//!
//! Pure: text in, [`ratatui_core::text::Line`]s out. No terminal, no clock, no state of a session.

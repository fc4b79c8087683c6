//! Markdown, diffs and terminal output as styled lines of a given width.
//!
//! Pure: text in, [`ratatui_core::text::Line`]s out. No terminal, no clock, no state of a session. Whatever the text
//! is, nothing here panics, no line is wider than asked for, and no character reaches a line that steers a terminal
//! or shows text in another order than it has.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | change how Markdown looks | [`markdown()`], `markdown/render.rs`, `markdown/table.rs` |
//! | change how a streamed answer is kept | `markdown/stream.rs`, and where it is cut: `markdown/blocks.rs` |
//! | change what is coloured in code | `markdown/highlight.rs` |
//! | change how lines are broken | [`wrap`](crate::wrap()) |
//! | change how a diff is made or drawn | [`Diff`] |
//! | change how a program's output is shown | [`output`](crate::output()), `output/ansi.rs` |
//! | change what counts as unsafe text | `safe.rs` |

mod diff;
mod markdown;
mod measure;
mod output;
mod safe;
mod styles;
mod wrap;

pub use diff::{Diff, FileDiff, LineNumbers};
pub use markdown::{Stream, markdown};
pub use measure::{graphemes, truncate, truncate_line, width};
pub use output::{Folding, output};
pub use safe::{reveal, safe_line, sanitize};
pub use styles::{CodeStyles, DiffStyles, Styles};
pub use wrap::{Breaking, Indent, wrap};

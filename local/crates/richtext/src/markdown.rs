//! Markdown (CommonMark, with GitHub's tables, task lists and strikethrough) as styled lines.
//!
//! A text is cut into blocks that can be rendered apart, so that an answer that grows word by word is not rendered
//! from its beginning with each word. That cut is part of the meaning: a text rendered at once is cut the same way.
//! A link definition therefore counts within its block only, and is shown.

mod blocks;
mod highlight;
mod inline;
mod render;
mod stream;
mod table;

use ratatui_core::text::Line;

pub use stream::Stream;

use crate::Styles;

/// Renders a text in lines of at most `width` columns.
///
/// HTML is shown as it is written, the address of a link is shown behind it, an image is its description and address.
#[must_use]
pub fn markdown(text: &str, width: usize, styles: &Styles) -> Vec<Line<'static>> {
    let mut stream = Stream::new(width, *styles);
    stream.push(text);
    stream.into_lines()
}

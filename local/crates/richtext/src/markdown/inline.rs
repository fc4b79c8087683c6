//! Text within a block: styles, links, images.

use ratatui_core::{
    style::{Modifier, Style},
    text::Span,
};

use crate::{Styles, safe_line, sanitize};

/// The text of a block so far.
pub(super) struct Inline<'s> {
    styles: &'s Styles,
    spans: Vec<Span<'static>>,
    /// The style in force is the last one; the first one is that of plain text.
    stack: Vec<Style>,
    links: Vec<OpenLink>,
}

struct OpenLink {
    address: String,
    /// Its text begins at this span.
    from: usize,
    is_image: bool,
}

impl<'s> Inline<'s> {
    pub(super) fn new(styles: &'s Styles) -> Self {
        Self {
            styles,
            spans: Vec::new(),
            stack: vec![styles.text],
            links: Vec::new(),
        }
    }

    /// Gives the text and begins anew. Blanks at the end are left out.
    pub(super) fn take(&mut self) -> Vec<Span<'static>> {
        self.links.clear();
        std::mem::take(&mut self.spans)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Gives the style of plain text here.
    pub(super) fn style(&self) -> Style {
        self.stack.last().copied().unwrap_or(self.styles.text)
    }

    pub(super) fn begin(&mut self, style: Style) {
        self.stack.push(self.style().patch(style));
    }

    pub(super) fn begin_with(&mut self, modifier: Modifier) {
        self.begin(Style::new().add_modifier(modifier));
    }

    pub(super) fn end(&mut self) {
        if self.stack.len() > 1 {
            self.stack.pop();
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        self.push(text, self.style());
    }

    pub(super) fn dim(&mut self, text: &str) {
        self.push(text, self.styles.dim);
    }

    pub(super) fn code(&mut self, text: &str) {
        self.push(text, self.style().patch(self.styles.code.inline));
    }

    /// Shows a tag as it is written, except a line break.
    pub(super) fn html(&mut self, tag: &str) {
        let name = tag.trim_start_matches('<').trim_end_matches(['>', '/', ' ']);
        if name.eq_ignore_ascii_case("br") {
            self.text("\n");
        } else {
            self.dim(tag);
        }
    }

    pub(super) fn begin_link(&mut self, address: &str, is_image: bool) {
        if is_image {
            self.dim("[image: ");
        }
        self.links.push(OpenLink {
            address: safe_line(address),
            from: self.spans.len(),
            is_image,
        });
        self.begin(self.styles.link);
    }

    /// Ends a link: its address follows, since the text may say anything.
    pub(super) fn end_link(&mut self) {
        self.end();
        let Some(link) = self.links.pop() else { return };
        let shown: String = self
            .spans
            .get(link.from..)
            .unwrap_or_default()
            .iter()
            .map(|span| span.content.as_ref())
            .collect();
        if link.is_image {
            self.dim("]");
        }
        let is_told = link.address.is_empty()
            || link.address == shown
            || link.address.strip_prefix("mailto:") == Some(shown.as_str());
        if shown.is_empty() {
            self.dim(&link.address);
        } else if !is_told {
            self.dim(&format!(" ({})", link.address));
        }
    }

    fn push(&mut self, text: &str, style: Style) {
        // Character references can name what the text itself was cleared of.
        let text = sanitize(text);
        if !text.is_empty() {
            self.spans.push(Span::styled(text.into_owned(), style));
        }
    }
}

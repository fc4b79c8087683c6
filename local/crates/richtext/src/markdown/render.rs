//! One block of Markdown as lines.

use pulldown_cmark::{BlockQuoteKind, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui_core::{
    style::Modifier,
    text::{Line, Span},
};

use super::{
    highlight::Highlighter,
    inline::Inline,
    table::{self, Table},
};
use crate::{
    Styles,
    measure::{width, width_of},
    safe_line, sanitize,
    wrap::{Breaking, Indent, wrap},
};

/// Before the text of a quote.
const QUOTE: &str = "│ ";
/// Before a line of code, and before the rest of a long one.
const CODE: (&str, &str) = ("  ", "↳ ");
/// Before an item of a list, by depth; deeper ones have the last.
const BULLETS: [&str; 3] = ["• ", "◦ ", "- "];

/// Renders a text that is safe to show.
pub(super) fn render(source: &str, width: usize, styles: &Styles) -> Vec<Line<'static>> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_GFM;
    let parser = Parser::new_ext(source, options);
    let mut definitions: Vec<_> = parser
        .reference_definitions()
        .iter()
        .map(|(label, definition)| (definition.span.start, format!("[{label}]: {}", definition.dest)))
        .collect();
    definitions.sort_unstable();
    let mut renderer = Renderer {
        styles,
        width,
        lines: Vec::new(),
        containers: Vec::new(),
        inline: Inline::new(styles),
        leaf: Leaf::Text,
        gap: false,
    };
    for event in parser {
        renderer.event(event);
    }
    renderer.flush();
    for (_, definition) in definitions {
        renderer.inline.dim(&safe_line(&definition));
        renderer.flush();
    }
    renderer.lines
}

/// What blocks stand in.
enum Container {
    Quote,
    List {
        /// The number of the next item, of an ordered list.
        next: Option<u64>,
    },
    Item {
        marker: String,
        /// Whether the marker is on the screen.
        is_shown: bool,
    },
}

/// The block that is being read.
enum Leaf {
    /// Styled text.
    Text,
    Code {
        language: String,
        text: String,
    },
    Html(String),
    Table(Table),
}

struct Renderer<'s> {
    styles: &'s Styles,
    width: usize,
    lines: Vec<Line<'static>>,
    containers: Vec<Container>,
    inline: Inline<'s>,
    leaf: Leaf,
    /// Whether a blank line comes before the next block.
    gap: bool,
}

impl Renderer<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.leaf {
                Leaf::Code { text: code, .. } | Leaf::Html(code) => code.push_str(&text),
                Leaf::Text | Leaf::Table(_) => self.inline.text(&text),
            },
            Event::Html(text) => match &mut self.leaf {
                Leaf::Html(html) => html.push_str(&text),
                _ => self.inline.dim(&text),
            },
            Event::Code(code) => self.inline.code(&code),
            Event::InlineHtml(tag) => self.inline.html(&tag),
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.inline.text(&text);
            }
            Event::SoftBreak => self.inline.text(" "),
            Event::HardBreak => self.inline.text("\n"),
            Event::Rule => {
                self.begin_block();
                let columns = self.room();
                self.emit(vec![Line::styled("─".repeat(columns), self.styles.dim)]);
                self.gap = true;
            }
            Event::TaskListMarker(done) => self.inline.dim(if done { "[x] " } else { "[ ] " }),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.begin_block(),
            Tag::Heading { level, .. } => {
                self.begin_block();
                self.inline.begin(self.styles.heading);
                if level == HeadingLevel::H1 {
                    self.inline.begin_with(Modifier::UNDERLINED);
                }
            }
            Tag::BlockQuote(kind) => self.begin_quote(kind),
            Tag::CodeBlock(kind) => {
                self.begin_block();
                let language = match kind {
                    CodeBlockKind::Fenced(info) => {
                        safe_line(info.split([' ', ',', '{']).next().unwrap_or_default())
                    }
                    CodeBlockKind::Indented => String::new(),
                };
                let text = String::new();
                self.leaf = Leaf::Code { language, text };
            }
            Tag::HtmlBlock => {
                self.begin_block();
                self.leaf = Leaf::Html(String::new());
            }
            Tag::List(next) => {
                self.flush();
                if !self.in_item() {
                    self.begin_block();
                }
                self.containers.push(Container::List { next });
            }
            Tag::Item => self.begin_item(),
            Tag::Table(alignments) => {
                self.begin_block();
                self.leaf = Leaf::Table(Table::new(alignments));
            }
            Tag::TableHead | Tag::TableRow => {
                if let Leaf::Table(table) = &mut self.leaf {
                    table.begin_row();
                }
                if matches!(tag, Tag::TableHead) {
                    self.inline.begin_with(table::HEAD);
                }
            }
            Tag::Emphasis => self.inline.begin_with(Modifier::ITALIC),
            Tag::Strong => self.inline.begin_with(Modifier::BOLD),
            Tag::Strikethrough => self.inline.begin_with(Modifier::CROSSED_OUT),
            Tag::Link { dest_url, .. } => self.inline.begin_link(&dest_url, false),
            Tag::Image { dest_url, .. } => self.inline.begin_link(&dest_url, true),
            // Extensions that are not enabled.
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::TableCell
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.end_block(),
            TagEnd::Heading(level) => {
                self.inline.end();
                if level == HeadingLevel::H1 {
                    self.inline.end();
                }
                self.end_block();
            }
            TagEnd::BlockQuote(_) => {
                self.end_block();
                self.containers.pop();
                self.inline.end();
            }
            TagEnd::CodeBlock | TagEnd::HtmlBlock | TagEnd::Table => {
                match std::mem::replace(&mut self.leaf, Leaf::Text) {
                    Leaf::Code { language, text } => self.code(&language, &text),
                    Leaf::Html(html) => {
                        self.inline.dim(html.trim_end());
                        self.flush();
                    }
                    Leaf::Table(table) => {
                        let lines = table.lines(self.room(), self.styles);
                        self.emit(lines);
                    }
                    Leaf::Text => {}
                }
                self.gap = true;
            }
            TagEnd::List(_) => {
                self.containers.pop();
                self.gap = true;
            }
            TagEnd::Item => self.end_item(),
            TagEnd::TableHead => self.inline.end(),
            TagEnd::TableCell => {
                let cell = self.inline.take();
                if let Leaf::Table(table) = &mut self.leaf {
                    table.cell(cell);
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => self.inline.end(),
            TagEnd::Link | TagEnd::Image => self.inline.end_link(),
            TagEnd::TableRow
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn begin_quote(&mut self, kind: Option<BlockQuoteKind>) {
        self.begin_block();
        self.containers.push(Container::Quote);
        self.inline.begin(self.styles.quote);
        let label = kind.map(|kind| match kind {
            BlockQuoteKind::Note => "Note",
            BlockQuoteKind::Tip => "Tip",
            BlockQuoteKind::Important => "Important",
            BlockQuoteKind::Warning => "Warning",
            BlockQuoteKind::Caution => "Caution",
        });
        if let Some(label) = label {
            self.inline.begin_with(Modifier::BOLD);
            self.inline.text(label);
            self.inline.end();
            self.flush();
        }
    }

    fn begin_item(&mut self) {
        self.flush();
        let depth = self
            .containers
            .iter()
            .filter(|container| matches!(container, Container::List { .. }))
            .count();
        let marker = match self.containers.last_mut() {
            Some(Container::List { next: Some(next) }) => {
                let marker = format!("{next}. ");
                *next = next.saturating_add(1);
                marker
            }
            _ => BULLETS[depth.saturating_sub(1).min(BULLETS.len() - 1)].to_owned(),
        };
        self.gap = false;
        self.containers.push(Container::Item {
            marker,
            is_shown: false,
        });
    }

    fn end_item(&mut self) {
        self.flush();
        if let Some(Container::Item { is_shown: false, .. }) = self.containers.last() {
            self.emit(vec![Line::default()]);
        }
        self.containers.pop();
        self.gap = false;
    }

    fn in_item(&self) -> bool {
        matches!(self.containers.last(), Some(Container::Item { .. }))
    }

    /// Shows what is pending, and a blank line where one belongs.
    fn begin_block(&mut self) {
        self.flush();
        if std::mem::take(&mut self.gap) {
            let indent = self.indent().rest;
            let is_blank = indent.iter().all(|span| span.content.trim().is_empty());
            self.lines.push(if is_blank {
                Line::default()
            } else {
                Line::from(indent)
            });
        }
    }

    fn end_block(&mut self) {
        self.flush();
        self.gap = true;
    }

    /// Shows the text that was read.
    fn flush(&mut self) {
        if !self.inline.is_empty() {
            let text = self.inline.take();
            let lines = wrap(&text, self.width, &self.indent(), Breaking::Words);
            self.lines.extend(lines);
            self.mark_shown();
        }
    }

    /// Shows lines that are made for [`Self::room`].
    fn emit(&mut self, lines: Vec<Line<'static>>) {
        for line in lines {
            let mut spans = self.indent().first;
            spans.extend(line.spans);
            self.lines.push(Line::from(spans).style(line.style));
            self.mark_shown();
        }
    }

    fn code(&mut self, language: &str, text: &str) {
        if !language.is_empty() {
            let label = crate::truncate(&format!("{}{language}", CODE.0), self.room()).into_owned();
            self.emit(vec![Line::styled(label, self.styles.dim)]);
        }
        let mut highlighter = Highlighter::new(language, self.styles);
        let text = sanitize(text);
        let text = text.trim_end_matches('\n');
        if text.is_empty() {
            return;
        }
        for line in text.split('\n') {
            let mut indent = self.indent();
            indent.first.push(Span::raw(CODE.0));
            indent.rest.push(Span::styled(CODE.1, self.styles.dim));
            let lines = wrap(&highlighter.line(line), self.width, &indent, Breaking::Anywhere);
            self.lines.extend(lines);
            self.mark_shown();
        }
    }

    /// Gives the columns that the containers leave.
    fn room(&self) -> usize {
        self.width.saturating_sub(width_of(&self.indent().rest)).max(1)
    }

    /// Gives what the containers put before a line: at most half of the width, the innermost are left out.
    fn indent(&self) -> Indent {
        let mut indent = Indent::default();
        let mut left = self.width / 2;
        for container in &self.containers {
            let (first, rest, style) = match container {
                Container::List { .. } => continue,
                Container::Quote => (QUOTE.to_owned(), QUOTE.to_owned(), self.styles.dim),
                Container::Item { marker, is_shown } => {
                    let blank = " ".repeat(width(marker));
                    let first = if *is_shown { blank.clone() } else { marker.clone() };
                    (first, blank, self.styles.dim)
                }
            };
            let Some(rest_left) = left.checked_sub(width(&rest)) else {
                break;
            };
            left = rest_left;
            indent.first.push(Span::styled(first, style));
            indent.rest.push(Span::styled(rest, style));
        }
        indent
    }

    fn mark_shown(&mut self) {
        for container in self.containers.iter_mut().rev() {
            match container {
                // What is around it is shown as well.
                Container::Item { is_shown: true, .. } => return,
                Container::Item { is_shown, .. } => *is_shown = true,
                Container::Quote | Container::List { .. } => {}
            }
        }
    }
}

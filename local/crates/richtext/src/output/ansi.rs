//! Terminal sequences (ECMA-48): colours are taken over, everything else is dropped.

use std::{iter::Peekable, str::Chars};

use ratatui_core::{
    style::{Color, Modifier, Style},
    text::Span,
};

use crate::safe::{Judged, judge};

/// The longest parameters of a sequence that are read, in characters.
const MAX_PARAMETERS: usize = 128;

/// Follows the colours through the lines of an output.
pub(super) struct Painter {
    plain: Style,
    style: Style,
}

impl Painter {
    pub(super) fn new(plain: Style) -> Self {
        Self { plain, style: plain }
    }

    /// Gives what a line shows in the end. No sequence goes beyond its line, so that none hides the lines below.
    pub(super) fn line(&mut self, line: &str) -> Vec<Span<'static>> {
        let mut drawn = Drawn::default();
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\x1b' => self.escape(&mut chars),
                '\u{9b}' => self.control(&mut chars),
                '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => skip_string(&mut chars),
                '\r' => drawn.at_start = true,
                '\x08' => drawn.erase(),
                '\0' | '\x07' | '\x0e' | '\x0f' | '\x7f' => {}
                c => match judge(c) {
                    Judged::Shown => drawn.push(c, self.style),
                    Judged::LineEnd => drawn.push(' ', self.style),
                    Judged::Dropped => {}
                    Judged::Replaced => drawn.push('\u{fffd}', self.style),
                },
            }
        }
        drawn.spans
    }

    /// Reads what follows an escape character.
    fn escape(&mut self, chars: &mut Peekable<Chars<'_>>) {
        match chars.peek() {
            Some('[') => {
                chars.next();
                self.control(chars);
            }
            Some(']' | 'P' | 'X' | '^' | '_') => {
                chars.next();
                skip_string(chars);
            }
            _ => {
                while chars.next_if(|c| (' '..='/').contains(c)).is_some() {}
                chars.next_if(|c| ('0'..='~').contains(c));
            }
        }
    }

    /// Reads a control sequence up to its final character.
    fn control(&mut self, chars: &mut Peekable<Chars<'_>>) {
        let mut parameters = String::new();
        while let Some(c) = chars.next_if(|c| (' '..='?').contains(c)) {
            if parameters.len() < MAX_PARAMETERS {
                parameters.push(c);
            }
        }
        if chars.next_if(|c| ('@'..='~').contains(c)) == Some('m') {
            self.select(&parameters);
        }
    }

    /// Applies "select graphic rendition".
    fn select(&mut self, parameters: &str) {
        let is_private = parameters.contains(|c: char| !c.is_ascii_digit() && c != ';' && c != ':');
        if is_private {
            return;
        }
        let mut fields = parameters.split(';');
        while let Some(field) = fields.next() {
            let (code, sub) = field
                .split_once(':')
                .map_or((field, None), |(code, sub)| (code, Some(sub)));
            match code.parse::<u16>().unwrap_or(0) {
                code @ (38 | 48 | 58) => {
                    let colour = match sub {
                        Some(sub) => colour_of(&mut sub.split(':').filter(|part| !part.is_empty())),
                        None => colour_of(&mut fields),
                    };
                    match (code, colour) {
                        (38, Some(colour)) => self.style.fg = Some(colour),
                        (48, Some(colour)) => self.style.bg = Some(colour),
                        _ => {}
                    }
                }
                code => self.apply(code),
            }
        }
    }

    fn apply(&mut self, code: u16) {
        let style = self.style;
        self.style = match code {
            0 => self.plain,
            1 => style.add_modifier(Modifier::BOLD),
            2 => style.add_modifier(Modifier::DIM),
            3 => style.add_modifier(Modifier::ITALIC),
            4 | 21 => style.add_modifier(Modifier::UNDERLINED),
            7 => style.add_modifier(Modifier::REVERSED),
            9 => style.add_modifier(Modifier::CROSSED_OUT),
            22 => style.remove_modifier(Modifier::BOLD | Modifier::DIM),
            23 => style.remove_modifier(Modifier::ITALIC),
            24 => style.remove_modifier(Modifier::UNDERLINED),
            27 => style.remove_modifier(Modifier::REVERSED),
            29 => style.remove_modifier(Modifier::CROSSED_OUT),
            30..=37 => style.fg(basic(code - 30)),
            39 => Style {
                fg: self.plain.fg,
                ..style
            },
            40..=47 => style.bg(basic(code - 40)),
            49 => Style {
                bg: self.plain.bg,
                ..style
            },
            90..=97 => style.fg(basic(code - 90 + 8)),
            100..=107 => style.bg(basic(code - 100 + 8)),
            // Blinking, hidden text, fonts: not shown.
            _ => style,
        };
    }
}

/// Gives one of the sixteen colours that a terminal's theme sets.
fn basic(index: u16) -> Color {
    match index {
        0 => Color::Black,
        1 => Color::Red,
        2 => Color::Green,
        3 => Color::Yellow,
        4 => Color::Blue,
        5 => Color::Magenta,
        6 => Color::Cyan,
        7 => Color::Gray,
        8 => Color::DarkGray,
        9 => Color::LightRed,
        10 => Color::LightGreen,
        11 => Color::LightYellow,
        12 => Color::LightBlue,
        13 => Color::LightMagenta,
        14 => Color::LightCyan,
        _ => Color::White,
    }
}

/// Reads `5;N` or `2;R;G;B`.
fn colour_of<'a>(fields: &mut impl Iterator<Item = &'a str>) -> Option<Color> {
    let mut number = || fields.next()?.parse::<u8>().ok();
    match number()? {
        5 => Some(Color::Indexed(number()?)),
        2 => {
            let mut parts: Vec<u8> = std::iter::from_fn(number).take(3).collect();
            let (blue, green) = (parts.pop()?, parts.pop()?);
            Some(Color::Rgb(parts.pop()?, green, blue))
        }
        _ => None,
    }
}

/// Skips a string for the terminal: up to BEL, ST or the end of the line.
fn skip_string(chars: &mut Peekable<Chars<'_>>) {
    while let Some(c) = chars.next() {
        match c {
            '\x07' | '\u{9c}' => return,
            '\x1b' => {
                chars.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

/// A line as a terminal would show it.
#[derive(Default)]
struct Drawn {
    spans: Vec<Span<'static>>,
    /// Whether a carriage return came: what is written next replaces the line.
    at_start: bool,
}

impl Drawn {
    fn push(&mut self, c: char, style: Style) {
        if std::mem::take(&mut self.at_start) {
            self.spans.clear();
        }
        match self.spans.last_mut() {
            Some(span) if span.style == style => span.content.to_mut().push(c),
            _ => self.spans.push(Span::styled(c.to_string(), style)),
        }
    }

    fn erase(&mut self) {
        if self.at_start {
            return;
        }
        if let Some(span) = self.spans.last_mut() {
            span.content.to_mut().pop();
            if span.content.is_empty() {
                self.spans.pop();
            }
        }
    }
}

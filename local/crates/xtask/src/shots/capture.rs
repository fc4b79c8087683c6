//! Reads what a terminal showed: the text and attributes that `tmux capture-pane -e` prints.

use anyhow::{Context as _, ensure};
use unicode_width::UnicodeWidthChar as _;

use super::colour::{BACKGROUND, FOREGROUND, Rgb, indexed};

/// How a cell looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Style {
    pub(super) foreground: Rgb,
    pub(super) background: Rgb,
    pub(super) face: Face,
}

/// How its letters are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Face(u8);

impl Face {
    const FAINT: u8 = 1;
    const REVERSE: u8 = 2;
    const HIDDEN: u8 = 4;
    pub(super) const BOLD: u8 = 8;
    pub(super) const ITALIC: u8 = 16;
    pub(super) const UNDERLINE: u8 = 32;
    pub(super) const STRUCK: u8 = 64;

    /// Says whether it has one of the properties.
    pub(super) fn has(self, property: u8) -> bool {
        self.0 & property != 0
    }

    fn set(&mut self, property: u8) {
        self.0 |= property;
    }

    fn clear(&mut self, property: u8) {
        self.0 &= !property;
    }
}

/// One character and what combines with it, in one column or two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) text: String,
    pub(super) column: usize,
    pub(super) width: usize,
    pub(super) style: Style,
}

/// A screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Capture {
    pub(super) title: String,
    pub(super) columns: usize,
    pub(super) rows: usize,
    /// Column and row of a visible cursor.
    pub(super) cursor: Option<(usize, usize)>,
    /// The cells of each line, from left to right; columns may be missing.
    pub(super) lines: Vec<Vec<Cell>>,
}

impl Capture {
    /// Reads a file that the tests of the screen wrote: a line with columns, rows and, where there is one, the
    /// column and row of the cursor; a line with the title; and the screen.
    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        let (size, rest) = text.split_once('\n').context("no line with the size")?;
        let (title, screen) = rest.split_once('\n').context("no line with the title")?;
        let numbers: Result<Vec<usize>, _> = size.split_whitespace().map(str::parse).collect();
        let numbers = numbers.with_context(|| format!("no size: {size:?}"))?;
        ensure!(
            matches!(numbers.len(), 2 | 4) && numbers.iter().all(|number| *number < 1000),
            "no size: {size:?}"
        );
        let mut pen = Pen::default();
        let lines = screen.lines().take(numbers[1]);
        Ok(Self {
            title: title.to_owned(),
            columns: numbers[0],
            rows: numbers[1],
            cursor: (numbers.len() == 4).then(|| (numbers[2], numbers[3])),
            // Attributes go on from one line to the next.
            lines: lines.map(|line| pen.line(line, numbers[0])).collect(),
        })
    }
}

/// The attributes in force.
#[derive(Default)]
struct Pen {
    foreground: Option<Rgb>,
    background: Option<Rgb>,
    face: Face,
}

impl Pen {
    fn line(&mut self, line: &str, columns: usize) -> Vec<Cell> {
        let mut cells: Vec<Cell> = Vec::new();
        let mut column = 0;
        let mut characters = line.chars();
        while let Some(character) = characters.next() {
            if character == '\u{1b}' {
                self.escape(&mut characters);
                continue;
            }
            let Some(width) = character.width() else { continue };
            match cells.last_mut() {
                Some(cell) if width == 0 => cell.text.push(character),
                _ if width > 0 && column + width <= columns => {
                    cells.push(Cell {
                        text: self.visible(character),
                        column,
                        width,
                        style: self.style(),
                    });
                    column += width;
                }
                _ => {}
            }
        }
        cells
    }

    fn visible(&self, character: char) -> String {
        let shown = if self.face.has(Face::HIDDEN) {
            ' '
        } else {
            character
        };
        shown.to_string()
    }

    /// Reads what follows an escape character. Only colours and attributes mean anything here.
    fn escape(&mut self, characters: &mut std::str::Chars<'_>) {
        match characters.next() {
            Some('[') => {
                let mut numbers = String::new();
                for character in characters.by_ref() {
                    match character {
                        'm' => return self.attributes(&numbers),
                        '\u{40}'..='\u{7e}' => return,
                        _ => numbers.push(character),
                    }
                }
            }
            // A link or a title, up to BEL or ESC \.
            Some(']') => {
                while let Some(character) = characters.next() {
                    if character == '\u{1b}' {
                        characters.next();
                    }
                    if matches!(character, '\u{7}' | '\u{1b}') {
                        return;
                    }
                }
            }
            _ => {}
        }
    }

    /// Reads SGR (ECMA-48, 8.3.117) with the colours of ISO 8613-6.
    fn attributes(&mut self, numbers: &str) {
        let mut parts = numbers.split(';').map(|part| {
            // `4:3` is a curly underline.
            let first = part.split(':').next().unwrap_or_default();
            first.parse::<u8>().unwrap_or(0)
        });
        while let Some(part) = parts.next() {
            match part {
                0 => *self = Self::default(),
                1 => self.face.set(Face::BOLD),
                2 => self.face.set(Face::FAINT),
                3 => self.face.set(Face::ITALIC),
                4 => self.face.set(Face::UNDERLINE),
                7 => self.face.set(Face::REVERSE),
                8 => self.face.set(Face::HIDDEN),
                9 => self.face.set(Face::STRUCK),
                22 => self.face.clear(Face::BOLD | Face::FAINT),
                23 => self.face.clear(Face::ITALIC),
                24 => self.face.clear(Face::UNDERLINE),
                27 => self.face.clear(Face::REVERSE),
                28 => self.face.clear(Face::HIDDEN),
                29 => self.face.clear(Face::STRUCK),
                30..=37 => self.foreground = Some(indexed(part - 30)),
                38 => self.foreground = extended(&mut parts),
                39 => self.foreground = None,
                40..=47 => self.background = Some(indexed(part - 40)),
                48 => self.background = extended(&mut parts),
                49 => self.background = None,
                90..=97 => self.foreground = Some(indexed(part - 82)),
                100..=107 => self.background = Some(indexed(part - 92)),
                _ => {}
            }
        }
    }

    fn style(&self) -> Style {
        let (mut foreground, mut background) = (
            self.foreground.unwrap_or(FOREGROUND),
            self.background.unwrap_or(BACKGROUND),
        );
        if self.face.has(Face::REVERSE) {
            std::mem::swap(&mut foreground, &mut background);
        }
        if self.face.has(Face::FAINT) {
            foreground = foreground.halfway(background);
        }
        let mut face = self.face;
        face.clear(Face::REVERSE | Face::FAINT | Face::HIDDEN);
        Style {
            foreground,
            background,
            face,
        }
    }
}

/// Reads `5;INDEX` or `2;RED;GREEN;BLUE`.
fn extended(parts: &mut impl Iterator<Item = u8>) -> Option<Rgb> {
    match parts.next()? {
        5 => Some(indexed(parts.next()?)),
        2 => Some(Rgb(parts.next()?, parts.next()?, parts.next()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture(screen: &str) -> Capture {
        Capture::parse(&format!("10 3 2 1\nA title\n{screen}")).unwrap()
    }

    #[test]
    fn reads_size_title_and_cursor() {
        let read = capture("abc\n\nd\nbelow the screen\n");
        assert_eq!(
            (read.columns, read.rows, read.cursor, read.title.as_str()),
            (10, 3, Some((2, 1)), "A title")
        );
        let lengths: Vec<_> = read.lines.iter().map(Vec::len).collect();
        assert_eq!(lengths, [3, 0, 1]);
        for bad in ["", "10 3\n", "x 3\nt\n", "10\nt\n", "10 9999\nt\n"] {
            Capture::parse(bad).unwrap_err();
        }
    }

    #[test]
    fn wide_characters_take_two_columns_and_combining_ones_none() {
        let read = capture("a漢e\u{301}b");
        let cells: Vec<_> = read.lines[0]
            .iter()
            .map(|cell| (cell.text.as_str(), cell.column, cell.width))
            .collect();
        assert_eq!(
            cells,
            [("a", 0, 1), ("漢", 1, 2), ("e\u{301}", 3, 1), ("b", 4, 1)]
        );
        assert_eq!(
            capture("123456789漢").lines[0].len(),
            9,
            "half a character is not drawn"
        );
    }

    #[test]
    fn attributes_hold_until_they_end_also_on_the_next_line() {
        let read = capture("\u{1b}[1;31ma\u{1b}[39mb\nc\u{1b}[0md");
        let style = |line: usize, at: usize| read.lines[line][at].style;
        assert_eq!(style(0, 0).foreground, indexed(1));
        assert!(style(0, 0).face.has(Face::BOLD));
        assert_eq!(style(0, 1).foreground, FOREGROUND);
        assert!(style(1, 0).face.has(Face::BOLD) && !style(1, 1).face.has(Face::BOLD));
    }

    #[test]
    fn colours_of_every_kind_are_read() {
        let one = |text: &str| capture(&format!("{text}x")).lines[0][0].style;
        assert_eq!(one("\u{1b}[38;5;196m").foreground, Rgb(255, 0, 0));
        assert_eq!(one("\u{1b}[48;2;1;2;3m").background, Rgb(1, 2, 3));
        assert_eq!(one("\u{1b}[94m").foreground, indexed(12));
        assert_eq!(one("\u{1b}[103m").background, indexed(11));
        let reverse = one("\u{1b}[7;31m");
        assert_eq!((reverse.foreground, reverse.background), (BACKGROUND, indexed(1)));
        assert_eq!(one("\u{1b}[2m").foreground, FOREGROUND.halfway(BACKGROUND));
    }

    #[test]
    fn links_and_cut_off_sequences_are_no_text() {
        let text = |screen: &str| -> String {
            let cells = &capture(screen).lines[0];
            cells.iter().map(|cell| cell.text.as_str()).collect()
        };
        assert_eq!(text("\u{1b}]8;;http://x\u{1b}\\ab\u{1b}]8;;\u{7}c"), "abc");
        assert_eq!(text("a\u{1b}[Kb\u{1b}[3"), "ab");
        assert_eq!(text("\u{1b}[8msecret\u{1b}[28m."), "      .");
    }
}

//! Draws a screen as SVG: the same screen gives the same bytes.
//!
//! No font is embedded. Each run of letters is told how long it is, so that columns stay in line in any font.

use std::fmt::Write as _;

use super::capture::{Capture, Cell, Face, Style};
use super::colour::{BACKGROUND, BAR, CAPTION, FOREGROUND};
use super::glyph::{self, Place};

/// A cell, in pixels.
const WIDTH: f64 = 8.4;
const HEIGHT: f64 = 18.0;
/// The line on which letters stand, from the top of the cell.
const BASELINE: f64 = 13.5;
const FONT_SIZE: u8 = 14;
/// The bar above the screen, and the border around it.
const TITLE: f64 = 32.0;
const BORDER: f64 = 12.0;

const FONTS: &str =
    "ui-monospace,'DejaVu Sans Mono','Liberation Mono',Menlo,Consolas,'Noto Sans Mono CJK SC',monospace";

/// Draws a screen in a window.
pub(super) fn render(capture: &Capture) -> String {
    let mut svg = Svg(String::new());
    svg.window(capture);
    for (row, cells) in capture.lines.iter().enumerate() {
        svg.backgrounds(row, cells);
    }
    for (row, cells) in capture.lines.iter().enumerate() {
        for run in runs(cells) {
            svg.run(row, run);
        }
    }
    if let Some((column, row)) = capture.cursor {
        let Place { x, y, .. } = place(row, column, 1);
        let colour = FOREGROUND.hex();
        svg.add(&format!(
            "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"{colour}\" fill-opacity=\"0.55\"/>"
        ));
    }
    svg.add("</g>\n</svg>");
    svg.0
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a screen has less than a thousand columns and rows"
)]
fn pixels(cells: usize, size: f64) -> f64 {
    cells as f64 * size
}

fn place(row: usize, column: usize, columns: usize) -> Place {
    Place {
        x: BORDER + pixels(column, WIDTH),
        y: TITLE + BORDER + pixels(row, HEIGHT),
        width: pixels(columns, WIDTH),
        height: HEIGHT,
    }
}

/// Splits a line into what is drawn at once: letters of one style without a gap between them, a shape as long as it goes
/// on, or one wide character. Blanks that show nothing are left out.
fn runs(cells: &[Cell]) -> Vec<&[Cell]> {
    let mut runs = Vec::new();
    let mut start = 0;
    while start < cells.len() {
        let first = &cells[start];
        let length = if first.text.chars().all(glyph::stretches) {
            let same = |cell: &&Cell| cell.text == first.text && cell.style == first.style;
            cells[start..].iter().take_while(same).count()
        } else if is_blank(first) || !is_letter(first) {
            1
        } else {
            let end = cells[start..].windows(2).position(|pair| !goes_on(first, pair));
            end.map_or(cells.len() - start, |at| at + 1)
        };
        let run = &cells[start..start + length];
        let text_end = run
            .iter()
            .rposition(|cell| !is_blank(cell))
            .map_or(0, |at| at + 1);
        if text_end > 0 {
            runs.push(&run[..text_end]);
        }
        start += length;
    }
    runs
}

/// Says whether the second of two cells belongs to the run that `first` begins.
fn goes_on(first: &Cell, pair: &[Cell]) -> bool {
    let [before, cell] = pair else { return false };
    let is_gap = is_blank(before) && is_blank(cell);
    is_letter(cell) && cell.style == first.style && !is_gap
}

/// Symbols stand alone: a font that lacks one is replaced for the whole run.
fn is_letter(cell: &Cell) -> bool {
    cell.width == 1 && cell.text.chars().all(|c| c < '\u{2070}')
}

fn is_blank(cell: &Cell) -> bool {
    let drawn = Face::UNDERLINE | Face::STRUCK;
    cell.text.trim().is_empty() && !cell.style.face.has(drawn)
}

struct Svg(String);

impl Svg {
    fn add(&mut self, element: &str) {
        // Writing to a string does not fail.
        let _written = writeln!(self.0, "{element}");
    }

    fn window(&mut self, capture: &Capture) {
        let width = pixels(capture.columns, WIDTH) + 2.0 * BORDER;
        let height = pixels(capture.rows, HEIGHT) + TITLE + 2.0 * BORDER;
        let title = escape(&capture.title);
        let (background, bar, caption) = (BACKGROUND.hex(), BAR.hex(), CAPTION.hex());
        self.add(&format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.1} {height:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" role=\"img\">"
        ));
        self.add(&format!("<title>{title}</title>"));
        self.add(&format!(
            "<rect width=\"{width:.1}\" height=\"{height:.1}\" rx=\"9\" fill=\"{background}\"/>"
        ));
        let below = TITLE - 9.0;
        self.add(&format!(
            "<path d=\"M0 9Q0 0 9 0H{:.1}Q{width:.1} 0 {width:.1} 9V{TITLE}H0V{below}Z\" fill=\"{bar}\"/>",
            width - 9.0
        ));
        for (at, colour) in [(18, "#e06c75"), (38, "#e0b86b"), (58, "#8fc379")] {
            self.add(&format!(
                "<circle cx=\"{at}\" cy=\"16\" r=\"6\" fill=\"{colour}\"/>"
            ));
        }
        self.add(&format!(
            "<text x=\"{:.1}\" y=\"21\" text-anchor=\"middle\" font-family=\"system-ui,sans-serif\" font-size=\"13\" fill=\"{caption}\">{title}</text>",
            width / 2.0
        ));
        self.add(&format!(
            "<g font-family=\"{FONTS}\" font-size=\"{FONT_SIZE}\" xml:space=\"preserve\">"
        ));
    }

    /// Fills what is behind the text, neighbours of one colour at once.
    fn backgrounds(&mut self, row: usize, cells: &[Cell]) {
        for run in cells.chunk_by(|a, b| a.style.background == b.style.background) {
            let colour = run[0].style.background;
            if colour == BACKGROUND {
                continue;
            }
            let columns = run.iter().map(|cell| cell.width).sum();
            let Place { x, y, width, height } = place(row, run[0].column, columns);
            self.add(&format!(
                "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height}\" fill=\"{}\"/>",
                colour.hex()
            ));
        }
    }

    fn run(&mut self, row: usize, run: &[Cell]) {
        let first = &run[0];
        let columns = run.iter().map(|cell| cell.width).sum();
        let place = place(row, first.column, columns);
        let colour = first.style.foreground.hex();
        let shape = first.text.chars().next().filter(|c| glyph::is_shape(*c));
        if let Some(character) = shape {
            return glyph::draw(&mut self.0, character, place, &colour);
        }
        let text: String = run.iter().map(|cell| escape(&cell.text)).collect();
        let (x, y, width) = (place.x, place.y + BASELINE, place.width);
        let face = face(first.style);
        self.add(&format!(
            "<text x=\"{x:.2}\" y=\"{y:.2}\" textLength=\"{width:.2}\" lengthAdjust=\"spacingAndGlyphs\" fill=\"{colour}\"{face}>{text}</text>"
        ));
    }
}

/// Gives the attributes of letters that are not plain.
fn face(style: Style) -> String {
    let mut attributes = String::new();
    if style.face.has(Face::BOLD) {
        attributes.push_str(" font-weight=\"bold\"");
    }
    if style.face.has(Face::ITALIC) {
        attributes.push_str(" font-style=\"italic\"");
    }
    let (under, through) = (style.face.has(Face::UNDERLINE), style.face.has(Face::STRUCK));
    match (under, through) {
        (true, true) => attributes.push_str(" text-decoration=\"underline line-through\""),
        (true, false) => attributes.push_str(" text-decoration=\"underline\""),
        (false, true) => attributes.push_str(" text-decoration=\"line-through\""),
        (false, false) => {}
    }
    attributes
}

/// Makes text safe inside an element. Characters that XML 1.0 (2.2) forbids become U+FFFD.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(screen: &str) -> String {
        render(&Capture::parse(&format!("20 2\nT & \"T\"\n{screen}")).unwrap())
    }

    /// Gives the letters with their column, row and length, as far as they can be read back from the picture.
    fn texts(svg: &str) -> Vec<String> {
        let number = |line: &str, name: &str| -> f64 {
            let (_, rest) = line.split_once(&format!(" {name}=\"")).unwrap();
            rest.split('"').next().unwrap().parse().unwrap()
        };
        let lines = svg.lines().filter(|line| line.contains("textLength"));
        let text = |line: &str| {
            let column = (number(line, "x") - BORDER) / WIDTH;
            let row = (number(line, "y") - BASELINE - TITLE - BORDER) / HEIGHT;
            let columns = number(line, "textLength") / WIDTH;
            let letters = line.split('>').nth(1).unwrap().split('<').next().unwrap();
            format!("{row:.0} {column:.0} {columns:.0} {letters}")
        };
        lines.map(text).collect()
    }

    #[test]
    fn letters_stand_in_their_columns() {
        let svg = rendered("ab c   d\n漢字x");
        assert_eq!(texts(&rendered("⠹ at work")), ["0 0 1 ⠹", "0 2 7 at work"]);
        assert_eq!(
            texts(&svg),
            ["0 0 4 ab c", "0 7 1 d", "1 0 2 漢", "1 2 2 字", "1 4 1 x"]
        );
    }

    #[test]
    fn text_cannot_leave_its_element() {
        let svg = rendered("<b>&\"");
        assert_eq!(texts(&svg), ["0 0 5 &lt;b&gt;&amp;&quot;"]);
        assert!(svg.contains("<title>T &amp; &quot;T&quot;</title>"));
        assert_eq!(escape("a\u{1}b\u{ffff}"), "a\u{fffd}b\u{fffd}");
    }

    #[test]
    fn styles_and_backgrounds_are_drawn() {
        let svg = rendered("\u{1b}[1;3;4;9;41ma\u{1b}[0m \u{1b}[4m  \u{1b}[0m");
        for attribute in [
            "font-weight=\"bold\"",
            "font-style=\"italic\"",
            "text-decoration=\"underline line-through\"",
        ] {
            assert!(svg.contains(attribute), "{svg}");
        }
        let filled = svg
            .lines()
            .filter(|line| line.contains("#e06c75\"/>") && line.starts_with("<rect"));
        assert_eq!(filled.count(), 1, "{svg}");
        assert_eq!(svg.matches("text-decoration=\"underline\"").count(), 1, "{svg}");
    }

    #[test]
    fn the_same_screen_gives_the_same_picture_and_every_element_ends() {
        let screen = "╭──╮ \u{1b}[38;5;30mx\u{1b}[0m █\n│\u{1b}[2m漢\u{1b}[0m│";
        let svg = rendered(screen);
        assert_eq!(svg, rendered(screen));
        let opened = svg.matches('<').count() - svg.matches("</").count() - svg.matches("/>").count();
        assert_eq!(opened, svg.matches("</").count(), "{svg}");
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        assert!(
            !svg.contains("╭") && !svg.contains("█"),
            "shapes are drawn, not written"
        );
    }
}

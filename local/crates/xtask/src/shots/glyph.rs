//! Draws lines and blocks as shapes: as letters they would leave gaps between rows, in each font others.

use std::fmt::Write as _;

/// A cell's place in the picture, in pixels.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// Which of up, right, down and left a line goes to from the middle, and how thick it is there.
type Arms = [u8; 4];

/// Light, heavy and rounded lines of the block U+2500 (Box Drawing).
fn arms(character: char) -> Option<Arms> {
    Some(match character {
        '─' | '╌' | '┄' | '┈' => [0, 1, 0, 1],
        '━' => [0, 2, 0, 2],
        '│' | '╎' | '┆' | '┊' => [1, 0, 1, 0],
        '┃' => [2, 0, 2, 0],
        '┌' => [0, 1, 1, 0],
        '┐' => [0, 0, 1, 1],
        '└' => [1, 1, 0, 0],
        '┘' => [1, 0, 0, 1],
        '├' => [1, 1, 1, 0],
        '┤' => [1, 0, 1, 1],
        '┬' => [0, 1, 1, 1],
        '┴' => [1, 1, 0, 1],
        '┼' => [1, 1, 1, 1],
        '┏' => [0, 2, 2, 0],
        '┓' => [0, 0, 2, 2],
        '┗' => [2, 2, 0, 0],
        '┛' => [2, 0, 0, 2],
        '╴' => [0, 0, 0, 1],
        '╵' => [1, 0, 0, 0],
        '╶' => [0, 1, 0, 0],
        '╷' => [0, 0, 1, 0],
        _ => return None,
    })
}

/// The part of the cell that a character of the block U+2580 (Block Elements) fills, in eighths: left, top, right,
/// bottom.
fn block(character: char) -> Option<[u8; 4]> {
    Some(match character {
        '▀' => [0, 0, 8, 4],
        '▔' => [0, 0, 8, 1],
        '▐' => [4, 0, 8, 8],
        '▕' => [7, 0, 8, 8],
        // One to eight eighths from below, then seven to one from the left.
        '▁'..='█' => [0, 8 - eighths(character, '▁')?, 8, 8],
        '▉'..='▏' => [0, 0, 8 - eighths(character, '▉')?, 8],
        _ => return None,
    })
}

fn eighths(character: char, first: char) -> Option<u8> {
    u8::try_from(u32::from(character) - u32::from(first) + 1).ok()
}

/// Says whether a character is drawn here rather than written.
pub(super) fn is_shape(character: char) -> bool {
    arms(character).is_some() || block(character).is_some() || matches!(character, '╭' | '╮' | '╰' | '╯')
}

/// Says whether a row of the character looks like one that is drawn wider.
pub(super) fn stretches(character: char) -> bool {
    matches!(character, '─' | '━' | '▀' | '▔' | '▁'..='█')
}

/// Draws a character in a colour.
pub(super) fn draw(svg: &mut String, character: char, place: Place, colour: &str) {
    let Place { x, y, width, height } = place;
    let (middle_x, middle_y) = (x + width / 2.0, y + height / 2.0);
    let (right, bottom) = (x + width, y + height);
    if let Some([left, top, to_right, to_bottom]) = block(character) {
        let part = |whole: f64, eighths: u8| whole * f64::from(eighths) / 8.0;
        let (wide, high) = (part(width, to_right - left), part(height, to_bottom - top));
        let (from_x, from_y) = (x + part(width, left), y + part(height, top));
        add(
            svg,
            &format!(
                "<rect x=\"{from_x:.2}\" y=\"{from_y:.2}\" width=\"{wide:.2}\" height=\"{high:.2}\" fill=\"{colour}\"/>"
            ),
        );
    } else if let Some(arms) = arms(character) {
        let ends = [
            (middle_x, y),
            (right, middle_y),
            (middle_x, bottom),
            (x, middle_y),
        ];
        for ((end_x, end_y), thickness) in ends.into_iter().zip(arms) {
            if thickness > 0 {
                add(
                    svg,
                    &format!(
                        "<path d=\"M{middle_x:.2} {middle_y:.2}L{end_x:.2} {end_y:.2}\" stroke=\"{colour}\" stroke-width=\"{thickness}\" stroke-linecap=\"square\"/>"
                    ),
                );
            }
        }
    } else {
        let (vertical, horizontal) = match character {
            '╭' => (bottom, right),
            '╮' => (bottom, x),
            '╰' => (y, right),
            _ => (y, x),
        };
        add(
            svg,
            &format!(
                "<path d=\"M{middle_x:.2} {vertical:.2}Q{middle_x:.2} {middle_y:.2} {horizontal:.2} {middle_y:.2}\" fill=\"none\" stroke=\"{colour}\"/>"
            ),
        );
    }
}

fn add(svg: &mut String, element: &str) {
    // Writing to a string does not fail.
    let _written = writeln!(svg, "{element}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(character: char) -> String {
        let mut svg = String::new();
        let place = Place {
            x: 8.0,
            y: 16.0,
            width: 8.0,
            height: 16.0,
        };
        draw(&mut svg, character, place, "#fff");
        svg
    }

    #[test]
    fn lines_reach_the_edges_of_their_cell() {
        let vertical = drawn('│');
        assert!(
            vertical.contains("L12.00 16.00") && vertical.contains("L12.00 32.00"),
            "{vertical}"
        );
        assert_eq!(drawn('┼').lines().count(), 4);
        assert!(drawn('╭').contains("M12.00 32.00Q12.00 24.00 16.00 24.00"));
    }

    #[test]
    fn blocks_fill_their_part() {
        assert!(drawn('█').contains("x=\"8.00\" y=\"16.00\" width=\"8.00\" height=\"16.00\""));
        assert!(drawn('▄').contains("y=\"24.00\" width=\"8.00\" height=\"8.00\""));
        assert!(drawn('▀').contains("y=\"16.00\" width=\"8.00\" height=\"8.00\""));
        assert!(drawn('▌').contains("x=\"8.00\" y=\"16.00\" width=\"4.00\" height=\"16.00\""));
        assert!(drawn('▏').contains("width=\"1.00\""));
        assert!(!is_shape('a') && is_shape('╯'));
    }
}

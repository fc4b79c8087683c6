//! For tests: keys written as text, and screens read as text.

use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;

use super::Key;

/// Reads keys: a character types itself, `<enter>` and `<ctrl+r>` are keys by name, `<lt>` is `<`.
pub(crate) fn keys(text: &str) -> Vec<KeyEvent> {
    let mut keys = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (name, after) = match rest.strip_prefix('<') {
            Some(inside) => inside.split_once('>').unwrap(),
            None => rest.split_at(first.len_utf8()),
        };
        let key = match name {
            "lt" => KeyEvent::from(crossterm::event::KeyCode::Char('<')),
            name => name.parse::<Key>().unwrap().event(),
        };
        keys.push(key);
        rest = after;
    }
    keys
}

/// Reads what is drawn, without the blanks at the ends of rows; a row that is drawn as chosen ends in `◂`.
pub(crate) fn screen(buffer: &Buffer) -> String {
    let area = buffer.area;
    let mut out = String::new();
    for row in area.rows() {
        let mut line = String::new();
        let mut skip = 0;
        for x in row.left()..row.right() {
            // The cells that a wide character covers hold nothing of their own.
            if skip > 0 {
                skip -= 1;
                continue;
            }
            let symbol = buffer[(x, row.y)].symbol();
            skip = unicode_width::UnicodeWidthStr::width(symbol).saturating_sub(1);
            line.push_str(symbol);
        }
        out.push_str(line.trim_end());
        let is_chosen = row.columns().any(|cell| {
            let style = buffer[(cell.x, cell.y)].style();
            style.add_modifier.contains(ratatui::style::Modifier::REVERSED)
        });
        out.push_str(if is_chosen { " ◂\n" } else { "\n" });
    }
    out
}

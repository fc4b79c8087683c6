//! One row out of many, found by typing a few letters of it.

pub(crate) mod fuzzy;
mod view;

use std::cell::Cell;

use crossterm::event::{KeyCode, KeyEvent};

use self::fuzzy::Fit;
use super::input::Input;
use crate::keymap::{Keymap, ListKey};

/// One row.
#[derive(Debug, Clone)]
pub(crate) struct Row<T> {
    /// What it shows: the first cell takes the room that the others leave.
    pub(crate) cells: Vec<String>,
    /// What choosing it means.
    pub(crate) value: T,
}

/// What a key did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome<T> {
    /// The dialog stays.
    Open,
    /// It goes, and nothing was chosen.
    Closed,
    /// It goes, and this was chosen.
    Chosen(T),
}

/// The dialog.
#[derive(Debug)]
pub(crate) struct Picker<T> {
    title: String,
    rows: Vec<Row<T>>,
    /// What the filter is compared with, for each row.
    searched: Vec<String>,
    /// The widest of each column but the first, in cells.
    widths: Vec<u16>,
    filter: Input,
    /// The rows that fit, the best first.
    shown: Vec<(usize, Fit)>,
    /// Index into `shown`.
    at: usize,
    keymap: Keymap,
    window: Window,
}

/// Which part of the list was seen; known once it was drawn.
#[derive(Debug, Default)]
struct Window {
    first: Cell<usize>,
    rows: Cell<usize>,
}

/// Between cells of a row where they are compared with the filter; no filter holds it.
const SEPARATOR: &str = "\n";

impl<T: Clone> Picker<T> {
    /// Makes a picker with its first row chosen. Cells of others are made safe here.
    pub(crate) fn new(title: impl Into<String>, mut rows: Vec<Row<T>>) -> Self {
        for cell in rows.iter_mut().flat_map(|row| &mut row.cells) {
            *cell = richtext::safe_line(cell);
        }
        let mut picker = Self {
            title: title.into(),
            searched: rows.iter().map(|row| row.cells.join(SEPARATOR)).collect(),
            widths: view::widths(&rows),
            rows,
            filter: Input::new(),
            shown: Vec::new(),
            at: 0,
            keymap: Keymap::default(),
            window: Window::default(),
        };
        picker.search();
        picker
    }

    /// Takes a key.
    pub(crate) fn update(&mut self, key: KeyEvent) -> Outcome<T> {
        match self.list_key(key) {
            Some(ListKey::Close) => return Outcome::Closed,
            Some(ListKey::Accept) => return self.chosen(),
            Some(movement) => self.go(movement),
            None => {
                if self.filter.update(key) {
                    self.search();
                }
            }
        }
        Outcome::Open
    }

    /// Takes pasted text: its first line is filtered by.
    pub(crate) fn paste(&mut self, text: &str) {
        self.filter.paste(text);
        self.search();
    }

    fn list_key(&self, key: KeyEvent) -> Option<ListKey> {
        let is_plain = key.modifiers.is_empty() && self.filter.text().is_empty();
        match key.code {
            KeyCode::Char('j') if is_plain => Some(ListKey::Down),
            KeyCode::Char('k') if is_plain => Some(ListKey::Up),
            _ => self.keymap.list(key),
        }
    }

    fn chosen(&self) -> Outcome<T> {
        let row = self.shown.get(self.at).map(|(index, _)| &self.rows[*index]);
        row.map_or(Outcome::Open, |row| Outcome::Chosen(row.value.clone()))
    }

    fn go(&mut self, movement: ListKey) {
        let page = self.window.rows.get().max(1);
        let at = match movement {
            ListKey::Up => self.at.saturating_sub(1),
            ListKey::Down => self.at + 1,
            ListKey::PageUp => self.at.saturating_sub(page),
            ListKey::PageDown => self.at + page,
            ListKey::First => 0,
            ListKey::Last => usize::MAX,
            ListKey::Accept | ListKey::Close => return,
        };
        self.at = at.min(self.shown.len().saturating_sub(1));
    }

    fn search(&mut self) {
        let pattern = self.filter.text();
        let fits = self.searched.iter().enumerate();
        self.shown = fits
            .filter_map(|(index, text)| Some((index, fuzzy::fit(pattern, text)?)))
            .collect();
        if !pattern.trim().is_empty() {
            // Equal ones stay in the order they came in.
            self.shown.sort_by_key(|(_, fit)| std::cmp::Reverse(fit.score));
        }
        self.at = 0;
    }
}

#[cfg(test)]
mod tests;

//! What keys and pastes do to the composer.

use crossterm::event::{KeyCode, KeyEvent};
use protocol::limits;

use super::{
    Composer, ComposerEffect, ComposerMsg,
    completion::Menu,
    fragment::Fragment,
    model::{Popup, Recall},
    paste,
    search::Search,
    undo::Kind,
    wrap::Place,
};
use crate::{
    keymap::{Edit, ListKey, Move, typed},
    slash::{self, Parsed},
};

impl Composer {
    /// Takes a message and gives what comes of it.
    pub(crate) fn update(&mut self, msg: ComposerMsg) -> Vec<ComposerEffect> {
        match msg {
            ComposerMsg::Key(key) => self.key(key),
            ComposerMsg::Paste(text) => self.paste(&text),
            ComposerMsg::Width(width) => {
                self.width = width;
                Vec::new()
            }
        }
    }

    fn key(&mut self, key: KeyEvent) -> Vec<ComposerEffect> {
        match &self.popup {
            Popup::Search(_) => {
                self.search_key(key);
                return Vec::new();
            }
            Popup::Menu(_) => {
                if let Some(effects) = self.menu_key(key) {
                    return effects;
                }
            }
            Popup::None | Popup::Dismissed => {}
        }
        if let Some(edit) = self.keymap.edit(key) {
            return self.edit(edit);
        }
        if let Some(char) = typed(key) {
            self.insert(&Fragment::plain(char.encode_utf8(&mut [0; 4])), Kind::Type);
        }
        Vec::new()
    }

    fn edit(&mut self, edit: Edit) -> Vec<ComposerEffect> {
        if !matches!(edit, Edit::Up | Edit::Down) {
            self.goal = None;
        }
        match edit {
            Edit::Move(to) => self.buffer.go(to),
            Edit::Up => self.up(),
            Edit::Down => self.down(),
            Edit::Older => self.older(),
            Edit::Newer => self.newer(),
            Edit::Search => self.popup = Popup::Search(Search::new(&self.history)),
            Edit::Newline => self.insert(&Fragment::plain("\n"), Kind::Type),
            Edit::Send => return self.send(),
            Edit::Delete(to) => {
                self.buffer.delete(to);
                self.edited();
            }
            Edit::Kill(to) => {
                self.buffer.kill(to);
                self.edited();
            }
            Edit::Yank => {
                self.buffer.yank();
                self.edited();
            }
            Edit::Undo | Edit::Redo => {
                let found = if edit == Edit::Undo {
                    self.buffer.undo()
                } else {
                    self.buffer.redo()
                };
                if found {
                    self.edited();
                }
            }
        }
        Vec::new()
    }

    fn insert(&mut self, text: &Fragment, kind: Kind) {
        self.goal = None;
        self.buffer.insert(text, kind);
        self.edited();
    }

    /// Sees to what depends on the text after it has changed.
    fn edited(&mut self) {
        self.recall = None;
        self.changed();
        let text = self.buffer.text().as_str();
        if !text.starts_with('/') {
            self.popup = Popup::None;
        } else if self.popup != Popup::Dismissed {
            let at_end = self.buffer.cursor() == text.len();
            let menu = at_end.then(|| Menu::of(text)).flatten();
            self.popup = menu.map_or(Popup::None, Popup::Menu);
        }
    }

    fn paste(&mut self, text: &str) -> Vec<ComposerEffect> {
        if let Popup::Search(search) = &mut self.popup {
            let line = paste::clean(text);
            search.push(line.lines().next().unwrap_or_default(), &self.history);
            return Vec::new();
        }
        let block = if paste::is_block(text) {
            self.block(text)
        } else {
            Fragment::plain(text)
        };
        self.insert(&block, Kind::Whole);
        let size = self.buffer.text().expanded_len();
        if size > limits::SUBMIT_TEXT {
            return vec![ComposerEffect::Notice(too_long(
                size,
                "it cannot be sent like this",
            ))];
        }
        Vec::new()
    }

    fn send(&mut self) -> Vec<ComposerEffect> {
        if self.is_continued() {
            self.buffer.delete(Move::Left);
            self.insert(&Fragment::plain("\n"), Kind::Whole);
            return Vec::new();
        }
        let text = self.buffer.text().expanded();
        if text.trim().is_empty() {
            return Vec::new();
        }
        let effect = match slash::parse(&text) {
            Parsed::Wrong(words) => return vec![ComposerEffect::Notice(words)],
            Parsed::Call(call) => ComposerEffect::Slash(call),
            Parsed::Text if text.len() > limits::SUBMIT_TEXT => {
                let words = too_long(text.len(), "nothing was sent and nothing is lost");
                return vec![ComposerEffect::Notice(words)];
            }
            Parsed::Text => ComposerEffect::Submit(text.clone()),
        };
        drop(self.buffer.take());
        self.pastes = 0;
        self.popup = Popup::None;
        self.recall = None;
        self.changed();
        let mut effects = Vec::new();
        if self.history.push(text.clone()) {
            effects.push(ComposerEffect::Remember(text));
        }
        effects.push(effect);
        effects
    }

    /// Tells whether the line ends at the cursor in a backslash that no backslash before it takes the meaning from.
    fn is_continued(&self) -> bool {
        let (before, after) = self.buffer.text().as_str().split_at(self.buffer.cursor());
        let slashes = before.len() - before.trim_end_matches('\\').len();
        slashes % 2 == 1 && (after.is_empty() || after.starts_with('\n'))
    }

    fn up(&mut self) {
        let place = self.place();
        if place.row == 0 {
            if self.history.len() == 0 {
                self.buffer.go(Move::Start);
            }
            self.older();
        } else {
            self.vertical(place, place.row - 1);
        }
    }

    fn down(&mut self) {
        let place = self.place();
        let last = self.with_rows(self.width, |rows| rows.row_count() - 1);
        if place.row < last {
            self.vertical(place, place.row + 1);
        } else if self.recall.is_some() {
            self.newer();
        } else {
            self.buffer.go(Move::End);
        }
    }

    fn place(&self) -> Place {
        self.with_rows(self.width, |rows| {
            rows.place(self.buffer.text(), self.buffer.cursor())
        })
    }

    fn vertical(&mut self, from: Place, row: usize) {
        let column = *self.goal.get_or_insert(from.column);
        let place = Place { row, column };
        let to = self.with_rows(self.width, |rows| rows.offset(self.buffer.text(), place));
        self.buffer.move_to(to);
    }

    fn older(&mut self) {
        let at = self
            .recall
            .as_ref()
            .map_or(self.history.len(), |recall| recall.at);
        if let Some(at) = at.checked_sub(1) {
            self.show(at);
        }
    }

    fn newer(&mut self) {
        let Some(recall) = &self.recall else {
            return;
        };
        let at = recall.at + 1;
        if at < self.history.len() {
            self.show(at);
        } else if let Some(recall) = self.recall.take() {
            self.buffer.replace_all(&recall.draft);
            self.changed();
        }
    }

    /// Shows an older prompt; what was typed stays behind it.
    fn show(&mut self, at: usize) {
        let Some(text) = self.history.get(at).map(str::to_owned) else {
            return;
        };
        let prompt = self.external(&text);
        let draft = match self.recall.take() {
            Some(recall) => recall.draft,
            None => self.buffer.text().clone(),
        };
        self.buffer.replace_all(&prompt);
        self.recall = Some(Recall { at, draft });
        self.goal = None;
        self.popup = Popup::None;
        self.changed();
    }

    /// Gives a key to the menu; `None` leaves it to the text.
    fn menu_key(&mut self, key: KeyEvent) -> Option<Vec<ComposerEffect>> {
        let Popup::Menu(menu) = &mut self.popup else {
            return None;
        };
        match self.keymap.list(key)? {
            ListKey::Up => menu.go(false),
            ListKey::Down => menu.go(true),
            ListKey::Close => self.popup = Popup::Dismissed,
            ListKey::Accept => {
                let row = menu.chosen()?.clone();
                self.buffer.replace_all(&Fragment::plain(&row.text));
                self.edited();
                // Enter runs what is complete; Tab leaves room for what may follow.
                if key.code == KeyCode::Enter {
                    return Some(self.send());
                }
                if !row.takes_more {
                    self.popup = Popup::Dismissed;
                }
            }
            ListKey::PageUp | ListKey::PageDown | ListKey::First | ListKey::Last => return None,
        }
        Some(Vec::new())
    }

    fn search_key(&mut self, key: KeyEvent) {
        let Popup::Search(search) = &mut self.popup else {
            return;
        };
        match (self.keymap.list(key), self.keymap.edit(key)) {
            (Some(ListKey::Close), _) => self.popup = Popup::None,
            (Some(ListKey::Accept), _) => {
                let chosen = search.chosen();
                self.popup = Popup::None;
                if let Some(at) = chosen {
                    self.show(at);
                }
            }
            (Some(ListKey::Up), _) => search.go(false),
            (Some(ListKey::Down), _) | (_, Some(Edit::Search)) => search.go(true),
            (_, Some(Edit::Delete(Move::Left))) => search.erase(&self.history),
            (_, Some(Edit::Kill(_))) => *search = Search::new(&self.history),
            _ => {
                if let Some(char) = typed(key) {
                    search.push(char.encode_utf8(&mut [0; 4]), &self.history);
                }
            }
        }
    }
}

/// Says that a text is too long to be sent.
fn too_long(size: usize, consequence: &str) -> String {
    let kib = |bytes: usize| paste::grouped(bytes.div_ceil(1024));
    format!(
        "the text has {} KiB and a request may have {} KiB at most; {consequence}",
        kib(size),
        kib(limits::SUBMIT_TEXT)
    )
}

#[cfg(test)]
mod tests;

//! Which key does what: data, not match arms.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | change a key, or what the help says about it | [`defaults`] |
//! | add something that a key can do | [`action`] |
//! | know how keys are named | [`key`] |

mod action;
mod defaults;
mod key;

use std::collections::HashMap;

use crossterm::event::{KeyEvent, KeyEventKind};

pub(crate) use self::{
    action::{Action, Edit, ListKey, Move, Scroll},
    key::Key,
};

/// Where a key is pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Context {
    /// Nothing is in front.
    Main,
    /// A dialog is in front; what works there works everywhere.
    Overlay,
    /// In the text that is being typed.
    Composer,
    /// In a list of rows.
    List,
}

/// Keys and what they do.
#[derive(Debug, Clone, Copy)]
struct Binding<A> {
    context: Context,
    keys: &'static [&'static str],
    action: A,
    about: &'static str,
}

/// One line of the help.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyHelp {
    /// Where the keys work.
    pub(crate) context: Context,
    /// The keys, as shown.
    pub(crate) keys: String,
    /// What they do.
    pub(crate) about: &'static str,
}

/// The keys in force.
#[derive(Debug)]
pub(crate) struct Keymap {
    screen: HashMap<(Context, Key), Action>,
    edits: HashMap<(Context, Key), Edit>,
    lists: HashMap<(Context, Key), ListKey>,
}

impl Default for Keymap {
    fn default() -> Self {
        Self {
            screen: bound(defaults::SCREEN),
            edits: bound(defaults::EDITS),
            lists: bound(defaults::LISTS),
        }
    }
}

impl Keymap {
    /// Gives what a key does to the screen; `None` leaves it to who has the focus.
    pub(crate) fn action(&self, context: Context, key: KeyEvent) -> Option<Action> {
        let key = pressed(key)?;
        let at = |context| self.screen.get(&(context, key)).copied();
        at(Context::Overlay).or_else(|| at(context))
    }

    /// Gives what a key does to the text in the composer.
    pub(crate) fn edit(&self, key: KeyEvent) -> Option<Edit> {
        self.edits.get(&(Context::Composer, pressed(key)?)).copied()
    }

    /// Gives what a key does to a list.
    pub(crate) fn list(&self, key: KeyEvent) -> Option<ListKey> {
        self.lists.get(&(Context::List, pressed(key)?)).copied()
    }

    /// Gives every binding for the help, in the order of the table.
    pub(crate) fn help(&self) -> Vec<KeyHelp> {
        let mut lines = Vec::new();
        lines.extend(defaults::SCREEN.iter().map(help));
        lines.extend(defaults::EDITS.iter().map(help));
        lines.extend(defaults::LISTS.iter().map(help));
        lines
    }
}

/// Gives the key of an event that is no release.
fn pressed(event: KeyEvent) -> Option<Key> {
    (event.kind != KeyEventKind::Release).then(|| Key::from(event))
}

/// Gives the character that a key types, if it types one.
pub(crate) fn typed(event: KeyEvent) -> Option<char> {
    use crossterm::event::{KeyCode, KeyModifiers};
    let plain = event.modifiers - KeyModifiers::SHIFT;
    match event.code {
        // Ctrl and Alt together are AltGr, which types a character.
        KeyCode::Char(char)
            if event.kind != KeyEventKind::Release
                && (plain.is_empty() || plain == KeyModifiers::CONTROL | KeyModifiers::ALT) =>
        {
            Some(char)
        }
        _ => None,
    }
}

fn bound<A: Copy>(table: &[Binding<A>]) -> HashMap<(Context, Key), A> {
    table
        .iter()
        .flat_map(|binding| {
            let keys = binding.keys.iter().filter_map(|name| name.parse().ok());
            keys.map(|key| ((binding.context, key), binding.action))
        })
        .collect()
}

fn help<A>(binding: &Binding<A>) -> KeyHelp {
    let keys: Vec<_> = binding
        .keys
        .iter()
        .filter_map(|name| name.parse::<Key>().ok())
        .map(|key| key.to_string())
        .collect();
    KeyHelp {
        context: binding.context,
        keys: keys.join(", "),
        about: binding.about,
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod typing;

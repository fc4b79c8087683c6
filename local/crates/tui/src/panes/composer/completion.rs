//! The menu of commands that opens while one is typed.

use crate::{
    overlays::picker::fuzzy,
    slash::{Arguments, COMMANDS, Command},
};

/// Bytes of the longest text that can still become one of the commands; a longer one is not looked at for every key.
const LONGEST: usize = 64;

/// The menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Menu {
    pub(super) rows: Vec<MenuRow>,
    /// The chosen row.
    pub(super) at: usize,
}

/// One thing to take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MenuRow {
    /// What is shown.
    pub(super) label: String,
    /// What it does.
    pub(super) about: &'static str,
    /// What the text becomes.
    pub(super) text: String,
    /// Whether more may be typed behind it.
    pub(super) takes_more: bool,
}

impl Menu {
    /// Gives the menu for a text that ends at the cursor, if it begins a command.
    pub(super) fn of(text: &str) -> Option<Self> {
        let rest = text.strip_prefix('/').filter(|rest| rest.len() <= LONGEST)?;
        let rows = match rest.split_once(' ') {
            None => commands(rest),
            Some((name, begun)) => choices(name, begun),
        };
        (!rows.is_empty()).then_some(Self { rows, at: 0 })
    }

    /// Goes up or down, around the ends.
    pub(super) fn go(&mut self, down: bool) {
        let count = self.rows.len();
        let step = if down { 1 } else { count - 1 };
        self.at = (self.at + step) % count;
    }

    /// Gives the chosen row.
    pub(super) fn chosen(&self) -> Option<&MenuRow> {
        self.rows.get(self.at)
    }
}

/// Gives the commands that a begun word may become, the likeliest first.
fn commands(begun: &str) -> Vec<MenuRow> {
    if begun.contains(char::is_whitespace) {
        return Vec::new();
    }
    let begun = begun.to_ascii_lowercase();
    let mut found: Vec<_> = COMMANDS
        .iter()
        .filter_map(|command| Some((rank(&begun, command)?, command)))
        .collect();
    found.sort_by_key(|(rank, _)| *rank);
    found
        .into_iter()
        .map(|(_, command)| command_row(command))
        .collect()
}

/// Tells how well a command fits: 0 is the best.
fn rank(begun: &str, command: &Command) -> Option<u8> {
    let aliases = || command.aliases.iter();
    if command.name == begun || aliases().any(|alias| *alias == begun) {
        Some(0)
    } else if command.name.starts_with(begun) {
        Some(1)
    } else if aliases().any(|alias| alias.starts_with(begun)) {
        Some(2)
    } else {
        fuzzy::fit(begun, command.name).map(|_| 3)
    }
}

fn command_row(command: &Command) -> MenuRow {
    let takes_more = command.arguments != Arguments::None;
    MenuRow {
        label: command.label(),
        about: command.about,
        text: format!("/{}{}", command.name, if takes_more { " " } else { "" }),
        takes_more,
    }
}

/// Gives the words that may follow a command.
fn choices(name: &str, begun: &str) -> Vec<MenuRow> {
    let Some(command) = Command::find(name) else {
        return Vec::new();
    };
    let Arguments::Choice(words) = command.arguments else {
        return Vec::new();
    };
    words
        .iter()
        .filter(|word| word.starts_with(begun))
        .map(|word| MenuRow {
            label: (*word).to_owned(),
            about: "",
            text: format!("/{name} {word}"),
            takes_more: false,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(text: &str) -> Vec<String> {
        Menu::of(text).map_or_else(Vec::new, |menu| {
            menu.rows.into_iter().map(|row| row.text).collect()
        })
    }

    #[test]
    fn it_opens_for_what_begins_a_command() {
        assert_eq!(labels("/").len(), COMMANDS.len());
        assert_eq!(labels("/co"), ["/cost", "/context", "/copy "]);
        assert_eq!(labels("/?")[0], "/help");
        assert_eq!(labels("/exit"), ["/quit"]);
        assert_eq!(labels("/sess"), ["/resume "]);
        assert_eq!(labels("/prm"), ["/permissions "]);
        for text in [
            "",
            "x",
            "x /he",
            "/usr/bin",
            "/help me",
            "//",
            "/zzz",
            "/1\t2",
            &"/h".repeat(40),
        ] {
            assert!(labels(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn words_that_may_follow_are_offered() {
        assert_eq!(labels("/theme d"), ["/theme dark"]);
        assert_eq!(labels("/mouse "), ["/mouse on", "/mouse off"]);
        assert!(labels("/theme dark x").is_empty());
        assert!(labels("/copy ").is_empty());
    }

    #[test]
    fn moving_goes_around() {
        let mut menu = Menu::of("/co").unwrap();
        menu.go(false);
        assert_eq!(menu.chosen().unwrap().text, "/copy ");
        menu.go(true);
        assert_eq!(menu.chosen().unwrap().text, "/cost");
    }
}

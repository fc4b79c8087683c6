//! The keys as they are without anybody's changes: a table.

use super::{
    Binding, Context,
    action::{
        Action, Edit, ListKey,
        Move::{BlankLeft, End, Left, LineEnd, LineStart, Right, Start, WordLeft, WordRight},
        Scroll,
    },
};

/// Keys of the whole screen. Those of [`Context::Overlay`] work everywhere.
pub(super) const SCREEN: &[Binding<Action>] = &[
    screen(
        Context::Overlay,
        &["ctrl+c"],
        Action::Interrupt,
        "Stop the turn, clear the text, leave",
    ),
    screen(
        Context::Overlay,
        &["ctrl+z"],
        Action::Suspend,
        "Suspend to the shell",
    ),
    screen(Context::Overlay, &["ctrl+r"], Action::RetryLink, "Connect now"),
    screen(
        Context::Overlay,
        &["ctrl+l"],
        Action::Redraw,
        "Draw the screen anew",
    ),
    screen(Context::Main, &["ctrl+d"], Action::EndOfInput, "Leave"),
    screen(
        Context::Main,
        &["f1"],
        Action::Help,
        "Help (also ? when nothing is typed)",
    ),
    screen(
        Context::Main,
        &["f2"],
        Action::Ports,
        "Forwards, and what listens on the host",
    ),
    screen(
        Context::Main,
        &["shift+tab"],
        Action::CyclePreset,
        "Next permission preset",
    ),
    screen(
        Context::Main,
        &["ctrl+y"],
        Action::ToggleFullAccess,
        "Full access on and off",
    ),
    screen(
        Context::Main,
        &["shift+up"],
        Action::Scroll(Scroll::LineUp),
        "Scroll up by a line",
    ),
    screen(
        Context::Main,
        &["shift+down"],
        Action::Scroll(Scroll::LineDown),
        "Scroll down by a line",
    ),
    screen(
        Context::Main,
        &["pgup"],
        Action::Scroll(Scroll::PageUp),
        "Scroll up",
    ),
    screen(
        Context::Main,
        &["pgdn"],
        Action::Scroll(Scroll::PageDown),
        "Scroll down",
    ),
    screen(
        Context::Main,
        &["ctrl+home"],
        Action::Scroll(Scroll::Top),
        "Start of the transcript",
    ),
    screen(
        Context::Main,
        &["ctrl+end"],
        Action::Scroll(Scroll::Bottom),
        "End of the transcript",
    ),
    screen(
        Context::Main,
        &["ctrl+o"],
        Action::ToggleReasoning,
        "Show or hide reasoning",
    ),
    screen(
        Context::Main,
        &["ctrl+b"],
        Action::ToggleOutput,
        "Long output whole or shortened",
    ),
];

/// Keys of the composer.
pub(super) const EDITS: &[Binding<Edit>] = &[
    edit(
        &["enter", "ctrl+enter"],
        Edit::Send,
        "Send, or queue while a turn runs",
    ),
    edit(
        &["shift+enter", "alt+enter", "ctrl+j"],
        Edit::Newline,
        "New line (also \\ before Enter)",
    ),
    edit(&["up"], Edit::Up, "Line up, then older prompts"),
    edit(&["down"], Edit::Down, "Line down, then newer prompts"),
    edit(&["ctrl+p"], Edit::Older, "Older prompt"),
    edit(&["ctrl+n"], Edit::Newer, "Newer prompt"),
    edit(&["alt+r"], Edit::Search, "Search older prompts"),
    edit(&["left"], Edit::Move(Left), "Character left"),
    edit(&["right", "ctrl+f"], Edit::Move(Right), "Character right"),
    edit(
        &["ctrl+left", "alt+left", "alt+b"],
        Edit::Move(WordLeft),
        "Word left",
    ),
    edit(
        &["ctrl+right", "alt+right", "alt+f"],
        Edit::Move(WordRight),
        "Word right",
    ),
    edit(&["home", "ctrl+a"], Edit::Move(LineStart), "Start of the line"),
    edit(&["end", "ctrl+e"], Edit::Move(LineEnd), "End of the line"),
    edit(&["alt+<"], Edit::Move(Start), "Start of the text"),
    edit(&["alt+>"], Edit::Move(End), "End of the text"),
    edit(
        &["backspace", "shift+backspace", "ctrl+h"],
        Edit::Delete(Left),
        "Delete to the left",
    ),
    edit(&["delete"], Edit::Delete(Right), "Delete to the right"),
    edit(&["ctrl+w"], Edit::Kill(BlankLeft), "Cut back to a blank"),
    edit(
        &["alt+backspace", "ctrl+backspace"],
        Edit::Kill(WordLeft),
        "Cut the word to the left",
    ),
    edit(
        &["alt+d", "ctrl+delete"],
        Edit::Kill(WordRight),
        "Cut the word to the right",
    ),
    edit(&["ctrl+u"], Edit::Kill(LineStart), "Cut to the start of the line"),
    edit(&["ctrl+k"], Edit::Kill(LineEnd), "Cut to the end of the line"),
    edit(&["alt+y"], Edit::Yank, "Insert what was cut"),
    edit(&["ctrl+_"], Edit::Undo, "Undo"),
    edit(&["ctrl+shift+z", "alt+z"], Edit::Redo, "Redo"),
];

/// Keys of lists: pickers, help, completion.
pub(super) const LISTS: &[Binding<ListKey>] = &[
    list(&["up", "ctrl+p"], ListKey::Up, "Row up"),
    list(&["down", "ctrl+n"], ListKey::Down, "Row down"),
    list(&["pgup"], ListKey::PageUp, "Page up"),
    list(&["pgdn"], ListKey::PageDown, "Page down"),
    list(&["home"], ListKey::First, "First row"),
    list(&["end"], ListKey::Last, "Last row"),
    list(&["enter", "tab"], ListKey::Accept, "Take the row"),
    list(&["esc"], ListKey::Close, "Close"),
];

const fn screen(
    context: Context,
    keys: &'static [&'static str],
    action: Action,
    about: &'static str,
) -> Binding<Action> {
    Binding {
        context,
        keys,
        action,
        about,
    }
}

const fn edit(keys: &'static [&'static str], action: Edit, about: &'static str) -> Binding<Edit> {
    Binding {
        context: Context::Composer,
        keys,
        action,
        about,
    }
}

const fn list(keys: &'static [&'static str], action: ListKey, about: &'static str) -> Binding<ListKey> {
    Binding {
        context: Context::List,
        keys,
        action,
        about,
    }
}

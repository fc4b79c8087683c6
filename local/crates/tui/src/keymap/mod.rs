//! Which key does what: data.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Where a key is pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Context {
    /// Nothing is in front.
    Main,
    /// A dialog is in front.
    Overlay,
}

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D.
    EndOfInput,
    /// Ctrl-Z.
    Suspend,
    /// Ctrl-R: dial now.
    RetryLink,
    /// Shift+Tab.
    CyclePreset,
    /// Ctrl-Y.
    ToggleFullAccess,
    /// Ctrl-L.
    Redraw,
    /// F1.
    Help,
    /// A movement of the transcript.
    PageUp,
    PageDown,
    Top,
    Bottom,
    /// Ctrl-O.
    ToggleReasoning,
    /// Ctrl-B.
    ToggleOutput,
}

/// The keys in force.
#[derive(Debug, Default)]
pub(crate) struct Keymap;

impl Keymap {
    /// Gives what a key does there; `None` leaves it to who has the focus.
    pub(crate) fn action(&self, context: Context, key: KeyEvent) -> Option<Action> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let everywhere = match key.code {
            KeyCode::Char('c') if control => Some(Action::Interrupt),
            KeyCode::Char('z') if control => Some(Action::Suspend),
            KeyCode::Char('r') if control => Some(Action::RetryLink),
            KeyCode::Char('l') if control => Some(Action::Redraw),
            _ => None,
        };
        if everywhere.is_some() || context == Context::Overlay {
            return everywhere;
        }
        match key.code {
            KeyCode::Char('d') if control => Some(Action::EndOfInput),
            KeyCode::Char('y') if control => Some(Action::ToggleFullAccess),
            KeyCode::Char('o') if control => Some(Action::ToggleReasoning),
            KeyCode::Char('b') if control => Some(Action::ToggleOutput),
            KeyCode::BackTab => Some(Action::CyclePreset),
            KeyCode::F(1) => Some(Action::Help),
            KeyCode::PageUp => Some(Action::PageUp),
            KeyCode::PageDown => Some(Action::PageDown),
            KeyCode::Home if control => Some(Action::Top),
            KeyCode::End if control => Some(Action::Bottom),
            _ => None,
        }
    }
}

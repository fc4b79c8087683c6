//! Colours by meaning: what draws names a role, never a colour.

use ratatui::style::{Color, Modifier, Style};

/// How the terminal's background looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Appearance {
    /// Not known: only colours that read on either.
    #[default]
    Auto,
    /// A light background.
    Light,
    /// A dark background.
    Dark,
    /// No colours at all, only bold, dim, underline and reverse (`NO_COLOR`).
    Plain,
}

/// What a piece of text means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    /// Ordinary text.
    Text,
    /// Text beside the point.
    Dim,
    /// What stands out: headings, the focused choice.
    Accent,
    /// What the person wrote.
    User,
    /// Something failed.
    Error,
    /// Something needs attention.
    Warning,
    /// Something worked.
    Ok,
    /// An added line of a diff.
    Added,
    /// A removed line of a diff.
    Removed,
    /// Code.
    Code,
    /// Rules and frames.
    Border,
    /// The chosen row, selected text.
    Selection,
}

/// The styles in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Theme {
    appearance: Appearance,
}

impl Theme {
    pub(crate) fn new(appearance: Appearance) -> Self {
        Self { appearance }
    }

    pub(crate) fn appearance(self) -> Appearance {
        self.appearance
    }

    /// Gives the style of a role.
    pub(crate) fn style(self, role: Role) -> Style {
        let style = Style::new();
        let style = match role {
            Role::Text | Role::User | Role::Code | Role::Ok | Role::Added | Role::Warning => style,
            Role::Dim | Role::Border => style.add_modifier(Modifier::DIM),
            Role::Accent | Role::Error => style.add_modifier(Modifier::BOLD),
            Role::Removed => style,
            Role::Selection => style.add_modifier(Modifier::REVERSED),
        };
        match self.colour(role) {
            Some(colour) => style.fg(colour),
            None => style,
        }
    }

    fn colour(self, role: Role) -> Option<Color> {
        let light = match self.appearance {
            Appearance::Plain => return None,
            Appearance::Light => true,
            Appearance::Auto | Appearance::Dark => false,
        };
        match role {
            Role::Text | Role::Dim | Role::Selection | Role::Border => None,
            Role::Accent | Role::Code => Some(if light { Color::Blue } else { Color::Cyan }),
            Role::User => Some(if light {
                Color::Magenta
            } else {
                Color::LightMagenta
            }),
            Role::Error | Role::Removed => Some(Color::Red),
            Role::Warning => Some(if light { Color::Indexed(130) } else { Color::Yellow }),
            Role::Ok | Role::Added => Some(Color::Green),
        }
    }
}

//! The commands: a table.

use protocol::{Preset, SessionId};

use super::effect::{Effect, Fact};
use crate::Appearance;

/// One command.
#[derive(Debug)]
pub(crate) struct Command {
    /// The name without the slash.
    pub(crate) name: &'static str,
    /// Other names for the same.
    pub(crate) aliases: &'static [&'static str],
    /// What may follow the name.
    pub(crate) arguments: Arguments,
    /// What it does, for the help and the menu.
    pub(crate) about: &'static str,
    /// Reads the arguments, without blanks around them. The error says what is wrong with them.
    pub(super) effect: fn(&str) -> Result<Effect, String>,
}

/// What may follow a command; nothing has to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arguments {
    /// Nothing.
    None,
    /// A text of this kind.
    Text(&'static str),
    /// One of these words.
    Choice(&'static [&'static str]),
}

/// Every command, in the order in which they are shown.
pub(crate) const COMMANDS: &[Command] = &[
    plain("help", &["?"], "Keys and commands", |_| Ok(Effect::Help)),
    plain("new", &[], "Start a new session", |_| Ok(Effect::NewSession)),
    Command {
        name: "resume",
        aliases: &["sessions"],
        arguments: Arguments::Text("session id"),
        about: "Pick another session, or open one by its id",
        effect: resume,
    },
    plain("status", &[], "Host, workspace, link, model, preset", |_| {
        Ok(Effect::Show(Fact::Status))
    }),
    plain("cost", &[], "Tokens used and what they cost", |_| {
        Ok(Effect::Show(Fact::Cost))
    }),
    plain("context", &[], "How full the context window is", |_| {
        Ok(Effect::Show(Fact::Context))
    }),
    plain("queue", &[], "Requests that wait", |_| {
        Ok(Effect::Show(Fact::Queue))
    }),
    Command {
        name: "permissions",
        aliases: &["preset"],
        arguments: Arguments::Choice(&["read-only", "workspace-write", "danger-full-access"]),
        about: "Show or change what runs without asking",
        effect: permissions,
    },
    Command {
        name: "copy",
        aliases: &[],
        arguments: Arguments::Text("n"),
        about: "Copy the last answer, or the n-th last",
        effect: copy,
    },
    Command {
        name: "export",
        aliases: &[],
        arguments: Arguments::Text("file"),
        about: "Write the transcript as Markdown into a local file",
        effect: |file| Ok(Effect::Export((!file.is_empty()).then(|| file.to_owned()))),
    },
    plain("reasoning", &[], "Show or hide reasoning", |_| {
        Ok(Effect::ToggleReasoning)
    }),
    plain("verbose", &[], "Long output whole or shortened", |_| {
        Ok(Effect::ToggleOutput)
    }),
    Command {
        name: "theme",
        aliases: &[],
        arguments: Arguments::Choice(&["auto", "dark", "light", "plain"]),
        about: "Show or change the colours",
        effect: theme,
    },
    Command {
        name: "mouse",
        aliases: &[],
        arguments: Arguments::Choice(&["on", "off"]),
        about: "Wheel scrolls the transcript, or the terminal selects text",
        effect: mouse,
    },
    plain(
        "ports",
        &["forwards"],
        "Forwards, and what listens on the host",
        |_| Ok(Effect::Ports),
    ),
    plain("retry", &[], "Connect now", |_| Ok(Effect::RetryLink)),
    plain(
        "cls",
        &[],
        "Empty the screen; the session keeps everything",
        |_| Ok(Effect::ClearScreen),
    ),
    plain("quit", &["exit"], "Leave; a running turn goes on", |_| {
        Ok(Effect::Quit)
    }),
];

/// Words of more letters than this do not fit in a menu.
const LONG: usize = 20;

/// Names of before and what has taken their place.
pub(super) const RETIRED: &[(&str, &str)] = &[("work-mode", "permissions"), ("profile", "permissions")];

impl Command {
    /// Finds a command by its name or one of its other names.
    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        COMMANDS
            .iter()
            .find(|command| command.name == name || command.aliases.contains(&name))
    }

    /// Gives how it is typed, with long lists of words left out.
    pub(crate) fn label(&self) -> String {
        match self.arguments {
            Arguments::Choice(words) if words.concat().len() > LONG => format!("/{} […]", self.name),
            _ => self.usage(),
        }
    }

    /// Gives how it is typed, such as `/theme auto|dark|light|plain`.
    pub(crate) fn usage(&self) -> String {
        match self.arguments {
            Arguments::None => format!("/{}", self.name),
            Arguments::Text(kind) => format!("/{} [{kind}]", self.name),
            Arguments::Choice(words) => format!("/{} [{}]", self.name, words.join("|")),
        }
    }
}

const fn plain(
    name: &'static str,
    aliases: &'static [&'static str],
    about: &'static str,
    effect: fn(&str) -> Result<Effect, String>,
) -> Command {
    Command {
        name,
        aliases,
        arguments: Arguments::None,
        about,
        effect,
    }
}

fn resume(id: &str) -> Result<Effect, String> {
    if id.is_empty() {
        return Ok(Effect::Sessions(None));
    }
    let session: SessionId = id.parse().map_err(|_error| format!("{id:?} is no session id"))?;
    Ok(Effect::Sessions(Some(session)))
}

fn permissions(preset: &str) -> Result<Effect, String> {
    match preset {
        "" => Ok(Effect::Show(Fact::Permissions)),
        "full-access" => Ok(Effect::SetPreset(Preset::DangerFullAccess)),
        other => other
            .parse()
            .map(Effect::SetPreset)
            .map_err(|error| format!("{error}")),
    }
}

fn copy(which: &str) -> Result<Effect, String> {
    match which {
        "" => Ok(Effect::Copy(1)),
        number => match number.parse() {
            Ok(which @ 1..) => Ok(Effect::Copy(which)),
            _ => Err(format!("{number:?} is no number of an answer; 1 is the last one")),
        },
    }
}

fn theme(name: &str) -> Result<Effect, String> {
    Ok(Effect::SetAppearance(match name {
        "" => return Ok(Effect::Show(Fact::Appearance)),
        "auto" => Appearance::Auto,
        "dark" => Appearance::Dark,
        "light" => Appearance::Light,
        "plain" => Appearance::Plain,
        other => return Err(format!("unknown theme {other:?}")),
    }))
}

fn mouse(state: &str) -> Result<Effect, String> {
    match state {
        "" => Ok(Effect::Mouse(None)),
        "on" => Ok(Effect::Mouse(Some(true))),
        "off" => Ok(Effect::Mouse(Some(false))),
        other => Err(format!("{other:?} is neither on nor off")),
    }
}

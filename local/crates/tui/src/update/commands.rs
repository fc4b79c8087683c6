//! What the commands that begin with a slash do.

use protocol::Preset;

use super::{decisions, open};
use crate::{
    effects::Effect,
    model::Model,
    overlays::{Overlay, help::Help},
    panes::{
        status,
        transcript::{Level, TranscriptMsg},
    },
    slash::{self, Fact},
    theme::Theme,
};

/// Performs a command.
pub(super) fn perform(model: &mut Model, effect: slash::Effect) -> Vec<Effect> {
    match effect {
        slash::Effect::Help => open(model, Overlay::Help(Help::new())),
        slash::Effect::NewSession => return decisions::new_session(model),
        slash::Effect::Sessions(None) => return vec![Effect::ListSessions],
        slash::Effect::Sessions(Some(session)) => return decisions::resume(model, session),
        slash::Effect::Ports => return super::ports::show(model),
        slash::Effect::ClearScreen => return vec![Effect::Redraw],
        slash::Effect::Show(fact) => {
            let text = tell(model, fact);
            model.notice(Level::Info, text);
        }
        slash::Effect::SetPreset(preset) => return decisions::ask_preset(model, preset),
        slash::Effect::Copy(which) => return copy(model, which),
        slash::Effect::RetryLink => return vec![Effect::Retry],
        slash::Effect::SetAppearance(appearance) => model.screen.theme = Theme::new(appearance),
        slash::Effect::ToggleOutput => model.transcript.update(TranscriptMsg::ToggleOutput),
        slash::Effect::ToggleReasoning => model.transcript.update(TranscriptMsg::ToggleReasoning),
        slash::Effect::Mouse(wanted) => {
            model.screen.mouse = wanted.unwrap_or(!model.screen.mouse);
            return vec![Effect::Mouse(model.screen.mouse)];
        }
        slash::Effect::Export(file) => return vec![Effect::Export(file, markdown(model))],
        slash::Effect::Quit => return decisions::leave(model),
    }
    Vec::new()
}

fn copy(model: &mut Model, which: usize) -> Vec<Effect> {
    let answers = model
        .session
        .snapshot
        .items
        .iter()
        .rev()
        .filter_map(|item| match item {
            protocol::Item::Assistant { text, .. } if !text.is_empty() => Some(text),
            _ => None,
        });
    let found = match (which, model.transcript.last_answer()) {
        (1, Some(text)) => Some(text.to_owned()),
        _ => answers.skip(which.saturating_sub(1)).map(String::clone).next(),
    };
    match found {
        Some(text) => {
            model.notice(Level::Info, "Copied.");
            vec![Effect::Copy(text)]
        }
        None => {
            model.notice(Level::Warning, "There is no such answer.");
            Vec::new()
        }
    }
}

fn tell(model: &Model, fact: Fact) -> String {
    let snapshot = &model.session.snapshot;
    match fact {
        Fact::Status => {
            let mut lines = vec![
                format!("host: {}", model.host()),
                format!("link: {}", status::link_words(model)),
                format!("session: {}", model.session.id()),
                format!("workspace: {}", snapshot.session.workspace),
                format!("model: {}", snapshot.session.model),
                format!("preset: {}", snapshot.session.preset),
            ];
            lines.extend(
                model
                    .way_back()
                    .map(|way_back| format!("come back with: {way_back}")),
            );
            lines.join("\n")
        }
        Fact::Cost => {
            let usage = snapshot.usage;
            let tokens = format!(
                "{} tokens in ({} of them from the cache), {} out",
                usage.input, usage.cached, usage.output
            );
            match status::cost(&snapshot.cost) {
                Some(cost) => format!("{tokens}; {cost}"),
                None => format!("{tokens}; the price is not known"),
            }
        }
        Fact::Context => match (snapshot.context.used, snapshot.context.window) {
            (Some(used), Some(window)) => format!("The last request had {used} of {window} tokens."),
            (Some(used), None) => format!("The last request had {used} tokens."),
            (None, Some(window)) => format!("The context window has {window} tokens."),
            (None, None) => "Nothing is known about the context window yet.".to_owned(),
        },
        Fact::Permissions => permissions(snapshot.session.preset),
        Fact::Queue => {
            let queued = model.outbox.queued(model.session.id()).len();
            format!(
                "{} requests wait here, {} wait for the running turn.",
                queued,
                snapshot.queue.len()
            )
        }
        Fact::Appearance => format!("Colours: {:?}.", model.screen.theme.appearance()).to_lowercase(),
    }
}

fn permissions(preset: Preset) -> String {
    let permits = match preset {
        Preset::ReadOnly => "reading only; everything else asks",
        Preset::WorkspaceWrite => "writing inside the workspace, commands inside the sandbox; the rest asks",
        Preset::DangerFullAccess => "everything that no rule denies, without asking",
        Preset::Unknown => "a preset that this version does not know",
    };
    format!("{preset}: {permits}")
}

/// Writes the transcript as Markdown.
fn markdown(model: &Model) -> String {
    let mut text = match model.session.snapshot.items_before {
        0 => String::new(),
        before => format!("*The first {before} entries of this session are not in this file.*\n\n"),
    };
    for item in &model.session.snapshot.items {
        let part = match item {
            protocol::Item::User { text, .. } => format!("## Request\n\n{text}\n\n"),
            protocol::Item::Assistant { text, .. } if !text.is_empty() => {
                format!("{}\n\n", richtext::sanitize(text))
            }
            protocol::Item::Tool {
                name,
                arguments,
                output,
                ..
            } => {
                let (arguments, output) = (fenced("json", arguments), fenced("text", output));
                format!("### {}\n\n{arguments}{output}", richtext::safe_line(name))
            }
            _ => continue,
        };
        text.push_str(&part);
    }
    text
}

/// Writes a code block that ends where its text ends, whatever that holds. Nothing in it steers a terminal that shows
/// the file.
fn fenced(language: &str, text: &str) -> String {
    let text = richtext::sanitize(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_block_ends_where_its_text_ends() {
        assert_eq!(fenced("text", "plain"), "```text\nplain\n```\n\n");
        assert_eq!(
            fenced("text", "a\n````\n\x1b[2Jb"),
            "`````text\na\n````\n\u{fffd}[2Jb\n`````\n\n"
        );
    }

    #[test]
    fn an_export_says_what_it_leaves_out() {
        let mut harness = crate::testing::Harness::new(80, 24).turn(1, "work");
        assert!(markdown(&harness.model).starts_with("## Request"));
        harness.model.session.snapshot.items_before = 7;
        let text = markdown(&harness.model);
        assert!(text.starts_with("*The first 7 entries"), "{text}");
    }
}

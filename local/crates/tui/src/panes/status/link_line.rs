//! What goes on with a link that is not live: one or two lines above the composer, never a dialog.

use link::{LinkState, Stage};
use ratatui::{buffer::Buffer, layout::Rect, text::Span};

use crate::{
    model::Model,
    overlays::sentence,
    theme::{Role, Theme},
};

/// The lines, if there are any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LinkLine {
    role: Role,
    text: String,
    /// How far an upload is, in thousandths.
    done: Option<u64>,
}

/// How wide the bar of an upload is.
const BAR: u64 = 24;

impl LinkLine {
    /// Gives what is to be said about the link; nothing while it is live.
    pub(crate) fn of(model: &Model) -> Option<Self> {
        let host = model.host();
        let line = |role, text: String| {
            Some(Self {
                role,
                text: richtext::safe_line(&text),
                done: None,
            })
        };
        match &model.link.state {
            LinkState::Live { .. } => None,
            LinkState::Offline => line(Role::Warning, format!("Offline. Ctrl+R connects to {host}.")),
            LinkState::Prompting => line(Role::Accent, format!("{host} needs an answer.")),
            LinkState::Connecting(stage) => Some(Self {
                role: Role::Dim,
                text: richtext::safe_line(&format!("Connecting to {host}: {}", stage_words(*stage))),
                done: done(*stage),
            }),
            LinkState::Waiting {
                next_try,
                cause,
                attempts,
            } => {
                let left = next_try.saturating_duration_since(model.screen.now);
                let seconds = left.as_millis().div_ceil(1000);
                let what = if model.link.was_live && *attempts <= 1 {
                    format!("Lost {host}")
                } else {
                    format!("Cannot reach {host}")
                };
                line(
                    Role::Warning,
                    format!("{what}: {cause}. Next try in {seconds} s, Ctrl+R tries now."),
                )
            }
            LinkState::Failed(error) => line(
                Role::Error,
                format!("{}. Ctrl+R tries again.", sentence(&error.to_string())),
            ),
        }
    }

    /// Gives how many rows it takes at a width.
    pub(crate) fn height(&self, width: u16) -> u16 {
        u16::try_from(self.rows(width).len()).unwrap_or(2)
    }

    fn rows(&self, width: u16) -> Vec<String> {
        let width = usize::from(width.max(1));
        if let Some(thousandths) = self.done {
            return vec![
                richtext::truncate(&self.text, width).into_owned(),
                richtext::truncate(&bar(thousandths), width).into_owned(),
            ];
        }
        let span = Span::raw(self.text.as_str());
        let lines = richtext::wrap(
            &[span],
            width,
            &richtext::Indent::default(),
            richtext::Breaking::Words,
        );
        let mut rows: Vec<String> = lines.iter().map(ToString::to_string).collect();
        if rows.len() > 2 {
            let rest = rows.split_off(1).join(" ");
            rows.push(richtext::truncate(&rest, width).into_owned());
        }
        rows
    }

    pub(crate) fn view(&self, theme: &Theme, area: Rect, buffer: &mut Buffer) {
        for (row, place) in self.rows(area.width).iter().zip(area.rows()) {
            let span = Span::styled(row.as_str(), theme.style(self.role));
            buffer.set_span(place.x, place.y, &span, place.width);
        }
    }
}

fn stage_words(stage: Stage) -> String {
    match stage {
        Stage::Resolving => "reading the SSH configuration".to_owned(),
        Stage::Dialing => "dialling".to_owned(),
        Stage::Authenticating => "logging in".to_owned(),
        Stage::Probing => "looking at the host".to_owned(),
        Stage::Installing { total: 0, .. } => "putting the program there".to_owned(),
        Stage::Installing { done, total } => format!(
            "putting the program there, {} of {}",
            mebibytes(done),
            mebibytes(total)
        ),
        Stage::Launching => "starting the agent".to_owned(),
        Stage::Attaching => "reaching the agent".to_owned(),
        Stage::Live => "almost there".to_owned(),
    }
}

fn done(stage: Stage) -> Option<u64> {
    match stage {
        Stage::Installing { done, total } if total > 0 => Some(done.min(total).saturating_mul(1000) / total),
        _ => None,
    }
}

fn mebibytes(bytes: u64) -> String {
    let tenths = bytes.saturating_mul(10) / (1024 * 1024);
    format!("{}.{} MiB", tenths / 10, tenths % 10)
}

fn bar(thousandths: u64) -> String {
    let full = thousandths * BAR / 1000;
    let repeat = |text: &str, times: u64| text.repeat(usize::try_from(times).unwrap_or(0));
    format!(
        "{}{} {} %",
        repeat("█", full),
        repeat("░", BAR - full),
        thousandths / 10
    )
}

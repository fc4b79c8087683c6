//! How the forwards of a host look.

use link::{RuleSnapshot, RuleState};
use protocol::ListeningPort;
use ratatui::{
    buffer::Buffer,
    layout::{Margin, Position, Rect},
    text::Span,
    widgets::{Block, BorderType, Clear, Widget as _},
};
use unicode_width::UnicodeWidthStr as _;

use super::{Entry, Ports, Said};
use crate::theme::{Role, Theme};

/// The widest it gets.
const MAX_WIDTH: u16 = 100;
/// The most rows of the list.
const MAX_ROWS: usize = 20;
/// Before what is said about the row above.
const INDENT: &str = "    ";
/// Before a rule that is being typed.
const PROMPT: &str = "rule › ";

/// One row of the list.
struct Line {
    role: Role,
    text: String,
    /// Whether it is the chosen one.
    is_chosen: bool,
}

impl Ports {
    /// Draws it at the bottom of the area.
    pub(crate) fn view(&self, theme: &Theme, area: Rect, buffer: &mut Buffer) {
        let lines = self.lines();
        let foot = self.foot();
        let frame = frame(area, lines.len(), foot.len());
        Clear.render(frame, buffer);
        let title = format!(" Ports of {} ", self.host);
        Block::bordered()
            .border_type(BorderType::Rounded)
            .border_style(theme.style(Role::Border))
            .title(Span::styled(title, theme.style(Role::Accent)))
            .render(frame, buffer);
        let inner = frame.inner(Margin::new(2, 1));
        if inner.is_empty() {
            return;
        }
        let feet = u16::try_from(foot.len()).unwrap_or(u16::MAX).min(inner.height);
        let list = Rect {
            height: inner.height - feet,
            ..inner
        };
        let chosen = lines.iter().position(|line| line.is_chosen).unwrap_or(0);
        let first = (chosen + 1).saturating_sub(list.height.into());
        for (line, row) in lines.iter().skip(first).zip(list.rows()) {
            put(buffer, row, &line.text, theme, line.role);
            if line.is_chosen {
                buffer.set_style(row, theme.style(Role::Selection));
            }
        }
        let feet_area = Rect {
            y: inner.bottom() - feet,
            height: feet,
            ..inner
        };
        // What matters most, the keys or what is typed, stands last and stays where there is little room.
        let skipped = foot.len() - usize::from(feet);
        for ((role, text), row) in foot.iter().skip(skipped).zip(feet_area.rows()) {
            put(buffer, row, text, theme, *role);
        }
    }

    /// Gives where the cursor is: behind a rule that is being typed.
    pub(crate) fn cursor(&self, area: Rect) -> Option<Position> {
        let input = self.input.as_ref()?;
        let inner = frame(area, self.lines().len(), self.foot().len()).inner(Margin::new(2, 1));
        let behind = u16::try_from(PROMPT.width() + input.text().width()).unwrap_or(u16::MAX);
        let (last, bottom) = (inner.width.checked_sub(1)?, inner.height.checked_sub(1)?);
        Some(Position::new(inner.x + behind.min(last), inner.y + bottom))
    }

    fn lines(&self) -> Vec<Line> {
        let Some(news) = &self.news else {
            return vec![plain(Role::Dim, "looking…")];
        };
        let mut lines = Vec::new();
        let mut was_forward = true;
        if news.forwards.is_empty() {
            lines.push(plain(Role::Dim, "nothing is forwarded"));
        }
        for (number, entry) in self.entries().into_iter().enumerate() {
            let is_chosen = number == self.at;
            match entry {
                Entry::Forward(rule) => {
                    lines.extend(forward_lines(rule, is_chosen));
                }
                Entry::Port(port) => {
                    if was_forward {
                        let heading = format!("listening on {}, not forwarded", self.host);
                        lines.extend([plain(Role::Dim, ""), plain(Role::Accent, &heading)]);
                        was_forward = false;
                    }
                    lines.push(Line {
                        role: Role::Text,
                        text: port_text(port),
                        is_chosen,
                    });
                }
            }
        }
        let unknown = match &news.ports {
            Err(why) => Some(richtext::safe_line(why)),
            Ok(None) => Some("the agent there cannot say what listens".to_owned()),
            Ok(Some(_)) => None,
        };
        lines.extend(
            unknown
                .into_iter()
                .flat_map(|why| [plain(Role::Dim, ""), plain(Role::Dim, &why)]),
        );
        lines
    }

    /// Gives what stands below the list: what became of the last wish, and what is typed or the keys.
    fn foot(&self) -> Vec<(Role, String)> {
        let mut foot = vec![(Role::Dim, String::new())];
        match &self.said {
            Some(Said::Done(text)) => foot.push((Role::Text, richtext::safe_line(text))),
            Some(Said::Refused { message, hint, .. }) => {
                foot.push((Role::Error, richtext::safe_line(message)));
                foot.extend(hint.iter().map(|hint| (Role::Dim, richtext::safe_line(hint))));
            }
            None => {}
        }
        foot.push(match &self.input {
            Some(input) => (
                Role::Text,
                format!("{PROMPT}{}", richtext::safe_line(input.text())),
            ),
            None => (
                Role::Dim,
                "Enter forward   d end   a add a rule   Esc close".to_owned(),
            ),
        });
        foot
    }
}

fn frame(area: Rect, lines: usize, foot: usize) -> Rect {
    let wanted = lines.clamp(1, MAX_ROWS) + foot + 2;
    let height = u16::try_from(wanted).unwrap_or(u16::MAX).min(area.height);
    Rect {
        x: area.x,
        y: area.bottom() - height,
        width: area.width.min(MAX_WIDTH),
        height,
    }
}

fn plain(role: Role, text: &str) -> Line {
    Line {
        role,
        text: text.to_owned(),
        is_chosen: false,
    }
}

fn forward_lines(rule: &RuleSnapshot, is_chosen: bool) -> Vec<Line> {
    let state = match &rule.state {
        RuleState::Ready { via: Some(via) } => format!("ready, via {via}"),
        RuleState::Ready { via: None } => "ready".to_owned(),
        RuleState::Offline => "the host is away".to_owned(),
        RuleState::Refused { .. } => "refused".to_owned(),
    };
    let at = if rule.bound == rule.spec.bind {
        String::new()
    } else {
        format!(" at {}", rule.bound)
    };
    let text = format!(
        "{} {}{at}  {state}, {} open, {} in all",
        rule.id, rule.spec, rule.open, rule.total
    );
    let mut lines = vec![Line {
        role: Role::Text,
        text: richtext::safe_line(&text),
        is_chosen,
    }];
    let trouble = link::rule_trouble(rule);
    lines.extend(trouble.map(|why| plain(Role::Warning, &format!("{INDENT}{}", richtext::safe_line(&why)))));
    lines
}

fn port_text(port: &ListeningPort) -> String {
    let by = match &port.process {
        Some(process) => format!("  {} (process {})", process.name, process.pid),
        None => String::new(),
    };
    richtext::safe_line(&format!("{}{by}", port.port))
}

/// Draws a line; what does not fit ends in `…`.
fn put(buffer: &mut Buffer, row: Rect, text: &str, theme: &Theme, role: Role) {
    let width = usize::from(row.width);
    buffer.set_stringn(row.x, row.y, text, width, theme.style(role));
    if text.width() > width && width > 0 {
        buffer.set_stringn(row.right() - 1, row.y, "…", 1, theme.style(role));
    }
}

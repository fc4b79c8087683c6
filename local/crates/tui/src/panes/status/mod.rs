//! The line that says where one is and how things are, and above it what goes on with the link.

mod link_line;

use std::time::Duration;

use link::{BrokerState, Health, LinkState};
use protocol::{Amount, ContextView, CostView, Phase, Preset, snapshot::Wait};
use ratatui::{buffer::Buffer, layout::Rect, text::Span};

pub(crate) use self::link_line::LinkLine;
use crate::{
    model::Model,
    session::Stage,
    theme::{Role, Theme},
};

/// One piece of the line. Narrow screens drop whole groups, the least important first.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Group {
    role: Role,
    text: String,
    /// 0 stays longest.
    rank: u8,
    /// Whether it stands at the right.
    right: bool,
}

/// Draws the line.
pub(crate) fn view(model: &Model, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let mut groups = groups(model);
    let width = usize::from(area.width);
    while total(&groups) > width && groups.len() > 1 {
        let least = groups.iter().enumerate().max_by_key(|(_, group)| group.rank);
        let Some((index, _)) = least else { break };
        groups.remove(index);
    }
    let (right, left): (Vec<_>, Vec<_>) = groups.into_iter().partition(|group| group.right);
    draw(&left, area.x, theme, area, buffer);
    let wide = u16::try_from(total(&right)).unwrap_or(u16::MAX);
    draw(
        &right,
        area.right().saturating_sub(wide).max(area.x),
        theme,
        area,
        buffer,
    );
}

const BETWEEN: &str = " · ";

fn total(groups: &[Group]) -> usize {
    let texts: usize = groups.iter().map(|group| richtext::width(&group.text)).sum();
    texts + groups.len().saturating_sub(1) * richtext::width(BETWEEN)
}

fn draw(groups: &[Group], mut x: u16, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    for (index, group) in groups.iter().enumerate() {
        let between = Span::styled(BETWEEN, theme.style(Role::Dim));
        let text = Span::styled(group.text.as_str(), theme.style(group.role));
        for span in [(index > 0).then_some(between), Some(text)].into_iter().flatten() {
            if x < area.right() {
                x = buffer.set_span(x, area.y, &span, area.right() - x).0;
            }
        }
    }
}

fn groups(model: &Model) -> Vec<Group> {
    let snapshot = &model.session.snapshot;
    let group = |role, rank, right, text: String| Group {
        role,
        text: richtext::safe_line(&text),
        rank,
        right,
    };
    let (role, text) = turn_words(model);
    let mut groups = vec![group(role, 0, false, text)];
    if model.session.is_open() {
        let preset = snapshot.session.preset;
        let role = match preset {
            Preset::DangerFullAccess => Role::Warning,
            _ => Role::Dim,
        };
        groups.push(group(role, 3, false, preset_words(preset).to_owned()));
    }
    let mut right = |rank, text: Option<String>| {
        groups.extend(text.map(|text| group(Role::Dim, rank, true, text)));
    };
    right(
        5,
        (!snapshot.session.model.is_empty()).then(|| snapshot.session.model.clone()),
    );
    right(6, context(snapshot.context));
    right(7, cost(&snapshot.cost));
    right(
        8,
        (!snapshot.session.workspace.is_empty()).then(|| folder(&snapshot.session.workspace)),
    );
    if let Some((role, text)) = model.link.broker.as_ref().map(broker_words) {
        groups.push(group(role, 2, true, text));
    }
    groups.extend(
        model
            .link
            .host
            .clone()
            .map(|host| group(Role::Dim, 4, true, host)),
    );
    if model.link.host.is_some() {
        let role = match &model.link.state {
            LinkState::Live {
                health: Health::Good, ..
            } => Role::Ok,
            LinkState::Failed(_) => Role::Error,
            _ => Role::Warning,
        };
        groups.push(group(role, 1, true, link_words(model)));
    }
    groups
}

/// Says what goes on with requests that are made here.
fn broker_words(state: &BrokerState) -> (Role, String) {
    let mut words = vec!["keys here".to_owned()];
    let mut count = |count: usize, what: &str| {
        words.extend((count > 0).then(|| format!("{count} {what}")));
    };
    count(state.answering, "answering");
    count(state.waiting, "queued");
    let refused = usize::try_from(state.refused).unwrap_or(usize::MAX);
    count(refused, "refused");
    if state.is_unknown_there {
        words.push("of no use there: the agent is too old".to_owned());
    } else if state.budget_left == 0 {
        words.push("budget spent".to_owned());
    }
    let is_well = refused == 0 && state.budget_left > 0 && !state.is_unknown_there;
    let role = if is_well { Role::Dim } else { Role::Warning };
    (role, words.join(BETWEEN))
}

/// Says what the session does.
fn turn_words(model: &Model) -> (Role, String) {
    let now = model.screen.now;
    if model.interrupts.is_warned(now) {
        return (Role::Warning, "Ctrl-C again leaves".to_owned());
    }
    let elapsed = model
        .session
        .turn
        .map(|(_, since)| now.saturating_duration_since(since));
    let elapsed = elapsed
        .map(|elapsed| format!(" {}", span_words(elapsed)))
        .unwrap_or_default();
    match (model.session.stage, model.session.snapshot.phase) {
        (Stage::Unasked, _) => (Role::Dim, "no session".to_owned()),
        (Stage::Asked, _) if !model.link.state.is_live() => (Role::Dim, "not connected".to_owned()),
        (Stage::Asked, _) => (Role::Dim, "opening".to_owned()),
        (Stage::Over, _) | (_, Phase::Closed) => (Role::Dim, "closed".to_owned()),
        (_, Phase::Running { turn } | Phase::Waiting { turn }) if model.session.stopping == Some(turn) => {
            (Role::Warning, format!("stopping{elapsed}"))
        }
        (_, Phase::Running { .. }) if is_parked(model) => {
            (Role::Warning, format!("waiting for credentials{elapsed}"))
        }
        (_, Phase::Running { .. }) => (Role::Accent, format!("{} working{elapsed}", spinner(model))),
        (_, Phase::Waiting { .. }) => (Role::Warning, format!("waits for you{elapsed}")),
        (_, Phase::Cancelling { .. }) => (Role::Warning, format!("stopping{elapsed}")),
        (_, Phase::Idle | Phase::Unknown) => (Role::Dim, "ready".to_owned()),
    }
}

/// Says whether the turn wants to ask the model and nobody with the key is there.
fn is_parked(model: &Model) -> bool {
    model.session.snapshot.waiting == Some(Wait::Credentials)
}

/// How long one picture of the spinner stays.
const SPIN: Duration = Duration::from_millis(120);

fn spinner(model: &Model) -> &'static str {
    const PICTURES: [&str; 8] = ["⠋", "⠙", "⠸", "⠴", "⠦", "⠧", "⠇", "⠏"];
    let since = model.screen.now.saturating_duration_since(model.screen.since);
    let step = since.as_millis() / SPIN.as_millis();
    PICTURES[usize::try_from(step % PICTURES.len() as u128).unwrap_or(0)]
}

/// Says how the link is, in words a person knows.
pub(crate) fn link_words(model: &Model) -> String {
    match &model.link.state {
        LinkState::Offline => "offline".to_owned(),
        LinkState::Connecting(_) => "connecting".to_owned(),
        LinkState::Prompting => "asks you".to_owned(),
        LinkState::Live { .. } if model.link.host.is_none() => "on this machine".to_owned(),
        LinkState::Live {
            rtt,
            health: Health::Good,
        } => format!("{} ms", rtt.as_millis()),
        LinkState::Live {
            health: Health::Quiet,
            ..
        } => "silent".to_owned(),
        LinkState::Live {
            health: Health::Stalled,
            ..
        } => "the agent does not answer".to_owned(),
        LinkState::Waiting { next_try, .. } => {
            let left = next_try.saturating_duration_since(model.screen.now);
            format!("next try in {} s", seconds_up(left))
        }
        LinkState::Failed(_) => "no connection".to_owned(),
    }
}

/// Rounds up, so that a countdown ends with 1 and not with 0.
fn seconds_up(left: Duration) -> u64 {
    u64::try_from(left.as_millis().div_ceil(1000)).unwrap_or(u64::MAX)
}

fn span_words(span: Duration) -> String {
    let seconds = span.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

fn preset_words(preset: Preset) -> &'static str {
    match preset {
        Preset::ReadOnly => "read only",
        Preset::WorkspaceWrite => "workspace write",
        Preset::DangerFullAccess => "FULL ACCESS",
        Preset::Unknown => "unknown preset",
    }
}

fn context(context: ContextView) -> Option<String> {
    match (context.percent(), context.used) {
        (Some(percent), _) => Some(format!("context {percent} %")),
        (None, Some(used)) => Some(format!("context {}", tokens(used))),
        (None, None) => None,
    }
}

fn tokens(count: u64) -> String {
    match count {
        0..1000 => count.to_string(),
        _ => format!("{} k", count / 1000),
    }
}

/// Writes what is known of a cost; nothing where nothing is.
pub(crate) fn cost(cost: &CostView) -> Option<String> {
    let amounts: Vec<String> = cost.amounts.iter().map(amount).collect();
    if amounts.is_empty() {
        return None;
    }
    let at_least = if cost.is_complete() { "" } else { "at least " };
    Some(format!("{at_least}{}", amounts.join(" + ")))
}

fn amount(amount: &Amount) -> String {
    let (units, micros) = (amount.micros / 1_000_000, amount.micros % 1_000_000);
    let number = if units == 0 && micros < 10_000 {
        format!("0.{micros:06}")
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned()
    } else {
        format!("{units}.{:02}", micros / 10_000)
    };
    match amount.currency.as_str() {
        "USD" => format!("${number}"),
        "EUR" => format!("€{number}"),
        "CNY" => format!("¥{number}"),
        other => format!("{number} {other}"),
    }
}

/// Gives the end of a long path.
fn folder(path: &str) -> String {
    const LONGEST: usize = 32;
    if richtext::width(path) <= LONGEST {
        return path.to_owned();
    }
    let mut kept = String::new();
    for part in path.rsplit('/') {
        let longer = if kept.is_empty() {
            part.to_owned()
        } else {
            format!("{part}/{kept}")
        };
        if richtext::width(&longer) + 2 > LONGEST {
            break;
        }
        kept = longer;
    }
    if kept.is_empty() {
        return richtext::truncate(path, LONGEST).into_owned();
    }
    format!("…/{kept}")
}

/// Says how soon the line looks different by itself; `None` when nothing moves.
pub(crate) fn moves_in(model: &Model) -> Option<Duration> {
    let now = model.screen.now;
    let mut soonest: Option<Duration> = None;
    let mut within = |duration: Duration| {
        soonest = Some(soonest.map_or(duration, |known| known.min(duration)));
    };
    match model.session.snapshot.phase {
        Phase::Running { .. } if is_parked(model) => within(Duration::from_secs(1)),
        Phase::Running { .. } => within(SPIN),
        Phase::Waiting { .. } | Phase::Cancelling { .. } => within(Duration::from_secs(1)),
        Phase::Idle | Phase::Closed | Phase::Unknown => {}
    }
    if let LinkState::Waiting { next_try, .. } = &model.link.state {
        let left = next_try.saturating_duration_since(now);
        let into_second = Duration::from_nanos(u64::from(left.subsec_nanos()));
        within(into_second.max(Duration::from_millis(20)));
    }
    if let Some(until) = model.interrupts.until().filter(|until| *until > now) {
        within(until.saturating_duration_since(now));
    }
    soonest
}

#[cfg(test)]
mod tests;

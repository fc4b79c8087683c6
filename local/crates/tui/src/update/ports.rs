//! The dialog about the forwards of the host.

use std::time::{Duration, Instant};

use super::open;
use crate::{
    effects::Effect,
    model::Model,
    overlays::{Overlay, Ports, PortsAsk, PortsNews},
    panes::transcript::Level,
};

/// How often it is looked again while the dialog is open.
const AGAIN: Duration = Duration::from_secs(2);

/// Opens the dialog, where there is a host.
pub(super) fn show(model: &mut Model) -> Vec<Effect> {
    let Some(host) = model.link.host.clone() else {
        model.notice(
            Level::Info,
            "This session runs on this machine: there is no host with ports to forward.",
        );
        return Vec::new();
    };
    if model.overlays.ports().is_some() {
        return Vec::new();
    }
    let now = model.screen.now;
    open(model, Overlay::Ports(Box::new(Ports::new(&host, now))));
    vec![Effect::Ports(PortsAsk::Look, Duration::ZERO, now)]
}

/// Has something done about the forwards.
pub(super) fn ask(model: &mut Model, ask: PortsAsk) -> Vec<Effect> {
    let dialog = model.overlays.ports().map(|dialog| dialog.opened);
    let wanted = dialog.map(|dialog| Effect::Ports(ask, Duration::ZERO, dialog));
    wanted.into_iter().collect()
}

/// Shows what there is now, and looks again after a while as long as somebody looks.
pub(super) fn took(model: &mut Model, news: PortsNews, asked_by: Instant) -> Vec<Effect> {
    let Some(dialog) = model.overlays.ports().filter(|dialog| dialog.opened == asked_by) else {
        return Vec::new();
    };
    let was_look = news.said.is_none();
    dialog.take(news);
    if was_look {
        vec![Effect::Ports(PortsAsk::Look, AGAIN, asked_by)]
    } else {
        Vec::new()
    }
}
